"""The pieces of queries: who is selected, ratios that never are NaN, quantiles, outliers, idleness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.time_series import IDLE_NAME
from specwatch_dashboards.grafana.values import CANNOT_TELL, NO_TRAFFIC

# One model of one namespace of one cluster. `cluster` is an external label: a single Prometheus has none.
MODEL: Final = "cluster, namespace, model"
CLASS: Final = f"{MODEL}, traffic_class"
MODEL_NAME: Final = "{{model}} {{namespace}} {{cluster}}"
POD_NAME: Final = "{{pod}} {{instance}}"

NAMESPACES: Final = 'cluster=~"$cluster", namespace=~"$namespace"'
MODELS: Final = f'{NAMESPACES}, model=~"$model"'
PODS: Final = f'{MODELS}, pod=~"$pod"'
CLASSES: Final = f'{MODELS}, traffic_class=~"$class"'
NAMESPACE_PODS: Final = f'{NAMESPACES}, pod=~"$pod"'

_MOST_NUMBERS: Final = 4
_MOST_ABSENT: Final = 2
_TOKENS: Final = f"sum by ({MODEL}) (specwatch:generation_tokens:rate5m{{{MODELS}}})"
# A rate lives on for its window when the engines are gone; what is running now does not.
_THERE: Final = f"specwatch:requests_running:sum{{{MODELS}}}"
_IDLE: Final = f"((sum({_TOKENS}) == 0) and on () group({_THERE}))"


def total(series: str, by: str = MODEL, where: str = MODELS) -> str:
    """Sum of a recorded rate or gauge."""
    return f"sum by ({by}) ({series}{{{where}}})"


def largest(series: str, by: str = MODEL, where: str = MODELS) -> str:
    """Largest value of a series."""
    return f"max by ({by}) ({series}{{{where}}})"


def smallest(series: str, by: str = MODEL, where: str = MODELS) -> str:
    """Smallest value of a series."""
    return f"min by ({by}) ({series}{{{where}}})"


def ratio(above: str, below: str, joined: str = "") -> str:
    """A division that has no sample where there is nothing to divide by.

    Args:
        above: numerator.
        below: denominator.
        joined: `on (...) group_left` where the numerator has more labels.
    """
    return f"{above} / {joined + ' ' if joined else ''}({below} > 0)"


def quantile(share: float | str, bucket: str, by: str, where: str) -> str:
    """A quantile of recorded buckets; no sample without observations."""
    return f"histogram_quantile({share}, sum by ({by}, le) ({bucket}{{{where}}})) >= 0"


def idle() -> Query:
    """A line at 0 called "No traffic" while the selected engines are there and generate nothing."""
    return Query(f"0 * {_IDLE}", IDLE_NAME)


def few(expr: str, pick: str) -> str:
    """The few models that need a look first: as many numbers as a panel of numbers can show.

    Args:
        expr: one number per model.
        pick: `topk` where large is what needs a look, else `bottomk`.
    """
    return f"{pick}({_MOST_NUMBERS}, {expr})"


def told(expr: str, pick: str) -> str:
    """The same; of models without a sample a few say "No traffic", or "Cannot tell" where there is traffic."""
    there = f"and on ({MODEL}) {_THERE}"
    absent = (
        f"((({_TOKENS} == 0) {there}) + {NO_TRAFFIC}\n"
        f"or on ({MODEL}) 0 * (({_TOKENS} > 0) {there}) + {CANNOT_TELL})"
    )
    return f"{few(expr, pick)}\nor on ({MODEL}) bottomk({_MOST_ABSENT}, {absent}\nunless on ({MODEL}) ({expr}))"


def or_idle(expr: str) -> str:
    """The expression of one number; "No traffic" where it has no sample and the engines generate nothing."""
    return f"({expr})\nor on () {_IDLE} + {NO_TRAFFIC}"


def limit(value: float, expr: str) -> str:
    """A constant that is there when the expression is: a line with a name, not only a colour."""
    return f"0 * group({expr}) + {value:g}"


def coded(series: str, label: str, codes: Mapping[str, int], where: str, by: str = MODEL) -> str:
    """One number for the state that holds; of several pods the state with the largest number."""
    states = " or ".join(f'{code} * ({series}{{{label}="{state}", {where}}} == 1)' for state, code in codes.items())
    return f"max by ({by}) ({states})"


def outliers(selector: str, count: int, *, most: bool) -> str:
    """The few series that were largest (or smallest) over the time range: the same ones at every point of it."""
    pick = "topk" if most else "bottomk"
    return f"{selector}\nand {pick}({count}, avg_over_time({selector}[$__range] @ end()))"
