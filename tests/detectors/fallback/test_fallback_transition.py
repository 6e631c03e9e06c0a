"""Steps of a movement, and how it stands between rounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.fallback.controller_rig import STEPS, FileLever
from specwatch_detectors.fallback.actuator import Shares
from specwatch_detectors.fallback.advice_lever import AdviceLever
from specwatch_detectors.fallback.decision import Act, Decision
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.intent import Movement, begun, movement
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.policy import begin
from specwatch_detectors.fallback.transition import Cause, Phase, Transition, same_shares, shares_text, steps_to
from specwatch_detectors.fallback.transition_run import Ended, Ending, TransitionRun

ALL = FallbackSettings()
LADDER = (0.05, 0.25, 1.0)


@pytest.mark.parametrize(
    ("level", "wanted", "origin", "steps"),
    [
        (Level.NGRAM, 1.0, {Level.DRAFT: 1.0}, ["95 % draft, 5 % ngram", "75 % draft, 25 % ngram", "100 % ngram"]),
        (Level.DRAFT, 1.0, {Level.DRAFT: 0.05, Level.NGRAM: 0.95}, ["25 % draft, 75 % ngram", "100 % draft"]),
        (Level.NGRAM, 1.0, {Level.DRAFT: 0.05, Level.NGRAM: 0.95}, ["100 % ngram"]),
        (Level.DRAFT, 0.05, {Level.NGRAM: 1.0}, ["5 % draft, 95 % ngram"]),
        (Level.OFF, 1.0, {}, ["5 % off", "25 % off", "100 % off"]),
    ],
)
def test_steps(level: Level, wanted: float, origin: Shares, steps: list[str]) -> None:
    assert [shares_text(step) for step in steps_to(level, wanted, origin, LADDER)] == steps


origins = st.dictionaries(st.sampled_from(list(Level)), st.floats(0.01, 1.0), min_size=1).map(
    lambda own: {level: share / sum(own.values()) for level, share in own.items()}
)


@given(st.sampled_from(list(Level)), origins, st.sampled_from([LADDER, (1.0,), (0.1, 1.0)]))
def test_steps_rise_to_all_and_always_share_out_everything(
    level: Level, origin: Shares, ladder: tuple[float, ...]
) -> None:
    steps = steps_to(level, 1.0, origin, ladder)
    assert same_shares(steps[-1], {level: 1.0})
    own = [origin.get(level, 0.0), *(step.get(level, 0.0) for step in steps)]
    assert own == sorted(own)
    assert all(sum(step.values()) == pytest.approx(1.0) for step in steps)


def test_no_traffic_has_words() -> None:
    assert shares_text({}) == "no traffic"


HOME = begin(ALL, 0.0)
AWAY = begin(ALL, 0.0, Level.NGRAM)
PROBING = replace(AWAY, probe_began=1.0)


@pytest.mark.parametrize(
    ("act", "after", "share", "cause"),
    [
        (Act.STAY, HOME, 0.05, None),
        (Act.RECOMMEND, HOME, 0.05, None),
        (Act.SWITCH, replace(AWAY, level=Level.OFF), 0.05, Cause.NOT_PAYING),
        (Act.SWITCH, HOME, 0.05, Cause.PAYS_AGAIN),
        (Act.SWITCH, HOME, None, Cause.NEW_REVISION),
        (Act.SWITCH, replace(HOME, since=9.0, doubted=Level.NGRAM, doubted_at=9.0), 0.05, Cause.ESTIMATE_WRONG),
        (Act.SWITCH, replace(HOME, since=9.0, doubted=Level.NGRAM, doubted_at=9.0), None, Cause.ESTIMATE_WRONG),
        (Act.SWITCH, replace(HOME, since=9.0, doubted=Level.NGRAM, doubted_at=5.0), 0.05, Cause.PAYS_AGAIN),
        (Act.PROBE, PROBING, 0.05, Cause.PROBE),
        (Act.PROBE, PROBING, 0.0, None),
        (Act.END_PROBE, AWAY, 0.05, None),
        (Act.LATCH, AWAY, 0.05, None),
    ],
)
def test_what_a_decision_wants(act: Act, after: object, share: float | None, cause: Cause | None) -> None:
    assert isinstance(after, type(HOME))
    found = movement(Decision(act, after.level, "why"), after, ALL, {Level.NGRAM: 1.0}, share)
    assert (None if found is None else found.cause) == cause


@pytest.mark.parametrize("act", [Act.END_PROBE, Act.LATCH])
def test_the_end_of_a_probe_gives_its_share_back(act: Act) -> None:
    shares = {Level.DRAFT: 0.05, Level.NGRAM: 0.95}
    assert movement(Decision(act, Level.NGRAM, "why"), AWAY, ALL, shares, 0.05) == Movement(
        Cause.PROBE_END, Level.NGRAM, 1.0
    )


class Book:
    """What was written down."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def __call__(self, kind: str, transition: Transition, words: str) -> None:
        assert Transition.from_json(transition.as_json()) == transition
        assert words
        self.kinds.append(kind)


def away(lever: FileLever) -> Transition:
    wanted = Movement(Cause.NOT_PAYING, Level.NGRAM, 1.0)
    decision = Decision(Act.SWITCH, Level.NGRAM, "why")
    return begun(wanted, decision, lever, lever.describe(), 0.0, AWAY, HOME)


def test_it_waits_between_steps_and_ends_once(tmp_path: Path) -> None:
    lever, book = FileLever(tmp_path), Book()
    run = TransitionRun(lever, STEPS, book)
    transition = run.go_on(away(lever), 0.0)
    assert isinstance(transition, Transition)
    assert transition.phase is Phase.WATCHED
    assert run.go_on(transition, 29.0) is transition
    for now in (30.0, 60.0):
        transition = run.go_on(transition, now)
        assert isinstance(transition, Transition)
    ended = run.go_on(transition, 90.0)
    assert isinstance(ended, Ended)
    assert ended.how is Ending.DONE
    assert book.kinds == ["applied", "settled", *["intent", "applied", "settled"] * 2]


def test_somebody_else_who_moves_it_meanwhile_and_says_so_is_left_alone(tmp_path: Path) -> None:
    lever, book = FileLever(tmp_path), Book()
    run = TransitionRun(lever, STEPS, book)
    lever.settled = False
    transition = run.go_on(away(lever), 0.0)
    assert isinstance(transition, Transition)
    lever.set({Level.OFF: 1.0})
    lever.foreign = "argocd"
    ended = run.go_on(transition, 30.0)
    assert isinstance(ended, Ended)
    assert (ended.how, ended.shares) == (Ending.OVERTAKEN, {Level.OFF: 1.0})
    assert "argocd" in ended.words


def test_a_broken_transition_is_one_line() -> None:
    with pytest.raises(ValueError, match="no transition"):
        Transition.from_json({"cause": "probe"})


def test_a_lever_that_is_none_moves_nothing() -> None:
    lever = AdviceLever((Level.DRAFT, Level.OFF), Level.DRAFT)
    plan = lever.plan({Level.OFF: 1.0})
    assert plan.text == "by hand: 100 % off"
    assert lever.verify(plan).level is Level.DRAFT
    assert not lever.health().known
    for move in (lever.apply, lever.undo):
        with pytest.raises(Exception, match="no lever"):
            move(plan)
