"""Signals of the commands that run until they are told to stop."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from typing import Final

LOG = logging.getLogger("specwatch")
STOPS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
ACCEPT: Final = signal.SIGUSR1
"""Says that what the engine does now is the new normal."""


def block_signals() -> None:
    """Keep the signals for `wait_for_stop`; to be called before any thread starts, because threads inherit it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {*STOPS, ACCEPT})


def wait_for_stop(*, accept: Callable[[], None] | None) -> None:
    """Wait for SIGTERM or Ctrl-C; each SIGUSR1 until then calls `accept`, if there is something to accept."""
    while signal.sigwait({*STOPS, ACCEPT}) == ACCEPT:
        if accept is None:
            LOG.warning("SIGUSR1: no detectors run here, there is no baseline to learn again")
        else:
            accept()
