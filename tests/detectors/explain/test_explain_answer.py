from __future__ import annotations

import importlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.explain import faults
from detectors.explain.simulated_chain import CHAT, CLASSES, CODE, DESIGN, compared, groups, times, together
from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.event import Event, EventKind
from specwatch_detectors.explain.evidence import Dimension, Evidence
from specwatch_detectors.explain.explanation import Outcome, explain
from specwatch_detectors.window import Window, window

# Gemma-4-31B with a DFlash draft of 8 tokens: acceptance by position for nine kinds of traffic (published, 2026).
GEMMA = {
    "HumanEval": (0.858, 0.721, 0.603, 0.504, 0.418, 0.343, 0.269, 0.196),
    "math": (0.887, 0.761, 0.648, 0.549, 0.455, 0.365, 0.288, 0.215),
    "qa": (0.675, 0.410, 0.238, 0.138, 0.081, 0.045, 0.026, 0.013),
    "question": (0.751, 0.511, 0.347, 0.245, 0.179, 0.130, 0.094, 0.065),
    "rag": (0.761, 0.548, 0.398, 0.287, 0.199, 0.129, 0.070, 0.038),
    "summary": (0.673, 0.399, 0.223, 0.120, 0.064, 0.031, 0.015, 0.007),
    "tools": (0.657, 0.457, 0.316, 0.217, 0.150, 0.096, 0.062, 0.036),
    "translate": (0.734, 0.514, 0.353, 0.236, 0.156, 0.093, 0.054, 0.026),
    "writing": (0.753, 0.516, 0.351, 0.245, 0.178, 0.130, 0.094, 0.065),
}
DRAFTS = 900_000.0
ONSET = 10_000.0


def served(shares: dict[str, float], thinning: float = 1.0) -> dict[str, Window]:
    """Expected counts of a mix, with every conditional acceptance times the thinning."""
    return {
        name: window(DRAFTS * share, [DRAFTS * share * p * thinning**j for j, p in enumerate(GEMMA[name], start=1)])
        for name, share in shares.items()
    }


def gemma(after: dict[str, Window]) -> dict[str, Comparison]:
    before = served(dict.fromkeys(GEMMA, 1 / 9))
    return {name: Comparison(before[name], after[name]) for name in GEMMA}


def matching_mix() -> dict[str, float]:
    """The mix of healthy classes whose positions are nearest to those of the equal mix with a worse draft."""
    stale = sum(served(dict.fromkeys(GEMMA, 1 / 9), 0.9).values(), start=Window())
    matrix = np.array(list(GEMMA.values())).T
    wanted = np.array(stale.accepted) / DRAFTS
    weight = 100.0  # shares add up to 1
    nnls = importlib.import_module("scipy.optimize").nnls
    shares, _ = nnls(np.vstack([matrix, np.full(9, weight)]), np.append(wanted, weight))
    return dict(zip(GEMMA, shares / shares.sum(), strict=True))


STALE = gemma(served(dict.fromkeys(GEMMA, 1 / 9), 0.9))
MIXED = gemma(served(matching_mix()))


def test_a_healthy_mix_has_the_positions_of_a_stale_draft() -> None:
    stale, mixed = together(STALE).after, together(MIXED).after
    gaps = [abs(a - b) / DRAFTS for a, b in zip(stale.accepted, mixed.accepted, strict=True)]
    assert max(gaps) < 0.01


@pytest.mark.parametrize("events", [None, (Event(EventKind.DEPLOY, ONSET - 900.0),)], ids=["unknown", "a deploy"])
@pytest.mark.parametrize("parts", [STALE, MIXED], ids=["stale", "mix"])
def test_positions_alone_cannot_tell_them_apart(
    parts: dict[str, Comparison], events: tuple[Event, ...] | None
) -> None:
    answer = explain(Evidence(together(parts), events=events, onset=ONSET, alarmed=True))
    assert answer.outcome is Outcome.CANNOT_TELL
    assert {"stale_draft_after_deploy", "mix_shift"} <= {row.cause.id for row in answer.candidates}
    assert "traffic classes" in answer.would_tell
    assert "Whether it is the mix of traffic is not known" in answer.headline


@pytest.mark.parametrize("events", [None, (Event(EventKind.DEPLOY, ONSET - 20.0),)], ids=["unknown", "a deploy"])
@pytest.mark.parametrize(("parts", "cause"), [(STALE, "stale_draft_after_deploy"), (MIXED, "mix_shift")])
def test_classes_tell_them_apart(
    parts: dict[str, Comparison], cause: str, events: tuple[Event, ...] | None
) -> None:
    evidence = Evidence(together(parts), {Dimension.CLASS: parts}, events, onset=ONSET)
    answer = explain(evidence)
    assert answer.cause == cause
    if events is None and cause == "stale_draft_after_deploy":
        assert "whether anything was deployed is not known" in answer.headline


def test_canary_prompts_tell_them_apart_too() -> None:
    moved = compared(np.random.default_rng(1), CODE, times(CODE, 0.9))
    still = compared(np.random.default_rng(1), CODE, CODE)
    total, deploy = together(STALE), (Event(EventKind.DEPLOY, ONSET - 20.0),)
    assert explain(Evidence(total, events=deploy, onset=ONSET, canary=moved)).cause == "stale_draft_after_deploy"
    assert explain(Evidence(together(MIXED), events=deploy, onset=ONSET, canary=still)).cause is None


def test_a_mix_shift_beside_a_deploy_is_still_a_mix_shift() -> None:
    shifted = faults.mix_shift(np.random.default_rng(2))
    answer = explain(replace(shifted, events=(faults.event(EventKind.DEPLOY),)))
    assert answer.cause == "mix_shift"
    assert "the mix of traffic has changed" in answer.headline
    assert answer.split is not None
    assert abs(answer.split.within.value) < 0.2 * abs(answer.split.mix.value)


def test_mix_and_stale_draft_at_once_is_the_draft_with_the_mix_in_the_numbers() -> None:
    drafts = {"code": (60_000, 25_000), "chat": (60_000, 80_000)}
    parts = groups(np.random.default_rng(3), {n: (q, times(q, 0.93)) for n, q in CLASSES.items()}, drafts)
    evidence = Evidence(
        together(parts), {Dimension.CLASS: parts}, [faults.event(EventKind.DEPLOY)], onset=ONSET, design=DESIGN
    )
    answer = explain(evidence)
    assert answer.cause == "stale_draft_after_deploy"
    assert answer.split is not None
    assert answer.split.mix.real(answer.split.length)


def test_a_rollout_in_progress_is_seen_by_version() -> None:
    rng = np.random.default_rng(4)
    fallen = {name: (q, times(q, 0.9)) for name, q in CLASSES.items()}
    parts = groups(rng, fallen)
    versions = {
        "1": compared(rng, CHAT, CHAT),
        "2": Comparison(after=compared(rng, CHAT, times(CHAT, 0.9)).after),
    }
    evidence = Evidence(
        together(parts),
        {Dimension.CLASS: parts, Dimension.VERSION: versions},
        [faults.event(EventKind.VERSION, was="0.10.0", now="0.11.0")],
        onset=ONSET,
        design=DESIGN,
    )
    answer = explain(evidence)
    assert answer.cause == "engine_regression"
    assert answer.facts["only_some_versions"].holds is True


@pytest.mark.parametrize(("before", "after"), [(0, 0), (0, 9_000), (200, 9_000), (9_000, 96)])
def test_low_volume_cannot_tell(before: int, after: int) -> None:
    pair = compared(np.random.default_rng(5), CODE, times(CODE, 0.5), (before, after))
    answer = explain(Evidence(pair, events=[faults.event(EventKind.DEPLOY)], onset=ONSET))
    assert (answer.outcome, answer.cause) == (Outcome.CANNOT_TELL, None)
    assert "each side needs 900" in answer.headline
    assert answer.next_checks == ("Wait for more traffic, or compare longer spans.",)


@pytest.mark.parametrize("ratio", [1.0, 1.05])
def test_no_fall_is_no_change(ratio: float) -> None:
    pair = compared(np.random.default_rng(6), CODE, times(CODE, ratio), (200_000, 200_000))
    answer = explain(Evidence(pair, events=[faults.event(EventKind.DEPLOY)], onset=ONSET, design=DESIGN))
    assert (answer.outcome, answer.cause) == (Outcome.NO_CHANGE, None)


def test_a_fall_within_noise_cannot_be_told_unless_a_detector_has_decided() -> None:
    drafts = 6_000.0
    pair = Comparison(window(drafts, [0.8 * drafts]), window(drafts, [0.77 * drafts]))
    evidence = Evidence(pair, events=(), onset=ONSET, design=20.0)
    assert "Cannot tell whether acceptance fell" in explain(evidence).headline
    assert "Cannot tell why" in explain(replace(evidence, alarmed=True)).headline


def test_ngram_after_an_upgrade_of_vllm_is_no_regression() -> None:
    upgraded = faults.counting(np.random.default_rng(7))
    answer = explain(upgraded)
    assert answer.cause == "counting_changed"
    assert "nothing is worse" in answer.headline
    assert explain(replace(upgraded, method="n-gram")).cause == "counting_changed"
    later = faults.event(EventKind.VERSION, was="0.32.0", now="0.33.0")
    assert explain(replace(upgraded, events=(later,))).cause != "counting_changed"


@pytest.mark.parametrize("ago", [-31.0, -35.0, -59.0])
def test_a_restart_after_the_fall_did_not_cause_it(ago: float) -> None:
    pair = compared(np.random.default_rng(6), CODE, times(CODE, 0.5), (200_000, 200_000))
    bad, cure = faults.event(EventKind.RESTART, 0.0), faults.event(EventKind.RESTART, ago)
    answer = explain(Evidence(pair, events=[bad, cure], onset=ONSET, design=DESIGN, interval_s=10.0))
    for fact in ("rollout_at_onset", "rollout_near"):
        assert answer.facts[fact].words == "engine restart at the moment of the fall"
    alone = explain(Evidence(pair, events=[cure], onset=ONSET, design=DESIGN, interval_s=10.0))
    assert alone.facts["rollout_near"].holds is False


def test_adaptive_tier_zero_is_not_a_collapse_of_the_draft() -> None:
    off = faults.tier_zero(np.random.default_rng(8))
    assert explain(off).cause == "speculation_off"
    assert explain(replace(off, speculating=None, adaptive=None, events=None)).cause is None
    assert explain(replace(off, speculating=True, events=[faults.event(EventKind.DEPLOY)])).cause == "wrong_wiring"


def test_dynamic_depth_with_lost_positions_is_not_drift() -> None:
    before = window(60_000.0, [37_200.0, 22_320.0, 13_600.0], draft_tokens=180_000.0)
    after = window(60_000.0, [37_200.0, 12_000.0, 5_000.0], draft_tokens=110_000.0)
    evidence = Evidence(
        Comparison(before, after), events=(), onset=ONSET, design=DESIGN, engine="vllm", adaptive=True
    )
    answer = explain(evidence)
    assert answer.cause == "dynamic_depth"
    assert "accepted as before" in answer.headline


def test_one_class_of_traffic_is_no_sign_of_the_mix() -> None:
    whole = compared(np.random.default_rng(9), CHAT, times(CHAT, 0.9))
    answer = explain(Evidence(whole, {Dimension.CLASS: {"other": whole}}, onset=ONSET, design=DESIGN, alarmed=True))
    assert answer.split is None
    assert answer.outcome is Outcome.CANNOT_TELL


def test_the_answer_reads_and_is_json() -> None:
    answer = explain(faults.stale_draft(np.random.default_rng(1)))
    text = answer.text()
    assert text.startswith("Very likely: the draft no longer matches the target after a deploy\n")
    assert "  for: deploy 20 s before the fall began" in text
    assert "Next:\n  - Compare the target's revision" in text
    body = json.loads(json.dumps(answer.as_json(), allow_nan=False))
    assert (body["outcome"], body["cause"]) == ("named", "stale_draft_after_deploy")
    assert body["split"]["mix"]["value"] + body["split"]["within"]["value"] == pytest.approx(
        body["split"]["total"]["value"]
    )
    assert body["known"]["traffic classes"] is True
    assert body["known"]["canary prompts"] is False


counts = st.sampled_from([0.0, 1.0, 97.0, 1e4, 1e9])
chains = st.lists(st.floats(0.0, 1.0), max_size=4)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    drafts, kept, share = draw(counts), [], 1.0
    for q in draw(chains):
        share *= q
        kept.append(drafts * share)
    return window(drafts, kept, accepted_tokens=None if kept else drafts * draw(st.floats(0.0, 3.0)))


comparisons = st.builds(Comparison, windows(), windows())
events = st.builds(Event, st.sampled_from(EventKind), st.floats(0.0, 2e4))


@given(
    st.dictionaries(st.sampled_from(Dimension), st.dictionaries(st.sampled_from("abc<0"), comparisons), max_size=3),
    comparisons,
    st.none() | st.lists(events, max_size=3),
    st.none() | st.floats(0.0, 2e4),
    st.booleans(),
)
@settings(max_examples=60)
def test_any_evidence_has_an_answer_and_beliefs_add_up(
    parts: dict[Dimension, dict[str, Comparison]],
    total: Comparison,
    happened: list[Event] | None,
    onset: float | None,
    alarmed: bool,
) -> None:
    answer = explain(Evidence(total, parts, happened, onset=onset, alarmed=alarmed))
    assert answer.headline
    assert answer.text()
    assert json.dumps(answer.as_json(), allow_nan=False)
    believed = sum(row.probability for row in answer.ranking.causes) + answer.ranking.something_else
    assert believed == pytest.approx(1.0)
    assert (answer.cause is None) == (answer.outcome is not Outcome.NAMED)
