"""The event loop of stub and load generator: uvloop's, because what they cost must lie far below the proxies."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from importlib import import_module
from typing import Any


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run until `main` is done."""
    with asyncio.Runner(loop_factory=import_module("uvloop").new_event_loop) as runner:
        runner.run(main)
