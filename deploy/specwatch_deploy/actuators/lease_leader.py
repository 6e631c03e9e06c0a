"""Keeps a Lease in the background while the controller works; says whether it may act."""

from __future__ import annotations

import threading

from specwatch_deploy.actuators.lease import LeaseElection
from specwatch_deploy.actuators.permission import Permission


class LeaseLeader:
    """Renews in a thread of its own, so that a slow round of the controller does not lose the Lease.

    Args:
        election: this candidate; `close` lets the Lease go.
    """

    def __init__(self, election: LeaseElection) -> None:
        self._election = election
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="specwatch-lease", daemon=True)
        self._started = False

    def lead(self, now: float) -> tuple[bool, str]:
        """Whether this controller may act, and who leads, in words; the first call looks at once.

        Args:
            now: not used; the election has a clock of its own, which no round can hold up.
        """
        del now
        if not self._started:
            self._started = True
            self._election.tick()
            self._thread.start()
        return self._election.leading, self._words()

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What is called: the Lease."""
        return self._election.permissions

    def require(self) -> None:
        """Raise ActuatorError unless this controller may act: for every write of an actuator."""
        self._election.require()

    def close(self) -> None:
        """Stop renewing and let the Lease go."""
        self._stop.set()
        if self._started:
            self._thread.join()
        self._election.release()

    def _keep(self) -> None:
        while not self._stop.wait(self._election.times.retry_s):
            self._election.tick()

    def _words(self) -> str:
        trouble = f"; {self._election.trouble}" if self._election.trouble else ""
        if self._election.leading:
            return f"this controller leads{trouble}"
        return f"{self._election.holder or 'nobody'} leads{trouble}"
