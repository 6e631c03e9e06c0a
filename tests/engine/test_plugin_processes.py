"""The plugin in two API servers before two data-parallel engines: one page, prometheus_client's shared files.

They draft by n-gram, whose drafts have one to three tokens: here drafts are no denominator of the later positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine_load import NGRAM_CONFIG, NGRAM_POSITIONS, send_load
from engine.engine_process import EngineProcess
from engine.metric_page import MetricPage, engine_figures, fetch_page, until
from engine.plugin_engine import engine_with_plugin, install_plugin

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

ENGINES = ("0", "1")
TWICE = ("--data-parallel-size", "2", "--api-server-count", "2")


@pytest.fixture(scope="module")
def engine(models: Path, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    assert models.is_dir()
    site = install_plugin(tmp_path_factory.mktemp("plugin-site"))
    with engine_with_plugin(site, logs / "plugin-parallel.log", NGRAM_CONFIG, TWICE) as engine:
        yield engine


def test_all_processes_add_up_to_the_responses(engine: EngineProcess) -> None:
    result = send_load(engine.url, 64, seed=41)
    truth = result.true_figures(NGRAM_POSITIONS)
    drafted = [step for record in result.records for step in record.drafted]

    def complete(page: MetricPage) -> bool:
        found = page.select("specwatch_drafts_total")
        return bool(found) and sum(sample.value for sample in found) == truth.drafts

    page = until(lambda: fetch_page(f"{engine.url}/metrics"), complete)
    assert page.total("specwatch_drafts_total") == truth.drafts
    assert page.total("specwatch_accepted_tokens_total") == truth.accepted_tokens
    for at in range(NGRAM_POSITIONS):
        position = {"position": str(at)}
        proposed = sum(step > at for step in drafted)
        assert page.total("specwatch_accepted_tokens_per_position_total", **position) == truth.per_position[at]
        assert page.total("specwatch_draft_tokens_per_position_total", **position) == proposed
    assert 0 < proposed < truth.drafts
    assert page.total("specwatch_request_finished_total", outcome="success") == truth.requests
    assert page.total("specwatch_request_output_tokens_total") == truth.generation_tokens
    tokens = page.total("specwatch_request_inter_token_seconds_count")
    assert tokens == truth.generation_tokens - truth.requests
    for engine_label in ENGINES:
        share = engine_figures(page, NGRAM_POSITIONS, engine=engine_label)
        assert page.total("specwatch_drafts_total", engine=engine_label) == share.drafts > 0


def test_no_series_names_a_process(engine: EngineProcess) -> None:
    page = fetch_page(f"{engine.url}/metrics")
    ours = [name for name in page.names() if name.startswith("specwatch_")]
    assert ours
    assert not [sample for name in ours for sample in page.select(name) if "pid" in sample.labels]
    assert page.total("specwatch_num_speculative_tokens") == NGRAM_POSITIONS
    assert not page.select("specwatch_plugin_errors_total")
