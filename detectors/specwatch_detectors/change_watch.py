"""Notices what changed about a model's engine between two scrapes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.engine_life import EngineLife
from specwatch_detectors.reading import Change
from specwatch_exporters.report import ModelReport

ADAPTIVE_CHANGES: Final = 3
ADAPTIVE_SPAN_S: Final = 3600.0


class ChangeWatch:
    """Compares version, method and K with what they were; unknown is no change, and K = 0 is known.

    After a restart of the watch the engine may be another process than before: that is a restart of the engine. An
    engine that changes K three times within an hour adapts it by itself: from then on a changed K is no event.
    """

    def __init__(self) -> None:
        self._version: str | None = None
        self._method: str | None = None
        self._depth: int | None = None
        self._depth_changes: deque[float] = deque(maxlen=ADAPTIVE_CHANGES)
        self._life = EngineLife()
        self._unseen = False
        """Whether nothing was seen of the engine yet since it was kept."""

    @property
    def adaptive(self) -> bool:
        """K changes by itself."""
        changes = self._depth_changes
        return len(changes) == ADAPTIVE_CHANGES and changes[-1] - changes[0] <= ADAPTIVE_SPAN_S

    def take(
        self,
        report: ModelReport,
        version: str | None,
        now: float,
        *,
        restarted: bool,
        life: EngineLife = EngineLife(),  # noqa: B008 - immutable
    ) -> list[Change]:
        """What changed since the last look, the weightiest last.

        Args:
            report: the model as known now.
            version: of the engine, if it tells.
            now: seconds.
            restarted: its counters started again.
            life: signs of its processes, if there are any.
        """
        found = [Change.RESTART] if self._replaced(life) or restarted else []
        told, method, depth = version or None, report.method or None, report.speculative_tokens
        if self._differs(self._version, told):
            found.append(Change.VERSION)
        if self._differs(self._depth, depth):
            self._depth_changes.append(now)
            if not self.adaptive:
                found.append(Change.DEPTH)
        if self._differs(self._method, method):
            found.append(Change.METHOD)
        self._version = self._version if told is None else told
        self._depth = self._depth if depth is None else depth
        self._method = self._method if method is None else method
        return found

    def _replaced(self, life: EngineLife) -> bool:
        """Whether the engine is not the one that was kept; said once."""
        if not life.known:
            return False
        replaced = self._unseen and life.began_after(self._life)
        self._life, self._unseen = life, False
        return replaced

    def state(self) -> dict[str, Any]:
        """What is known of the engine, as JSON: after a restart the next look is compared with it."""
        return {
            "version": self._version,
            "method": self._method,
            "depth": self._depth,
            "depth_changes": list(self._depth_changes),
            "life": self._life.state(),
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> ChangeWatch:
        """Go on from what `state` gave.

        Raises:
            ValueError: it is not the state of a change watch.
        """
        try:
            version, method, depth = state["version"], state["method"], state["depth"]
            times = [float(at) for at in state["depth_changes"]]
            life = EngineLife.restored(state["life"]) if "life" in state else EngineLife()
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not the state of a change watch: {error!r}") from error
        if not all(text is None or isinstance(text, str) for text in (version, method)):
            raise ValueError("not the state of a change watch: version and method are texts")
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int)):
            raise ValueError("not the state of a change watch: K is a whole number")
        watch = cls()
        watch._version, watch._method, watch._depth = version, method, depth
        watch._depth_changes.extend(times)
        watch._life, watch._unseen = life, True
        return watch

    @staticmethod
    def _differs(before: object, now: object) -> bool:
        return before is not None and now is not None and before != now
