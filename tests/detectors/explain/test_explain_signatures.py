from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from detectors.explain.faults import INCIDENTS, Rng
from specwatch_detectors.explain.evidence import Evidence
from specwatch_detectors.explain.explanation import Outcome, explain
from specwatch_detectors.explain.signatures import SignatureError, parse, shipped

CASES = [(cause, incident) for cause, incidents in sorted(INCIDENTS.items()) for incident in incidents]
# Engine counters alone show these: nothing else has to be known.
FROM_TOTALS = {
    "counting_changed",
    "dynamic_depth",
    "slower_not_draft",
    "speculation_off",
    "acceptance_follows_batch",
    "draft_chain_cache",
    "synthetic_load",
}


def test_every_scored_cause_has_an_incident() -> None:
    assert {cause.id for cause in shipped() if cause.scored} == set(INCIDENTS)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("cause", "incident"), CASES, ids=[incident.__name__ for _, incident in CASES])
def test_the_incident_is_named(cause: str, incident: Callable[[Rng], Evidence], seed: int) -> None:
    answer = explain(incident(np.random.default_rng(seed)))
    top = [(row.cause.id, round(row.probability, 2)) for row in answer.ranking.causes[:3]]
    assert (answer.outcome, answer.cause) == (Outcome.NAMED, cause), top
    assert answer.next_checks
    assert answer.candidates[0].evidence_for


@pytest.mark.parametrize(("cause", "incident"), CASES, ids=[incident.__name__ for _, incident in CASES])
def test_with_totals_alone_it_is_named_or_cannot_be_told(cause: str, incident: Callable[[Rng], Evidence]) -> None:
    full = incident(np.random.default_rng(4))
    bare = Evidence(full.total, design=full.design, engine=full.engine)
    answer = explain(bare)
    assert answer.cause in {None, cause}, answer.headline


@pytest.mark.parametrize(
    ("cause", "incident"),
    [case for case in CASES if case[0] not in FROM_TOTALS],
    ids=[incident.__name__ for cause, incident in CASES if cause not in FROM_TOTALS],
)
def test_when_events_and_groups_are_missing_nothing_else_is_blamed(
    cause: str, incident: Callable[[Rng], Evidence]
) -> None:
    answer = explain(replace(incident(np.random.default_rng(5)), groups={}, events=None))
    assert answer.cause in {None, cause}, answer.headline


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no cause"),
        ("[[cause]]\nid = 'a'", "cause a: name, says, checks, sources missing"),
        ("[default]\nnonsense = [1, 2]", "unknown facts: nonsense"),
        ("[default]\nramp = [1]", "ramp needs two numbers"),
        ("[default]\nramp = [1, true]", "ramp is no number"),
        ("[default]\nramp = [1, nan]", "ramp is no number"),
        ("][", "not TOML"),
        (
            "\n".join(["[[cause]]\nid = 'a'\nname = 'a'\nsays = 'a'\nchecks = ['a']\nsources = ['a']"] * 2),
            "given twice: a",
        ),
    ],
)
def test_a_wrong_table_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        parse(text)


def test_the_page_names_every_cause() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "explain.md").read_text()
    missing = [cause.id for cause in shipped() if f"| `{cause.id}` | {cause.name} |" not in page]
    assert missing == []


def test_every_cause_says_what_to_do_and_where_it_was_seen() -> None:
    for cause in shipped():
        assert cause.checks, cause.id
        assert cause.sources, cause.id
        assert cause.says.endswith("."), cause.id
    names = {cause.id: cause.name for cause in shipped()}
    assert names["stale_draft_after_deploy"] == "the draft no longer matches the target after a deploy"
    assert names["mix_shift"] == "the mix of traffic has changed"
