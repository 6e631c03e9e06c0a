"""The audit log as a story in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors.fallback.level import Level

_DETAILS: Final = frozenset({"applied", "settled", "undo", "undo_applied", "waiting", "held"})
_DONE: Final = {
    "not_paying": "{level} has all of the traffic",
    "pays_again": "{level} is back with all of the traffic",
    "new_revision": "{level} is back with all of the traffic",
    "operator": "{level} is back with all of the traffic",
    "probe": "the probe runs: {words}",
    "probe_end": "the probe's share is back",
}
_ACTS: Final = {"latch": "latched", "probe": "the probe begins", "end_probe": "the probe is over"}
_BEGINNINGS: Final = {
    "start": "the controller starts: ",
    "found": "moved by somebody else: ",
    "undone": "taken back: ",
    "refused": "not moved: ",
    "held": "no further step: ",
    "waiting": "the lever does not answer as it should: ",
    "undo": "going back: ",
    "overtaken": "left to somebody else: ",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the story.

    Attributes:
        at: epoch seconds.
        kind: of the entry.
        text: what happened, in words.
        detail: it is a step of what the line before it began.
    """

    at: float
    kind: str
    text: str
    detail: bool


def story(entries: Iterable[Mapping[str, Any]], *, rounds: bool = False) -> Iterator[Line]:
    """Lines of entries; rounds in which nothing was done are left out unless they are asked for."""
    for entry in entries:
        kind, words = str(entry.get("kind", "")), str(entry.get("words", ""))
        if kind == "round" and not rounds:
            continue
        yield Line(float(entry.get("at", 0.0)), kind, _text(kind, words, entry), _detail(kind, entry))


@dataclass(frozen=True, slots=True)
class Summary:
    """What a log comes to.

    Attributes:
        began: time of its first entry.
        ended: of its last.
        on_level: seconds on each level.
        moves: finished movements by what they were for.
        damaged: lines that are no entries.
    """

    began: float
    ended: float
    on_level: Mapping[Level, float]
    moves: Mapping[str, int]
    damaged: int


def summary(entries: Iterable[Mapping[str, Any]], damaged: int) -> Summary | None:
    """Sum a log up; None if it is empty."""
    on_level: dict[Level, float] = {}
    moves: dict[str, int] = {}
    began = last = None
    level: Level | None = None
    for entry in entries:
        at = float(entry.get("at", 0.0))
        if level is not None and last is not None:
            on_level[level] = on_level.get(level, 0.0) + max(0.0, at - last)
        began = at if began is None else began
        last, level = at, _level_of(entry) or level
        if entry.get("kind") in {"done", "undone"}:
            cause = "undone" if entry["kind"] == "undone" else str(entry.get("cause", ""))
            moves[cause] = moves.get(cause, 0) + 1
    return None if began is None or last is None else Summary(began, last, on_level, moves, damaged)


def _detail(kind: str, entry: Mapping[str, Any]) -> bool:
    if kind == "intent":
        return "decision" not in entry
    return kind in _DETAILS or (kind == "done" and entry.get("cause") in {"probe", "probe_end"})


def _text(kind: str, words: str, entry: Mapping[str, Any]) -> str:
    if kind == "operator":
        return f"{entry.get('by') or 'somebody'} said {entry.get('command')}: {words}"
    if kind == "intent":
        plan = entry.get("plan", "")
        return f"{_aim(entry)}: {words}; first {plan}" if "decision" in entry else f"next step: {plan}"
    if kind == "done":
        level = _named_level(entry.get("level"))
        return _DONE.get(str(entry.get("cause")), "done: {words}").format(level=level, words=words)
    if kind == "advice":
        return f"advice: {words}" + (f"; that would be: {entry['plan']}" if entry.get("plan") else "")
    if kind == "decision":
        return f"{_ACTS.get(entry.get('decision', {}).get('act'), 'decided')}: {words}"
    return _BEGINNINGS.get(kind, "") + words.removeprefix("held: ")


def _aim(entry: Mapping[str, Any]) -> str:
    act = entry["decision"].get("act")
    if act == "probe":
        return f"probing {_named_level(entry['memory']['transition'].get('level'))}"
    if act in {"end_probe", "latch"}:
        return "the probe is over" if act == "end_probe" else "latched, and the probe is over"
    return f"moving to {_named_level(entry['decision'].get('level'))}"


def _named_level(name: Any) -> str:
    try:
        return Level(name).words
    except ValueError:
        return "the level"


def _level_of(entry: Mapping[str, Any]) -> Level | None:
    try:
        return Level(entry["memory"]["policy"]["level"])
    except (KeyError, TypeError, ValueError):
        return None
