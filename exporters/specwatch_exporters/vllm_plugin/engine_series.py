"""The series of one engine's steps: drafts with their true denominators, and batch sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prometheus_client import Counter

from specwatch_exporters.bounds import MAX_POSITIONS
from specwatch_exporters.vllm_plugin.draft_tally import DraftTally
from specwatch_exporters.vllm_plugin.families import DEFINITION, PluginFamilies


class EngineSeries:
    """Labelled children of one data-parallel engine.

    Args:
        families: their parents.
        model: model label.
        engine: data-parallel index.
        positions: configured draft positions, or 0 without drafts. Their series start at zero, as vLLM's own do,
            but for the drafted ones, which this vLLM may not tell.
    """

    def __init__(self, families: PluginFamilies, model: str, engine: str, positions: int) -> None:
        labels = (model, engine, DEFINITION)
        self._batch = families.step_batch.labels(model, engine)
        self._accepted = _Positions(families.accepted_per_position, labels)
        self._drafted = _Positions(families.drafted_per_position, labels)
        self._totals: tuple[Counter, ...] = ()
        self._parents = (families.drafts, families.draft_tokens, families.accepted_tokens)
        self._labels = labels
        if positions:
            self._add_totals((0, 0, 0))
            self._accepted.add([0] * positions)

    def add_drafts(self, drafts: DraftTally) -> None:
        """Add speculative counts."""
        self._add_totals((drafts.drafts, drafts.draft_tokens, drafts.accepted_tokens))
        self._accepted.add(drafts.accepted)
        self._drafted.add(drafts.drafted)

    def add_sizes(self, sizes: Mapping[int, int]) -> None:
        """Add steps by batch size."""
        for size, steps in sizes.items():
            self._batch.observe_many(size, steps)

    def _add_totals(self, counts: tuple[int, int, int]) -> None:
        if not self._totals:
            self._totals = tuple(parent.labels(*self._labels) for parent in self._parents)
        for child, count in zip(self._totals, counts, strict=True):
            child.inc(count)


class _Positions:
    """Children by position; those of 16 and more are left out, as everywhere in specwatch."""

    def __init__(self, parent: Counter, labels: tuple[str, ...]) -> None:
        self._parent = parent
        self._labels = labels
        self._children: list[Counter] = []

    def add(self, counts: Sequence[int]) -> None:
        for position, count in enumerate(counts[:MAX_POSITIONS]):
            if position == len(self._children):
                self._children.append(self._parent.labels(*self._labels, str(position)))
            self._children[position].inc(count)
