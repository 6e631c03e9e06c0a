"""What speculation changes in the meaning of a figure: latency per step, and acceptance by several definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from specwatch_alerts.promql_tree import Binary, Node, Number, selectors
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.engine import LABELS
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import renamed, with_filter
from specwatch_deploy.doctor.metric_name import Owner, owner_of
from specwatch_deploy.doctor.query import Role
from specwatch_exporters.engine_metrics.metric_table import PARTS, EngineMetric

_PER_TOKEN: Final = re.compile(r"\btpot\b|per[- ](output[- ])?token|tokens?(/s\b| per second)", re.IGNORECASE)
_OF_REQUESTS: Final = "request_time_per_output_token_seconds"
_ACCEPTED: Final = "accepted_tokens_total"
_PER_POSITION: Final = "accepted_tokens_per_pos_total"
_DRAFT_TOKENS: Final = "draft_tokens_total"
_DRAFTS: Final = "drafts_total"
_LENGTH: Final = re.compile(r"length|tokens? per|mean|average|per (draft|step)", re.IGNORECASE)
_ACCEPTANCE_LENGTH: Final = re.compile(r"accept[a-z]*[ _:-]*(token[s]?[ _:-]*)?len(gth)?", re.IGNORECASE)
_RATE: Final = re.compile(r"accept[a-z]*[ _:-]*(rate|ratio|percent|%)", re.IGNORECASE)
_ZERO_IS_NONE: Final = frozenset({"sglang:spec_accept_length", "sglang:spec_accept_rate"})
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


def divisors(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Accepted tokens over what they are not a share of: a position over draft tokens, a rate over drafts."""
    del known
    for node, above in asked.steps:
        if not isinstance(node, Binary) or node.operator != "/":
            continue
        parts, wholes = ({one.name for one in selectors(side)} for side in (node.left, node.right))
        if len(parts) != 1 or len(wholes) != 1:
            continue
        (part,), (whole,) = parts, wholes
        if part.endswith(_PER_POSITION) and whole == part.replace(_PER_POSITION, _DRAFT_TOKENS):
            right = part.replace(_PER_POSITION, _DRAFTS)
            message = f"{part} over {whole}: a draft has each position once, so that this is k times too low"
        elif part.endswith(_ACCEPTED) and whole == part.replace(_ACCEPTED, _DRAFTS) and _is_rate(asked, above):
            right = part.replace(_ACCEPTED, _DRAFT_TOKENS)
            message = f"{part} over {whole} is accepted tokens per draft, up to k, and this calls it a rate"
        elif part.endswith(_ACCEPTED) and whole == part.replace(_ACCEPTED, _DRAFTS) and _is_length(asked, above):
            message = f"{part} over {whole} leaves out the bonus token: the mean acceptance length is 1 + this"
            mended = f"1 + {asked.query.text}" if node is asked.tree else ""
            yield asked.found("acceptance-wrong-divisor", message, "", mended)
            continue
        else:
            continue
        mended = renamed(asked.query.text, whole, right)
        yield asked.found("acceptance-wrong-divisor", message, "", mended)


def _is_length(asked: Asked, above: Sequence[Node]) -> bool:
    """Whether accepted tokens per draft are called the acceptance length, which counts the bonus token."""
    if any(isinstance(one, Binary) and one.operator in {"+", "/", "*"} for one in above):
        return False
    return _ACCEPTANCE_LENGTH.search(f"{asked.query.title} {asked.query.name}") is not None


def _is_rate(asked: Asked, above: Sequence[Node]) -> bool:
    """Whether accepted tokens per draft are called a rate: by the title, the record, or the unit."""
    if any(isinstance(one, Binary) and one.operator in {"+", "/", "*"} for one in above):
        return False  # 1 + it is the length; over k it is the rate
    words = f"{asked.query.title} {asked.query.name}"
    if _LENGTH.search(words):
        return False
    return asked.query.unit in {"percent", "percentunit"} or _RATE.search(words) is not None


def zeros(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Alerts on little acceptance that take the 0 of an engine without speculation for it."""
    del known
    if asked.query.role is not Role.ALERT:
        return
    above_zero = {
        one.name
        for node, _ in asked.steps
        if isinstance(node, Binary) and node.operator in {">", ">=", "!="} and not node.as_bool
        for one in selectors(node.left)
    }
    for node, _ in asked.steps:
        if not isinstance(node, Binary) or node.operator not in {"<", "<="} or not isinstance(node.right, Number):
            continue
        names = {one.name for one in selectors(node.left)} & _ZERO_IS_NONE - above_zero
        if names and node.right.value > 0:
            name = min(names)
            message = f"{name} is 0 while SGLang runs without speculation, and 0 fires this alert"
            mended = "" if any(one.seconds for one in selectors(node)) else with_filter(asked.query.text, name)
            yield asked.found("zero-means-none", message, "also before the first decode step of a process", mended)
            return


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
