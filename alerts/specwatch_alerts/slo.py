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
        broken: what befell a bad request, after "requests ..."; with placeholders.
        histograms: by origin, the histograms that it is read from, the best first; empty for counted ones.
        total: by origin, an expression for the requests that count in five minutes.
        bad: by origin, an expression for the bad ones among them.
        tokens: histograms whose events are tokens; `tokens_per_request` of them weigh like one request.
    """

    name: str
    broken: str
    histograms: Mapping[str, tuple[str, ...]]
    total: Mapping[str, str]
    bad: Mapping[str, str]
    tokens: frozenset[str]

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
                body["broken"],
                histograms,
                body.get("total", {}),
                body.get("bad", {}),
                frozenset(body.get("tokens", ())),
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
        weights = [_weight(objective, name) for name in histograms]
        counts = [_increase(f"{name}_count", "", origin) for name in histograms]
        goods = [_increase(f"{name}_bucket", f"{le}, ", origin) for name in histograms]
        some = [f"({one} > 0){weight}" for one, weight in zip(counts, weights, strict=True)]
        bads = [f"(({one} > 0) - {good}){weight}" for one, good, weight in zip(counts, goods, weights, strict=True)]
        total = _sum_of_places(some, counts)
        bad = f"clamp_min({_sum_of_places(bads, counts)}, 0)"
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
    match = f'{{slo="{objective.name}"}}'
    parts = []
    for burn in burns:
        limit = f"{burn.rate * budget:.6g}"
        parts.append(
            f"(\n"
            f"  specwatch:slo_error:ratio{burn.long}{match} > {limit}\n"
            f"  and specwatch:slo_error:ratio{burn.short}{match} > {limit}\n"
            f"  and specwatch:slo_events:sum{burn.long}{match} >= {least:g}\n"
            f"  and specwatch:slo_bad_events:sum{burn.long}{match} >= {worst:g}\n"
            f")"
        )
    return "\nor\n".join(parts)


def _increase(series: str, matchers: str, origin: Origin) -> str:
    """Events of five minutes by namespace, model and place: the pod, or the instance's host where there is none."""
    increase = f"increase({series}{{{matchers}@{{scope}}}}[{_WINDOW}])"
    if origin is not Origin.SIDECAR:
        increase = f'label_replace({increase}, "model", "$1", "{origin.model_label}", "(.+)")'
    return f"sum by (namespace, model, place) ({_placed(increase)})"


def _placed(vector: str) -> str:
    """The vector with a label `place`, which is the same for all processes of a pod."""
    host = f'label_replace({vector}, "place", "$1", "instance", "(.+?)(:[0-9]+)?")'
    return f'label_replace({host}, "place", "$1", "pod", "(.+)")'


def _weight(objective: Objective, histogram: str) -> str:
    return f" / @{{slo.{objective.name}.tokens_per_request}}" if histogram in objective.tokens else ""


def _sum_of_places(events: Sequence[str], counts: Sequence[str]) -> str:
    """Sum over places of the first that has events there, and 0 for a place where none has."""
    rows = [*events, *(f"0 * {one}" for one in counts)]
    return "sum by (namespace, model) (\n  " + "\n  or\n  ".join(rows) + "\n)"
