"""What a running Prometheus tells: selectors that match nothing, targets scraped twice, alerts over the history."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from specwatch_alerts.lint_series import matches_empty
from specwatch_alerts.lint_shape import COMPARISONS
from specwatch_alerts.promql_tree import Binary, Call, LabelMatcher, Number, Selector
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.grafana_query import has_variable
from specwatch_deploy.doctor.inputs import Prometheus, PrometheusError, Sample
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.query import Role

LOOKBACK: Final = "1h"
DAYS: Final = 7.0
_MOST: Final = 0.99
_FAR: Final = 10.0
_AT_A_TIME: Final = 50
_LEAST_POINTS: Final = 60
# What tells one series of a pod from another; whatever the scrape adds is left out.
_OWN: Final = "namespace, pod, model_name, engine, tp_rank, dp_rank, pid, server, reason, position, finished_reason"


def present_names(asked: Sequence[Asked], prometheus: Prometheus) -> frozenset[str]:
    """Names of the series that the queries read and that there were in the last hour.

    Raises:
        PrometheusError: there is no answer.
    """
    names = sorted(
        {node.name for one in asked for node, _ in one.selectors() if node.name.replace(":", "_").isidentifier()}
    )
    found: set[str] = set()
    for start in range(0, len(names), _AT_A_TIME):
        pattern = "|".join(names[start : start + _AT_A_TIME])
        query = f'count by (__name__) (last_over_time({{__name__=~"{pattern}"}}[{LOOKBACK}]))'
        found |= {labels["__name__"] for labels, _ in prometheus.instant(query) if "__name__" in labels}
    return frozenset(found)


def live_checks(asked: Sequence[Asked], known: Knowledge, prometheus: Prometheus) -> Iterator[Finding]:
    """All that needs a Prometheus; each selector is asked for once.

    Raises:
        PrometheusError: it stops answering.
    """
    answers: dict[str, list[Sample]] = {}

    def instant(query: str) -> list[Sample]:
        if query not in answers:
            answers[query] = prometheus.instant(query)
        return answers[query]

    for one in asked:
        yield from _empty(one, known, instant)
        yield from _twice(one, known, instant)
        if one.query.role is Role.ALERT:
            yield from _history(one, known, prometheus)


def _empty(asked: Asked, known: Knowledge, instant: Callable[[str], list[Sample]]) -> Iterator[Finding]:
    for node, _ in asked.selectors():
        fixed = tuple(one for one in node.matchers if not has_variable(one.value) and not matches_empty(one))
        if node.name not in known.present or not fixed:
            continue
        if instant(f"count(last_over_time({_text(node.name, fixed)}[{LOOKBACK}]))"):
            continue
        guilty = next((one for one in fixed if not instant(_counted(node.name, one))), fixed[0])
        seen = instant(f"count by ({guilty.label}) (last_over_time({node.name}[{LOOKBACK}]))")
        values = sorted(labels[guilty.label] for labels, _ in seen if labels.get(guilty.label))
        there = (
            f"its values: {', '.join(values[:5])}" if values else f"no series of it has the label {guilty.label}"
        )
        message = f"{_text(node.name, fixed)} matches nothing of the last hour; {node.name} is there"
        yield asked.found("selector-empty", message, f"Prometheus: {guilty.label} is the reason; {there}")


def _counted(name: str, matcher: LabelMatcher) -> str:
    return f"count(last_over_time({_text(name, (matcher,))}[{LOOKBACK}]))"


def _text(name: str, matchers: Sequence[LabelMatcher]) -> str:
    return f"{name}{{{', '.join(f'{one.label}{one.operator}{json.dumps(one.value)}' for one in matchers)}}}"


def _twice(asked: Asked, known: Knowledge, instant: Callable[[str], list[Sample]]) -> Iterator[Finding]:
    """One pod's series under two jobs: a DaemonSet's agent and a PodMonitor, or two monitors."""
    for name in dict.fromkeys(node.name for node, _ in asked.selectors()):
        if (
            name not in known.present
            or not name.startswith(("vllm:", "sglang:", "trtllm_"))
            or name.endswith("_bucket")
        ):
            continue
        query = f'count by ({_OWN}) (count by ({_OWN}, job, endpoint) ({name}{{pod!=""}})) > 1'
        double = instant(query)
        if double and _sums(asked):
            pod = double[0][0].get("pod", "")
            jobs = sorted(
                {labels.get("job", "") for labels, _ in instant(f'count by (job) ({name}{{pod="{pod}"}})')}
            )
            message = f"{name} of pod {pod} is scraped {double[0][1]:g} times: sums count it as often"
            yield asked.found("counted-twice", message, f"Prometheus: it is there under the jobs {', '.join(jobs)}")


def _sums(asked: Asked) -> bool:
    return any(getattr(node, "operator", "") in {"sum", "count"} for node, _ in asked.steps)


def _history(asked: Asked, known: Knowledge, prometheus: Prometheus) -> Iterator[Finding]:
    """Alerts that fired all the time, or whose values stay far away from the threshold."""
    read = [node for node, _ in asked.selectors() if node.name]
    if any(isinstance(node, Call) and node.function.startswith("absent") for node, _ in asked.steps):
        return
    lost = sorted({node.name for node in read if node.name not in known.present})
    fired = prometheus.range(f"count({asked.query.text})", DAYS)
    points = fired[0][1] if fired else []
    if not points and lost and len(lost) == len({node.name for node in read}):
        message = "none of the series that it reads is in Prometheus, so it never fires"
        yield asked.found("alert-never-fires", message, f"no sample of {', '.join(lost[:3])} in the last hour")
        return
    there = prometheus.range(f"count({' or '.join(_any_of(node) for node in read[:1])})", DAYS) if read else []
    known_points = len(there[0][1]) if there else 0
    if known_points >= _LEAST_POINTS and len(points) >= _MOST * known_points:
        share = f"{100 * len(points) / known_points:.0f} % of the evaluations of the last {DAYS:g} days"
        yield asked.found("alert-always-fires", "it holds all the time", f"Prometheus: in {share}")
    elif not points and known_points >= _LEAST_POINTS:
        yield from _far_away(asked, prometheus)


def _any_of(node: Selector) -> str:
    return node.name


def _far_away(asked: Asked, prometheus: Prometheus) -> Iterator[Finding]:
    tree = asked.tree
    if not isinstance(tree, Binary) or tree.operator not in COMPARISONS or not isinstance(tree.right, Number):
        return
    left, _, _ = asked.query.text.rpartition(tree.operator)
    values = [value for _, points in _asked_left(left, prometheus) for _, value in points]
    limit = tree.right.value
    if not values or limit <= 0:
        return
    least, most = min(values), max(values)
    far = (tree.operator in {">", ">="} and most * _FAR < limit) or (
        tree.operator in {"<", "<="} and least > limit * _FAR
    )
    if far and math.isfinite(most):
        message = f"in {DAYS:g} days the values were from {least:.4g} to {most:.4g}, ten times away from {limit:g}"
        yield asked.found("alert-out-of-reach", message, "Prometheus: the left side of the comparison")


def _asked_left(left: str, prometheus: Prometheus) -> list[tuple[Mapping[str, str], list[tuple[float, float]]]]:
    try:
        return prometheus.range(left, DAYS)
    except PrometheusError:  # the text before the operator is no expression of its own
        return []
