"""Running requests are never more than the engine runs at once: a target from there on adds no replica.

Sources: vLLM `--max-num-seqs`, SGLang `--max-running-requests`, llama.cpp's server `--parallel` (1 for long; newer
versions choose it themselves).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from specwatch_alerts.promql_tree import Aggregate
from specwatch_deploy.doctor.finding import Finding, Severity, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_signals import triggers
from specwatch_deploy.doctor.scaler_target import text_of, workload_of
from specwatch_deploy.doctor.scaler_trigger import Trigger
from specwatch_deploy.scale.hpa_metric import DEFAULT_TOLERANCE, TargetType


@dataclass(frozen=True, slots=True)
class Slots:
    """What bounds a gauge of running requests.

    Attributes:
        flag: argument that sets it, without the dashes.
        short: its short form; empty if there is none.
        usual: what it is without the argument; 0 where that depends on the GPU.
    """

    flag: str
    short: str = ""
    usual: int = 0


_BOUNDS: Final[Mapping[str, Slots]] = {
    "num_requests_running": Slots("max-num-seqs"),
    "num_running_reqs": Slots("max-running-requests"),
    "requests_processing": Slots("parallel", "np", 1),
}
_WORD: Final = re.compile(r"\w+")


def slots(inputs: Inputs) -> Iterator[Finding]:
    """Targets of running requests that the engine's own limit keeps out of reach."""
    for trigger in triggers(inputs):
        name, bound = _bound(trigger)
        if bound is None or not trigger.threshold or not _per_pod(trigger):
            continue
        workload = workload_of(trigger.document, inputs)
        told = None if workload is None else _told(bound, text_of(workload))
        most = told or bound.usual
        if most and most <= trigger.threshold * (1.0 + DEFAULT_TOLERANCE):
            least = "" if told else f", which is {bound.usual} where nobody sets it (newer versions choose)"
            yield found(
                "scaler-threshold-unreachable",
                trigger.target_place,
                f"{name} is at most --{bound.flag} of each replica{least}: {most:g} never exceeds "
                f"{trigger.threshold:g} by a tenth, and no replica is added",
                evidence=""
                if workload is None or not told
                else f"--{bound.flag} {told} in {workload.place('spec')}",
                severity=Severity.ERROR if told else Severity.WARNING,
            )


def _bound(trigger: Trigger) -> tuple[str, Slots | None]:
    text = trigger.query or str(trigger.document.at(*trigger.path, "metric", "name") or "")
    for name, bound in _BOUNDS.items():
        words = [word for word in _WORD.findall(text) if word.endswith(name)]
        if words:
            return name, bound
    return "", None


def _per_pod(trigger: Trigger) -> bool:
    """Whether the value that is compared is of one replica: a mean, or a sum that is divided by the replicas."""
    tree = trigger.tree
    if tree is None:
        return not trigger.query
    if not isinstance(tree, Aggregate) or len(trigger.series) != 1:
        return False
    return tree.operator in {"avg", "max"} or (tree.operator == "sum" and trigger.kind is TargetType.AVERAGE_VALUE)


def _told(bound: Slots, text: str) -> int | None:
    """The number behind the argument in a workload's text."""
    forms = "|".join(f"-{{1,2}}{re.escape(one)}" for one in (bound.flag, bound.short) if one)
    match = re.search(rf'(?<![\w-])(?:{forms})(?:[= ]|",\s*")(\d+)', text)
    return int(match[1]) if match is not None else None
