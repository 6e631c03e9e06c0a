"""Windows that are too short, ratios that become NaN, and what is missing taken for 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from specwatch_alerts.durations import seconds_of
from specwatch_alerts.lint_shape import COMPARISONS, can_be_nan, is_constant, never_zero
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Number, Selector, Subquery, selectors
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.grafana_query import INTERVAL, PLACEHOLDER
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import with_guard, with_window
from specwatch_deploy.doctor.query import Query, Role
from specwatch_deploy.doctor.ranges import value_range

_SCRAPES: Final = 4
_OF_CHANGES: Final = frozenset({"delta", "deriv", "idelta", "increase", "irate", "predict_linear", "rate"})
_NAN_SPREADS: Final = frozenset({"avg", "stddev", "stdvar", "sum"})
_INTERVAL_S: Final = seconds_of(INTERVAL)


def windows(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Ranges that hold fewer than four scrapes."""
    least = _SCRAPES * known.scrape_seconds
    for node, above in asked.selectors():
        inner = above[-1] if above else None
        if not isinstance(inner, Call) or inner.function not in _OF_CHANGES or node.name in known.recorded:
            continue
        if abs(node.seconds - _INTERVAL_S) < 1e-6:
            message = f"{inner.function} over $__interval is empty when zoomed in: it gets shorter than the scrapes"
            mended = with_window(asked.query.text, node.name, "$__rate_interval")
            yield asked.found("window-short", message, "", mended)
        elif 0 < node.seconds < least:
            scrape = f"{known.scrape_seconds:g} s"
            message = f"{inner.function} over {node.seconds:g} s holds fewer than four scrapes, {scrape} apart"
            mended = with_window(asked.query.text, node.name, _spelt(least))
            yield asked.found("window-short", message, "one lost scrape leaves nothing to compute", mended)


def _spelt(seconds: float) -> str:
    return f"{seconds / 60:g}m" if seconds % 60 == 0 else f"{seconds:g}s"


def ratios(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Divisors that can be 0."""
    if asked.query.role is Role.VARIABLE:
        return
    for node, above in asked.steps:
        if not isinstance(node, Binary) or node.operator not in {"/", "%"}:
            continue
        if not _sure(node.right, known) and not _guarded(node.right, above):
            yield _ratio(asked, above)
            return


def _guarded(divisor: Node, above: Sequence[Node]) -> bool:
    """Whether the other side of an `and` holds only where the divisor is over 0."""
    sides = [
        side for one in above if isinstance(one, Binary) and one.operator == "and" for side in (one.left, one.right)
    ]
    return any(isinstance(side, Binary) and side.left == divisor and never_zero(side) for side in sides)


def _sure(node: Node, known: Knowledge) -> bool:
    free = isinstance(node, Call) and node.function in {"scalar", "time"}
    if all(one.name == PLACEHOLDER for one in selectors(node)) and not isinstance(node, Number | Call):
        return True  # a variable of Grafana's: the length of the range
    return free or never_zero(node) or value_range(node, known)[0] > 0


def _ratio(asked: Asked, above: Sequence[Node]) -> Finding:
    spreads = next((one for one in above if isinstance(one, Aggregate) and one.operator in _NAN_SPREADS), None)
    if spreads is not None:
        message = f"one idle series makes {spreads.operator} NaN for all: the divisor inside it can be 0"
        severity = None
    elif asked.query.role in {Role.RECORDING, Role.SCALER, Role.ADAPTER}:
        message, severity = "the divisor is 0 when nothing runs, and the result NaN", None
    else:
        message, severity = "the divisor is 0 when nothing runs: the result is NaN, not a value", Severity.INFO
    return asked.found("ratio-unguarded", message, "", with_guard(asked.query.text), severity)


def nan(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Comparisons that NaN makes true."""
    del known
    for node, above in asked.steps:
        if not isinstance(node, Binary) or node.operator not in COMPARISONS or not can_be_nan(node.left):
            continue
        again = any(isinstance(one, Binary) and one.operator in COMPARISONS for one in above)
        if node.operator == "!=" and not node.as_bool:
            message = "NaN is not equal to anything, so this is true when nothing runs"
        elif node.as_bool and again:
            message = "a bool comparison with NaN is 0, and that 0 is compared again: true when nothing runs"
        else:
            continue
        yield asked.found("nan-is-true", message, "0/0 of an idle engine is NaN")


def absent_zero(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """A number put in for what is missing."""
    del known
    for node, above in asked.steps:
        if not isinstance(node, Binary) or node.operator != "or" or not is_constant(node.right):
            continue
        if any(isinstance(one, Binary) and one.operator in {"+", "-"} for one in above):
            continue  # an optional part of a sum
        message, severity = _missing(node, above, asked.query)
        yield asked.found("absent-as-zero", message, severity=severity)


def _missing(node: Binary, above: Sequence[Node], query: Query) -> tuple[str, Severity | None]:
    value = _constant(node.right)
    compared = next(
        (one for one in reversed(above) if isinstance(one, Binary) and one.operator in COMPARISONS), None
    )
    if query.role is Role.ALERT and compared is not None and _holds(value, compared):
        return f"a target that is gone reads as {value:g}, and {value:g} fires this alert", None
    if query.role is Role.SCALER:
        return f"a Prometheus without series reads as a demand of {value:g}: replicas are taken away", None
    return f"a target that is gone reads as {value:g}, as if it were well", Severity.INFO


def _constant(node: Node) -> float:
    inner = node.arguments[0] if isinstance(node, Call) else node
    return inner.value if isinstance(inner, Number) else 0.0


def _holds(value: float, comparison: Binary) -> bool:
    """Whether a constant passes a comparison with a number."""
    limit = comparison.right
    if not isinstance(limit, Number):
        return False
    return {
        ">": value > limit.value,
        ">=": value >= limit.value,
        "<": value < limit.value,
        "<=": value <= limit.value,
        "==": value == limit.value,
        "!=": value != limit.value,
    }[comparison.operator]


def waits(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Alerts without `for`, over what a single scrape can make true."""
    if asked.query.role is not Role.ALERT or asked.query.wait_s is not None:
        return
    if any(asked.selectors()) and not _smooth(asked, known):
        yield asked.found("alert-without-for", "there is no `for`: a single bad scrape or evaluation fires")


def _smooth(asked: Asked, known: Knowledge) -> bool:
    """Whether the expression itself looks back far enough, or at events that do not come back."""
    least = _SCRAPES * known.scrape_seconds
    spans = [node.seconds for node, _ in asked.steps if isinstance(node, Selector | Subquery) and node.seconds]
    plain = [node for node, above in asked.selectors() if not node.seconds and not _within_subquery(above)]
    return bool(spans) and not plain and min(spans) >= max(least, 120)


def _within_subquery(above: Sequence[Node]) -> bool:
    return any(isinstance(one, Subquery) for one in above)
