"""Inside vLLM: synthetic acceptance read again from a file, so that one start serves several distributions.

This one file is copied beside an entry point of vLLM's group `vllm.general_plugins` and imported by the engine; it
imports nothing of ours. vLLM keeps the conditional rates of `rejection_sample_method: synthetic` in a tensor,
`synthetic_conditional_rates`, on its rejection sampler (0.20 to 0.33, both model runners), and reads it in every
step; new values are copied into that tensor. The sampler runs outside the CUDA graphs. What was taken is written
beside the file, with `.taken` at its name's end.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from pathlib import Path
from typing import Any

VARIABLE = "SPECWATCH_BENCH_ACCEPTANCE_FILE"
_LOOK_EVERY = 0.1
_SAMPLERS = (
    ("vllm.v1.sample.rejection_sampler", "forward"),
    ("vllm.v1.worker.gpu.spec_decode.rejection_sampler", "__call__"),
)


def conditional(rates: list[float]) -> list[float]:
    """Conditional acceptance from the unconditional one; 0 behind a position that is never accepted."""
    before = [1.0, *rates]
    return [rate / earlier if earlier > 0 else 0.0 for rate, earlier in zip(rates, before, strict=False)]


class FileRates:
    """The file, looked at now and then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.taken = path.with_name(path.name + ".taken")
        self._looked = 0.0
        self._stamp = 0

    def changed(self) -> list[float] | None:
        """The rates if the file is new since the last look, else None."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return None
        self._looked = now
        try:
            stamp = self.path.stat().st_mtime_ns
            if stamp == self._stamp:
                return None
            rates = [float(rate) for rate in json.loads(self.path.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return None
        self._stamp = stamp
        return rates

    def apply(self, sampler: Any) -> None:
        """Copy new rates into a sampler's tensor and say so; leave a sampler without synthetic acceptance alone."""
        tensor = sampler.synthetic_conditional_rates
        if tensor is None:
            return
        rates = self.changed()
        if rates is None:
            return
        if len(rates) != len(tensor):
            self.taken.write_text(f"{len(rates)} rates for {len(tensor)} positions", encoding="utf-8")
            return
        try:
            tensor.copy_(tensor.new_tensor(conditional(rates)))
        except RuntimeError as error:  # the engine must not end for it; our side reads what went wrong
            self.taken.write_text(str(error), encoding="utf-8")
            return
        self.taken.write_text(json.dumps(rates), encoding="utf-8")


def patch(owner: Any, method: str, rates: FileRates) -> None:
    """Let a sampler class look at the file before each step."""
    original = getattr(owner, method)

    def looking(self: Any, *arguments: Any, **named: Any) -> Any:
        rates.apply(self)
        return original(self, *arguments, **named)

    setattr(owner, method, looking)


def register() -> None:
    """Entry point: patch the samplers that this vLLM has; without the variable, nothing."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    rates = FileRates(Path(path))
    for name, method in _SAMPLERS:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        patch(module.RejectionSampler, method, rates)
