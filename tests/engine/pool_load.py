"""A closed loop of clients whose every request is remembered; it can be paused."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Self

from engine.completions_client import completion_request, final_body, send_raw
from engine.engine_process import MODEL_NAME


@dataclass(frozen=True)
class Sent:
    """One request: monotonic seconds, output tokens; None tokens if it failed."""

    began: float
    ended: float
    tokens: int | None


@dataclass(frozen=True)
class Figures:
    """What a span of time came to."""

    seconds: float
    requests: int
    errors: int
    tokens_per_second: float
    p50_s: float
    p99_s: float

    def __str__(self) -> str:
        return (
            f"{self.seconds:5.0f} s  {self.requests:5} requests  {self.tokens_per_second:6.0f} tokens/s  "
            f"p50 {self.p50_s:5.2f} s  p99 {self.p99_s:5.2f} s  {self.errors} errors"
        )


class PoolLoad:
    """Clients that send prompts one after the other; a context manager.

    Args:
        url: where to send them.
        prompts: sent in turn.
        clients: how many at a time.

    Attributes:
        think_s: each client's wait before its next request.
        sent: all requests so far.
    """

    def __init__(self, url: str, prompts: Sequence[str], clients: int) -> None:
        self._url = url
        self._prompts = prompts
        self._turn = count()
        self._stop = threading.Event()
        self._go = threading.Event()
        self._go.set()
        self._open = threading.Semaphore(clients)
        self._clients = clients
        self._threads = [threading.Thread(target=self._client) for _ in range(clients)]
        self.think_s = 0.0
        self.sent: list[Sent] = []

    def pause(self) -> None:
        """Send nothing more, and wait until all that is open has ended."""
        self._go.clear()
        for _ in range(self._clients):
            self._open.acquire()
        for _ in range(self._clients):
            self._open.release()

    def resume(self) -> None:
        self._go.set()

    def figures(self, began: float, ended: float) -> Figures:
        """Of the requests that ended between two moments."""
        found = [one for one in self.sent if began <= one.ended < ended]
        latencies = sorted(one.ended - one.began for one in found if one.tokens is not None)
        tokens = sum(one.tokens or 0 for one in found)

        def quantile(share: float) -> float:
            return latencies[min(len(latencies) - 1, int(share * len(latencies)))] if latencies else float("nan")

        errors = sum(one.tokens is None for one in found)
        rate = tokens / (ended - began)
        return Figures(ended - began, len(found), errors, rate, quantile(0.5), quantile(0.99))

    def _client(self) -> None:
        while not self._stop.is_set():
            if not self._go.wait(0.1):
                continue
            with self._open:
                if self._go.is_set():
                    self._send(self._prompts[next(self._turn) % len(self._prompts)])

    def _send(self, prompt: str) -> None:
        began, tokens = time.monotonic(), None
        try:
            body = final_body(send_raw(self._url, completion_request(MODEL_NAME, prompt)))
            tokens = int(body["usage"]["completion_tokens"])
        except (OSError, urllib.error.HTTPError, http.client.HTTPException, ValueError, KeyError):
            time.sleep(0.2)
        self.sent.append(Sent(began, time.monotonic(), tokens))
        self._stop.wait(self.think_s)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
