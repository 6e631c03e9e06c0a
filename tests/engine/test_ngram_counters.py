from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine_load import NGRAM_POSITIONS, send_load
from engine.engine_process import EngineProcess
from engine.metric_page import engine_figures, fetch_page, settled, sidecar_figures
from engine.sidecar_process import inspect_json, sidecar_beside

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]


def test_steps_without_a_match_are_no_drafts(ngram_engine: EngineProcess, tmp_path: Path) -> None:
    with sidecar_beside(ngram_engine.url, tmp_path / "sidecar.log") as sidecar:
        before = sidecar_figures(sidecar.page(), NGRAM_POSITIONS)
        truth = send_load(ngram_engine.url).true_figures(NGRAM_POSITIONS)
        wanted = before.plus(truth)
        assert settled(lambda: sidecar_figures(sidecar.page(), NGRAM_POSITIONS), wanted) == wanted
    assert engine_figures(fetch_page(f"{ngram_engine.url}/metrics"), NGRAM_POSITIONS) == wanted
    assert 0 < truth.draft_tokens < NGRAM_POSITIONS * truth.drafts
    (model,) = inspect_json(f"{ngram_engine.url}/metrics")["models"]
    assert (model["drafts"], model["draft_tokens"]) == (wanted.drafts, wanted.draft_tokens)
    assert model["acceptance_rate"] == pytest.approx(wanted.accepted_tokens / wanted.draft_tokens)
