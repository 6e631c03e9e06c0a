"""Our side of changing a running vLLM's synthetic acceptance: the plugin's folder, the file, and its answer."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from specwatch_bench import vllm_live_rates
from specwatch_exporters.replay.clock import Clock

_MODULE: Final = "specwatch_bench_live_rates"
_WAIT: Final = 30.0


class LiveAcceptance:
    """One engine's acceptance file.

    Args:
        folder: where the plugin and the file go; it is made.
        clock: source of time.
    """

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._folder = folder.resolve()
        self._file = self._folder / "acceptance.json"
        self._taken = self._file.with_name(self._file.name + ".taken")
        info = self._folder / "specwatch_bench_live-1.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: specwatch-bench-live\nVersion: 1\n")
        (info / "entry_points.txt").write_text(
            f"[vllm.general_plugins]\nspecwatch_bench_live = {_MODULE}:register\n"
        )
        shutil.copyfile(vllm_live_rates.__file__, self._folder / f"{_MODULE}.py")

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Variables that make an engine load the plugin; the Python path keeps what it had."""
        path = os.pathsep.join(part for part in (str(self._folder), base.get("PYTHONPATH", "")) if part)
        return {"PYTHONPATH": path, vllm_live_rates.VARIABLE: str(self._file)}

    def set(self, rates: Sequence[float]) -> None:
        """Write new rates; the engine takes them in its next step."""
        self._taken.unlink(missing_ok=True)
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(list(rates)), encoding="utf-8")
        part.replace(self._file)

    async def confirmed(self, rates: Sequence[float]) -> str | None:
        """Wait until a working engine has taken them; returns None, or one line that says what is wrong."""
        end = self._clock.monotonic() + _WAIT
        while not self._taken.exists():
            if self._clock.monotonic() > end:
                return "the engine did not take the synthetic acceptance: its plugin was not loaded"
            await self._clock.sleep(0.05)
        await self._clock.sleep(0.05)
        text = self._taken.read_text(encoding="utf-8")
        return None if text == json.dumps(list(rates)) else f"the engine took other rates: {text}"
