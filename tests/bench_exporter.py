"""What the scrape sidecar costs: `make bench-exporter` prints the table that docs/performance.md keeps.

Ratios are taken side by side in one run; the page is the 58 KB sample in tests/captures/from-source/.
"""

from __future__ import annotations

import http.server
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from specwatch_exporters.sidecar.fetch import Fetched
from specwatch_exporters.sidecar.scraper import Scraper
from specwatch_exporters.sidecar.version_probe import EngineFacts

PAGE = Path(__file__).parent / "captures/from-source/vllm-0.33.0-python-k3.prom"
ROUNDS = 60
SCRAPES = 100
INTERVAL_S = 5.0


def main() -> None:
    text = PAGE.read_text()
    bare, scrape = _side_by_side(
        lambda: list(text_string_to_metric_families(text)),
        Scraper(lambda: Fetched(200, "text/plain", text.encode(), 0.0), lambda _: EngineFacts()).scrape,
    )
    serving, processor, memory = _running_sidecar(text)
    *_, bare_memory = _running_sidecar(text, "--no-drift")
    rows = [
        ("bare prometheus_client parse of the page", f"{bare * 1e3:.2f} ms", ""),
        ("scrape without the network, same page", f"{scrape * 1e3:.2f} ms", ""),
        ("ratio", f"{scrape / bare:.2f}", "at most 1.5"),
        ("serving /metrics over loopback, median", f"{serving * 1e3:.2f} ms", ""),
        ("processor, one scrape and one serving every 5 s", f"{processor:.2%} of a core", "0.5 %"),
        ("resident memory of the running sidecar", f"{memory:.1f} MiB", "45 MiB"),
        ("the same without drift detection (`--no-drift`)", f"{bare_memory:.1f} MiB", ""),
    ]
    print(f"page {PAGE.name}, {len(text) / 1000:.0f} KB; Python {sys.version.split()[0]}; {os.cpu_count()} cores\n")
    print("| what | measured | aim |\n|---|---|---|")
    for what, measured, aim in rows:
        print(f"| {what} | {measured} | {aim} |")


def _side_by_side(left: Callable[[], object], right: Callable[[], object]) -> tuple[float, float]:
    """Medians of both in seconds, alternating so that both see the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for function, found in zip((left, right), times, strict=True):
            began = time.perf_counter()
            function()
            found.append(time.perf_counter() - began)
    return statistics.median(times[0]), statistics.median(times[1])


def _running_sidecar(text: str, *options: str) -> tuple[float, float, float]:
    """Serving time in seconds, share of a core at a 5 s interval, resident MiB, of `specwatch exporter run`."""
    engine = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(text))
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    process = _start(f"127.0.0.1:{engine.server_port}", *options)
    try:
        port = _port(process)
        _get(port)
        before = _processor_seconds(process.pid)
        times = []
        for _ in range(SCRAPES):
            began = time.perf_counter()
            _get(port)
            times.append(time.perf_counter() - began)
            time.sleep(0.2)
        used = _processor_seconds(process.pid) - before
        return statistics.median(times), used / SCRAPES / INTERVAL_S, _resident_mib(process.pid)
    finally:
        process.terminate()
        process.wait()
        engine.shutdown()
        engine.server_close()


def _start(engine: str, *more: str) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).with_name("specwatch")), "exporter", "run", "--engine", engine]
    options = ["--listen", "127.0.0.1:0", "--interval", "200ms", "--stale-after", "15s"]
    return subprocess.Popen([*command, *options, *more], stderr=subprocess.PIPE, text=True)


def _port(process: subprocess.Popen[str]) -> int:
    if process.stderr is None:
        raise RuntimeError("the sidecar's log is not read")
    for line in process.stderr:
        if "serving on port" in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return int(line.split()[-1])
    raise RuntimeError("the sidecar did not start")


def _get(port: int) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return bytes(answer.read())


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _handler(text: str) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"version":"0.33.0"}' if self.path == "/version" else text.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    return Handler


if __name__ == "__main__":
    main()
