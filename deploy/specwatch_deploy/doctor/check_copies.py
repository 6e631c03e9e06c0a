"""Sums that count the same thing twice: ranks and processes of one engine, and a router's copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from specwatch_alerts.promql_tree import Aggregate, Node, Selector
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.engine import Engine
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import with_matcher
from specwatch_deploy.doctor.metric_name import Owner, owner_of
from specwatch_exporters.metric import Kind

_PROCESS: Final = "pid"
_COPIES: Final = ("tp_rank", "pp_rank", "moe_ep_rank", _PROCESS)
"""Labels by which the series of one gauge are copies of each other, not parts of a sum."""
_FROM_A_TARGET: Final = frozenset({"container", "endpoint", "exported_job", "instance", "job", "pod", "service"})
SERVER: Final = "server"
"""The label that the vLLM router gives to its copies of its engines' gauges."""
_ADDS: Final = frozenset({"count", "sum"})


def copies(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Sums over what the pages show several times."""
    for node, above in asked.selectors():
        owner = owner_of(node.name)
        added = _added(above)
        if owner is not None and added is not None and not node.seconds:
            yield from _ranks(asked, node, above, owner, known)
            yield from _routers(asked, node, owner, known)
        elif owner is not None and not node.seconds:
            yield from _means(asked, node, above, owner, known)


def _means(
    asked: Asked, node: Selector, above: Sequence[Node], owner: Owner, known: Knowledge
) -> Iterator[Finding]:
    """Means over the processes of an API server, of which one has the value and the others what they began with."""
    inner = next((one for one in reversed(above) if isinstance(one, Aggregate)), None)
    named = any(one.label == _PROCESS for one in node.matchers)
    if inner is None or inner.operator != "avg" or named or _PROCESS in (inner.labels or ()):
        return
    rows = known.rows(owner)
    for engine in known.of(owner.engine) if rows and rows[-1].kind is Kind.GAUGE else ():
        seen = _seen(engine, node.name, _PROCESS)
        if len(seen) > 1:
            message = (
                f"{len(seen)} processes report {node.name}, and those that do not know it stand at 0: the mean "
            )
            message += "is too low; take max by (engine) first"
            yield asked.found("counted-twice", message, f'{engine.source} has pid="{seen[0]}" and "{seen[1]}"')
            return


def _seen(engine: Engine, name: str, label: str) -> list[str]:
    """Values of a label on an engine's page, sorted."""
    shown = (engine.page or {}).get(name)
    return sorted(shown.values.get(label, ())) if shown is not None else []


def _added(above: Sequence[Node]) -> Aggregate | None:
    """The innermost aggregation, if it adds."""
    inner = next((one for one in reversed(above) if isinstance(one, Aggregate)), None)
    return inner if inner is not None and inner.operator in _ADDS else None


def _ranks(
    asked: Asked, node: Selector, above: Sequence[Node], owner: Owner, known: Knowledge
) -> Iterator[Finding]:
    rows = known.rows(owner)
    if not rows or rows[-1].kind is not Kind.GAUGE:
        return
    kept = _kept(above)
    for label in _COPIES:
        if label in kept or any(one.label == label for one in node.matchers):
            continue
        for engine in known.of(owner.engine):
            seen = _seen(engine, node.name, label)
            if len(seen) > 1:
                message = f"every {label} of one engine reports {node.name}: this sum counts it {len(seen)} times"
                evidence = f'{engine.source} has {label}="{seen[0]}" and "{seen[1]}"'
                mended = (
                    "" if label == _PROCESS else with_matcher(asked.query.text, node.name, f'{label}="{seen[0]}"')
                )
                yield asked.found("counted-twice", message, evidence, mended)
                return


def _kept(above: Sequence[Node]) -> frozenset[str]:
    inner = _added(above)
    return frozenset(inner.labels or ()) if inner is not None and not inner.without else frozenset()


def _routers(asked: Asked, node: Selector, owner: Owner, known: Knowledge) -> Iterator[Finding]:
    if any(one.label in _FROM_A_TARGET | {SERVER, "model_name"} for one in node.matchers):
        return
    watched = [engine for engine in known.of(owner.engine) if node.name in (engine.page or {})]
    routers = [one for one in watched if is_router(one, node.name)]
    mixed = [one for one in watched if one not in routers and _seen(one, node.name, SERVER)]
    if mixed or (routers and len(routers) < len(watched)):
        message = f"the router exports {node.name} of its engines again: this sum counts every request twice"
        evidence = (
            f'{(mixed or routers)[0].source} has it with the label "{SERVER}", and so do the engines without it'
        )
        yield asked.found(
            "counted-twice", message, evidence, with_matcher(asked.query.text, node.name, 'server=""')
        )


def is_router(engine: Engine, name: str) -> bool:
    """Whether a page is of a router: its series of a gauge all name the server that they are of."""
    shown = (engine.page or {}).get(name)
    return shown is not None and SERVER in shown.everywhere
