from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine_load import DRAFT_POSITIONS, send_load
from engine.engine_process import EngineProcess
from engine.metric_page import engine_figures, engine_labels, fetch_page, settled, sidecar_figures
from engine.sidecar_process import inspect_json, sidecar_beside

pytestmark = [pytest.mark.engine, pytest.mark.timeout(480)]

ENGINES = ("0", "1")


def test_two_engines_behind_one_address_add_up(parallel_engine: EngineProcess, tmp_path: Path) -> None:
    with sidecar_beside(parallel_engine.url, tmp_path / "sidecar.log") as sidecar:
        truth = send_load(parallel_engine.url, 64).true_figures(DRAFT_POSITIONS)
        assert settled(lambda: sidecar_figures(sidecar.page(), DRAFT_POSITIONS), truth) == truth
        page = sidecar.page()
    own = fetch_page(f"{parallel_engine.url}/metrics")
    assert engine_labels(page.select("specwatch_drafts_total")) == set(ENGINES)
    for engine in ENGINES:
        share = sidecar_figures(page, DRAFT_POSITIONS, engine=engine)
        assert share == engine_figures(own, DRAFT_POSITIONS, engine=engine)
        assert 0 < share.drafts < truth.drafts
    report = inspect_json(f"{parallel_engine.url}/metrics")
    (model,) = report["models"]
    assert model["engines"] == len(ENGINES)
    assert (model["drafts"], model["accepted_tokens"]) == (truth.drafts, truth.accepted_tokens)
    assert model["per_position"] == pytest.approx([count / truth.drafts for count in truth.per_position])
