from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.history import HistoryError
from specwatch_detectors.history_prometheus import PrometheusHistory, read_dump

NAMES = ("drafts_total", "draft_tokens_total", "accepted_tokens_total")


def series(name: str, values: list[tuple[float, float]], **labels: str) -> dict[str, Any]:
    return {"metric": {"__name__": name, **labels}, "values": [[at, str(value)] for at, value in values]}


def pod(
    drafts: list[tuple[float, float]], prefix: str = "specwatch_", name: str = "a", **labels: str
) -> list[dict[str, Any]]:
    """Counters of one pod with K = 2: of every draft 0.7 and 0.4 accepted at the positions."""
    own = {"model": "m", "engine": "0", "definition": "vllm-v1-counters", "pod": name, **labels}

    def times(factor: float) -> list[tuple[float, float]]:
        return [(at, factor * value) for at, value in drafts]

    positions = [
        series(f"{prefix}accepted_tokens_per_position_total", times(share), **own, position=str(j))
        for j, share in enumerate((0.7, 0.4))
    ]
    factors = zip(NAMES, (1.0, 2.0, 1.1), strict=True)
    return [*(series(prefix + metric, times(factor), **own) for metric, factor in factors), *positions]


def answer(result: list[dict[str, Any]]) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def read(*answers: dict[str, Any], interval_s: float | None = None) -> Any:
    body = answers[0] if len(answers) == 1 else list(answers)
    return read_dump(json.dumps(body), "dump.json", interval_s)


def test_specwatchs_series_become_windows() -> None:
    model = read(answer(pod([(10, 100), (20, 150), (30, 150), (40, 250)]))).models["m"]
    assert [(interval.at, interval.total.drafts) for interval in model.intervals] == [(20, 50), (30, 0), (40, 100)]
    assert model.intervals[0].total.accepted == pytest.approx((35.0, 20.0))
    assert model.depth == 2


def test_pods_are_increased_by_themselves_before_they_are_added() -> None:
    """A sum over pods would fall at 30, where one pod restarts, and the restart would look like all drafts."""
    first = pod([(10, 1000), (20, 1010), (30, 5), (40, 15)])
    second = pod([(10, 50), (20, 60), (30, 70), (40, 80)], name="b")
    model = read(answer(first), answer(second)).models["m"]
    assert [interval.total.drafts for interval in model.intervals] == [20, 15, 20]
    assert [change.words for change in model.changes] == ["restart: counters of a"]
    assert model.instances == 2


def test_a_new_pod_brings_no_lifetime_with_it() -> None:
    model = read(answer([*pod([(10, 1), (20, 11), (30, 21)]), *pod([(20, 9e6), (30, 9e6 + 5)], name="b")])).models[
        "m"
    ]
    assert [interval.total.drafts for interval in model.intervals] == [10, 15]


def test_a_long_gap_is_left_out_and_a_short_one_counts() -> None:
    model = read(answer(pod([(10, 0), (20, 10), (60, 50), (2000, 9000), (2010, 9010), (2020, 9010)]))).models["m"]
    assert [(interval.at, interval.total.drafts) for interval in model.intervals] == [
        (20, 10),
        (60, 40),
        (2010, 10),
        (2020, 0),
    ]


def test_vllms_own_names_are_read() -> None:
    labels = {"model_name": "m", "engine": "0", "pod": "a"}
    points = [(10.0, 0.0), (20.0, 100.0), (30.0, 200.0)]
    result = [
        series("vllm:spec_decode_num_drafts_total", points, **labels),
        series("vllm:spec_decode_num_draft_tokens_total", [(at, 3 * value) for at, value in points], **labels),
        series("vllm:spec_decode_num_accepted_tokens_total", [(at, 1.2 * value) for at, value in points], **labels),
        *(
            series(
                "vllm:spec_decode_num_accepted_tokens_per_pos_total",
                [(at, share * value) for at, value in points],
                **labels,
                position=str(j),
            )
            for j, share in enumerate((0.6, 0.4, 0.2))
        ),
        series("vllm:num_requests_running", points, **labels),
    ]
    model = read(answer(result)).models["m"]
    assert [interval.total.accepted for interval in model.intervals] == [pytest.approx((60, 40, 20))] * 2
    assert model.depth == 3


def test_without_positions_the_depth_of_drafts_follows_from_their_tokens() -> None:
    """An excerpt may have the three totals only; taken as K = 1, most accepted tokens would count for nothing."""
    totals = pod([(10, 0), (20, 100), (30, 200)])[:3]
    model = read(answer(totals)).models["m"]
    assert model.depth == 2
    assert model.intervals[0].total.accepted_tokens == pytest.approx(110.0)


def test_vllms_series_beside_specwatchs_are_not_counted_twice() -> None:
    both = [
        *pod([(10, 0), (20, 10)]),
        series("vllm:spec_decode_num_drafts_total", [(10, 0), (20, 10)], model_name="m"),
    ]
    found = read(answer(both))
    assert found.models["m"].drafts == 10
    assert found.notes == ("vLLM's own series were left out: specwatch's are there, too",)


def test_classes_come_from_the_request_series() -> None:
    own = [
        one
        for name, share in (("chat", 0.25), ("code", 0.75))
        for one in pod(
            [(10, 0), (20, 100 * share), (30, 200 * share)],
            prefix="specwatch_request_",
            traffic_class=name,
            speculation="eagle3",
        )
    ]
    model = read(answer([*pod([(10, 0), (20, 100), (30, 200)]), *own])).models["m"]
    assert [dict(interval.classes)["code"].drafts for interval in model.intervals] == [75, 75]
    assert [interval.total.drafts for interval in model.intervals] == [100, 100]
    assert read(answer(own)).models["m"].drafts == 200


def test_facts_about_the_engine_are_changes() -> None:
    points = [(10.0 * n, 100.0 * n) for n in range(1, 7)]
    facts = [
        series("specwatch_engine_info", [(at, 1) for at, _ in points[:3]], version="0.31", kind="vllm", pod="a"),
        series("specwatch_engine_info", [(at, 1) for at, _ in points[3:]], version="0.32", kind="vllm", pod="a"),
        series(
            "specwatch_num_speculative_tokens", [(at, 3 if at < 45 else 5) for at, _ in points], model="m", pod="a"
        ),
        series("specwatch_engine_restarts_total", [(at, 1 if at < 35 else 2) for at, _ in points], pod="a"),
    ]
    model = read(answer([*pod(points), *facts])).models["m"]
    assert [(change.at, change.words) for change in model.changes] == [
        (40.0, "restart: engine of a"),
        (40.0, "version 0.31 → 0.32"),
        (50.0, "K 3 → 5"),
    ]
    assert model.depth == 5


def test_counts_that_are_bounds_or_gauges_are_left_out() -> None:
    with pytest.raises(HistoryError, match="no draft steps in it"):
        read(answer(pod([(10, 0), (20, 10)], definition="vllm-v0-any-position")))


@given(
    steps=st.lists(st.tuples(st.integers(0, 10**9), st.booleans()), min_size=3, max_size=40),
    seed=st.integers(0, 999),
)
def test_no_draft_is_lost_or_counted_twice(steps: list[tuple[int, bool]], seed: int) -> None:
    """Whatever the increases, restarts, order of series, duplicates and overlap of chunks."""
    value, points = 5.0, [(10.0, 5.0)]
    expected = 0.0
    for number, (added, restart) in enumerate(steps, start=2):
        if restart and added < value:
            value = 0.0
        value += added
        expected += added
        points.append((10.0 * number, value))
    rng = random.Random(seed)
    cut = rng.randrange(1, len(points))
    history = PrometheusHistory(10.0)
    for chunk in (points[:cut], points[max(0, cut - 2) :], points[cut:]):
        one = pod(chunk)
        rng.shuffle(one)
        history.take(one)
    if expected == 0.0:
        with pytest.raises(HistoryError):
            history.build("x")
        return
    model = history.build("x").models["m"]
    assert model.drafts == pytest.approx(expected, rel=1e-9)
    assert all(interval.total.drafts >= 0.0 for interval in model.intervals)
    assert [interval.at for interval in model.intervals] == sorted({interval.at for interval in model.intervals})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "the JSON is cut or broken"),
        ('"x"', "not an answer of Prometheus"),
        ('{"status": "error", "error": "query timed out"}', "Prometheus answered with an error: query timed out"),
        ('{"data": {}}', "no 'result' in it"),
        ('{"data": {"result": [{"metric": {}, "value": [1, "2"]}]}}', "no values over time"),
        ('{"data": {"result": []}}', "fewer than two points in time"),
        (json.dumps(answer([series("up", [(1, 1), (2, 1)])])), "but e.g. up"),
        (json.dumps(answer([{"metric": {}, "values": [[1, "1"], [2, "1"]]}])), "series without names"),
        (
            json.dumps(answer([series("sglang:spec_verify_calls_total", [(1, 1), (2, 1)])])),
            "use the specwatch_ series",
        ),
        (json.dumps(answer([series("specwatch_drafts_total", [(1, 1), (2, 1)])])), "no draft steps in it"),
        (
            '[{"metric": {"__name__": "specwatch_drafts_total"}, "values": [[1, "x"], [2, "1"]]}]',
            "a sample is not a pair of time and number",
        ),
    ],
)
def test_other_files_are_refused_in_one_line(body: str, words: str) -> None:
    with pytest.raises(HistoryError, match=r"^dump\.json: ") as refused:
        read_dump(body, "dump.json")
    assert words in str(refused.value)
