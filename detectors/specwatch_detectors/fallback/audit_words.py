"""The audit log as a story in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.transition import shares_from_json, shares_text

_DETAILS: Final = frozenset({"applied", "settled", "undo", "undo_applied", "waiting", "held"})
_DONE: Final = {
    "not_paying": "{level} has all of the traffic; {words}",
    "pays_again": "{level} is back with all of the traffic; {words}",
    "new_revision": "{level} is back with all of the traffic; {words}",
    "estimate_wrong": "{level} is back with all of the traffic; {words}",
    "operator": "{level} has all of the traffic, as ordered; {words}",
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
    return kind in _DETAILS or (kind == "done" and _at(entry, "cause") in {"probe", "probe_end"})


def _text(kind: str, words: str, entry: Mapping[str, Any]) -> str:
    if kind == "operator":
        return f"{entry.get('by') or 'somebody'} said {entry.get('command')}: {words}"
    if kind == "intent":
        return f"{_aim(entry)}: {words}; first step: {_step(entry)}" if "decision" in entry else words
    if kind == "done":
        level = _named_level(_at(entry, "level"))
        return _DONE.get(str(entry.get("cause")), "done: {words}").format(level=level, words=words)
    if kind == "advice":
        steps = _at(entry, "steps")
        return f"advice: {words}" + (f"; that would be: {steps}" if steps else "")
    if kind == "decision":
        return f"{_ACTS.get(_at(entry, 'decision', 'act'), 'decided')}: {words}"
    return _BEGINNINGS.get(kind, "") + words.removeprefix("held: ")


def _aim(entry: Mapping[str, Any]) -> str:
    act = _at(entry, "decision", "act")
    if act == "probe":
        return f"probing {_named_level(_at(entry, 'memory', 'transition', 'level'))}"
    if act in {"end_probe", "latch"}:
        return "the probe is over" if act == "end_probe" else "latched, and the probe is over"
    return f"moving to {_named_level(_at(entry, 'decision', 'level'))}"


def _at(entry: Mapping[str, Any], *path: str) -> str:
    """Text within an entry, or empty: a log may have been changed by hand."""
    found: Any = entry
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""


def _step(entry: Mapping[str, Any]) -> str:
    """Shares of the step that an intent names; the plan itself may be a page of YAML."""
    try:
        return shares_text(shares_from_json(entry["memory"]["transition"]["plan"]["shares"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return "not told"


def _named_level(name: str) -> str:
    try:
        return Level(name).words
    except ValueError:
        return "the level"


def _level_of(entry: Mapping[str, Any]) -> Level | None:
    try:
        return Level(_at(entry, "memory", "policy", "level"))
    except ValueError:
        return None
