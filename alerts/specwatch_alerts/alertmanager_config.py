"""Alertmanager's configuration for the alerts of specwatch, as YAML.

A whole file that Alertmanager takes as it is. Who has one already copies three parts into it: the route that
matches our alerts, the receivers, and the inhibition rules. Checked with `amtool check-config` of 0.25.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from specwatch_alerts.inhibition import inhibit_rules
from specwatch_alerts.routing import Routing, receivers, route

_HEAD: Final = """\
# Alertmanager: routes, receivers and inhibition for the alerts of specwatch.
# Made by `specwatch alerts alertmanager`. To merge it into a file of yours, copy the one entry under `routes`, the
# three receivers, and the inhibition rules.
"""
_NO_PAGER: Final = """\
# No pager: pages go to Slack alone. Make it again with --pager-url or --pagerduty-key-file before you rely on it.
"""


class RoutingError(ValueError):
    """A setting cannot be used; the message says which and why, in one line."""


def alertmanager_config(routing: Routing) -> dict[str, Any]:
    """The configuration as plain data.

    Raises:
        RoutingError: an address is no http(s) URL.
    """
    for flag, url in (("--slack-url", routing.receivers.slack_url), ("--pager-url", routing.receivers.pager_url)):
        if url is not None:
            _check(flag, url)
    return {
        "route": route(routing),
        "receivers": receivers(routing),
        "inhibit_rules": inhibit_rules(routing.severities.page, routing.severities.ticket),
    }


def alertmanager_yaml(routing: Routing) -> str:
    """The configuration as a file.

    Raises:
        RoutingError: an address is no http(s) URL.
    """
    body = yaml.safe_dump(alertmanager_config(routing), sort_keys=False, width=120)
    return f"{_HEAD}{'' if routing.receivers.paged else _NO_PAGER}{body}"


def _check(flag: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise RoutingError(f"{flag} {url!r}: write it as http://host:port/path")
