from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from alerts.slack.slack_rig import SETTINGS, T0, Rig, alert
from alerts.slack.slack_server import SlackServer
from engine.child_process import running
from engine.engine_process import free_port, http_status
from specwatch_alerts import promql
from specwatch_alerts.slack import evidence_queries as queries
from specwatch_alerts.slack.acceptance_picture import draw_acceptance
from specwatch_alerts.slack.evidence import Evidence, Pair, Payoff
from specwatch_alerts.slack.evidence_gathering import PrometheusEvidence
from specwatch_alerts.slack.evidence_queries import Scope
from specwatch_alerts.slack.group_view import GroupView
from specwatch_alerts.slack.prometheus_query import PrometheusQuery
from specwatch_alerts.slack.sample import sample_group
from specwatch_exporters import catalog, request_catalog
from tools.tool_paths import find_tool

SCOPE = Scope('a"b\\c', "chat")
ALL = (
    queries.length(SCOPE),
    queries.length(SCOPE, "pod"),
    queries.class_length(SCOPE),
    queries.positions(SCOPE),
    queries.baseline(SCOPE),
    queries.class_baseline(SCOPE),
    queries.speedup(SCOPE),
    queries.latency(SCOPE, request_catalog.TTFT, catalog.TTFT),
    queries.waiting(SCOPE),
    queries.fallback_levels(SCOPE),
    queries.movements(SCOPE),
    queries.mix_shift(SCOPE),
    queries.restarts(SCOPE),
    queries.methods(SCOPE),
    queries.versions(SCOPE),
)


@pytest.mark.parametrize("query", ALL)
def test_every_query_is_promql(query: str) -> None:
    promql.parse(query)
    assert 'namespace="chat"' in query


def drifting(view: GroupView) -> GroupView:
    return replace(view, began=T0, common_labels={**view.common_labels, "model": "m", "namespace": "chat"})


def history() -> Iterator[str]:
    """Four hours of two pods before T0 and one after; from T0 they accept half, and the traffic falls back."""
    rows: dict[str, list[str]] = {}

    def add(name: str, labels: str, value: float, at: float) -> None:
        series = f'{name}{{namespace="chat",{labels}}}'
        rows.setdefault(name, []).append(f"{series} {value:g} {at:.0f}")

    counts = {"vllm-0": [0.0, 0.0], "vllm-1": [0.0, 0.0]}
    for number in range(5 * 120):
        at = T0 - 4 * 3600 + number * 30
        late = at >= T0
        for pod, (drafts, accepted) in counts.items():
            kept = (60.0 if pod == "vllm-0" else 80.0) if late else 160.0
            counts[pod] = [drafts + 100.0, accepted + kept]
            own = f'model="m",pod="{pod}"'
            add("specwatch_drafts_total", own, counts[pod][0], at)
            add("specwatch_accepted_tokens_total", own, counts[pod][1], at)
            for position, share in (("0", 0.5), ("1", 0.25)):
                count = counts[pod][1] * share
                add("specwatch_accepted_tokens_per_position_total", f'{own},position="{position}"', count, at)
            of_class = f'{own},traffic_class="code",speculation="on"'
            add("specwatch_request_drafts_total", of_class, counts[pod][0], at)
            add("specwatch_request_accepted_tokens_total", of_class, counts[pod][1], at)
            add("specwatch_engine_info", f'pod="{pod}",version="{"0.32" if late else "0.31"}"', 1.0, at)
        for bound, value in (("lower", 0.91), ("estimate", 0.94), ("upper", 0.97)):
            add("specwatch_payoff_speedup_ratio", f'model="m",batch="8",bound="{bound}"', value, at)
        for level in ("draft", "ngram"):
            on = float((level == "ngram") == late)
            add("specwatch_fallback_level", f'model="m",level="{level}"', on, at)
        add("specwatch_drift_baseline_length_tokens", 'model="m",traffic_class=""', 2.6, at)
    for name, lines in rows.items():
        yield f"# TYPE {name.removesuffix('_total')} {'counter' if name.endswith('_total') else 'gauge'}"
        yield from sorted(lines, key=lambda line: (line.partition("}")[0], float(line.rsplit(" ", 1)[1])))
    yield "# EOF"


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    page, data, configuration = tmp_path / "page.txt", tmp_path / "data", tmp_path / "prometheus.yml"
    page.write_text("\n".join(history()) + "\n")
    configuration.write_text("{}")
    making = [str(find_tool("promtool")), "tsdb", "create-blocks-from", "openmetrics", str(page), str(data)]
    subprocess.run(making, check=True, capture_output=True, timeout=100)
    address = f"127.0.0.1:{free_port()}"
    server = [
        *(str(find_tool("prometheus")), f"--config.file={configuration}", f"--storage.tsdb.path={data}"),
        *("--storage.tsdb.retention.time=100y", f"--web.listen-address={address}", "--log.level=warn"),
    ]
    with running(server, tmp_path / "prometheus.log", lambda: http_status(f"http://{address}/-/ready") == 200):
        yield f"http://{address}"


def evidence_of(url: str, now: float, within_s: float = 60.0) -> PrometheusEvidence:
    return PrometheusEvidence(
        lambda: PrometheusQuery(url, None, time.monotonic, within_s), lambda: now, draw_acceptance
    )


def test_a_real_prometheus_gives_the_figures_of_its_history(prometheus: str) -> None:
    source = evidence_of(prometheus, T0 + 1800)
    found = source.gather(drifting(sample_group(T0)))
    assert found.problem == ""
    assert rounded(found.length) == ("all", 2.6, 1.7)
    assert [rounded(pair) for pair in found.positions] == [("0", 0.8, 0.35), ("1", 0.4, 0.17)]
    assert [rounded(pair) for pair in found.classes] == [("code", 2.6, 1.7)]
    assert found.payoff == Payoff("8", 0.91, 0.94, 0.97)
    assert [rounded(pair) for pair in found.pods] == [("vllm-0", None, 1.6), ("vllm-1", None, 1.8)]
    assert found.changes == ("fallback: level ngram is in force", "deploy: engine version 0.31 → 0.32")
    png = source.picture(drifting(sample_group(T0)))
    assert png is not None
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24]) == (1000, 450)


def rounded(pair: Pair | None) -> tuple[str, float | None, float | None]:
    assert pair is not None
    before, now = (None if value is None else round(value, 1 if value >= 1 else 2) for value in pair[1:])
    return pair.name, before, now


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_no_prometheus_no_evidence_and_the_message_says_so(seconds: float) -> None:
    found = evidence_of(f"http://127.0.0.1:{free_port()}", T0, seconds).gather(sample_group(T0))
    assert found.length is None
    assert "Evidence is missing: Prometheus" in found.problem


class Fixed:
    """Evidence that is there at once."""

    def gather(self, _view: GroupView) -> Evidence:
        return Evidence(length=Pair("all", 2.6, 1.7))

    def picture(self, view: GroupView) -> bytes | None:
        return draw_acceptance(view.label("model"), [(T0 - 60, 2.6), (T0, 1.7)], 2.6, T0)


@pytest.fixture
def pictured(slack: SlackServer, tmp_path: Path) -> Iterator[Rig]:
    made = Rig(slack, tmp_path, replace(SETTINGS, pictures=True), Fixed())
    yield made
    made.close()


def test_the_picture_goes_into_the_thread_once(pictured: Rig, slack: SlackServer) -> None:
    pictured.deliver(alert())
    pictured.run()
    pictured.deliver(alert(), alert("b"))
    pictured.run()
    (root,) = slack.roots()
    assert slack.uploads[0][1].startswith(b"\x89PNG")
    assert [name for name, _ in slack.uploads] == ["/upload/v1/F1", f"completed C0ALERTS {root.ts}"]


def test_a_token_without_files_costs_the_picture_and_no_alert(
    pictured: Rig, slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    slack.scopes.discard("files:write")
    for number in range(5):
        pictured.deliver(alert(model=f"m{number}"), group=f"m{number}")
    pictured.run()
    assert len(slack.roots()) == 5
    assert len([one for one in caplog.records if "no picture" in one.message and "files:write" in one.message]) == 1
    pictured.now += 90_000
    pictured.deliver(alert(model="later"), group="later")
    pictured.run()
    assert len([one for one in caplog.records if "no picture" in one.message]) == 2
