"""The controller as JSON, for its status page and for `specwatch fallback status`."""

from __future__ import annotations

from typing import Any

from specwatch_detectors.fallback.controller_view import ControllerView
from specwatch_detectors.fallback.inputs_json import decision_as_json, inputs_as_json
from specwatch_detectors.fallback.outlook import outlook
from specwatch_detectors.fallback.transition import Transition, shares_as_json


def status(view: ControllerView) -> dict[str, Any]:
    """What can be seen of a controller; what is unknown is null. Times are epoch seconds."""
    memory, position = view.memory, view.position
    state = None if memory is None else memory.policy
    return {
        "model": view.model,
        "acting": view.acting,
        "leading": view.leading,
        "at": view.at or None,
        "level": None if state is None else state.level.value,
        "level_words": None if state is None else state.level.words,
        "since": None if state is None else state.since,
        "reason": view.reason,
        "veto": None if memory is None else memory.veto or None,
        "changes_when": list(outlook(view)),
        "next_probe_at": None if state is None else state.probe_at,
        "probe_began": None if state is None else state.probe_began,
        "regret_s": None if state is None else state.regret_s,
        "latched": None if state is None else state.latched,
        "switches_today": None if state is None else len(state.flips),
        "switches_per_day": view.settings.flips_per_day,
        "transition": None if memory is None or memory.transition is None else _moving(memory.transition),
        "lever": None
        if position is None
        else {
            "shares": shares_as_json(position.shares),
            "settled": position.settled,
            "foreign": position.foreign,
            "note": position.note,
        },
        "troubles": dict(view.troubles),
        "inputs": None if view.inputs is None else inputs_as_json(view.inputs),
        "decision": None if view.decision is None else decision_as_json(view.decision),
    }


def _moving(transition: Transition) -> dict[str, Any]:
    return {
        "to": transition.level.value,
        "cause": transition.cause.value,
        "began": transition.began,
        "step": transition.index + 1,
        "steps": [shares_as_json(step) for step in transition.steps],
        "phase": transition.phase.value,
        "note": transition.note,
    }
