"""What would change the level, in sentences with today's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from specwatch_detectors.fallback.controller_view import ControllerView
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.payoff.payoff import Bounds


def outlook(view: ControllerView) -> tuple[str, ...]:
    """One sentence per thing that would change the level; empty before the first round."""
    if view.memory is None:
        return ()
    state = view.memory.policy
    if view.memory.transition is not None:
        return (f"The movement to {view.memory.transition.level.words} is being finished first.",)
    if state.latched:
        return ("Nothing, until somebody has looked and says: specwatch fallback unlatch.",)
    away = state.level is not view.settings.home
    return (*_leaving(view, state), *(_returning(view, state) if away else ()))


def _leaving(view: ControllerView, state: FallbackState) -> Iterator[str]:
    settings, inputs = view.settings, view.inputs
    behind = [level for level in settings.levels if level.depth > state.level.depth]
    if not behind or inputs is None:
        return
    known = [(level, bounds) for level in behind if (bounds := inputs.of(level)) is not None]
    if not known:
        yield f"Nothing behind {state.level.words} is measured, so it is not left."
        return
    unknown = [level.words for level in behind if inputs.of(level) is None]
    if unknown:
        yield f"Not gone to, because it is neither measured nor stated: {', '.join(unknown)}."
    best, there = max(known, key=lambda pair: pair[1].estimate)
    limit = (1.0 - settings.margin) * there.estimate
    here = inputs.of(state.level)
    if inputs.adapts:
        yield f"Nothing takes traffic from {state.level.words}: the engine adapts by itself ({inputs.adapts})."
        return
    seen = "unknown now" if here is None else f"{here.upper:.2f}x now"
    text = f"{best.words} takes over when the upper bound of {state.level.words} ({seen}) is under {limit:.2f}x"
    yield f"{text} and more than {settings.switch_cost_s:.0f} s of capacity are lost ({state.regret_s:.0f} s now)."


def _returning(view: ControllerView, state: FallbackState) -> Iterator[str]:
    settings = view.settings
    if view.can_probe:
        yield f"{view.can_probe[0].upper()}{view.can_probe[1:]}."
        return
    here: Bounds | None = None if view.inputs is None else view.inputs.of(state.level)
    needed = "" if here is None else f" above {(1.0 + settings.margin) * here.estimate:.2f}x"
    yield (
        f"{settings.home.words} comes back after {settings.probe_wins} probes in a row with a lower bound{needed}; "
        f"{max(0, state.wins)} so far."
    )
    if state.probe_began is not None:
        yield "A probe is under way."
    elif state.probe_at is not None:
        yield f"Next probe in {max(0.0, state.probe_at - max(view.at, state.last or 0.0)):.0f} s."
