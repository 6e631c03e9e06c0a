"""What a round of the fleet watch costs: prints the table that docs/fleet-watch.md keeps.

A server in a process of its own gives out what a Prometheus would: every pod has the series of a scrape sidecar and
those of a request sidecar for each class, one new sample a round. A round asks for them over HTTP with
prometheus-api-client, takes increases, sums, and runs the detectors of the model and of each class. Beside it
stands the bare `json.loads` of the same bodies, without HTTP and without anything done with what it gives.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import multiprocessing
import os
import resource
import statistics
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.connection import Connection
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from specwatch_detectors.watch.counters import COUNTERS, Counter, Origin
from specwatch_detectors.watch.packed_state import packed as packed_state
from specwatch_detectors.watch.pod_facts import FACTS
from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_detectors.watch.prometheus_source import PrometheusSource
from specwatch_detectors.watch.rounds import Grid, Rounds
from specwatch_detectors.watch.watch_settings import WatchSettings, make_rounds

BEGIN = 1_700_000_000
INTERVAL = 10
DEPTH = 4
KEPT = (0.7, 0.5, 0.36, 0.27)
DRAFTS = 400.0
MODEL = "meta-llama/Llama-3.3-70B-Instruct"
Bodies = Mapping[tuple[str, int], bytes]


class Times(NamedTuple):
    """Seconds that something took."""

    wall: float
    processor: float


def bodies(pods: int, classes: int, rounds: int) -> dict[tuple[str, int], bytes]:
    """Answers by metric and round."""
    found = {}
    for number in range(rounds):
        for counter in COUNTERS:
            rows = [
                _series(counter.name, {**labels, **_target(pod)}, pod, number, value)
                for pod in range(pods)
                for labels, value in _own(counter, classes, number)
            ]
            found[(counter.name, number)] = _body(rows)
        for metric, labels, value in _facts():
            rows = [_series(metric, {**labels, **_target(pod)}, pod, number, value) for pod in range(pods)]
            found[(metric, number)] = _body(rows)
    return found


def _own(counter: Counter, classes: int, number: int) -> Iterator[tuple[dict[str, str], float]]:
    if counter.origin is Origin.ENGINE:
        kinds = [{"engine": "0", "definition": "vllm-v1-counters"}]
    else:
        kinds = [{"traffic_class": f"class-{index}", "speculation": "eagle3"} for index in range(classes)]
    drafts = DRAFTS * (number + 1) * (classes if counter.origin is Origin.ENGINE else 1)
    for kind in kinds:
        labels = {"model": MODEL, **kind}
        if not counter.positions:
            yield labels, drafts * (1.0, DEPTH, sum(KEPT))[counter.cell]
            continue
        if counter.origin is Origin.ENGINE and counter.name.startswith("specwatch_draft_"):
            continue  # engines do not tell
        for position, share in enumerate(KEPT):
            kept = share if "accepted" in counter.name else 1.0
            yield {**labels, "position": str(position)}, round(drafts * kept)


def _facts() -> list[tuple[str, dict[str, str], float]]:
    names = [metric.name for metric in FACTS]
    labels: list[dict[str, str]] = [
        {},
        {"kind": "vllm", "dialect": "v1", "version": "0.32.0"},
        {"model": MODEL, "method": "eagle3", "definition": "vllm-v1-counters"},
        {"model": MODEL},
    ]
    return list(zip(names, labels, (0.0, 1.0, 1.0, float(DEPTH)), strict=True))


def _target(pod: int) -> dict[str, str]:
    return {
        "container": "specwatch",
        "endpoint": "metrics",
        "instance": f"10.{pod // 250}.{pod % 250}.7:9477",
        "job": "llm/vllm",
        "namespace": "llm",
        "pod": f"vllm-llama-70b-7d9c5b6f4d-{pod:05x}",
    }


def _series(metric: str, labels: Mapping[str, str], pod: int, number: int, value: float) -> dict[str, object]:
    at = BEGIN + INTERVAL * number + 0.001 + INTERVAL * (pod % 997) / 1000
    return {"metric": dict(sorted({"__name__": metric, **labels}.items())), "values": [[at, f"{value:g}"]]}


def _body(rows: list[dict[str, object]]) -> bytes:
    answer = {"status": "success", "data": {"resultType": "matrix", "result": rows}}
    return json.dumps(answer, separators=(",", ":")).encode()


class Fleet(NamedTuple):
    """What is watched."""

    pods: int
    classes: int
    rounds: int


def _serve(fleet: Fleet, channel: Connection, *, packed: bool) -> None:
    answers = bodies(*fleet)
    if packed:
        answers = {key: gzip.compress(body, 1) for key, body in answers.items()}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: Nagle would hold the body back for 40 ms

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            metric = query["query"][0].partition("{")[0]
            number = (round(float(query["time"][0])) - BEGIN) // INTERVAL - 1
            body = answers[(metric, number)]
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            if packed:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    channel.send(server.server_port)
    server.serve_forever()


@contextmanager
def served(fleet: Fleet, *, packed: bool) -> Iterator[str]:
    """Make and serve the answers in a process of their own, compressed or not; gives the address."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(fleet, there), kwargs={"packed": packed}, daemon=True
    )
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()


def bare_parses(url: str, number: int) -> tuple[Times, Times, int]:
    """`json.loads` over the bodies of one round, with and without Python's search for cycles; their bytes."""
    names = [*(counter.name for counter in COUNTERS), *(metric.name for metric in FACTS)]
    time_of = BEGIN + INTERVAL * (number + 1)
    found = [
        urllib.request.urlopen(f"{url}/api/v1/query?query={name}{{}}&time={time_of}", timeout=60).read()
        for name in names
    ]
    collecting = _parse(found)
    gc.disable()
    quick = _parse(found)
    gc.enable()
    return collecting, quick, sum(map(len, found))


def _parse(found: Sequence[bytes]) -> Times:
    wall, processor = time.perf_counter(), time.process_time()
    for body in found:
        json.loads(body)
    return Times(time.perf_counter() - wall, time.process_time() - processor)


def one_round(rounds: Rounds, number: int) -> Times:
    """One round of the watch, readings included."""
    now = BEGIN + INTERVAL * (number + 1) + Grid().delay_s
    wall, processor = time.perf_counter(), time.process_time()
    rounds.catch_up(now)
    rounds.readings(now)
    return Times(time.perf_counter() - wall, time.process_time() - processor)


def watched(url: str, count: int) -> tuple[list[Times], Rounds]:
    """All rounds of a watch that begins with the first, and what it has become."""
    settings = WatchSettings(grid=Grid(interval_s=INTERVAL, since_s=INTERVAL))
    source = PrometheusSource(PrometheusAddress(url))
    rounds = make_rounds(settings, source)(None)
    times = [one_round(rounds, number) for number in range(count)]
    source.close()
    if rounds.at != BEGIN + INTERVAL * count:
        raise RuntimeError("the watch did not take every tick in")
    return times, rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=7)
    fleet = Fleet(**vars(parser.parse_args()))
    with served(fleet, packed=False) as url:
        plain, rounds = watched(url, fleet.rounds)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        bare, quick, sizes = zip(*(bare_parses(url, number) for number in range(1, fleet.rounds)), strict=True)
    with served(fleet, packed=True) as url:
        packed, _ = watched(url, fleet.rounds)
    print(f"Python {sys.version.split()[0]}; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}")
    print(f"{fleet.pods:,} pods x {fleet.classes} classes, {DEPTH} draft tokens:", end=" ")
    print(f"{rounds.fleet.series:,} counter series,", end=" ")
    print(f"{sizes[0] / 1e6:.0f} MB of JSON a round; {memory:.0f} MiB of memory at most;")
    print(f"state {len(json.dumps(rounds.state())):,} bytes, {len(packed_state(rounds.state())[0]):,} compressed\n")
    print("| | wall, median | wall, slowest | processor, median |")
    print("|---|---:|---:|---:|")
    _row("first round, every series new", plain[:1])
    _row("round", plain[1:])
    _row("round, answers compressed with gzip", packed[1:])
    _row("bare `json.loads`", bare)
    _row("bare `json.loads`, garbage collector off", quick)
    print(f"\nround over bare `json.loads`, processor time: {_median(plain[1:]) / _median(bare):.2f}; ", end="")
    print(f"with the collector off: {_median(plain[1:]) / _median(quick):.2f}")


def _row(name: str, times: Sequence[Times]) -> None:
    walls = [one.wall for one in times]
    cells = (statistics.median(walls), max(walls), _median(times))
    print(f"| {name} | {' | '.join(f'{value:.2f} s' for value in cells)} |")


def _median(times: Sequence[Times]) -> float:
    return statistics.median(one.processor for one in times)


if __name__ == "__main__":
    main()
