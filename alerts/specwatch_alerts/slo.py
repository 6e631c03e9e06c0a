"""Service level objectives: what counts, what is bad, and when the error budget burns too fast.

Multi-window, multi-burn-rate alerts as in the SRE Workbook, chapter 5, for a budget of 30 days: a page when 2 % of
it went in an hour (14.4 times too fast) or 5 % in six hours (6 times), a ticket when 10 % went in three days.
The short window, a twelfth of the long one, ends the alert soon after the burning has ended.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from specwatch_alerts.metric_facts import facts_of
from specwatch_alerts.origin import Origin
from specwatch_alerts.values import Values, ValuesError


@dataclass(frozen=True, slots=True)
class Burn:
    """One pair of windows.

    Attributes:
        long: window in which the budget was spent.
        short: window in which it must still be burning.
        rate: how many times faster than the budget allows.
    """

    long: str
    short: str
    rate: float


PAGE: Final = (Burn("1h", "5m", 14.4), Burn("6h", "30m", 6.0))
TICKET: Final = (Burn("3d", "6h", 1.0),)
_WINDOW: Final = "5m"


@dataclass(frozen=True, slots=True)
class Objective:
    """One objective from `slos/<name>.toml`.

    Attributes:
        name: as in `[slo.<name>]` of the values.
        promise: what a good request gets, after "requests that ..."; with placeholders.
        histograms: by origin, the histograms that it is read from, the best first; empty for counted ones.
        total: by origin, an expression for the requests that count in five minutes.
        bad: by origin, an expression for the bad ones among them.
        volume: the objective whose events are requests, for the guard at low traffic; itself but where events are
            tokens.
    """

    name: str
    promise: str
    histograms: Mapping[str, tuple[str, ...]]
    total: Mapping[str, str]
    bad: Mapping[str, str]
    volume: str

    def has(self, origin: Origin) -> bool:
        """Whether the origin has series for it."""
        return origin.value in self.histograms or origin.value in self.total


@cache
def objectives() -> tuple[Objective, ...]:
    """All objectives, by name."""
    folder = files("specwatch_alerts") / "slos"
    names = sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))
    found = []
    for name in names:
        body = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
        histograms = {origin: tuple(row) for origin, row in body.get("histograms", {}).items()}
        found.append(
            Objective(
                name,
                body["promise"],
                histograms,
                body.get("total", {}),
                body.get("bad", {}),
                body.get("volume", name),
            )
        )
    return tuple(found)


def check_edges(objective: Objective, values: Values, origin: Origin, engine: str) -> None:
    """Refuse a threshold that is no edge of a histogram: its share of good requests could not be counted.

    Args:
        objective: the objective.
        values: the parameters.
        origin: whose series are read.
        engine: the engine behind the sidecar, `vllm` or `sglang`, for histograms that carry its edges.

    Raises:
        ValuesError: the threshold is no edge; the message lists the nearest ones.
    """
    for name in objective.histograms.get(origin.value, ()):
        facts = facts_of(name)
        edges = (
            ()
            if facts is None
            else next((facts.edges[source] for source in ("specwatch", engine) if source in facts.edges), ())
        )
        seconds = values.number(f"slo.{objective.name}.seconds")
        if edges and seconds not in edges:
            near = sorted(sorted(edges, key=lambda edge: abs(edge - seconds))[:4])
            raise ValuesError(
                f"slo.{objective.name}.seconds is {seconds:g}, which is no bucket edge of {name}; "
                f"near ones: {', '.join(f'{edge:g}' for edge in near)}"
            )


def event_rules(objective: Objective, values: Values, origin: Origin) -> list[tuple[str, str]]:
    """Name and expression of the recorded series of five minutes; expressions still have placeholders."""
    if origin.value in objective.total:
        total, bad = objective.total[origin.value], objective.bad[origin.value]
    else:
        histograms = objective.histograms[origin.value]
        le = le_matcher(values.number(f"slo.{objective.name}.seconds"))
        total = _either([_increase(f"{name}_count", "", origin) for name in histograms])
        good = _either([_increase(f"{name}_bucket", f"{le}, ", origin) for name in histograms])
        bad = f"clamp_min(\n  ({total})\n  - on (namespace, model)\n  ({good}),\n  0\n)"
    return [
        ("specwatch:slo_events:increase5m", total.strip()),
        ("specwatch:slo_bad_events:increase5m", bad.strip()),
    ]


def le_matcher(edge: float) -> str:
    """Matcher of a bucket edge; a whole number is written `1` or `1.0`, by version of Prometheus and exporter."""
    if edge == int(edge):
        return f'le=~"{int(edge)}(\\\\.0)?"'
    return f'le="{edge!r}"'


def burn_expression(objective: Objective, values: Values, burns: tuple[Burn, ...]) -> str:
    """Expression of a burn alert; its value is the share of bad requests in the long window."""
    budget = 1 - values.number(f"slo.{objective.name}.target")
    least, worst = values.number(f"slo.{objective.name}.min_events"), values.number(f"slo.{objective.name}.min_bad")
    match, volume = f'{{slo="{objective.name}"}}', f'{{slo="{objective.volume}"}}'
    parts = []
    for burn in burns:
        limit = f"{burn.rate * budget:.6g}"
        parts.append(
            f"(\n"
            f"  specwatch:slo_error:ratio{burn.long}{match} > {limit}\n"
            f"  and specwatch:slo_error:ratio{burn.short}{match} > {limit}\n"
            f"  and on (namespace, model) specwatch:slo_events:sum{burn.long}{volume} >= {least:g}\n"
            f"  and specwatch:slo_bad_events:sum{burn.long}{match} >= {worst:g}\n"
            f")"
        )
    return "\nor\n".join(parts)


def _increase(series: str, matchers: str, origin: Origin) -> str:
    increase = f"increase({series}{{{matchers}@{{scope}}}}[{_WINDOW}])"
    if origin is not Origin.SIDECAR:
        increase = f'label_replace({increase}, "model", "$1", "{origin.model_label}", "(.+)")'
    return f"sum by (namespace, model) ({increase})"


def _either(expressions: Sequence[str]) -> str:
    """The first of them that has a sample, for each namespace and model."""
    return "\n  or\n  ".join(expressions)
