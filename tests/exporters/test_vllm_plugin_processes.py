"""Several API servers share one page through prometheus_client's multiprocess mode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

TESTS = Path(__file__).resolve().parents[1]
COUNTS = {"model": "m", "engine": "0", "definition": "vllm-v1-plugin"}
REQUEST = {"model": "m", "traffic_class": "unknown", "batch": "2", "speculation": "eagle3"}

# One API server: `steps` engine steps with two requests, of which it serves one; the drafts of each step are told
# to the first server alone, as vLLM's scheduler does.
SERVER = """
import logging, sys
from exporters import vllm_stats_fakes as fakes
from specwatch_exporters.vllm_plugin.start import start_recorder
release, told = fakes.RELEASES[-1], sys.argv[1] == "first"
recorder = start_recorder(fakes.vllm_config(), [0], "0.33.0")
for _ in range(10):
    scheduler = fakes.scheduler_stats(release, 2, [(4, 1), (4, 3)]) if told else None
    recorder.record(scheduler, fakes.iteration_stats(release, 3, gaps=[0.04]), 0)
recorder.flush()
"""


def run_server(folder: Path, name: str) -> None:
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(folder), "PYTHONPATH": str(TESTS)}
    subprocess.run([sys.executable, "-W", "error", "-c", SERVER, name], env=environment, check=True, timeout=60)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> CollectorRegistry:
    """The page that any of the servers would answer with."""
    folder = tmp_path_factory.mktemp("multiprocess")
    for name in ("first", "second"):
        run_server(folder, name)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(folder))
    return registry


def test_counts_and_observations_of_all_servers_add_up(shared: CollectorRegistry) -> None:
    assert shared.get_sample_value("specwatch_drafts_total", COUNTS) == 20
    accepted = [
        shared.get_sample_value("specwatch_accepted_tokens_per_position_total", COUNTS | {"position": str(at)})
        for at in range(4)
    ]
    assert accepted == [20, 10, 10, 0]
    assert shared.get_sample_value("specwatch_step_batch_requests_count", {"model": "m", "engine": "0"}) == 10


def test_each_server_observes_its_own_requests(shared: CollectorRegistry) -> None:
    # The second server is not told the batch size and knows of no other request than its own.
    gaps = {
        batch: shared.get_sample_value("specwatch_request_inter_chunk_seconds_count", REQUEST | {"batch": batch})
        for batch in ("1", "2")
    }
    tokens = {
        batch: shared.get_sample_value("specwatch_request_inter_token_seconds_count", REQUEST | {"batch": batch})
        for batch in ("1", "2")
    }
    assert gaps == {"1": 10, "2": 10}
    assert tokens == {"1": 30, "2": 30}


def test_gauges_have_one_value_and_no_process(shared: CollectorRegistry) -> None:
    samples = [sample for family in shared.collect() for sample in family.samples]
    assert not [sample for sample in samples if "pid" in sample.labels]
    known = {"model": "m", "method": "eagle3", "definition": "vllm-v1-plugin"}
    assert shared.get_sample_value("specwatch_speculation_info", known) == 1
    assert shared.get_sample_value("specwatch_num_speculative_tokens", {"model": "m"}) == 4
