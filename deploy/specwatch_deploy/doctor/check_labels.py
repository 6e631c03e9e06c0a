"""Labels and values that the selected series cannot have, and edges that no bucket has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Final

from specwatch_alerts.label_sets import label_set
from specwatch_alerts.lint_series import matches_empty
from specwatch_alerts.metric_facts import TARGET_LABELS
from specwatch_alerts.promql_tree import Aggregate, LabelMatcher, Selector
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.check_metrics import lost_on
from specwatch_deploy.doctor.engine import LABELS
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.grafana_query import PLACEHOLDER, has_variable
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import relabelled, revalued
from specwatch_deploy.doctor.metric_name import owner_of

_WORDS: Final = re.compile(r"[\w.+-]+(\|[\w.+-]+)*")
# What others call the reason for which a request ended.
_FINISHED: Final = frozenset({"outcome", "reason", "result", "status"})
_SHORT: Final = 3  # letters from which a beginning of a label stands for it
_ALIKE: Final = 0.72


def labels(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Labels that no source writes but that look like one that it does; others may come from relabelling."""
    for node, _ in asked.steps:
        if isinstance(node, Selector) and not lost_on(node.name, known):
            yield from _in_selector(asked, node, known)
        elif isinstance(node, Aggregate) and node.labels and not node.without:
            below = label_set(node.argument, known).possible
            for label in node.labels if below is not None else ():
                meant = _meant(label, below or ())
                if meant:
                    message = f"{node.operator} by ({label}): no series below has the label; they have {meant}"
                    yield asked.found("label-unknown", message, "", relabelled(asked.query.text, label, meant))


def _in_selector(asked: Asked, node: Selector, known: Knowledge) -> Iterator[Finding]:
    there = known.labels(node.name)
    for matcher in node.matchers:
        if there is not None and matcher.label not in there and not matches_empty(matcher):
            meant = _meant(matcher.label, there)
            if meant:
                yield _no_label(asked, node, matcher, meant)
        elif matcher.label == "le":
            yield from _edge(asked, node, matcher, known)
        else:
            yield from _value(asked, node, matcher, known)


def _no_label(asked: Asked, node: Selector, matcher: LabelMatcher, meant: str) -> Finding:
    owner = owner_of(node.name)
    who = LABELS[owner.engine] if owner is not None else "its exporter"
    return asked.found(
        "label-unknown",
        f"{node.name} has no label {matcher.label}, so nothing is selected; {who} writes {meant}",
        "only relabelling could add it",
        relabelled(asked.query.text, matcher.label, meant),
    )


def _meant(label: str, there: Iterable[str]) -> str:
    """The label that was meant, if it is plain; labels of targets are nobody's slip."""
    if label in {"", PLACEHOLDER}:
        return ""
    own = sorted(set(there) - TARGET_LABELS - {one for one in there if one.startswith("exported_")} - {"le"})
    if label in own or label in TARGET_LABELS:
        return ""
    if label in _FINISHED and "finished_reason" in own:
        return "finished_reason"
    parts = set(label.split("_"))
    inside = [one for one in own if parts <= set(one.split("_")) or set(one.split("_")) <= parts]
    if not inside and len(label) >= _SHORT:
        inside = [one for one in own if one.startswith(label)]
    near = difflib.get_close_matches(label, own, n=1, cutoff=_ALIKE)
    return (inside + near + [""])[0] if len(inside) <= 1 else ""


def _value(asked: Asked, node: Selector, matcher: LabelMatcher, known: Knowledge) -> Iterator[Finding]:
    there = known.values(node.name, matcher.label)
    if (
        there is None
        or matcher.operator not in {"=", "=~"}
        or matches_empty(matcher)
        or has_variable(matcher.value)
    ):
        return
    if matcher.operator == "=":
        strange = {matcher.value} - there
    elif _WORDS.fullmatch(matcher.value):
        named = set(matcher.value.split("|"))
        strange = named if not named & there else set()
    else:
        strange = set() if any(_fits(matcher.value, one) for one in there) else {matcher.value}
    for value in sorted(strange):
        meant = difflib.get_close_matches(value, sorted(there), n=1, cutoff=_ALIKE)
        mended = revalued(asked.query.text, matcher.label, matcher.value, meant[0]) if meant else ""
        message = f"{matcher.label} of {node.name} is never {value!r}; it is one of {', '.join(sorted(there))}"
        yield asked.found("value-unknown", message, "", mended)


def _fits(pattern: str, value: str) -> bool:
    try:
        return re.fullmatch(pattern, value) is not None
    except re.error:  # RE2 has more than Python
        return True


def _edge(asked: Asked, node: Selector, matcher: LabelMatcher, known: Knowledge) -> Iterator[Finding]:
    edges = known.edges(node.name)
    if edges is None or matcher.operator not in {"=", "=~"} or has_variable(matcher.value):
        return
    spelled = {repr(edge) for edge in edges} | {"+Inf"}
    if any(matcher.value == one or (matcher.operator == "=~" and _fits(matcher.value, one)) for one in spelled):
        return
    whole = re.fullmatch(r"\d+", matcher.value)
    if whole is not None and float(matcher.value) in edges:
        message = f'le="{matcher.value}" selects nothing: the edge is spelt {float(matcher.value)!r}'
        yield asked.found(
            "edge-misspelt",
            message,
            "prometheus_client writes it so, and so does Prometheus 3",
            asked.query.text.replace(f'le="{matcher.value}"', f'le=~"{matcher.value}(\\\\.0)?"'),
        )
        return
    try:
        value = float(matcher.value)
    except ValueError:
        return
    near = sorted(sorted(edges, key=lambda edge: abs(edge - value))[:2])
    message = f"{node.name} has no bucket with the edge {matcher.value}; near ones are {near[0]:g} and {near[-1]:g}"
    yield asked.found("edge-unknown", message, f"edges: {', '.join(f'{edge:g}' for edge in sorted(edges))}")
