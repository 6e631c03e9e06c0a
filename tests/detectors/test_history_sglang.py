"""SGLang's counters over time: verify calls and generated tokens become drafts and accepted tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specwatch_detectors.history import HistoryError, ModelHistory
from specwatch_detectors.history_prometheus import read_dump

Values = list[tuple[float, float]]
WIDTH = 4.0


def series(name: str, values: Values, **labels: str) -> dict[str, Any]:
    own = {"model_name": "m", "engine_type": "unified", "tp_rank": "0", "pod": "a", **labels}
    return {"metric": {"__name__": f"sglang:{name}", **own}, "values": [[at, str(value)] for at, value in values]}


def engine(calls: Values, length: float = 2.5, *, width: float = WIDTH, **labels: str) -> list[dict[str, Any]]:
    """A server of which each verify call gives `length` tokens, bonus included."""
    return [
        series("spec_verify_calls_total", calls, **labels),
        series("generation_tokens_total", [(at, length * value) for at, value in calls], **labels),
        series("spec_num_steps", [(at, width - 1) for at, _ in calls], **labels),
        series("spec_num_draft_tokens", [(at, width) for at, _ in calls], **labels),
    ]


def read(*result: dict[str, Any]) -> ModelHistory:
    body = {"status": "success", "data": {"resultType": "matrix", "result": list(result)}}
    (model,) = read_dump(json.dumps(body), "dump.json").models.values()
    return model


def test_counts_follow_from_verify_calls_and_tokens() -> None:
    model = read(*engine([(10, 1e6), (20, 1e6 + 100), (30, 1e6 + 300)]))
    assert [interval.total.drafts for interval in model.intervals] == [100, 200]
    assert [interval.total.accepted_tokens for interval in model.intervals] == [
        pytest.approx(150),
        pytest.approx(300),
    ]
    assert (model.model, model.depth) == ("m", 3)


def test_ranks_of_one_replica_count_once_and_pods_are_added() -> None:
    calls = [(10.0, 0.0), (20.0, 100.0), (30.0, 200.0)]
    model = read(*engine(calls), *engine(calls, tp_rank="1"), *engine(calls, pod="b"))
    assert [interval.total.drafts for interval in model.intervals] == [200, 200]
    assert model.instances == 2


def test_a_restart_is_one_and_loses_nothing() -> None:
    model = read(*engine([(10, 1000), (20, 1100), (30, 40), (40, 60)]))
    assert [interval.total.drafts for interval in model.intervals] == [100, 40, 20]
    assert [change.what for change in model.changes] == ["restart"]


def test_the_adaptive_tier_without_drafts_is_no_collapse() -> None:
    drafting = engine([(10, 0), (20, 100), (30, 200)])
    off = [(40.0, 300.0), (50.0, 400.0)]
    steps = [
        series("spec_verify_calls_total", off),
        series("generation_tokens_total", [(40, 600), (50, 700)]),
        series("spec_num_steps", [(at, 0.0) for at, _ in off]),
        series("spec_num_draft_tokens", [(at, 1.0) for at, _ in off]),
    ]
    both = [
        {"metric": one["metric"], "values": one["values"] + two["values"]}
        for one, two in zip(drafting, steps, strict=True)
    ]
    model = read(*both)
    assert [interval.total.drafts for interval in model.intervals] == [100, 100, 0, 0]


@pytest.mark.parametrize(
    "result",
    [
        [series("spec_accept_length", [(10, 2.5), (20, 1.1)])],
        engine([(10, 0), (20, 100)])[:1],
        engine([(10, 0), (20, 100)])[:2],
    ],
)
def test_less_than_what_acceptance_follows_from_is_refused(result: list[dict[str, Any]]) -> None:
    with pytest.raises(HistoryError, match="sglang:spec_num_draft_tokens together; ask for all of them"):
        read(*result)


def test_the_steps_alone_tell_k_as_well() -> None:
    assert read(*engine([(10, 0), (20, 100)])[:3]).depth == 3


def test_specwatchs_own_series_win() -> None:
    own = {"__name__": "specwatch_drafts_total", "model": "m", "pod": "a", "definition": "sglang-tokens-per-verify"}
    points = [[10, "0"], [20, "7"]]
    accepted = {"metric": {**own, "__name__": "specwatch_accepted_tokens_total"}, "values": points}
    model = read(*engine([(10, 0), (20, 100)]), {"metric": own, "values": points}, accepted)
    assert model.drafts == 7
