"""The alerts of a group that fire, when there are several kinds: one line each, none of them hidden by another."""

from __future__ import annotations

from typing import Final

from specwatch_alerts.slack.block_limits import SECTION, Block, section
from specwatch_alerts.slack.group_view import AlertView, GroupView
from specwatch_alerts.slack.mrkdwn import cut, escape, link
from specwatch_alerts.slack.severity_sign import severity_sign

_MOST: Final = 10
_NAME: Final = 60
_IMPACT: Final = 120
_LONGEST_LINK: Final = 500
_LAST_LINE: Final = 60


def firing_list(view: GroupView) -> Block:
    """Name, severity, impact and runbook of each kind of alert, those first that weigh most.

    Many alerts of one name are one line with their number; names that do not fit are counted.
    """
    lines: list[str] = []
    left = SECTION - _LAST_LINE
    for alert in view.alerts[:_MOST]:
        line = _line(alert)
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    more = view.names - len(lines)
    if more:
        lines.append(f"and {more:,} more kinds of alert" if more > 1 else "and 1 more kind of alert")
    return section("\n".join(lines))


def _line(alert: AlertView) -> str:
    severity = cut(escape(alert.severity), _NAME) or "no severity"
    count = f", {alert.count:,} alerts" if alert.count > 1 else ""
    words = alert.annotation("impact") or alert.annotation("summary")
    runbook = alert.annotation("runbook_url")
    told = [
        f"{severity_sign(alert.labels, alert.annotations)} *{cut(escape(alert.name), _NAME)}* ({severity}{count})",
        cut(escape(words), _IMPACT),
        link(runbook, "Runbook") if 0 < len(runbook) <= _LONGEST_LINK else "",
    ]
    return " ".join(part for part in told if part)
