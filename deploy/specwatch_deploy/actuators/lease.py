"""Leader election by a Lease, as client-go does it: at most one controller acts.

Nobody trusts another's clock: a Lease counts as expired once its holder has not renewed it for its duration on the
clock of whoever looks. A leader stops by itself earlier than that, when it could not renew for `renew_deadline_s`.
Source: client-go tools/leaderelection; coordination.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from specwatch_deploy.actuators.cluster import LEASES, Cluster, ConflictError, Json, MissingError
from specwatch_deploy.actuators.permission import Permission, permissions
from specwatch_detectors.fallback.actuator import ActuatorError

RELEASED_S: Final = 1
"""Duration that a released Lease carries, so that others need not wait."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Times of the election; the defaults are those of Kubernetes' own components.

    Attributes:
        duration_s: others wait this long after the last renewal that they saw; whole seconds.
        renew_deadline_s: a leader that could not renew for this long stops acting.
        retry_s: between two looks or renewals.
        call_s: longest that one write of the leader takes; one that began in time ends before anybody else leads.
    """

    duration_s: int = 15
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0
    call_s: float = 5.0

    def __post_init__(self) -> None:
        """Check the whole.

        Raises:
            ValueError: what is wrong, in one line.
        """
        if not 0.0 < self.retry_s < self.renew_deadline_s:
            raise ValueError("retry_s must be above 0 and below renew_deadline_s: a leader needs a second try")
        if self.renew_deadline_s + self.call_s > self.duration_s:
            raise ValueError(
                "renew_deadline_s and call_s must not exceed duration_s together: two could act at once"
            )


@dataclass(slots=True)
class _Seen:
    """A record of the Lease, and when it was first seen, on our own clock."""

    spec: Json = field(default_factory=dict)
    at: float = 0.0

    @property
    def holder(self) -> str:
        return str(self.spec.get("holderIdentity") or "")

    def holds(self, now: float) -> bool:
        return bool(self.holder) and now < self.at + float(self.spec.get("leaseDurationSeconds") or 0)


class LeaseElection:
    """One candidate. Not thread-safe but for `leading`, which only reads.

    Args:
        cluster: where the Lease is.
        namespace: of the Lease.
        name: of the Lease; it is made if there is none.
        identity: of this candidate; no two may share one, not even a restarted pod and its former self.
        clock: seconds that never run backwards.
        wall: time of day, for what people read in the Lease.
        times: of the election.
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        name: str,
        identity: str,
        *,
        clock: Callable[[], float],
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        times: LeaseTimes | None = None,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._wall = wall
        self.times = times or LeaseTimes()
        self._seen = _Seen()
        self._renewed_at: float | None = None
        self.trouble = ""

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What is called; creating cannot be restricted by name."""
        return permissions(LEASES, "get", "update", name=self._name) + permissions(LEASES, "create")

    @property
    def leading(self) -> bool:
        """Whether this candidate may act now: it renewed within the deadline."""
        renewed_at = self._renewed_at
        return renewed_at is not None and self._clock() < renewed_at + self.times.renew_deadline_s

    @property
    def holder(self) -> str:
        """Who held the Lease when it was last seen, or empty."""
        return self._seen.holder

    def require(self) -> None:
        """Raise ActuatorError unless leading; called before every write of the leader."""
        if not self.leading:
            holder = self.holder
            who = f"{holder} does" if holder not in {"", self._identity} else "nobody is known to"
            raise ActuatorError(f"this controller does not lead any more; {who}", retry=False)

    def tick(self) -> bool:
        """Try once to acquire or to renew; gives `leading`, and keeps what went wrong in `trouble`."""
        began = self._clock()
        try:
            self._acquire_or_renew(began)
            self.trouble = ""
        except ConflictError:
            self.trouble = ""  # somebody else was first: seen at the next look
        except ActuatorError as error:
            self.trouble = str(error)
        return self.leading

    def release(self) -> None:
        """Stop leading, and let others lead at once; an unreachable Lease expires by itself."""
        held = self._renewed_at is not None
        self._renewed_at = None
        if not held:
            return
        try:
            lease = self._cluster.get(LEASES, self._namespace, self._name)
            if lease["spec"].get("holderIdentity") != self._identity:
                return
            freed = {"holderIdentity": "", "leaseDurationSeconds": RELEASED_S, "renewTime": self._now()}
            self._cluster.replace(LEASES, {**lease, "spec": {**lease["spec"], **freed}})
        except ActuatorError as error:
            self.trouble = str(error)

    def _acquire_or_renew(self, now: float) -> None:
        try:
            lease = self._cluster.get(LEASES, self._namespace, self._name)
        except MissingError:
            made = self._cluster.create(LEASES, self._new())
            self._won(made, now)
            return
        self._look(lease, now)
        ours = self._seen.holder == self._identity
        if not ours:
            self._renewed_at = None
            if self._seen.holds(now):
                return
        renewed = self._cluster.replace(LEASES, {**lease, "spec": self._spec(lease.get("spec") or {}, ours=ours)})
        self._won(renewed, now)

    def _look(self, lease: Json, now: float) -> None:
        spec: dict[str, Any] = lease.get("spec") or {}
        if spec != self._seen.spec:
            self._seen = _Seen(spec, now)

    def _won(self, lease: Json, now: float) -> None:
        """The time counts from before the call: the server may have written it at any moment since."""
        self._seen = _Seen(lease["spec"], now)
        self._renewed_at = now

    def _spec(self, old: Json, *, ours: bool) -> Json:
        now = self._now()
        mine = {"holderIdentity": self._identity, "leaseDurationSeconds": self.times.duration_s, "renewTime": now}
        if ours:
            return {**old, **mine}
        transitions = int(old.get("leaseTransitions") or 0) + 1
        return {**old, **mine, "acquireTime": now, "leaseTransitions": transitions}

    def _new(self) -> Json:
        now = self._now()
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": self.times.duration_s,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": 0,
            },
        }

    def _now(self) -> str:
        """RFC 3339 with microseconds, as MicroTime wants it."""
        return self._wall().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
