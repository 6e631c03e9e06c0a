"""Changes of a model's fleet: a rollout over many pods is one change, a pod that restarts among many is none.

Version, method and draft tokens per step are those of more than half of the living pods; when another value gets
there, that is the change. A rollout that shows in none of them (new weights under the same version) is seen by
the pods themselves: more than half of those alive have begun within two hours, and of those alive two hours ago
less than half go on. Scaling out or in does only one of the two.

What follows within ten minutes as a further sign of the same rollout is not counted again, unless it says more:
that a restart brought another version, or another method.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specwatch_detectors.reading import Change
from specwatch_detectors.watch.pod_facts import FactKind

SPAN_S: Final = 7200.0
LIVE_S: Final = 150.0
SETTLE_S: Final = 600.0
ADAPTIVE_CHANGES: Final = 3
ADAPTIVE_SPAN_S: Final = 3600.0
_ORDER: Final = (
    (FactKind.METHOD, Change.METHOD),
    (FactKind.VERSION, Change.VERSION),
    (FactKind.DEPTH, Change.DEPTH),
)
_WEIGHT: Final = {Change.RESTART: 0, Change.METHOD: 2}
"""After a restart the old baseline holds, after another method none does; the others are between."""
_SAID: Final = tuple(kind.value for kind, _ in _ORDER)


@dataclass(slots=True)
class PodLife:
    """What is known of one pod.

    Attributes:
        first: when it was first seen; 0 for one that was there from the beginning.
        began: when it was first seen or last restarted.
        seen: when it was last seen.
        values: what it said last, by kind.
    """

    first: float
    began: float
    seen: float
    values: dict[str, str] = field(default_factory=dict)


class Rollout:
    """Follows the pods of one model.

    Args:
        state: what `state` of a predecessor gave.
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self.pods: dict[str, PodLife] = {}
        self.current: dict[str, str] = {}
        self._last = 0.0
        self._last_change: Change | None = None
        self._depth_changes: deque[float] = deque(maxlen=ADAPTIVE_CHANGES)
        if state is not None:
            self._restore(state)

    # Taking in.

    def saw(self, pod: str, at: float, *, newcomer: bool = True) -> None:
        """A pod gave counts.

        Args:
            pod: its name.
            at: when.
            newcomer: if it was not known: it has begun now, rather than been there all along.
        """
        life = self.pods.get(pod)
        if life is None:
            began = at if newcomer else 0.0
            self.pods[pod] = PodLife(began, began, at)
        elif newcomer:
            life.seen = at

    def told(self, pod: str, kind: FactKind, value: str, at: float) -> None:
        """A pod said something about itself; pods without counts are not followed."""
        life = self.pods.get(pod)
        if life is None:
            return
        if kind is FactKind.RESTART:
            life.began = max(life.began, at)
        else:
            life.values[kind.value] = value

    def step(self, now: float) -> Change | None:
        """The change that has come to be since the last step, if any."""
        self.pods = {name: life for name, life in self.pods.items() if life.seen > now - SPAN_S}
        live = [life for life in self.pods.values() if life.seen > now - LIVE_S]
        found = [change for kind, change in _ORDER if self._turned(kind, live, now)]
        if not found:
            replaced = self._replaced(live, now)
            found = [] if replaced is None else [replaced]
        if not found or self._folded(found[0], now):
            return None
        self._last, self._last_change = now, found[0]
        return found[0]

    def _turned(self, kind: FactKind, live: list[PodLife], now: float) -> bool:
        said = Counter(life.values[kind.value] for life in live if kind.value in life.values)
        if not said:
            return False
        value, pods = said.most_common(1)[0]
        before = self.current.get(kind.value)
        if value == before or 2 * pods <= said.total():
            return False
        self.current[kind.value] = value
        if before is None or kind is not FactKind.DEPTH:
            return before is not None
        self._depth_changes.append(now)
        return not self.adaptive

    @property
    def adaptive(self) -> bool:
        """The engines change the number of draft tokens by themselves: three times within an hour."""
        changes = self._depth_changes
        return len(changes) == ADAPTIVE_CHANGES and changes[-1] - changes[0] <= ADAPTIVE_SPAN_S

    def _replaced(self, live: list[PodLife], now: float) -> Change | None:
        edge = max(now - SPAN_S, self._last)
        young = [life for life in live if life.began > edge]
        if 2 * len(young) <= len(live):
            return None
        old = [life for life in self.pods.values() if life.first <= edge and life.seen > edge]
        lasting = [life for life in old if life.began <= edge and life.seen > now - LIVE_S]
        if not old or 2 * len(lasting) >= len(old):
            return None
        new = sum(life.first > edge for life in young)
        return Change.DEPLOY if 2 * new > len(young) else Change.RESTART

    def _folded(self, change: Change, now: float) -> bool:
        """A further sign of the change just seen, that says no more than was known."""
        last = self._last_change
        if last is None or change is last or now - self._last > SETTLE_S:
            return False
        return _WEIGHT.get(change, 1) <= _WEIGHT.get(last, 1)

    @property
    def depth(self) -> int | None:
        """Draft tokens per step of most pods, if they say."""
        value = self.current.get(FactKind.DEPTH.value, "")
        return int(value) if value.isdecimal() and int(value) > 0 else None

    # Keeping.

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "pods": {
                name: [life.first, life.began, life.seen, *(life.values.get(kind) for kind in _SAID)]
                for name, life in self.pods.items()
            },
            "current": self.current,
            "last": self._last,
            "last_change": self._last_change,
            "depth_changes": list(self._depth_changes),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        for name, (first, began, seen, *said) in state["pods"].items():
            values = {kind: str(value) for kind, value in zip(_SAID, said, strict=True) if value is not None}
            self.pods[name] = PodLife(float(first), float(began), float(seen), values)
        self.current = dict(state["current"])
        self._last = float(state["last"])
        self._last_change = None if state["last_change"] is None else Change(state["last_change"])
        self._depth_changes.extend(state["depth_changes"])
