"""Runs the sender in a thread of its own, while this process is the one that sends."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from typing import Final

from specwatch_alerts.slack.order_desk import OrderDesk
from specwatch_alerts.slack.outbox import Outbox
from specwatch_alerts.slack.sender import Sender
from specwatch_alerts.slack.sender_lock import SenderLock
from specwatch_alerts.slack.trouble_board import TroubleBoard

LOG = logging.getLogger("specwatch.slack")
_STANDBY_S: Final = 2.0
_AFTER_ERROR_S: Final = 5.0
_PRUNE_EVERY_S: Final = 3600.0
KEEP_S: Final = 30 * 86_400.0
"""How long a group that is over stays known; a resolved alert that comes again later counts as new."""


class SenderLoop:
    """Steps a sender until it is stopped.

    Args:
        sender: what sends.
        desk: what carries orders out, or None.
        outbox: the queue, for forgetting what is long over.
        lock: who sends.
        clock: epoch seconds.
        troubles: where failures are told.
    """

    def __init__(
        self,
        sender: Sender,
        desk: OrderDesk | None,
        outbox: Outbox,
        lock: SenderLock,
        clock: Callable[[], float],
        troubles: TroubleBoard,
    ) -> None:
        self._sender = sender
        self._desk = desk
        self._outbox = outbox
        self._lock = lock
        self._clock = clock
        self._troubles = troubles
        self._wake = threading.Event()
        self._stopping = False
        self._not_before = 0.0
        self._pruned = 0.0
        self._thread = threading.Thread(target=self._run, name="specwatch-slack-sender", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """There is something new."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the call under way, then end; what is queued stays queued."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self._lock.release()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            wait = self._guarded_step()
            if not self._stopping:
                self._wake.wait(wait)

    def _guarded_step(self) -> float:
        """One step; an error of the disk or of this program is told, and the queue is kept."""
        try:
            wait = self._step()
        except (sqlite3.Error, OSError) as error:
            self._troubles.tell("queue", f"the queue cannot be used: {error}")
            return _AFTER_ERROR_S
        except Exception as error:  # whatever it is, alerts behind it must go out
            LOG.exception("a step failed")
            self._troubles.tell("internal", f"a step failed: {type(error).__name__}")
            return _AFTER_ERROR_S
        self._troubles.clear("queue", "internal")
        return wait

    def _step(self) -> float:
        if not self._lock.acquire():
            return _STANDBY_S
        now = self._clock()
        if now - self._pruned > _PRUNE_EVERY_S:
            self._pruned = now
            self._outbox.prune(now - KEEP_S)
        if self._desk is not None and self._desk.step():
            return 0.0
        if now < self._not_before:
            return self._not_before - now  # woken early: the pace holds all the same
        wait = self._sender.step()
        self._not_before = now if self._sender.idle else self._clock() + wait
        return wait
