"""The queries over per-request series that docs/metrics.md recommends: known series in, right answers out."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from specwatch_exporters.catalog import BY_NAME, Kind, Metric
from specwatch_exporters.request_catalog import REQUEST_CATALOG
from tools.tool_paths import find_tool

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "docs/metrics.md").read_text().split("\n## Queries\n")[1].split("\n## ")[0]
QUERIES: Final[dict[str, str]] = {
    title: query.strip()
    for block in re.findall(r"```promql\n(.*?)```", SECTION, re.DOTALL)
    for title, query in re.findall(r"^# (.+)\n((?:.+\n)+)", block, re.MULTILINE)
}
NAME = re.compile(r"\b(specwatch_\w+?)(_bucket|_sum|_count)?(?=[\[{)\s])")
GROUPED = re.compile(r"\b(?:by|on) \(([^)]*)\)")
SELECTED = re.compile(r"\b(specwatch_\w+)\{(\w+)=")
ROUNDED: Final = 100_000
REQUEST = {"model": "m", "traffic_class": "chat", "speculation": "eagle3"}

# Increase per minute.
COUNTERS: Final[list[tuple[str, dict[str, str], int]]] = [
    ("accepted_tokens_total", REQUEST, 120),
    ("accepted_tokens_total", {**REQUEST, "traffic_class": "code"}, 240),
    ("draft_tokens_total", REQUEST, 300),
    ("draft_tokens_total", {**REQUEST, "traffic_class": "code"}, 300),
    ("drafts_total", REQUEST, 100),
    ("drafts_total", {**REQUEST, "traffic_class": "code"}, 100),
    *((f"{name}_total", {**REQUEST, "traffic_class": "idle"}, 0) for name in ("accepted_tokens", "draft_tokens")),
    ("drafts_total", {**REQUEST, "traffic_class": "idle"}, 0),
    ("accepted_tokens_per_position_total", {**REQUEST, "position": "0"}, 80),
    ("accepted_tokens_per_position_total", {**REQUEST, "position": "1"}, 40),
    ("draft_tokens_per_position_total", {**REQUEST, "position": "0"}, 100),
    ("draft_tokens_per_position_total", {**REQUEST, "position": "1"}, 50),
    ("finished_total", {"model": "m", "traffic_class": "chat", "outcome": "success"}, 80),
    ("finished_total", {"model": "m", "traffic_class": "code", "outcome": "success"}, 10),
    ("finished_total", {"model": "m", "traffic_class": "chat", "outcome": "cut"}, 10),
    ("finished_total", {"model": "m", "traffic_class": "chat", "outcome": "error"}, 0),
    ("without_record_total", {"model": "m", "traffic_class": "code"}, 9),
    ("folded_total", {"limit": "class"}, 6),
    ("folded_total", {"limit": "series"}, 0),
]
# Name, labels, and the increase per minute of each bucket up to its edge; the last edge holds all.
HISTOGRAMS: Final[list[tuple[str, dict[str, str], dict[str, int]]]] = [
    ("acceptance_length_tokens", {**REQUEST, "batch": "4"}, {"1.0": 20, "2.0": 70, "+Inf": 100}),
    ("acceptance_length_tokens", {**REQUEST, "batch": "+"}, {"1.0": 20, "2.0": 20, "+Inf": 100}),
    ("acceptance_ratio", {**REQUEST, "batch": "4"}, {"0.0": 1, "0.1": 5, "+Inf": 20}),
    ("queue_wait_seconds", {**REQUEST, "batch": "4"}, {"0.5": 80, "1.0": 90, "+Inf": 100}),
    ("inter_token_seconds", {**REQUEST, "batch": "1"}, {"0.01": 100, "0.02": 100, "+Inf": 100}),
    ("inter_token_seconds", {**REQUEST, "batch": "32"}, {"0.01": 0, "0.02": 100, "+Inf": 100}),
    ("inter_chunk_seconds", {**REQUEST, "batch": "32"}, {"0.05": 0, "0.1": 100, "+Inf": 100}),
    ("time_to_first_token_seconds", {**REQUEST, "batch": "1"}, {"0.1": 0, "0.2": 100, "+Inf": 100}),
    ("e2e_latency_seconds", {**REQUEST, "batch": "1"}, {"1.0": 0, "2.0": 100, "+Inf": 100}),
]
GAUGES: Final[list[tuple[str, dict[str, str], int]]] = [
    ("oldest_waiting_seconds", {"traffic_class": "chat", "instance": "a"}, 3),
    ("oldest_waiting_seconds", {"traffic_class": "chat", "instance": "b"}, 7),
    ("oldest_waiting_seconds", {"traffic_class": "code", "instance": "a"}, 0),
]
CHAT, CODE = {"model": "m", "traffic_class": "chat"}, {"model": "m", "traffic_class": "code"}
ANSWERS: Final[dict[str, list[tuple[dict[str, str], float]]]] = {
    "acceptance rate by class": [(CHAT, 0.4), (CODE, 0.8)],
    "mean acceptance length by class, bonus token included": [(CHAT, 2.2), (CODE, 3.4)],
    "acceptance by class and position, of the drafts that proposed a token there": [
        ({**CHAT, "position": "0"}, 0.8),
        ({**CHAT, "position": "1"}, 0.8),
    ],
    "distribution of the accepted length: share of draft steps that gave at most le tokens": [
        ({"model": "m", "le": "1.0"}, 0.2),
        ({"model": "m", "le": "2.0"}, 0.45),
        ({"model": "m", "le": "+Inf"}, 1.0),
    ],
    "share of requests of which less than a tenth was accepted": [({"model": "m"}, 0.25)],
    "99th percentile of the time per token by batch size": [
        ({"model": "m", "batch": "1"}, 0.0099),
        ({"model": "m", "batch": "32"}, 0.0199),
    ],
    "99th percentile of the gap that a reader sees, by batch size": [({"model": "m", "batch": "32"}, 0.0995)],
    "99th percentile of the time to first token by class": [(CHAT, 0.199)],
    "99th percentile of the whole request by class": [(CHAT, 1.99)],
    "age of the oldest request that has no token yet, by class": [
        ({"traffic_class": "chat"}, 7),
        ({"traffic_class": "code"}, 0),
    ],
    "share of requests that waited more than 1 s in the queue": [({"model": "m"}, 0.1)],
    "share of each outcome": [({"model": "m", "outcome": "success"}, 0.9), ({"model": "m", "outcome": "cut"}, 0.1)],
    "share of answered requests that say nothing about speculation": [({"model": "m"}, 0.1)],
    "names given up at a limit, per second: it should be empty": [({"limit": "class"}, 0.1)],
}


def series(name: str, labels: dict[str, str], values: str) -> dict[str, str]:
    written = ", ".join(f'{label}="{value}"' for label, value in labels.items())
    return {"series": f"specwatch_request_{name}{{{written}}}", "values": values}


def known_series() -> list[dict[str, str]]:
    found = [series(name, labels, f"0+{step}x20") for name, labels, step in COUNTERS]
    found += [series(name, labels, f"{value}x20") for name, labels, value in GAUGES]
    for name, labels, edges in HISTOGRAMS:
        for edge, step in edges.items():
            found.append(series(f"{name}_bucket", {**labels, "le": edge}, f"0+{step}x20"))
        found.append(series(f"{name}_count", labels, f"0+{edges['+Inf']}x20"))
    return found


def promtool(*arguments: str) -> None:
    done = subprocess.run([find_tool("promtool"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def used(query: str) -> dict[str, Metric]:
    return {found[0]: BY_NAME[found[1]] for found in NAME.finditer(query)}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file of recording rules, one per query: what promtool reads, in JSON, which is YAML too."""
    path = tmp_path / "rules.yml"
    recorded = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(QUERIES.values())]
    path.write_text(json.dumps({"groups": [{"name": "documented", "rules": recorded}]}))
    return path


def test_every_query_has_its_answer_here() -> None:
    assert list(QUERIES) == list(ANSWERS)


@pytest.mark.parametrize("title", QUERIES)
def test_names_and_labels_are_the_catalogues(title: str) -> None:
    query = QUERIES[title]
    metrics = used(query)
    assert metrics
    for name, metric in metrics.items():
        assert (metric.kind is Kind.HISTOGRAM) == (name != metric.name)
        labels = {label.strip() for grouped in GROUPED.findall(query) for label in grouped.split(",")}
        labels |= {label for found, label in SELECTED.findall(query) if found == name}
        assert labels - {"le"} <= set(metric.labels)
        for edge in re.findall(r'le="([^"]+)"', query):
            assert float(edge) in metric.buckets or not metric.buckets
            assert edge == str(float(edge)), "as prometheus_client writes it"


def test_every_histogram_and_the_counters_of_drafts_are_asked_for() -> None:
    asked = {metric.name for query in QUERIES.values() for metric in used(query).values()}
    histograms = {metric.name for metric in REQUEST_CATALOG if metric.kind is Kind.HISTOGRAM}
    assert histograms <= asked


def test_promtool_accepts_the_queries(rules: Path) -> None:
    promtool("check", "rules", str(rules))


def test_known_series_give_the_right_answers(rules: Path, tmp_path: Path) -> None:
    tests: list[dict[str, Any]] = [
        {
            "expr": f"round(({query}) * {ROUNDED})",
            "eval_time": "15m",
            "exp_samples": [
                {
                    "labels": "{" + ", ".join(f'{name}="{text}"' for name, text in labels.items()) + "}",
                    "value": round(value * ROUNDED),
                }
                for labels, value in answers
            ],
        }
        for query, answers in zip(QUERIES.values(), ANSWERS.values(), strict=True)
    ]
    case = {"interval": "1m", "input_series": known_series(), "promql_expr_test": tests}
    path = tmp_path / "test.yml"
    path.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": [case]}))
    promtool("test", "rules", str(path))
