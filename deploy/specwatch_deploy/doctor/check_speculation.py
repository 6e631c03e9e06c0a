"""What speculation changes in the meaning of a figure: latency per step, and acceptance by several definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from specwatch_alerts.promql_tree import Binary, Node, Number, selectors
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.engine import LABELS
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import renamed
from specwatch_deploy.doctor.metric_name import Owner, owner_of
from specwatch_exporters.engine_metrics.metric_table import PARTS, EngineMetric

_PER_TOKEN: Final = re.compile(r"\btpot\b|per[- ](output[- ])?token|tokens?(/s\b| per second)", re.IGNORECASE)
_OF_REQUESTS: Final = "request_time_per_output_token_seconds"
_ACCEPTANCE: Final = re.compile(r"spec_(decode_.*accept|accept_)")


def per_step(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Latency between outputs of vLLM, which is one sample per step, called time per token."""
    for name in dict.fromkeys(node.name for node, _ in asked.selectors()):
        owner = owner_of(name)
        row = _each_step(owner, known) if owner is not None else None
        if owner is None or row is None:
            continue
        speculating = {engine.speculating for engine in known.of("vllm")}
        if speculating == {False} or not (_PER_TOKEN.search(asked.query.title) or _inverted(asked, name)):
            continue
        message = f"{name} has one sample per step, of several tokens under speculation; this calls it per token"
        severity = None if True in speculating else Severity.INFO
        yield asked.found("step-as-token", message, "", _per_request(asked.query.text, owner, row.name), severity)
        return


def _each_step(owner: Owner, known: Knowledge) -> EngineMetric | None:
    """The row of a histogram of vLLM's with a sample per step, of latency."""
    table = known.of(owner.engine)[0].table
    rows = table.rows.get(table.base(owner.name), ()) if owner.engine == "vllm" else ()
    return next((row for row in rows if row.each == "step" and row.name.endswith("_seconds")), None)


def _per_request(text: str, owner: Owner, base: str) -> str:
    """The query with the histogram of requests, all parts of it."""
    own = f"{owner.prefix}{base.partition(':')[2]}"
    for part in PARTS:
        text = renamed(text, f"{own}{part}", f"{owner.prefix}{_OF_REQUESTS}{part}")
    return text


def _inverted(asked: Asked, name: str) -> bool:
    """Whether tokens per second are made of it: 1 / latency."""
    return any(
        isinstance(node, Binary)
        and node.operator == "/"
        and isinstance(node.left, Number)
        and _reads(node.right, name)
        for node, _ in asked.steps
    )


def _reads(node: Node, name: str) -> bool:
    return any(one.name == name for one in selectors(node))


def mixed(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Acceptance of several engines in one expression: each has its own formula."""
    del known
    engines = {
        owner.engine
        for node, _ in asked.selectors()
        if (owner := owner_of(node.name)) is not None and _ACCEPTANCE.search(node.name)
    }
    if len(engines) > 1:
        named = " and ".join(sorted(LABELS[engine] for engine in engines))
        yield asked.found(
            "acceptance-mixed",
            f"this puts the acceptance of {named} under one name, and each counts it in its own way",
            "vLLM: over steps with a draft; SGLang: over all decode steps, three formulas by version; "
            "TensorRT-LLM's gauge: the last iteration",
        )
