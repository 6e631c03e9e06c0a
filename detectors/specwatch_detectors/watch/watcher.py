"""The watch as it runs: rounds, the lease, what is said on a change, and what is kept."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from specwatch_detectors.drift_families import families
from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.reading import DriftState
from specwatch_detectors.watch.lease import DURATION_S, Lease, LeaseSight
from specwatch_detectors.watch.rounds import Grid, Rounds
from specwatch_detectors.watch.source import SourceError
from specwatch_detectors.watch.store import HeldByAnotherError, Store, StoreError

LOG = logging.getLogger("specwatch.watch")
SAVE_EVERY_S: Final = 30.0
PATIENCE_S: Final = 1.0
"""How long readers wait for a round to end before they get what the last one said."""

NewRounds = Callable[[Mapping[str, Any] | None], Rounds]
"""Makes rounds that go on from a state, or begin."""


class Watcher(Collector):
    """Watches a fleet while nobody else does.

    Each round takes in what is due, keeps the state if it is time or a verdict has changed, and only then says what
    has changed: a watch that lost its lease while it was held up finds out before it alarms.

    Args:
        new_rounds: makes rounds from a state.
        store: keeps state and lease, or None: then nothing survives a restart, and nobody else is noticed.
        holder: name of this watch among all.
        clock: epoch seconds.
    """

    def __init__(self, new_rounds: NewRounds, store: Store | None, holder: str, clock: Callable[[], float]) -> None:
        self._new_rounds = new_rounds
        self._store = store
        self._holder = holder
        self._clock = clock
        self._rounds: Rounds | None = None
        self._sight = LeaseSight()
        self._over: Lease | None = None
        self._lease: Lease | None = None
        self._readings: dict[str, ModelReading] = {}
        self._saved = 0.0
        self._answered = False
        self._states: dict[tuple[str, str], tuple[DriftState, bool]] = {}
        self._troubles: dict[str, str] = {}
        self._lock = threading.Lock()

    # Rounds.

    def round(self) -> dict[str, ModelReading]:
        """One round; returns what is known of each model, nothing while somebody else watches."""
        with self._lock:
            if self._rounds is None and not self._begin():
                return {}
            return self._round(self._rounds) if self._rounds is not None else {}

    def _round(self, rounds: Rounds) -> dict[str, ModelReading]:
        try:
            rounds.catch_up(self._clock())
        except SourceError as error:
            self._trouble("source", f"no answer from Prometheus: {error}")
        else:
            self._answered = True
            self._trouble("source", "")
        now = self._clock()
        readings = self._readings = rounds.readings(now)
        changes = _changes(self._states, readings)
        if (changes or now - self._saved >= SAVE_EVERY_S) and not self._keep(rounds):
            return {}
        for words, level in changes:
            LOG.log(level, "%s", words)
        self._states = {key: _shown(whole, name) for key, whole, name in _all(readings)}
        return readings

    def accept(self) -> None:
        """Somebody says that the present acceptance is the new normal; nothing while somebody else watches."""
        with self._lock:
            if self._rounds is None:
                LOG.warning("nothing is watched here, so nothing is accepted as the new normal")
                return
            self._rounds.fleet.accept()
            self._keep(self._rounds)

    def run(self, stop: threading.Event, grid: Grid) -> None:
        """Rounds until it is told to stop: one as soon as each tick is complete, without a pause while behind."""
        while not stop.is_set():
            try:
                self.round()
            except Exception:
                if "internal" not in self._troubles:
                    LOG.exception("internal error in a round, said once; the next one tries again")
                self._troubles["internal"] = "internal error; the log says more"
            else:
                self._troubles.pop("internal", None)
            now = self._clock()
            wait = grid.due(now) + grid.interval_s + grid.delay_s - now
            if not self.behind:
                stop.wait(max(0.0, wait))

    @property
    def behind(self) -> bool:
        """Whether the next round need not wait, because more is due."""
        with self._lock:
            return self._rounds is not None and not self._troubles and self._rounds.behind(self._clock())

    def _begin(self) -> bool:
        """Take over from the state that is kept; false while somebody else watches or the store does not answer."""
        if self._store is None:
            self._rounds = self._new_rounds(None)
            return True
        now = self._clock()
        try:
            kept = self._store.load()
            if self._sight.blocks(kept.lease, self._holder, now):
                age = now - kept.lease.renewed
                who = kept.lease.holder
                self._trouble("lease", f"{who} watches this fleet, renewed {age:.0f} s ago; this one stands by")
                return False
            self._over = kept.lease
            rounds = self._new_rounds(kept.state)
        except (StoreError, ValueError) as error:
            self._trouble("store", f"the state is not used, and nothing is watched: {error}")
            return False
        if not self._keep(rounds):
            return False
        self._trouble("lease", "")
        self._rounds = rounds
        LOG.info("watching as %s, %s", self._holder, "from the beginning" if kept.state is None else "going on")
        return True

    def _keep(self, rounds: Rounds) -> bool:
        """Save and renew; false if somebody else has taken over. A store that fails does not stop the watch."""
        if self._store is None:
            return True
        now = self._clock()
        lease = Lease(self._holder, now, DURATION_S)
        try:
            self._store.save(rounds.state(), lease, self._over)
        except HeldByAnotherError as error:
            self._trouble("lease", f"{error.lease.holder} has taken over; this watch stands by")
            self._rounds, self._states, self._readings = None, {}, {}
            return False
        except StoreError as error:
            self._trouble("store", f"the state cannot be kept: {error}")
            return True
        self._saved, self._lease = now, lease
        self._trouble("store", "")
        return True

    def close(self) -> None:
        """Keep the state and give the lease back."""
        with self._lock:
            if self._store is None or self._rounds is None:
                return
            try:
                self._store.save(self._rounds.state(), Lease("", self._clock(), DURATION_S), self._lease)
            except HeldByAnotherError as error:
                LOG.info("%s has taken over already", error.lease.holder)
            except StoreError as error:
                LOG.warning("the state cannot be kept: %s", error)
            self._rounds = None

    def _trouble(self, kind: str, words: str) -> None:
        """Say a trouble once, and once that it is over."""
        before = self._troubles.pop(kind, "")
        if words:
            self._troubles[kind] = words
        if words and not before:
            LOG.warning("%s", words)
        elif before and not words:
            LOG.info("over: %s", before)

    # Saying.

    def readings(self) -> dict[str, ModelReading]:
        """What is known of each model now."""
        if not self._lock.acquire(timeout=PATIENCE_S):
            return self._readings
        try:
            return {} if self._rounds is None else self._rounds.readings(self._clock())
        finally:
            self._lock.release()

    def collect(self) -> Iterable[Metric]:
        """Metrics of the present verdicts; none while somebody else watches."""
        return list(families(self.readings()))

    def ready(self) -> tuple[bool, str]:
        """Whether the fleet is being watched, and if not, why."""
        if self._troubles:
            return False, "; ".join(self._troubles.values())
        return self._answered, "" if self._answered else "no round has finished yet"


def _all(readings: Mapping[str, ModelReading]) -> Iterable[tuple[tuple[str, str], ModelReading, str]]:
    for model, whole in readings.items():
        for name in ("", *whole.classes):
            yield (model, name), whole, name


def _shown(whole: ModelReading, name: str) -> tuple[DriftState, bool]:
    return (whole.classes[name].state, False) if name else (whole.verdict.state, whole.mix_shift)


def _changes(
    before: Mapping[tuple[str, str], tuple[DriftState, bool]], readings: Mapping[str, ModelReading]
) -> list[tuple[str, int]]:
    """A line, and how loud, for each model and class whose state is another than before."""
    found = []
    for key, whole, name in _all(readings):
        shown = _shown(whole, name)
        if before.get(key) == shown:
            continue
        reading = whole.classes[name] if name else whole.verdict
        was = f"{before[key][0].value} -> " if key in before else ""
        level = logging.WARNING if reading.state is DriftState.DRIFTED and not name else logging.INFO
        found.append((f"{'/'.join(filter(None, key))}: {was}{reading.state.value}: {reading.reason}", level))
    return found
