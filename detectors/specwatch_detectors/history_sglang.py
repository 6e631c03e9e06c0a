"""SGLang's own counters over time (0.5.13 and newer), put into specwatch's names.

What they stand for is the exporters' to say (`engines/sglang.py`): draft steps are verify calls, but for those of
the adaptive tier 0; accepted tokens are generated tokens less verify calls; K is what the gauges then say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from specwatch_exporters import catalog
from specwatch_exporters.engines import sglang
from specwatch_exporters.engines.intake import strip_prefixes
from specwatch_exporters.exposition import parse
from specwatch_exporters.ledger import Increase, Ledger
from specwatch_exporters.page import Key, instance_of

COUNTER: Final = "spec_verify_calls_total"
TOKENS: Final = "generation_tokens_total"
_READ: Final = frozenset({COUNTER, TOKENS, sglang.STEPS, sglang.WIDTH})
_OUT: Final = frozenset({catalog.DRAFTS.name, catalog.DRAFT_TOKENS.name, catalog.ACCEPTED_TOKENS.name})
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Points = dict[tuple[str, str, str], list[tuple[float, str]]]


def has_counters(names: Iterable[str]) -> bool:
    """Whether SGLang's verify calls, its generated tokens and what tells K are among the names of series."""
    raw = {_raw(name) for name in names}
    return raw >= {COUNTER, TOKENS} and not raw.isdisjoint({sglang.STEPS, sglang.WIDTH})


def specwatch_series(series: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The series as specwatch's sidecar would have counted them.

    Args:
        series: `metric` and `values` of each, as Prometheus's API gives them.

    Returns:
        Drafts, draft tokens and accepted tokens that only grow, but after a restart, and K; in the same form.
    """
    pages: dict[float, list[str]] = {}
    for one in series:
        name = one["metric"].get("__name__", "")
        if _raw(name) in _READ:
            for at, value in one["values"]:
                pages.setdefault(float(at), []).append(_sample(name, one["metric"], value))
    points: Points = {}
    depths: Points = {}
    ledger, totals = Ledger(), dict[Key, float]()
    for at in sorted(pages):
        exposition = parse("\n".join(pages[at]) + "\n")
        page = sglang.SglangReader().read(exposition, frozenset(family.name for family in exposition.families))
        _add(points, totals, at, ledger.update(page))
        for model, depth in page.speculative_tokens.items():
            name = catalog.NUM_SPECULATIVE_TOKENS.name
            depths.setdefault((name, model, ""), []).append((at, str(depth)))
    return [*_written(points), *_written(depths)]


def _add(points: Points, totals: dict[Key, float], at: float, increase: Increase) -> None:
    for key, value in increase.by_key.items():
        if key.metric in _OUT:
            before = 0.0 if key.engine in increase.restarted else totals.get(key, 0.0)
            totals[key] = before + value
            points.setdefault((key.metric, key.model, key.engine), []).append((at, f"{totals[key]:.17g}"))


def _written(points: Points) -> Iterator[dict[str, Any]]:
    for (name, model, engine), values in points.items():
        instance = instance_of(engine)
        labels = {"model": model, "engine": engine, "pod": instance, "definition": sglang.COUNTER_DEFINITION}
        yield {"metric": {"__name__": name, **labels}, "values": values}


def _raw(name: str) -> str:
    return strip_prefixes((name,), sglang.PREFIXES).get(name, "")


def _sample(name: str, labels: Mapping[str, str], value: object) -> str:
    pairs: Sequence[str] = [
        f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items() if label != "__name__"
    ]
    return f"{name}{{{','.join(pairs)}}} {value}"
