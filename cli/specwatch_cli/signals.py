"""Signals of the commands that run until they are told to stop."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Final

STOPS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
ACCEPT: Final = signal.SIGUSR1
"""Says that what the engine does now is the new normal."""


def block_signals(*, accepting: bool) -> None:
    """Keep the signals for `wait_for_stop`; to be called before any thread starts, because threads inherit it.

    Args:
        accepting: keep SIGUSR1 as well as SIGTERM and Ctrl-C: the command has something to accept.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {*STOPS, ACCEPT} if accepting else STOPS)


def wait_for_stop(accept: Callable[[], None] | None = None) -> None:
    """Wait for SIGTERM or Ctrl-C; each SIGUSR1 until then calls `accept`, in a command that accepts."""
    awaited = STOPS if accept is None else {*STOPS, ACCEPT}
    while signal.sigwait(awaited) == ACCEPT:
        if accept is not None:
            accept()


def on_another_stop(act: Callable[[], None]) -> None:
    """From now on SIGTERM and Ctrl-C call this, in the thread that calls here, which is to wait for an ending."""
    for stop in STOPS:
        signal.signal(stop, lambda _number, _frame: act())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
