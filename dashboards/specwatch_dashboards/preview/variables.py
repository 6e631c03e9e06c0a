"""The dashboard's variables, resolved on a Prometheus and put into queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specwatch_dashboards.preview.prometheus_api import PrometheusApi
from specwatch_dashboards.preview.time_span import Span, promql_duration, rate_window

_LABEL_VALUES: Final = re.compile(r"label_values\((?:(.+),\s*)?(\w+)\)", re.DOTALL)
_NAME: Final = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")
_SPECIAL: Final = re.compile(r"([\\^$.|?*+()\[\]{}])")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a variable is set to.

    Attributes:
        label: its name on the page.
        text: what is chosen, for people.
        value: what goes into queries.
    """

    label: str
    text: str
    value: str


@dataclass(frozen=True, slots=True)
class Variables:
    """All variables of a dashboard.

    Attributes:
        choices: by name.
        span: the time that is shown.
        scrape_s: how often Prometheus scrapes.
    """

    choices: Mapping[str, Choice]
    span: Span
    scrape_s: float

    def filled(self, text: str, step_s: float = 60.0) -> str:
        """A query with values instead of `$name` and `${name}`; unknown names stay."""
        window = rate_window(step_s, self.scrape_s)
        built_in = {
            "__rate_interval": promql_duration(window),
            "__interval": promql_duration(step_s),
            "__range": promql_duration(round(self.span.length_s)),
            "__range_s": f"{self.span.length_s:.0f}",
        }

        def value(found: re.Match[str]) -> str:
            chosen = self._choice(found)
            return built_in.get(found[1] or found[2], found[0]) if chosen is None else chosen.value

        return _NAME.sub(value, text)

    def words(self, text: str) -> str:
        """A title with what is chosen, for people."""
        return _NAME.sub(lambda found: choice.text if (choice := self._choice(found)) else found[0], text)

    def _choice(self, found: re.Match[str]) -> Choice | None:
        return self.choices.get(found[1] or found[2])


def resolved(
    dashboard: Mapping[str, Any],
    api: PrometheusApi,
    span: Span,
    scrape_s: float,
    chosen: Mapping[str, Sequence[str]],
) -> Variables:
    """Ask for the values of each variable in order, since later ones depend on earlier ones.

    Args:
        dashboard: its JSON.
        api: where to ask.
        span: the time that is shown.
        scrape_s: how often Prometheus scrapes.
        chosen: values by name; a variable that is not named is at All, or at what the dashboard says.

    Raises:
        QueryError: the server cannot be asked.
    """
    found = Variables({}, span, scrape_s)
    for one in dashboard.get("templating", {}).get("list", []):
        name = one["name"]
        choice = _choice(one, chosen.get(name, ()), api, found)
        found = Variables({**found.choices, name: choice}, span, scrape_s)
    return found


def _choice(one: Mapping[str, Any], chosen: Sequence[str], api: PrometheusApi, before: Variables) -> Choice:
    label = one.get("label") or one["name"]
    if one["type"] == "datasource":
        return Choice(label, api.display, "preview")
    if chosen:
        return Choice(label, ", ".join(chosen), _either(chosen) if one.get("multi") else chosen[0])
    if one["type"] not in {"query", "custom"}:
        current = str((one.get("current") or {}).get("value", ""))
        return Choice(label, current, current)
    values = _values(one, api, before)
    if one.get("includeAll"):
        return Choice(label, f"All ({', '.join(values) or 'none'})", one.get("allValue") or _either(values))
    saved = (one.get("current") or {}).get("value")
    first = str(saved) if saved in values else next(iter(values), "")
    return Choice(label, first or "None", first)


def _values(one: Mapping[str, Any], api: PrometheusApi, before: Variables) -> list[str]:
    query = one.get("query", "")
    text = str(query.get("query", "") if isinstance(query, Mapping) else query)
    if one["type"] == "custom":
        return [value.strip() for value in text.split(",") if value.strip()]
    found = _LABEL_VALUES.fullmatch(before.filled(text))
    if found is None:
        return []
    return api.label_values(found[1] or '{__name__!=""}', found[2], before.span)


def _either(values: Sequence[str]) -> str:
    """A regular expression for any of the values, inside a PromQL string."""
    escaped = [_SPECIAL.sub(r"\\\\\1", value) for value in values]
    return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"
