"""Gauges under rate, counters without it, starting times that are summed, ratios that are summed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from specwatch_alerts.lint_series import FOR_COUNTERS, RATES, only_presence
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Selector, Subquery, selectors, walk
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.check_metrics import lost_on
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import renamed, with_function, with_max, with_rate, without_rate
from specwatch_deploy.doctor.metric_name import CREATED
from specwatch_deploy.doctor.query import Role

_ADDS: Final = frozenset({"avg", "stddev", "stdvar", "sum"})
_PER_ENGINE: Final = frozenset({"engine", "exported_pod", "instance", "pod"})
# Names of counters of which one pattern selects several: their `_created` come along.
_SELECTS_CREATED: Final = ("vllm:spec_decode_num_drafts_created", "vllm:generation_tokens_created")
_TIMES: Final = frozenset({"", "ms", "s"})
_TIME_WORDS: Final = re.compile(r"\b(time|latency|wait|duration)\b", re.IGNORECASE)
# Functions of gauges, with the one that reads counters instead; empty where that depends on what was meant.
_FOR_GAUGES: Final = {
    "avg_over_time": "",
    "delta": "increase",
    "deriv": "rate",
    "idelta": "irate",
    "quantile_over_time": "",
    "sum_over_time": "",
}
_WHAT_COMES: Final = {
    True: "where a process restarts the result is far below 0",
    False: "the result is of everything since each process started",
}
_NAME: Final = re.compile(r"[A-Za-z_:][\w:]*")
_MEANS: Final = ("spec_accept_length", "spec_decode_acceptance_length")
"""Gauges of accepted tokens a step, bonus token included."""


def kinds(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """A rate of a gauge, or a counter's own value taken for a figure."""
    bare: dict[str, tuple[Node, ...]] = {}
    for node, above in asked.selectors():
        if node.name.endswith(CREATED):
            continue
        functions = [one.function for one in above if isinstance(one, Call)]
        counter = known.is_counter(node.name)
        if counter is False and functions and functions[-1] in RATES and _right_below(node, above):
            message = f"{functions[-1]}() of {node.name}, which is a gauge: every drop is read as a restart"
            yield asked.found("gauge-under-rate", message, "", without_rate(asked.query.text, node.name))
        if counter and functions and functions[-1] in _FOR_GAUGES and _right_below(node, above):
            yield _for_gauges(asked, node, functions[-1])
        elif counter and asked.query.role is not Role.VARIABLE and _needs_rate(node, above, functions):
            bare.setdefault(node.name, above)
    mended = asked.query.text
    for name in bare:
        mended = with_rate(mended, name, "5m")
    for name, above in bare.items():
        yield _bare(asked, name, above, mended)


def _for_gauges(asked: Asked, node: Selector, function: str) -> Finding:
    right = _FOR_GAUGES[function]
    message = f"{function}() is for gauges, and {node.name} is a counter: {_WHAT_COMES[bool(right)]}"
    mended = with_function(asked.query.text, node.name, function, right or "rate") if right else ""
    return asked.found("counter-without-rate", message, "", mended)


def rates_of_sums(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """A rate over what was added up before: where one series begins anew, the sum falls."""
    for node, _ in asked.steps:
        if not isinstance(node, Call) or node.function not in RATES or not isinstance(node.arguments[0], Subquery):
            continue
        for inner, above in walk(node.arguments[0]):
            added = any(isinstance(one, Aggregate) and one.operator in _ADDS for one in above)
            rated = any(isinstance(one, Call) for one in above)
            if (
                isinstance(inner, Selector)
                and added
                and not rated
                and not inner.seconds
                and known.is_counter(inner.name)
            ):
                message = f"{node.function}() over a sum of {inner.name}: a pod that restarts makes the sum fall"
                evidence = "the fall is read as a restart of the whole sum, which adds all of it again"
                yield asked.found("rate-of-sum", message, evidence)
                return


def _right_below(node: Selector, above: Sequence[Node]) -> bool:
    return bool(node.seconds) and isinstance(above[-1], Call)


def _needs_rate(node: Selector, above: tuple[Node, ...], functions: Sequence[str]) -> bool:
    if FOR_COUNTERS.intersection(functions) or node.seconds or only_presence(node, above):
        return False
    return not any(_is_difference(one, node.name) for one in above)


def _is_difference(node: Node, name: str) -> bool:
    """Whether it takes a series from itself: an increase by hand."""
    if not isinstance(node, Binary) or node.operator != "-":
        return False
    return all(any(one.name == name for one in selectors(side)) for side in (node.left, node.right))


def _bare(asked: Asked, name: str, above: Sequence[Node], mended: str) -> Finding:
    in_ratio = any(isinstance(one, Binary) and one.operator == "/" for one in above)
    whole_life = "a mean since the start of each process" if in_ratio else "everything since its process started"
    shown_only = asked.query.role in {Role.PANEL, Role.GIVEN} and not in_ratio
    return asked.found(
        "counter-without-rate",
        f"{name} is a counter without rate or increase: this is {whole_life}",
        "",
        mended,
        Severity.INFO if shown_only else None,
    )


def sums_alone(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Panels that call the rate of `_sum` a time: it is how many were in it at once."""
    del known
    if asked.query.role is not Role.PANEL or asked.query.unit not in _TIMES:
        return
    if not asked.query.unit and not _TIME_WORDS.search(asked.query.title):
        return
    for node, above in asked.selectors():
        rated = any(isinstance(one, Call) and one.function in RATES for one in above)
        divided = any(isinstance(one, Binary) and one.operator in {"/", "*"} for one in above)
        if node.name.endswith("_seconds_sum") and rated and not divided:
            base = node.name.removesuffix("_sum")
            message = (
                f"the rate of {node.name} is seconds per second: how many requests were in it at once, not how long"
            )
            yield asked.found("sum-without-count", message, "", _mean(asked, node, base))


def _mean(asked: Asked, node: Selector, base: str) -> str:
    count = renamed(asked.query.text, node.name, f"{base}_count")
    return f"{asked.query.text} / ({count} > 0)"


def created(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Starting times of counters, added up or under rate as if they were counts."""
    del known
    for node, above in asked.selectors():
        adds = any(isinstance(one, Aggregate) and one.operator in _ADDS and not _by_name(one) for one in above)
        rated = any(isinstance(one, Call) and one.function in RATES for one in above)
        if (node.name.endswith(CREATED) and (adds or rated)) or (adds and _selects_created(node)):
            message = f"{node.name} selects `_created`, the time at which a counter began, and adds it up"
            yield asked.found("created-summed", message, "a single vLLM process exports one for every counter")


def _by_name(node: Aggregate) -> bool:
    return node.labels is not None and ("__name__" in node.labels) != node.without


def _selects_created(node: Selector) -> bool:
    if _NAME.fullmatch(node.name) or not node.name:
        return False
    try:
        return any(re.fullmatch(node.name, one) for one in _SELECTS_CREATED)
    except re.error:
        return False


def ratios_summed(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """`sum` over gauges from 0 to 1, and over means, of several engines."""
    if asked.query.divided:
        return  # "shares' worth of full engines", which is what a scaler divides
    for node, above in asked.steps:
        if not isinstance(node, Aggregate) or node.operator != "sum" or not isinstance(node.argument, Selector):
            continue
        name = node.argument.name
        mean = name.endswith(_MEANS)
        if not (mean or known.limits(name) in {(0, 1), (-1, 1)}) or _per_engine(node) or _is_share(node, above):
            continue
        each = "is a mean of each engine: the sum of n engines is n times as much"
        share = "is from 0 to 1 for each engine: with n engines the sum goes up to n"
        message = f"{name} {each if mean else share}"
        yield asked.found("ratio-summed", message, "", _renamed(with_max(asked.query.text, name), name, known))


def _renamed(text: str, name: str, known: Knowledge) -> str:
    """The text with the name that a metric has now, if that is another."""
    now = next((why.name for _, why in lost_on(name, known) if why.name), name)
    return renamed(text, name, now)


def _per_engine(node: Aggregate) -> bool:
    labels = set(node.labels or ())
    return bool(labels & _PER_ENGINE) if not node.without else not labels & _PER_ENGINE and bool(labels)


def _is_share(node: Node, above: Sequence[Node]) -> bool:
    """Whether it is divided by a count or weighted: a mean by hand."""
    del node
    return any(isinstance(one, Binary) and one.operator in {"/", "*"} and _counts(one) for one in above)


def _counts(node: Binary) -> bool:
    return any(isinstance(one, Aggregate) and one.operator in {"count", "sum"} for one, _ in walk(node.right))
