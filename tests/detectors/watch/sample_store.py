"""Samples in memory, given out as Prometheus does: the store behind the tests' own sources and servers."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from typing import Any

from specwatch_detectors.watch.source import SourceError

Identity = tuple[tuple[str, str], ...]
MODEL = "llama"
STRICT = "vllm-v1-counters"


class SampleStore:
    """A Prometheus without a network: series of (time, value), and range selectors over them.

    Attributes:
        series: samples in order of time, by labels, by metric.
        down: what is wrong, or empty.
        asked: every (metric, start, end) that was asked for.
    """

    def __init__(self) -> None:
        self.series: dict[str, dict[Identity, list[tuple[float, float]]]] = {}
        self.down = ""
        self.asked: list[tuple[str, float, float]] = []

    def add(self, metric: str, labels: Mapping[str, str], at: float, value: float) -> None:
        identity = tuple(sorted({"__name__": metric, **labels}.items()))
        insort(self.series.setdefault(metric, {}).setdefault(identity, []), (at, float(value)))

    def fetch(self, metric: str, start: float, end: float) -> Sequence[Mapping[str, Any]]:
        self.asked.append((metric, start, end))
        if self.down:
            raise SourceError(self.down)
        return self.matrix(metric, start, end)

    def matrix(self, metric: str, start: float, end: float) -> list[dict[str, Any]]:
        """The series of a metric with samples in (start, end], as the HTTP API writes them."""
        found = []
        for identity, samples in self.series.get(metric, {}).items():
            first, behind = bisect_right(samples, (start, math.inf)), bisect_right(samples, (end, math.inf))
            if first < behind:
                values = [[at, repr(value)] for at, value in samples[first:behind]]
                found.append({"metric": dict(identity), "values": values})
        return found


class FakePod:
    """A pod with a scrape sidecar: counters that grow, and pages of them that are stored.

    Attributes:
        labels: what its target adds to each series.
        counts: drafts, draft tokens, accepted tokens, and accepted by position.
    """

    def __init__(self, store: SampleStore, name: str, depth: int = 2, **more: str) -> None:
        self.store = store
        self.labels = {"instance": f"{name}:9477", "pod": name, **more}
        self.depth = depth
        self.drafts = 0.0
        self.accepted = [0.0] * depth
        self.restarts = 0.0
        self.version = "0.32.0"
        self.method = "eagle3"
        self.definition = STRICT

    def work(self, drafts: float, share: float = 0.7) -> None:
        """Draft, and accept that share of what was reached."""
        self.drafts += drafts
        kept = drafts
        for position in range(self.depth):
            kept = float(round(kept * share))
            self.accepted[position] += kept

    def forget(self) -> None:
        """Start counters at zero."""
        self.drafts, self.accepted = 0.0, [0.0] * self.depth

    def scrape(self, at: float, *, model: str = MODEL, **view: str) -> None:
        """Store a page."""
        target = {**self.labels, **view}
        own = {"model": model, "engine": "0", "definition": self.definition, **target}
        self.store.add("specwatch_drafts_total", own, at, self.drafts)
        self.store.add("specwatch_draft_tokens_total", own, at, self.drafts * self.depth)
        self.store.add("specwatch_accepted_tokens_total", own, at, sum(self.accepted))
        for position, kept in enumerate(self.accepted):
            labels = {**own, "position": str(position)}
            self.store.add("specwatch_accepted_tokens_per_position_total", labels, at, kept)
        self.store.add("specwatch_engine_restarts_total", target, at, self.restarts)
        info = {"kind": "vllm", "dialect": "v1", "version": self.version}
        self.store.add("specwatch_engine_info", {**info, **target}, at, 1.0)
        method = {"model": model, "method": self.method, "definition": self.definition}
        self.store.add("specwatch_speculation_info", {**method, **target}, at, 1.0)
        self.store.add("specwatch_num_speculative_tokens", {"model": model, **target}, at, self.depth)


def scrape_requests(
    store: SampleStore,
    target: Mapping[str, str],
    at: float,
    counts: Mapping[str, Sequence[float]],
    model: str = MODEL,
) -> None:
    """Store a page of per-request counters: drafts, draft tokens, accepted by position, by class."""
    for name, (drafts, tokens, *accepted) in counts.items():
        own = {"model": model, "traffic_class": name, "speculation": "eagle3", **target}
        store.add("specwatch_request_drafts_total", own, at, drafts)
        store.add("specwatch_request_draft_tokens_total", own, at, tokens)
        store.add("specwatch_request_accepted_tokens_total", own, at, sum(accepted))
        for position, kept in enumerate(accepted):
            labels = {**own, "position": str(position)}
            store.add("specwatch_request_accepted_tokens_per_position_total", labels, at, kept)
