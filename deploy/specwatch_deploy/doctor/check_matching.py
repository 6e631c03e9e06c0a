"""Two sides of an operation whose labels never agree, and ratios of a series with itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from specwatch_alerts.label_sets import LabelSet, is_scalar, keeps, label_set
from specwatch_alerts.lint_shape import COMPARISONS
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Selector, selectors, walk
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.check_metrics import lost_on
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.grafana_query import PLACEHOLDER, has_variable
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import with_matching, with_sum

_MATCHES: Final = frozenset({"+", "-", "*", "/", "%", "^", "and", "unless"}) | COMPARISONS
_FOR_ENGINES: Final = frozenset({"le", "instance", "job"})
_OTHER_TIME: Final = re.compile(r"\boffset\b|@")
_EMPTY: Final = {
    "and": "the result is empty, always",
    "unless": "nothing is ever taken away",
}


def sides(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Operations between series, one to one, that have nothing to match."""
    paired = [node for node, _ in asked.steps if isinstance(node, Binary) and _is_paired(node)]
    if not paired or any(lost_on(node.name, known) for node, _ in asked.selectors()):
        return  # a name that is gone is told; what it should be has labels of its own
    known = replace(known, engines_only=True)
    for node in paired:
        finding = _itself(asked, node, known) if node.operator == "/" else None
        finding = finding or _apart(asked, node, known)
        if finding is not None:
            yield finding
            return


def _is_paired(node: Binary) -> bool:
    """Whether Prometheus pairs series of both sides that agree in all labels."""
    if node.matched or node.operator not in _MATCHES or is_scalar(node.left) or is_scalar(node.right):
        return False
    return not _with_variable(node)


def _with_variable(node: Node) -> bool:
    """Whether a label or a name comes from one of Grafana's variables."""
    if isinstance(node, Aggregate) and PLACEHOLDER in (node.labels or ()):
        return True
    if isinstance(node, Selector):
        return PLACEHOLDER in node.name
    if isinstance(node, Binary):
        return _with_variable(node.left) or _with_variable(node.right)
    if isinstance(node, Call):
        return any(_with_variable(one) for one in node.arguments)
    return isinstance(node, Aggregate) and _with_variable(node.argument)


def _apart(asked: Asked, node: Binary, known: Knowledge) -> Finding | None:
    """A finding if one side always has a label that the other never has."""
    left, right = label_set(node.left, known), label_set(node.right, known)
    more_left = left.certain - right.possible if right.possible is not None else frozenset()
    more_right = right.certain - left.possible if left.possible is not None else frozenset()
    if not more_left and not more_right:
        return _of_two_values(asked, node)
    said = " and ".join(
        f"the {side} side has {', '.join(sorted(labels))}, which the {other} one has not"
        for side, labels, other in (("left", more_left, "right"), ("right", more_right, "left"))
        if labels
    )
    what = _EMPTY.get(node.operator, "no two series match, and the result is empty, always")
    mended = _matched(asked, node, left, right) if more_left and not more_right else ""
    mended = mended or _summed(asked, node, (left.certain & right.certain) - _FOR_ENGINES, known)
    evidence = "aggregate both sides by the same labels, or say with on (...) which ones must agree"
    return asked.found("sides-never-match", f"{said}: {what}", evidence, mended)


def _of_two_values(asked: Asked, node: Binary) -> Finding | None:
    """A finding if both sides keep a label, and each selects another value of it."""
    sides = [
        {
            one.label: one.value
            for selector in selectors(side)
            for one in selector.matchers
            if one.operator == "=" and one.value and not has_variable(one.value) and keeps(side, one.label)
        }
        for side in (node.left, node.right)
        if len(list(selectors(side))) == 1
    ]
    if len(sides) < len((node.left, node.right)):
        return None
    apart = sorted(label for label in sides[0].keys() & sides[1].keys() if sides[0][label] != sides[1][label])
    if not apart:
        return None
    label = apart[0]
    what = _EMPTY.get(node.operator, "no two series match, and the result is empty, always")
    message = f"{label} is {sides[0][label]!r} on the left side and {sides[1][label]!r} on the right one: {what}"
    evidence = f"add each side up without {label} first"
    added_up = not keeps(node.left, "instance") and not keeps(node.right, "instance")
    mended = with_matching(asked.query.text, node.operator, f"ignoring ({label})") if added_up else ""
    return asked.found("sides-never-match", message, evidence, mended)


def _matched(asked: Asked, node: Binary, left: LabelSet, right: LabelSet) -> str:
    """With the labels named that must agree, where the right side has fewer; empty where that is not all."""
    least = right.possible
    if least is None or not least <= (left.possible or least):
        return ""
    whole = not any(isinstance(one, Aggregate) and not one.without for one, _ in walk(node.right))
    matching = (
        f"ignoring ({', '.join(sorted(left.certain - least))})" if whole else f"on ({', '.join(sorted(least))})"
    )
    brings = "" if node.operator in _EMPTY else " group_left"
    return with_matching(asked.query.text, node.operator, f"{matching}{brings}")


def _itself(asked: Asked, node: Binary, known: Knowledge) -> Finding | None:
    """A finding if each series of the left side is divided by the same series."""
    divisor = node.right
    if isinstance(divisor, Binary) and divisor.operator in COMPARISONS and is_scalar(divisor.right):
        divisor = divisor.left
    part, whole = list(selectors(node.left)), list(selectors(divisor))
    if len(part) != 1 or len(whole) != 1 or part[0].name != whole[0].name:
        return None
    if not set(whole[0].matchers) < set(part[0].matchers):
        return None
    if _bare(node.left) != _bare(divisor):
        return None
    extra = sorted({one.label for one in set(part[0].matchers) - set(whole[0].matchers)})
    if not all(keeps(divisor, label) for label in extra) or _OTHER_TIME.search(asked.query.text):
        return None
    message = (
        f"each series is divided by itself: the right side keeps {', '.join(extra)}, so that it matches only the "
        "series that the left side selects, and the result is 1"
    )
    shared = label_set(divisor, known).certain - set(extra) - _FOR_ENGINES
    return asked.found("ratio-with-itself", message, "", _summed(asked, node, shared, known))


def _bare(node: Node) -> Node:
    """The node without the matchers of its selectors."""
    if isinstance(node, Selector):
        return replace(node, matchers=())
    if isinstance(node, Aggregate):
        return replace(node, argument=_bare(node.argument))
    if isinstance(node, Call):
        return replace(node, arguments=tuple(_bare(one) for one in node.arguments))
    return node


def _summed(asked: Asked, node: Binary, shared: frozenset[str], known: Knowledge) -> str:
    """Both sides summed by what they share; empty where one is more than rates of counters."""
    if node is not asked.tree and not (isinstance(asked.tree, Binary) and asked.tree.left is node):
        return ""
    text = asked.query.text
    own = shared & frozenset.union(*(known.labels(one.name) or frozenset() for one in selectors(node)))
    for name in dict.fromkeys(one.name for one in selectors(node)):
        if not known.is_counter(name):
            return ""
        text = with_sum(text, name, sorted(own))
    return "" if any(isinstance(one, Aggregate) for one, _ in asked.steps) else text
