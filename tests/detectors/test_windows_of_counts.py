"""Windows from a scrape's increases: engines that share a page are counted each at its own depth."""

from __future__ import annotations

import pytest

from specwatch_detectors.window import Window
from specwatch_detectors.windows_of_counts import model_windows
from specwatch_exporters import catalog
from specwatch_exporters.page import Key


def increases(engine: str, drafts: float, accepted: list[float], depth: int) -> dict[Key, float]:
    positions = {
        Key(catalog.ACCEPTED_PER_POSITION.name, "m", engine, str(at)): value for at, value in enumerate(accepted)
    }
    return {
        **positions,
        Key(catalog.DRAFTS.name, "m", engine, ""): drafts,
        Key(catalog.DRAFT_TOKENS.name, "m", engine, ""): drafts * depth,
        Key(catalog.ACCEPTED_TOKENS.name, "m", engine, ""): sum(accepted),
    }


def test_ranks_of_different_depths_lose_no_position() -> None:
    deep, flat = increases("0", 1000, [700, 500, 300], 3), increases("1", 3000, [2100, 0, 0], 1)
    assert model_windows({**deep, **flat})["m"] == Window(4000, (2800, 500, 300), (4000, 700, 500), 3600)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_ranks_of_one_depth_add_up(depth: int) -> None:
    accepted = [700.0, 500.0, 300.0][:depth] + [0.0] * (3 - depth)
    found = model_windows({**increases("0", 1000, accepted, depth), **increases("1", 1000, accepted, depth)})["m"]
    assert found.accepted == tuple(2 * value for value in accepted[:depth])
    assert found.trials == (2000, *found.accepted[:-1])


def test_a_rank_without_drafts_adds_nothing() -> None:
    busy = increases("0", 1000, [700, 500, 300], 3)
    assert model_windows({**busy, **increases("1", 0, [0, 0, 0], 3)}) == model_windows(busy)
