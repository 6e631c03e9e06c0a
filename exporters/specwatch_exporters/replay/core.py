"""The engine between HTTP and the scheduler: steps in real time, outputs to the requests that wait for them."""

from __future__ import annotations

import asyncio

from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.faults import FaultBoard
from specwatch_exporters.replay.mailbox import Mailbox
from specwatch_exporters.replay.scheduler import Scheduler
from specwatch_exporters.replay.sequence import Submission
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.vllm_page import VllmPage

MOST_LAG = 0.05
"""Seconds that late steps may be caught up; beyond it the lag is real, as on an overloaded machine."""


class EngineCore:
    """One life of the engine, from a start to the next restart.

    Args:
        settings: see `ReplaySettings`.
        clock: source of time.
        faults: consulted for stalls.
        epoch: number of restarts before this life.
    """

    def __init__(self, settings: ReplaySettings, clock: Clock, faults: FaultBoard, epoch: int = 0) -> None:
        self.settings = settings
        self.started = clock.wall()
        self.scheduler = Scheduler(settings, epoch)
        self.page = VllmPage(settings, self.started)
        self.steps = 0
        self.aborted = 0
        self._clock = clock
        self._faults = faults
        self._mailboxes: dict[int, Mailbox] = {}
        self._work = asyncio.Event()
        self._deadline: float | None = None
        self._closed = False

    @property
    def open_requests(self) -> int:
        """Requests with a handler."""
        return len(self._mailboxes)

    def reconfigure(self, settings: ReplaySettings) -> None:
        """Take settings that a running engine can take."""
        self.settings = settings
        self.scheduler.reconfigure(settings)
        self._work.set()

    def submit(self, submission: Submission) -> Mailbox:
        """Queue a request."""
        sequence = self.scheduler.submit(submission, self._clock.monotonic())
        mailbox = self._mailboxes[sequence.number] = Mailbox(sequence)
        if self._closed:
            mailbox.close()
        self._work.set()
        return mailbox

    def release(self, mailbox: Mailbox) -> None:
        """Forget a request; one that has not finished is aborted."""
        self._mailboxes.pop(mailbox.sequence.number, None)
        if not self.scheduler.abort(mailbox.sequence):
            return
        self.aborted += 1
        if self.settings.count_aborts:
            self.page.count_abort()
        self.page.show(self.scheduler.load)

    def close(self) -> None:
        """End every request's wait, now and from now on."""
        self._closed = True
        for mailbox in self._mailboxes.values():
            mailbox.close()

    async def run(self) -> None:
        """Step for as long as there is work; runs until cancelled."""
        while True:
            await self._work.wait()
            stall = self._faults.stalled()
            if stall is not None:
                await self._faults.ended(stall)
                self._deadline = None
            await self._step()

    async def _step(self) -> None:
        plan = self.scheduler.begin(self._clock.monotonic())
        if plan is None:
            self._work.clear()
            self._deadline = None
            return
        planned = plan.started if self._deadline is None else max(self._deadline, plan.started - MOST_LAG)
        self._deadline = planned + plan.duration
        await self._clock.sleep(max(self._deadline - self._clock.monotonic(), 0.0))
        result = self.scheduler.finish(plan, self._clock.monotonic())
        self.steps += 1
        self.page.record(result)
        for output in result.outputs:
            mailbox = self._mailboxes.get(output.sequence.number)
            if mailbox is not None:
                mailbox.put(output)
