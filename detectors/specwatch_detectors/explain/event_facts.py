"""Facts about time: what happened when acceptance fell, and whether it fell in one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from specwatch_detectors.explain.event import ROLLOUTS, WORDS, Event, EventKind
from specwatch_detectors.explain.evidence import Course
from specwatch_detectors.explain.fact import Fact, lacking, no, yes
from specwatch_detectors.explain.picture import Picture
from specwatch_exporters.method_name import spelling

_NGRAM_COUNTING = (0, 32)


def rollout_at_onset(picture: Picture) -> Fact:
    """Something that serves was changed at the very moment of the fall."""
    return _any(picture, picture.at_onset, "in the two minutes before the fall")


def rollout_near(picture: Picture) -> Fact:
    """Something that serves was changed in the half hour before the fall."""
    return _any(picture, picture.near, "in the half hour before the fall")


def _any(picture: Picture, events: tuple[Event, ...] | None, when: str) -> Fact:
    if events is None:
        return _unknown(picture)
    found = [event for event in events if event.kind in ROLLOUTS]
    if not found:
        return no(f"no deploy, restart or other change of the engine {when}")
    return yes(_listed(found, picture))


def near(*kinds: EventKind) -> Callable[[Picture], Fact]:
    """Make the fact "an event of one of these kinds came shortly before the fall"."""

    def find(picture: Picture) -> Fact:
        if picture.near is None:
            return _unknown(picture)
        found = [event for event in picture.near if event.kind in kinds]
        if not found:
            return no(f"no {' and no '.join(WORDS[kind] for kind in kinds)} near the fall")
        return yes(_listed(found, picture))

    return find


def counting_changed(picture: Picture) -> Fact:
    """With n-gram drafts vLLM 0.32 came in, which counts every decode step as a draft, filler tokens included."""
    evidence = picture.evidence
    other = bool(evidence.method) and not spelling(evidence.method).startswith("ngram")
    if other or evidence.engine not in {"", "vllm"}:
        return no(f"method {evidence.method or 'unknown'} on {evidence.engine or 'an unknown engine'}")
    if picture.near is None:
        return _unknown(picture)
    jumps = [event for event in picture.near if event.kind is EventKind.VERSION and _crosses(event)]
    if not jumps:
        return no("no step of vLLM from before 0.32 to 0.32 or later near the fall")
    if not evidence.method or not evidence.engine:
        return lacking("the engine and its speculation method")
    return yes(f"{_listed(jumps, picture)}, with {evidence.method} drafts")


def _crosses(event: Event) -> bool:
    was, now = _release(event.was), _release(event.now)
    return was is not None and now is not None and was < _NGRAM_COUNTING <= now


def _release(version: str) -> tuple[int, int] | None:
    parts = version.lstrip("v").split(".")
    if len(parts) < 2 or not parts[0].isdecimal() or not parts[1].isdecimal():
        return None
    return int(parts[0]), int(parts[1])


def ramp(picture: Picture) -> Fact:
    """Acceptance went down slowly instead of in one step."""
    course = picture.evidence.course
    if course is None:
        return lacking("whether it was a step or a ramp")
    return Fact(course is Course.RAMP, f"acceptance went down in a {course}")


def _unknown(picture: Picture) -> Fact:
    onset = picture.evidence.events is not None and picture.evidence.onset is None
    return lacking("time of the onset" if onset else "events around the fall (deploys, restarts, versions)")


def _listed(events: Iterable[Event], picture: Picture) -> str:
    return ", ".join(f"{event.words} {_when(event, picture)}" for event in events)


def _when(event: Event, picture: Picture) -> str:
    gap = event.time - (picture.evidence.onset or event.time)
    if abs(gap) <= picture.evidence.interval_s:
        return "at the moment of the fall"
    return f"{_span(abs(gap))} {'before' if gap < 0 else 'after'} the fall began"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"
