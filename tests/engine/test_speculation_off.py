from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine_load import send_load
from engine.engine_process import EngineProcess
from engine.metric_page import settled, until
from engine.sidecar_process import inspect_json, sidecar_beside

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]

OF_ACCEPTANCE = {
    "specwatch_drafts_total",
    "specwatch_draft_tokens_total",
    "specwatch_accepted_tokens_total",
    "specwatch_accepted_tokens_per_position_total",
    "specwatch_acceptance_ratio",
    "specwatch_acceptance_length_tokens",
    "specwatch_speculating_steps_ratio",
}


def test_off_is_a_state_and_no_number(plain_engine: EngineProcess, tmp_path: Path) -> None:
    with sidecar_beside(plain_engine.url, tmp_path / "sidecar.log") as sidecar:

        def counted() -> float:
            return sidecar.page().total("specwatch_generation_tokens_total")

        wanted = counted() + send_load(plain_engine.url, 24).true_figures(0).generation_tokens
        assert settled(counted, wanted) == wanted
        page = until(sidecar.page, lambda page: page.total("specwatch_speculation_state", state="off") == 1)
    assert page.total("specwatch_speculation_state", state="off") == 1
    assert page.total("specwatch_speculation_state") == 1
    assert page.total("specwatch_scrape_success") == 1
    assert not OF_ACCEPTANCE & page.names()


def test_inspect_says_off_and_leaves_numbers_unknown(plain_engine: EngineProcess) -> None:
    send_load(plain_engine.url, 8)
    (model,) = inspect_json(f"{plain_engine.url}/metrics")["models"]
    assert model["state"] == "off"
    unknown = ("drafts", "draft_tokens", "accepted_tokens", "acceptance_rate", "mean_acceptance_length")
    assert {name: model[name] for name in unknown} == dict.fromkeys(unknown)
