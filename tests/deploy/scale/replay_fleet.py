"""Replay engines as pods, a router with the fewest requests first, and requests that come at a rate."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

MODEL, NAMESPACE, SLOTS = "m", "llm", 4
SETTINGS = ReplaySettings(model=MODEL, slots=SLOTS, speed=1.0)
BODY = json.dumps({"model": MODEL, "prompt": "a b c d", "max_tokens": 100, "ignore_eos": True}).encode()


class ReplayFleet:
    """Pods that start, serve, drain and stop; Prometheus finds them in a file.

    Args:
        targets: file for Prometheus's file_sd.
    """

    def __init__(self, targets: Path) -> None:
        self._targets = targets
        self._pods: dict[str, ReplayThread] = {}
        self._in_flight: dict[str, int] = {}
        self._leaving: list[tuple[str, ReplayThread]] = []
        self._number = 0
        self._lock = threading.Lock()
        self._clients = ThreadPoolExecutor(200)
        self._stop = threading.Event()
        self._arrivals = threading.Thread(target=self._arrive)
        self.rate = 0.0
        self.answered = 0
        self.failed = 0

    def __enter__(self) -> Self:
        self._arrivals.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._arrivals.join()
        self._clients.shutdown(cancel_futures=True)
        for pod in [*self._pods.values(), *(pod for _, pod in self._leaving)]:
            pod.stop()

    @property
    def size(self) -> int:
        return len(self._pods)

    def resize(self, wanted: int) -> None:
        """Start pods, or take the youngest from the router and stop those that have drained."""
        while self.size < wanted:
            name = f"pod-{self._number}"
            self._number += 1
            pod = ReplayThread(SETTINGS).start()
            with self._lock:
                self._pods[name], self._in_flight[name] = pod, 0
        while self.size > wanted:
            with self._lock:
                name = list(self._pods)[-1]
                self._leaving.append((name, self._pods.pop(name)))
        for name, pod in [item for item in self._leaving if not self._in_flight[item[0]]]:
            self._leaving.remove((name, pod))
            pod.stop()
        self._tell()

    def _tell(self) -> None:
        pods = [*self._pods.items(), *self._leaving]
        body = [
            {"targets": [pod.url.removeprefix("http://")], "labels": {"namespace": NAMESPACE, "pod": name}}
            for name, pod in pods
        ]
        new = self._targets.with_suffix(".new")
        new.write_text(json.dumps(body))
        new.replace(self._targets)

    def _arrive(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            if self.rate <= 0.0:
                due = time.monotonic()
                self._stop.wait(0.02)
                continue
            due += 1.0 / self.rate
            self._stop.wait(max(0.0, due - time.monotonic()))
            if not self._stop.is_set():
                self._clients.submit(self._request)

    def _request(self) -> None:
        with self._lock:
            name = min(self._pods, key=lambda pod: self._in_flight[pod])
            url = self._pods[name].url
            self._in_flight[name] += 1
        try:
            asked = urllib.request.Request(f"{url}/v1/completions", BODY, {"Content-Type": "application/json"})
            with urllib.request.urlopen(asked, timeout=60) as response:
                response.read()
            self.answered += 1
        except (OSError, urllib.error.URLError):
            self.failed += 1
        finally:
            with self._lock:
                self._in_flight[name] -= 1
