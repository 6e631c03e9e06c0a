"""The speculative configurations that the engine tests use and the load that they send."""

from __future__ import annotations

import threading
from typing import Any, Self

from engine.completions_client import LoadResult, completion_request, run_completions, varied_prompts
from engine.engine_process import MODEL_NAME, MODELS
from engine.tiny_models import draft_name

SIGMA = 0.05  # accepts about 30 % of the draft tokens
DRAFT_POSITIONS = 4
NGRAM_POSITIONS = 3
NGRAM_CONFIG = {
    "method": "ngram",
    "num_speculative_tokens": NGRAM_POSITIONS,
    "prompt_lookup_max": 4,
    "prompt_lookup_min": 2,
}
CONCURRENCY = 24  # more than the engine's 16 slots, so that some requests wait


def draft_config() -> dict[str, Any]:
    """Return the speculative configuration with the tiny draft model."""
    draft = str(MODELS / draft_name(SIGMA))
    return {"method": "draft_model", "model": draft, "num_speculative_tokens": DRAFT_POSITIONS}


def send_load(url: str, requests: int = 48, seed: int = 1, **extra: Any) -> LoadResult:
    """Send greedy completions and wait for all of them; none may be lost."""
    bodies = [completion_request(MODEL_NAME, prompt, **extra) for prompt in varied_prompts(requests, seed)]
    result = run_completions(url, bodies, CONCURRENCY)
    assert result.lost == 0
    assert len(result.records) == requests
    return result


class BackgroundLoad:
    """Load that goes on for as long as the block, whatever happens to the engine meanwhile."""

    def __init__(self, url: str, requests: int = 2000, seed: int = 2) -> None:
        self._stop = threading.Event()
        self._result: LoadResult | None = None
        self._bodies = [completion_request(MODEL_NAME, prompt) for prompt in varied_prompts(requests, seed)]
        self._thread = threading.Thread(target=self._run, args=(url,))

    def _run(self, url: str) -> None:
        self._result = run_completions(url, self._bodies, CONCURRENCY, self._stop)

    def finish(self) -> LoadResult:
        """Send nothing more, wait for what is open, and return what came back."""
        self._stop.set()
        self._thread.join()
        assert self._result is not None
        return self._result

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()
