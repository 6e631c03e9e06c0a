"""The dashboard's address for the time of the alert: tomorrow the link still shows what happened."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from specwatch_alerts.slack.group_view import GroupView

_BEFORE_S: Final = 3600.0
_AFTER_S: Final = 900.0


def dashboard_address(view: GroupView) -> str:
    """The annotation `dashboard_url`, its relative `from` and `to` made those of the alert.

    An address without them, or with absolute ones, stays as it is; while an alert fires, `to` stays, too.
    """
    address = view.annotation("dashboard_url")
    try:
        parts = urlsplit(address)
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return address
    times = {"from": round((view.began - _BEFORE_S) * 1000.0)}
    if view.ended is not None:
        times["to"] = round((view.ended + _AFTER_S) * 1000.0)
    if not any(name in times and value.startswith("now") for name, value in query):
        return address
    moved = [(name, times[name] if name in times and value.startswith("now") else value) for name, value in query]
    return urlunsplit(parts._replace(query=urlencode(moved)))
