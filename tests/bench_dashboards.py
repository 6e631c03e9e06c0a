"""What the dashboards cost a Prometheus: every query over 24 hours of 200 pods, timed.

The series are written as the recording rules and the exporters would leave them, loaded with promtool, and asked
for as Grafana does: 24 hours in steps of 5 to 20 minutes for what is drawn, the last instant for numbers.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from dashboards.asked import Asked, asked_of
from engine.child_process import running
from engine.engine_process import free_port, http_status
from specwatch_dashboards.build import build
from specwatch_dashboards.source import Source
from specwatch_exporters.request_catalog import (
    ACCEPTANCE_LENGTH,
    ACCEPTANCE_RATIO,
    E2E,
    INTER_CHUNK,
    INTER_TOKEN,
    TTFT,
)
from specwatch_exporters.request_catalog import QUEUE_WAIT as REQUEST_WAIT
from tools.tool_paths import find_tool

HOURS: Final = 24
# Grafana's round steps for 24 hours in at most so many points.
STEP_S: Final = {360: 300, 180: 600, 90: 1200}
RECORDED_S: Final = 120
SCRAPED_S: Final = 240
MODELS: Final = ("llama", "qwen")
CLASSES: Final = ("chat", "code", "math")
BATCHES: Final = ("1", "2", "4", "8", "16", "32")
SPECULATION: Final = ("eagle3", "off")
GPUS_PER_POD: Final = 2
POSITIONS: Final = 5
OUTCOMES: Final = ("success", "error", "aborted")
WAIT_S: Final = 0.2
REQUESTS: Final = (
    ("queue_wait", REQUEST_WAIT),
    ("ttft", TTFT),
    ("inter_token", INTER_TOKEN),
    ("inter_chunk", INTER_CHUNK),
    ("e2e", E2E),
)
_DURATIONS: Final = {"$__rate_interval": "6m", "$__range": f"{HOURS}h", "$__interval": "300s"}

Series = tuple[str, dict[str, str], float]


def edges(buckets: tuple[float, ...]) -> tuple[str, ...]:
    return (*(str(float(edge)) for edge in buckets), "+Inf")


def histogram(name: str, where: dict[str, str], buckets: tuple[float, ...]) -> Iterator[Series]:
    les = edges(buckets)
    for place, le in enumerate(les):
        yield name, {**where, "le": le}, (place + 1) / len(les)


def of_models() -> Iterator[Series]:
    for model in MODELS:
        own = {"namespace": "llm", "model": model}
        counted = {**own, "definition": "vllm-v1-counters"}
        yield from (
            (f"specwatch:{name}:rate5m", counted, rate)
            for name, rate in (("drafts", 900.0), ("draft_tokens", 4500.0), ("accepted_tokens", 1500.0))
        )
        for at in range(POSITIONS):
            place = {**counted, "position": str(at)}
            yield "specwatch:accepted_tokens_per_position:rate5m", place, 900.0 * 0.6 ** (at + 1)
            yield "specwatch:draft_tokens_per_position:rate5m", place, 900.0
        yield from (
            (f"specwatch:{name}", own, value)
            for name, value in (
                ("generation_tokens:rate5m", 2400.0),
                ("requests_running:sum", 640.0),
                ("requests_waiting:sum", 12.0),
                ("kv_cache_usage:max", 0.8),
                ("preemptions:rate5m", 0.1),
                ("requests_rejected:rate5m", 0.1),
                ("engines:count", 100.0),
                ("cost_per_million_tokens:usd1h", 7.0),
                ("payoff_speedup:median", 1.2),
                ("payoff_break_even:median", 1.6),
                ("tokens_per_step:median", 2.4),
                ("scale_demand:replicas", 97.0),
            )
        )
        for slo in ("queue_wait", "ttft", "token_latency", "errors"):
            for window in ("5m", "1h"):
                yield f"specwatch:slo_error:ratio{window}", {**own, "slo": slo}, 0.01
        for name in ("queue_wait", "ttft", "token_latency", "e2e"):
            yield from histogram(f"specwatch:engine_{name}_bucket:rate5m", own, tuple(map(float, range(1, 22))))
        yield from of_classes(own)
        yield from of_loads(own)
    for slo in ("queue_wait", "ttft", "token_latency", "errors"):
        yield "specwatch:slo_budget:ratio", {"slo": slo}, 0.01
    yield "specwatch:gpu_hour:usd", {}, 4.0
    yield "specwatch:cost_budget:usd", {}, 10.0


def of_classes(own: dict[str, str]) -> Iterator[Series]:
    for kind in CLASSES:
        where = {**own, "traffic_class": kind}
        for name, rate in (
            ("drafts", 300.0),
            ("draft_tokens", 1500.0),
            ("accepted_tokens", 500.0),
            ("output_tokens", 800.0),
        ):
            yield f"specwatch:request_{name}:rate5m", where, rate
        for outcome in OUTCOMES:
            yield "specwatch:request_finished:rate5m", {**where, "outcome": outcome}, 1.0
        yield from histogram("specwatch:request_acceptance_ratio_bucket:rate5m", where, ACCEPTANCE_RATIO.buckets)
        yield from histogram("specwatch:request_acceptance_length_bucket:rate5m", where, ACCEPTANCE_LENGTH.buckets)
        for name, metric in REQUESTS:
            if name != "inter_chunk":
                yield from histogram(f"specwatch:request_{name}_class_bucket:rate5m", where, metric.buckets)


def of_loads(own: dict[str, str]) -> Iterator[Series]:
    batches = [{**own, "batch": batch} for batch in BATCHES]
    methods = [{**own, "speculation": method} for method in SPECULATION]
    both = [{**one, **other} for one in batches for other in methods]
    for kind, series, metrics in (
        ("batch", batches, ("ttft", "inter_token", "e2e")),
        ("method", methods, ("inter_token", "inter_chunk")),
        ("batch_method", both, ("inter_token",)),
    ):
        for name, metric in REQUESTS:
            if name in metrics:
                for labels in series:
                    yield from histogram(f"specwatch:request_{name}_{kind}_bucket:rate5m", labels, metric.buckets)


def of_states() -> Iterator[Series]:
    for model in MODELS:
        own = {"namespace": "llm", "model": model}
        for kind in ("", *CLASSES):
            yield "specwatch:drift_state:worst", {**own, "traffic_class": kind}, 1.0
            yield "specwatch:drift_score:max", {**own, "traffic_class": kind}, 0.3
        for state in ("active", "off", "idle", "unknown", "stale"):
            yield "specwatch:speculation_state:sum", {**own, "state": state}, 100.0 * (state == "active")
        for version in ("0.32.0", "0.33.0"):
            method = {**own, "version": version, "method": "eagle3"}
            yield "specwatch:version_drafts:rate5m", method, 450.0
            yield "specwatch:version_accepted_tokens:rate5m", method, 750.0
        yield "specwatch:tokens_per_gpu:rate5m", own, 24.0


def of_pods_recorded(pods: int) -> Iterator[Series]:
    gpus = (("gpus:count", 1.0), ("gpu_use:avg", 80.0), ("gpu_memory:max", 0.8), ("gpu_power:sum", 500.0))
    for number in range(pods):
        at = {"namespace": "llm", "pod": pod_of(number)["pod"]}
        yield from ((f"specwatch:pod_{name}", at, value) for name, value in gpus)
        own = {"namespace": "llm", "model": MODELS[number % len(MODELS)], **pod_of(number)}
        yield "specwatch:pod_drafts:rate5m", own, 9.0
        yield "specwatch:pod_acceptance_length:mean5m", own, 2.6 + number / pods / 3
        yield "specwatch:pod_accepted_tokens:rate5m", own, 15.0 + number / pods
        yield "specwatch:pod_generation_tokens:rate5m", own, 24.0
        yield "specwatch:pod_requests_waiting:sum", own, float(number % 7)


def pod_of(number: int) -> dict[str, str]:
    return {"pod": f"engine-{number:03}", "instance": f"10.0.{number // 250}.{number % 250}:9477"}


def of_pods_scraped(pods: int) -> Iterator[Series]:
    for number in range(pods):
        at = {"namespace": "llm", **pod_of(number)}
        own = {**at, "model": MODELS[number % len(MODELS)]}
        for kind in ("", *CLASSES):
            watched = {**own, "traffic_class": kind}
            yield "specwatch_drift_score_ratio", watched, 0.3
            yield "specwatch_drift_baseline_length_tokens", watched, 2.6
        yield from (
            (f"specwatch_{name}", own, value)
            for name, value in (("drift_mix_shift", 0.0), ("drift_calibrated", 1.0))
        )
        yield "specwatch_speculating_steps_ratio", own, 0.97
        yield "specwatch_engine_restarts_total", at, 1.0
        for kind in CLASSES:
            yield "specwatch_request_oldest_waiting_seconds", {**at, "traffic_class": kind}, float(number % 5)
        for gpu in range(GPUS_PER_POD):
            card = {
                "namespace": "llm",
                "pod": at["pod"],
                "UUID": f"GPU-{number}-{gpu}",
                "Hostname": f"node-{number}",
            }
            yield "DCGM_FI_DEV_GPU_UTIL", card, 80.0


def write_series(out: TextIO, name: str, series: list[Series], end: int, step: int) -> None:
    out.write(f"# TYPE {name} gauge\n")
    for place, (_, labels, value) in enumerate(series):
        head = name + "{" + ",".join(f'{label}="{text}"' for label, text in labels.items()) + "}"
        for at in range(end - HOURS * 3600, end, step):
            swing = 1 + 0.1 * math.sin(at / 13_750 + place)
            out.write(f"{head} {value * swing if value not in {0.0, 1.0} else value:.4g} {at}\n")


def write_history(path: Path, pods: int, end: int) -> int:
    """An OpenMetrics file, one family after the other; returns the number of series."""
    count = 0
    with path.open("w") as out:
        for found, step in (
            ([*of_models(), *of_states(), *of_pods_recorded(pods)], RECORDED_S),
            (list(of_pods_scraped(pods)), SCRAPED_S),
        ):
            families: dict[str, list[Series]] = {}
            for series in found:
                families.setdefault(series[0], []).append(series)
            for name, series_of in families.items():
                write_series(out, name, series_of, end, step)
            count += len(found)
        out.write("# EOF\n")
    return count


def ask(url: str, asked: Asked, end: int) -> tuple[float, int]:
    """Seconds of the fastest of three, and how many series came."""
    instant = asked.kind in {"stat", "table", "bargauge"}
    times = (
        {"time": end}
        if instant
        else {"start": end - HOURS * 3600, "end": end, "step": STEP_S.get(asked.points, 300)}
    )
    arguments = urllib.parse.urlencode({"query": asked.expr, **times})
    path = f"{url}/api/v1/query{'' if instant else '_range'}?{arguments}"
    took, series = [], 0
    for _ in range(3):
        began = time.perf_counter()
        with urllib.request.urlopen(path, timeout=120) as response:
            body = response.read()
        took.append(time.perf_counter() - began)
        series = len(json.loads(body)["data"]["result"])
    return min(took), series


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--source", type=Source, default=Source.SIDECAR)
    parser.add_argument("--keep", type=Path, default=None, help="folder for the data; used again if it is there")
    chosen = parser.parse_args()
    folder = chosen.keep or Path(tempfile.mkdtemp(prefix="specwatch-bench-"))
    try:
        measure(folder, chosen.pods, chosen.source)
    finally:
        if chosen.keep is None:
            shutil.rmtree(folder)


def load(folder: Path, pods: int) -> int:
    """Fill Prometheus' storage, unless it is; returns the end of the history."""
    stamp = folder / "end"
    if stamp.exists():
        return int(stamp.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    end = int(time.time()) // 3600 * 3600
    history = folder / "history.om"
    count = write_history(history, pods, end)
    print(f"{count} series of {pods} pods, {history.stat().st_size / 1e6:.0f} MB of text")
    command = [
        str(find_tool("promtool")),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        str(history),
        str(folder / "data"),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    history.unlink()
    stamp.write_text(str(end))
    return end


def measure(folder: Path, pods: int, source: Source) -> None:
    end = load(folder, pods) - SCRAPED_S
    (folder / "prometheus.yml").write_text("{}")
    address = f"127.0.0.1:{free_port()}"
    command = [
        str(find_tool("prometheus")),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    url = f"http://{address}"
    with running(command, folder / "prometheus.log", lambda: http_status(f"{url}/-/ready") == 200):
        for uid, dashboard in build(source).items():
            rows = sorted(
                ((*ask(url, asked, end), asked) for asked in asked_of(dashboard, _DURATIONS)),
                key=lambda row: -row[0],
            )
            report(uid, rows)


def report(uid: str, rows: list[tuple[float, int, Asked]]) -> None:
    times = [took for took, _, _ in rows]
    slow = sum(took > WAIT_S for took in times)
    print(
        f"{uid}: {len(rows)} queries, median {statistics.median(times) * 1e3:.0f} ms, "
        f"slowest {max(times) * 1e3:.0f} ms, all {sum(times):.1f} s, {slow} above {WAIT_S * 1e3:.0f} ms, "
        f"at most {max(series for _, series, _ in rows)} series"
    )
    for took, series, asked in rows[:4]:
        print(f"  {took * 1e3:6.0f} ms {series:4} series  {asked.where}")


if __name__ == "__main__":
    main()
