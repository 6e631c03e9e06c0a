"""The queries that the documentation recommends, asked of a real Prometheus beside the sidecar and an engine."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.prometheus_process import Prometheus, prometheus_scraping
from specwatch_exporters.catalog import BY_NAME
from specwatch_exporters.demo.traffic import Traffic
from specwatch_exporters.demo.traffic_plan import Lengths, TrafficPlan
from specwatch_exporters.inspection import inspect
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread
from specwatch_exporters.report import ModelReport
from specwatch_exporters.sidecar.run import Sidecar
from specwatch_exporters.sidecar.settings import load
from specwatch_exporters.source import load as load_source

ROOT = Path(__file__).resolve().parents[2]
BLOCK = (ROOT / "docs/metrics.md").read_text().split("```promql\n")[1].split("```")[0]
QUERIES = re.findall(r"^# (.+)\n((?:.+\n)+)", BLOCK, re.MULTILINE)
SAMPLE_SUFFIXES = ("_bucket", "_sum", "_count")


def truth(url: str) -> ModelReport:
    (model,) = inspect(load_source(url)).models
    return model


def wait_for(prometheus: Prometheus, expression: str, wanted: float | None) -> None:
    """Wait until an expression has a value; scrapes come once a second."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if prometheus.value(expression) == wanted:
            return
        time.sleep(0.2)
    assert prometheus.value(expression) == wanted, expression


@pytest.fixture(scope="module")
def engine() -> Iterator[ReplayThread]:
    with ReplayThread(ReplaySettings(speed=20.0, slots=8, model="m")) as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(engine: ReplayThread, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    settings = load({"engine": engine.url, "listen": "127.0.0.1:0", "interval": "500ms", "stale_after": "5s"}, {})
    with (
        Sidecar(settings) as sidecar,
        prometheus_scraping(
            {"specwatch": f"127.0.0.1:{sidecar.port}"}, tmp_path_factory.mktemp("prometheus")
        ) as running,
    ):
        yield running


def test_the_documented_queries_give_the_engines_own_ratios(engine: ReplayThread, prometheus: Prometheus) -> None:
    wait_for(prometheus, "specwatch_drafts_total", 0.0)
    time.sleep(1.5)
    assert [prometheus.query(query) for _, query in QUERIES] == [{}, {}, {}], "an idle engine gives no sample"
    plan = TrafficPlan(url=engine.url, concurrency=12, count=60, output=Lengths(64), prompt=Lengths(32))
    asyncio.run(Traffic(plan).run())
    model = truth(engine.url)
    wait_for(prometheus, "specwatch_drafts_total", model.tally.drafts)
    assert prometheus.value("specwatch_accepted_tokens_total") == model.tally.accepted_tokens
    assert prometheus.value("specwatch_engine_queue_wait_seconds_count") == 60
    answers = {name: prometheus.query(query) for name, query in QUERIES}
    rate, length, positions = answers.values()
    assert list(rate.values()) == pytest.approx([model.acceptance_rate])
    assert list(length.values()) == pytest.approx([model.mean_acceptance_length])
    by_position = sorted((dict(labels)["position"], value) for labels, value in positions.items())
    assert [value for _, value in by_position] == pytest.approx(list(model.tally.per_position))


def test_series_of_a_dead_engine_end_instead_of_freezing(engine: ReplayThread, prometheus: Prometheus) -> None:
    wait_for(prometheus, "specwatch_scrape_success", 1.0)
    engine.restart(down_s=14.0)
    wait_for(prometheus, "specwatch_scrape_success", 0.0)
    wait_for(prometheus, 'specwatch_speculation_state{state="stale"}', 1.0)
    wait_for(prometheus, "specwatch_drafts_total", None)
    wait_for(prometheus, "specwatch_engine_restarts_total", 1.0)
    wait_for(prometheus, 'specwatch_speculation_state{state="stale"}', 0.0)


@pytest.mark.parametrize(
    "path", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]), ids=lambda path: path.name
)
def test_every_metric_named_in_the_documentation_exists(path: Path) -> None:
    names = set(re.findall(r"`(specwatch_[a-z0-9_]+)", path.read_text()))
    names |= set(re.findall(r"(specwatch_[a-z0-9_]+)", "".join(path.read_text().split("```promql")[1:2])))
    packages = {"specwatch_exporters", "specwatch_detectors", "specwatch_alerts", "specwatch_dashboards"}
    packages |= {"specwatch_deploy", "specwatch_bench", "specwatch_cli"}
    unknown = {
        name
        for name in names - packages
        if name not in BY_NAME
        and not any(name.removesuffix(suffix) in BY_NAME for suffix in SAMPLE_SUFFIXES if name.endswith(suffix))
    }
    assert unknown == set()
