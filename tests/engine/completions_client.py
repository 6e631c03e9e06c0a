"""Send completions to a real engine and keep what each response says about its own speculation."""

from __future__ import annotations

import http.client
import json
import random
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

MAX_TOKENS = 48
SUBJECTS = ("queue", "socket", "parser", "thread", "buffer", "logger", "token", "widget", "matrix", "signal")
OPENINGS = ("def read_{}(self, size):", "class {}Error(Exception):", "import {}\n", "# The {} is", "return {}(")


@dataclass(frozen=True)
class RequestRecord:
    """What one finished response said about itself; token counts, with one list entry per draft step."""

    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    accepted: tuple[int, ...]
    drafted: tuple[int, ...]
    body: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class TrueFigures:
    """Sums over responses: the figures that every other source has to agree with."""

    requests: int
    prompt_tokens: int
    generation_tokens: int
    drafts: int
    draft_tokens: int
    accepted_tokens: int
    per_position: tuple[int, ...]

    def plus(self, other: TrueFigures) -> TrueFigures:
        """Add two sets of figures; the shorter list of positions is padded with zeros."""
        positions = max(len(self.per_position), len(other.per_position))
        padded = [figures.per_position + (0,) * positions for figures in (self, other)]
        return TrueFigures(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.generation_tokens + other.generation_tokens,
            self.drafts + other.drafts,
            self.draft_tokens + other.draft_tokens,
            self.accepted_tokens + other.accepted_tokens,
            tuple(padded[0][at] + padded[1][at] for at in range(positions)),
        )


@dataclass(frozen=True)
class LoadResult:
    """Finished responses, and how many requests were sent but broke before their answer was whole."""

    records: tuple[RequestRecord, ...]
    lost: int

    def true_figures(self, positions: int) -> TrueFigures:
        """Sum over the responses; ``positions`` is the engine's number of speculative tokens."""
        accepted = [step for record in self.records for step in record.accepted]
        return TrueFigures(
            requests=len(self.records),
            prompt_tokens=sum(record.prompt_tokens for record in self.records),
            generation_tokens=sum(record.completion_tokens for record in self.records),
            drafts=len(accepted),
            draft_tokens=sum(step for record in self.records for step in record.drafted),
            accepted_tokens=sum(accepted),
            per_position=tuple(sum(step > at for step in accepted) for at in range(positions)),
        )


def varied_prompts(count: int, seed: int = 7) -> list[str]:
    """Return short, different pieces of code; the same list for the same seed."""
    dice = random.Random(seed)
    return [
        " ".join(dice.choice(OPENINGS).format(dice.choice(SUBJECTS)) for _ in range(dice.randint(2, 6)))
        for _ in range(count)
    ]


def completion_request(model: str, prompt: str, **settings: Any) -> dict[str, Any]:
    """Return the body of one greedy completion that runs to its 48 tokens; ``settings`` come on top."""
    body = {"model": model, "prompt": prompt, "max_tokens": MAX_TOKENS, "temperature": 0, "ignore_eos": True}
    return body | settings


def send_raw(url: str, body: dict[str, Any], path: str = "/v1/completions", timeout: float = 120) -> bytes:
    """Post one request and return the bytes of the answer as they came; raises OSError when it breaks."""
    request = urllib.request.Request(
        f"{url}{path}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=timeout) as response:
        answer: bytes = response.read()
    return answer


def final_body(answer: bytes) -> dict[str, Any]:
    """Return the response object, or of a stream the last event that carries usage."""
    if not answer.startswith(b"data:"):
        whole: dict[str, Any] = json.loads(answer)
        return whole
    events = [line[5:].strip() for line in answer.splitlines() if line.startswith(b"data:")]
    chunks = [json.loads(event) for event in events if event != b"[DONE]"]
    merged: dict[str, Any] = next(chunk for chunk in reversed(chunks) if chunk.get("usage"))
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk.get("choices", [])]
    return merged | {"choices": [{"finish_reason": next(reason for reason in reversed(reasons) if reason)}]}


def parse_record(body: dict[str, Any]) -> RequestRecord:
    """Read one response; without speculation its two lists are empty."""
    speculation = (body.get("metrics") or {}).get("speculative_decoding") or {}
    return RequestRecord(
        prompt_tokens=body["usage"]["prompt_tokens"],
        completion_tokens=body["usage"]["completion_tokens"],
        finish_reason=body["choices"][0]["finish_reason"],
        accepted=tuple(speculation.get("per_step_accepted") or ()),
        drafted=tuple(speculation.get("per_step_drafted") or ()),
        body=body,
    )


def run_completions(
    url: str,
    bodies: Iterable[dict[str, Any]],
    concurrency: int,
    stop: threading.Event | None = None,
) -> LoadResult:
    """Send every body with at most ``concurrency`` open at once; ``stop`` ends the sending early.

    A request whose connection breaks counts as lost. An answer with an error status raises, because the tests
    send nothing that a healthy engine would refuse.
    """

    def one(body: dict[str, Any]) -> RequestRecord | bool | None:
        if stop is not None and stop.is_set():
            return False
        try:
            return parse_record(final_body(send_raw(url, body)))
        except urllib.error.HTTPError:
            if stop is None:
                raise
            return None
        except (OSError, http.client.HTTPException):
            return None

    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        outcomes = list(pool.map(one, bodies))
    records = tuple(outcome for outcome in outcomes if isinstance(outcome, RequestRecord))
    return LoadResult(records, lost=sum(outcome is None for outcome in outcomes))
