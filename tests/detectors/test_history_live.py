from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_api_client.exceptions import PrometheusApiClientException

from engine.child_process import running
from engine.engine_process import free_port, http_status
from specwatch_detectors.calibrate import calibrate
from specwatch_detectors.history import DAY_S, HistoryError
from specwatch_detectors.history_live import CHUNK_POINTS, connect, expression, fetch_history
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.threshold import Budget
from tools.tool_paths import find_tool

START = 1_772_409_600


class Fake:
    """Answers like Prometheus: counters that grow by 10 a second from START on."""

    def __init__(self, names: Sequence[str], error: Exception | None = None) -> None:
        self.names = names
        self.error = error
        self.asked: list[tuple[str, float, float]] = []

    def custom_query_range(self, query: str, start_time: datetime, end_time: datetime, step: str) -> Any:
        if self.error is not None:
            raise self.error
        start, end = start_time.timestamp(), end_time.timestamp()
        self.asked.append((query, start, end))
        count = math.floor((end - start) / float(step)) + 1
        times = [start + number * float(step) for number in range(count)]
        return [
            {
                "metric": {"__name__": name, "model": "m", "model_name": "m", "instance": "a"},
                "values": [[at, str(10 * (at - START) * (0.5 if "accepted" in name else 1.0))] for at in times],
            }
            for name in self.names
            if name in query or (name.startswith("vllm") and "vllm" in query)
        ]


OWN = ("specwatch_drafts_total", "specwatch_accepted_tokens_total")
VLLM = ("vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_accepted_tokens_total")


def fetched(client: Fake, seconds: float, interval_s: float = 10.0) -> Any:
    return fetch_history(client, start=START, end=START + seconds, interval_s=interval_s, source="Prometheus")


@pytest.mark.parametrize("names", [OWN, VLLM])
def test_chunks_join_without_loss(names: Sequence[str]) -> None:
    client = Fake(names)
    seconds = 3.5 * CHUNK_POINTS * 10.0
    model = fetched(client, seconds).models["m"]
    assert model.drafts == pytest.approx(10 * seconds)
    assert model.observed == pytest.approx(1.0)
    spans = [end - start for query, start, end in client.asked if names[0].partition(":")[0] in query]
    assert max(spans) <= (CHUNK_POINTS - 1) * 10.0
    assert len(spans) == 4


def test_only_the_series_that_are_needed_are_asked_for() -> None:
    query = expression('namespace="llm"')
    assert query.startswith('{__name__=~"specwatch_drafts_total|')
    assert query.endswith(',namespace="llm"}')
    assert "vllm" not in query
    assert expression(engine=True).startswith('{__name__=~"vllm:spec_decode')


@pytest.mark.parametrize(
    ("client", "interval_s", "words"),
    [
        (Fake(OWN), 0.5, "whole seconds"),
        (Fake(()), 10.0, "neither specwatch's nor vllm: series"),
        (
            Fake(OWN, PrometheusApiClientException("HTTP Status Code 503")),
            10.0,
            "gave no answer: HTTP Status Code 503",
        ),
        (Fake(OWN, ValueError("no JSON")), 10.0, "gave no answer: the answer is no JSON of a Prometheus API"),
    ],
)
def test_no_answer_is_one_line(client: Fake, interval_s: float, words: str) -> None:
    with pytest.raises(HistoryError, match=words):
        fetched(client, 1000.0, interval_s)


def test_a_prometheus_that_is_not_there_is_one_line() -> None:
    client = connect(f"http://127.0.0.1:{free_port()}/")
    with pytest.raises(HistoryError, match=r"^Prometheus gave no answer: Failed to .* Connection refused$"):
        fetch_history(client, start=START, end=START + 100, interval_s=10.0, source="x")


def openmetrics(days: float, step_s: int) -> Iterator[str]:
    """A week of two pods' counters, one of which restarts, as a page for promtool."""
    rows: dict[str, list[str]] = {}
    for pod, reset in (("a", None), ("b", 4.0)):
        counts = [0.0, 0.0, 0.0]
        for number in range(int(days * DAY_S / step_s)):
            at = START + number * step_s
            if reset is not None and abs(number * step_s - reset * DAY_S) < step_s / 2:
                counts = [0.0, 0.0, 0.0]
            wobble = 1.0 + 0.02 * math.sin(number * 2.399) + 0.01 * math.sin(number * 0.7)
            for index, added in enumerate((3000.0, 2000.0 * wobble, 1300.0 * wobble)):
                counts[index] += added
            labels = f'model="m",engine="0",definition="vllm-v1-counters",pod="{pod}"'
            values: Mapping[str, float] = {
                f"specwatch_drafts_total{{{labels}}}": counts[0],
                f"specwatch_accepted_tokens_total{{{labels}}}": counts[1] + counts[2],
                f'specwatch_accepted_tokens_per_position_total{{{labels},position="0"}}': counts[1],
                f'specwatch_accepted_tokens_per_position_total{{{labels},position="1"}}': counts[2],
            }
            for series, value in values.items():
                rows.setdefault(series.partition("{")[0], []).append(f"{series} {value:.0f} {at}")
    for name, lines in rows.items():
        yield f"# TYPE {name.removesuffix('_total')} counter"
        yield from lines
    yield "# EOF"


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """A real Prometheus with days of history in it."""
    page, data = tmp_path / "page.txt", tmp_path / "data"
    page.write_text("\n".join(openmetrics(7.5, 300)) + "\n")
    command = [str(find_tool("promtool")), "tsdb", "create-blocks-from", "openmetrics", str(page), str(data)]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    configuration = tmp_path / "prometheus.yml"
    configuration.write_text("{}")
    address = f"127.0.0.1:{free_port()}"
    server = [
        str(find_tool("prometheus")),
        f"--config.file={configuration}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    with running(server, tmp_path / "log", lambda: http_status(f"http://{address}/-/ready") == 200):
        yield f"http://{address}"


def test_a_week_of_a_real_prometheus_is_calibrated(prometheus: str) -> None:
    end = START + 7.5 * DAY_S - 300.0
    history = fetch_history(
        connect(prometheus), start=START, end=end, interval_s=300.0, source="Prometheus", matchers='model="m"'
    )
    model = history.models["m"]
    assert (model.instances, model.depth) == (2, 2)
    assert [(change.words, datetime.fromtimestamp(change.at, UTC).day) for change in model.changes] == [
        ("restart: counters of b", 6)
    ]
    assert model.drafts == pytest.approx(2 * 3000.0 * (7.5 * 288 - 1))
    settings = MonitorSettings(budget=Budget(interval_s=300.0))
    profile = calibrate(history, settings, created=0.0)
    assert profile.models["m"].streams[""].baseline.counts.length == pytest.approx(2.1, abs=0.001)
