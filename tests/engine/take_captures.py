"""Save pages and responses of the real engine, with their true figures, for tests that need no engine.

    PYTHONPATH=tests .venv/bin/python tests/engine/take_captures.py tests/captures/vllm-0.32.0-cpu

The figures in `figures.json` are sums over the responses, not read from the pages. In the log, paths of the
machine are replaced; everything else is as the engine gave it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.completions_client import TrueFigures, completion_request, send_raw
from engine.engine_load import DRAFT_POSITIONS, NGRAM_CONFIG, NGRAM_POSITIONS, SIGMA, draft_config, send_load
from engine.engine_process import MODEL_NAME, MODELS, EngineProcess, vllm_python
from engine.metric_page import MetricPage, engine_figures, fetch_page, settled, until
from engine.setup_vllm import REPOSITORY

PROMPT = "def read_buffer(self, size):"
STREAMING = {"stream": True, "stream_options": {"include_usage": True}}
Speculation = Mapping[str, Any] | None


class Captures:
    """The folder that captures go to, and the figures that belong to them."""

    def __init__(self, folder: Path, logs: Path) -> None:
        self.folder = folder
        self.logs = logs
        self._figures: dict[str, dict[str, Any]] = {}

    def engine(self, name: str, speculation: Speculation, extra: Sequence[str] = ()) -> EngineProcess:
        """Return an engine that logs under ``name``."""
        return EngineProcess(self.logs / f"{name}.log", speculation, extra)

    def save(self, name: str, content: bytes) -> None:
        """Write one capture; raises ValueError when it would be too big to keep."""
        if len(content) > 70_000:
            raise ValueError(f"{name} has {len(content)} bytes")
        (self.folder / name).write_bytes(content)

    def save_page(self, name: str, url: str, truth: TrueFigures | None = None) -> None:
        """Write the engine's page as it is now, and what the responses said about it."""
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as response:
            self.save(name, response.read())
        if truth is not None:
            self._figures[name] = asdict(truth)

    def save_log(self, name: str, text: str, truth: TrueFigures) -> None:
        """Write the engine's log without this machine's paths."""
        clean = text.replace(str(REPOSITORY), "/srv/specwatch").replace(tempfile.gettempdir(), "/srv")
        self.save(name, clean.encode())
        self._figures[name] = asdict(truth)

    def save_figures(self) -> None:
        """Write the figures of all pages."""
        (self.folder / "figures.json").write_text(json.dumps(self._figures, indent=1) + "\n")


def queue_is_there(page: MetricPage) -> bool:
    """Tell whether requests both run and wait."""
    return page.total("vllm:num_requests_running") > 0 and page.total("vllm:num_requests_waiting") > 0


def loaded(url: str, positions: int, requests: int, seed: int) -> TrueFigures:
    """Send load and wait until the engine has counted all of it."""
    truth = send_load(url, requests, seed).true_figures(positions)
    if positions:
        settled(lambda: engine_figures(fetch_page(f"{url}/metrics"), positions), truth)
    else:
        until(
            lambda: fetch_page(f"{url}/metrics").total("vllm:request_success_total"), lambda done: done == requests
        )
    return truth


def logged_tokens(log: str) -> int:
    """Return the accepted tokens of all windows of a log; vLLM writes one about every 10 s."""
    return sum(int(count) for count in re.findall(r"Accepted: (\d+) tokens", log))


def capture_draft_model(captures: Captures) -> None:
    """A page under load, page and log after it, a page after a restart, and single responses."""
    with captures.engine("draft", draft_config()) as engine, ThreadPoolExecutor(1) as background:
        load = background.submit(loaded, engine.url, DRAFT_POSITIONS, 96, 21)
        until(lambda: fetch_page(f"{engine.url}/metrics"), queue_is_there)
        captures.save_page("draft-k4-under-load.prom", engine.url)
        truth = load.result()
        captures.save_page("draft-k4.prom", engine.url, truth)
        text = until(engine.log.read_text, lambda log: logged_tokens(log) == truth.accepted_tokens)
        captures.save_log("draft-k4.log", text, truth)
        capture_responses(captures, engine.url)
        engine.restart()
        captures.save_page("draft-k4-restarted.prom", engine.url, loaded(engine.url, DRAFT_POSITIONS, 16, 22))


def capture_responses(captures: Captures, url: str) -> None:
    """One detailed completion, whole and streamed, and the same two of a chat."""
    text = completion_request(MODEL_NAME, PROMPT, max_tokens=24)
    messages = [{"role": "user", "content": PROMPT}]
    chat = {name: value for name, value in text.items() if name != "prompt"} | {"messages": messages}
    for name, path, body in (("completion", "/v1/completions", text), ("chat", "/v1/chat/completions", chat)):
        captures.save(f"{name}-detailed.json", send_raw(url, body, path=path))
        captures.save(f"{name}-detailed.sse", send_raw(url, body | STREAMING, path=path))


def capture_others(captures: Captures) -> None:
    """N-gram, no speculation, and two data-parallel engines."""
    with captures.engine("ngram", NGRAM_CONFIG) as engine:
        captures.save_page("ngram-k3-load.prom", engine.url, loaded(engine.url, NGRAM_POSITIONS, 64, 23))
    with captures.engine("off", None) as engine:
        captures.save_page("off.prom", engine.url, loaded(engine.url, 0, 48, 24))
    # A short context means fewer buckets, which keeps this page under the limit.
    parallel = ("--data-parallel-size", "2", "--max-model-len", "256")
    with captures.engine("dp2", draft_config(), parallel) as engine:
        captures.save_page("draft-k4-dp2.prom", engine.url, loaded(engine.url, DRAFT_POSITIONS, 64, 25))


def main() -> None:
    """Read the arguments, start the engines one after the other and save what they say."""
    parser = argparse.ArgumentParser(description="Save pages and responses of a real vLLM.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    script = Path(__file__).with_name("tiny_models.py")
    subprocess.run([str(vllm_python()), str(script), str(MODELS), "--sigma", str(SIGMA)], check=True)
    with tempfile.TemporaryDirectory() as logs:
        captures = Captures(folder, Path(logs))
        capture_draft_model(captures)
        capture_others(captures)
        captures.save_figures()


if __name__ == "__main__":
    main()
