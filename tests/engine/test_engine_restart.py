from __future__ import annotations

import urllib.request
from dataclasses import astuple
from pathlib import Path

import pytest

from engine.completions_client import MAX_TOKENS, LoadResult, TrueFigures
from engine.engine_load import DRAFT_POSITIONS, BackgroundLoad, send_load
from engine.engine_process import EngineProcess
from engine.metric_page import engine_figures, fetch_page, settled, sidecar_figures, until
from engine.sidecar_process import Sidecar, inspect_json

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

LONGEST_PROMPT = 200  # bytes, so at most as many tokens


def sidecar_now(sidecar: Sidecar) -> TrueFigures:
    return sidecar_figures(sidecar.page(), DRAFT_POSITIONS)


def engine_now(engine: EngineProcess) -> TrueFigures:
    return engine_figures(fetch_page(f"{engine.url}/metrics"), DRAFT_POSITIONS)


def test_killed_while_quiet_the_totals_are_exact(draft_engine: EngineProcess, draft_sidecar: Sidecar) -> None:
    send_load(draft_engine.url, 24, seed=11)
    before = engine_now(draft_engine)
    assert settled(lambda: sidecar_now(draft_sidecar), before) == before
    draft_engine.kill()
    assert not until(draft_sidecar.scrape_succeeded, lambda good: not good)
    draft_engine.start()
    after = send_load(draft_engine.url, 24, seed=12).true_figures(DRAFT_POSITIONS)
    assert settled(lambda: engine_now(draft_engine), after) == after
    wanted = before.plus(after)
    assert settled(lambda: sidecar_now(draft_sidecar), wanted) == wanted
    assert draft_sidecar.restarts() == 1
    assert draft_sidecar.scrape_succeeded()


def test_killed_under_load_nothing_seen_is_lost(
    draft_engine: EngineProcess, draft_sidecar: Sidecar, tmp_path: Path
) -> None:
    earlier = tmp_path / "earlier.prom"
    with urllib.request.urlopen(f"{draft_engine.url}/metrics", timeout=10) as response:
        earlier.write_bytes(response.read())
    start = engine_now(draft_engine)
    assert settled(lambda: sidecar_now(draft_sidecar), start) == start
    with BackgroundLoad(draft_engine.url) as load:
        until(lambda: sidecar_now(draft_sidecar).requests, lambda done: done >= start.requests + 30, 60)
        at_least = sidecar_now(draft_sidecar)
        draft_engine.kill()
        cut = load.finish()
    assert cut.lost > 0
    assert not until(draft_sidecar.scrape_succeeded, lambda good: not good)
    seen = sidecar_now(draft_sidecar)
    assert at_least.requests >= start.requests + 30
    assert_between(at_least, seen, start.plus(most_possible(cut)))
    draft_engine.start()
    after = send_load(draft_engine.url, start.requests + 40, seed=13).true_figures(DRAFT_POSITIONS)
    wanted = seen.plus(after)
    assert settled(lambda: sidecar_now(draft_sidecar), wanted) == wanted
    assert draft_sidecar.restarts() == 1
    assert all(old < new for old, new in zip(flat(start), flat(after), strict=True))
    report = inspect_json(f"{draft_engine.url}/metrics", "--since", str(earlier))
    assert report["resets"] == 1, "no counter is lower than on the earlier page, and yet it is another process"
    (model,) = report["models"]
    assert (model["drafts"], model["draft_tokens"]) == (after.drafts, after.draft_tokens)
    assert model["accepted_tokens"] == after.accepted_tokens


def most_possible(cut: LoadResult) -> TrueFigures:
    """Return an upper bound of what the engine can have counted: every lost request ran to its very end."""
    lost = cut.lost
    finished_unheard = TrueFigures(
        requests=lost,
        prompt_tokens=lost * LONGEST_PROMPT,
        generation_tokens=lost * MAX_TOKENS,
        drafts=lost * MAX_TOKENS,
        draft_tokens=lost * MAX_TOKENS * DRAFT_POSITIONS,
        accepted_tokens=lost * MAX_TOKENS,
        per_position=(lost * MAX_TOKENS,) * DRAFT_POSITIONS,
    )
    return cut.true_figures(DRAFT_POSITIONS).plus(finished_unheard)


def assert_between(low: TrueFigures, seen: TrueFigures, high: TrueFigures) -> None:
    rows = [flat(figures) for figures in (low, seen, high)]
    assert all(least <= value <= most for least, value, most in zip(*rows, strict=True)), rows


def flat(figures: TrueFigures) -> tuple[int, ...]:
    return (*astuple(figures)[:-1], *figures.per_position)
