"""Events that rows show by themselves: a version, model, method or depth that changed, an uptime begun anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from specwatch_detectors.explain.event import Event, EventKind
from specwatch_detectors.explain.evidence import Dimension
from specwatch_detectors.explain.window_row import WATCHED, Row

_KINDS: Final = {
    "version": EventKind.VERSION,
    "method": EventKind.METHOD,
    "target": EventKind.TARGET,
    "draft": EventKind.DRAFT,
    "k": EventKind.DEPTH,
}


def changes(rows: Iterable[Row]) -> tuple[Event, ...] | None:
    """Changes between successive rows of a pod; a new pod is compared with the last of the others.

    Args:
        rows: in order of time.

    Returns:
        Each change once, at the end of the last interval before it; None if no row has anything to watch.
    """
    last: dict[tuple[str, str], str] = {}
    uptimes: dict[str, float] = {}
    times: list[float] = []
    found: dict[Event, None] = {}
    watched = False
    for row in rows:
        pod = row.groups.get(Dimension.POD, "")
        if not times or row.time > times[-1]:
            times.append(row.time)
        before = times[-2] if len(times) > 1 else row.time
        for name in WATCHED:
            value = row.facts.get(name)
            if value is None:
                continue
            watched = True
            was = last.get((name, pod), last.get((name, ""), value))
            if was != value:
                found[Event(_KINDS[name], before, was, value)] = None
            last[name, pod] = last[name, ""] = value
        uptime = row.measures.get("uptime_s")
        if uptime is not None:
            watched = True
            if uptime < uptimes.get(pod, uptime):
                found[Event(EventKind.RESTART, before)] = None
            uptimes[pod] = uptime
    return tuple(found) if watched else None
