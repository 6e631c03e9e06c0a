"""The arithmetic beside what engines said when they started."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specwatch_bench.capacity_plan import CARDS, Plan, Wish, plan
from specwatch_bench.capacity_shape import read_shape

_FILE: Final = Path(__file__).parent / "capacity_seen.toml"
_CARD: Final = CARDS[1]


@dataclass(frozen=True, slots=True)
class Seen:
    """One start of an engine.

    Attributes:
        shape: of the target.
        method: drafter and K, or `off`.
        weights_gib: of target and draft, as the engine said.
        kv_gib: for the KV cache.
        kv_tokens: that it holds.
        plan: what the arithmetic says.
    """

    shape: str
    method: str
    weights_gib: float
    kv_gib: float
    kv_tokens: int
    plan: Plan

    @property
    def weights_error(self) -> float:
        """Of the weights, relative to what the engine said."""
        return (self.plan.weights + self.plan.draft) / self.weights_gib - 1.0

    @property
    def tokens_error(self) -> float:
        """Of the KV cache's tokens, relative to what the engine said."""
        return self.plan.tokens / self.kv_tokens - 1.0

    @property
    def token_bytes_error(self) -> float:
        """Of the bytes per token: the engine's own GiB over its own tokens, and ours."""
        return self.plan.kv_token_bytes / (self.kv_gib * 2.0**30 / self.kv_tokens) - 1.0


def seen_starts() -> Iterator[Seen]:
    """All starts of the file, in its order."""
    for row in tomllib.loads(_FILE.read_text(encoding="utf-8"))["start"]:
        draft = row.get("draft")
        wish = Wish(
            quantisation=row["quantisation"],
            draft=None if draft is None else read_shape(draft),
            own_head=False,
            speculative=row["method"] != "off",
            utilisation=row["utilisation"],
            graphs=row["graphs"],
            context=row["context"],
        )
        found = plan(read_shape(row["shape"]), _CARD, wish)
        yield Seen(row["shape"], row["method"], row["weights_gib"], row["kv_gib"], row["kv_tokens"], found)
