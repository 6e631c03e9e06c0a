from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from detectors.explain.simulated_chain import CODE, served
from specwatch_detectors.explain import odd_shape, record_test
from specwatch_detectors.explain.odd_shape import OddShapeError, judge_shape
from specwatch_detectors.explain.record_test import Record, RecordTestError, compare_records
from specwatch_detectors.window import Window


def requests(seed: int, count: int = 200, **changed: object) -> list[Record]:
    rng = Random(seed)
    return [
        {
            "prompt_tokens": rng.lognormvariate(6.0, 1.0) * (3.0 if changed.get("longer") else 1.0),
            "temperature": rng.choice((0.0, 0.0, 0.7)),
            "class": rng.choice(("chat", "chat", "code") if changed.get("chatty") else ("chat", "code", "code")),
            "adapter": None if rng.random() < 0.9 else "sql",
            "hour": float(rng.randrange(24)),
        }
        for _ in range(count)
    ]


def test_requests_that_differ_are_told_with_the_features() -> None:
    result = compare_records(requests(1), requests(2, longer=True))
    assert result.p_value < 0.01
    assert result.area > 0.7
    assert result.features[0].name == "prompt_tokens"
    assert "median prompt_tokens" in result.words
    assert {row.name for row in result.features} <= {"prompt_tokens", "class"}
    shares = compare_records(requests(1, 400), requests(2, 400, chatty=True))
    assert shares.features[0].name == "class"
    assert "class ch" in shares.features[0].words or "class co" in shares.features[0].words


def test_false_alarms_are_as_rare_as_the_p_value_says() -> None:
    found = [
        compare_records(requests(seed, 80), requests(seed + 500, 80), seed=seed, shuffles=99) for seed in range(40)
    ]
    assert sum(result.p_value <= 0.1 for result in found) <= 10
    assert all(0.0 < result.p_value <= 1.0 for result in found)
    quiet = max(found, key=lambda result: result.p_value)
    assert quiet.features == ()
    assert "cannot be told apart" in quiet.words


def test_many_records_of_few_requests_are_no_proof() -> None:
    def turns(seed: int) -> list[Record]:
        rng = Random(seed)
        return [
            {"request": f"{seed}-{talk}", "prompt_tokens": base}
            for talk in range(70)
            for base in [rng.gauss(0.0, 1.0)]
            for _ in range(20)
        ]

    grouped = [compare_records(turns(seed), turns(seed + 99), seed=seed, shuffles=99).p_value for seed in range(12)]
    assert sum(p <= 0.05 for p in grouped) <= 3


def test_the_same_seed_gives_the_same_answer() -> None:
    sides = requests(1), requests(2, longer=True)
    assert compare_records(*sides, seed=3).as_json() == compare_records(*sides, seed=3).as_json()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (requests(1, 20), requests(2, 90), "20 requests before and 90 after"),
        ([{"request": "1"}] * 200, requests(2), "1 requests before"),
        ([{"request": str(at)} for at in range(90)], [{"request": str(at)} for at in range(90)], "no features"),
    ],
)
def test_too_little_is_refused(before: list[Record], after: list[Record], message: str) -> None:
    with pytest.raises(RecordTestError, match=message):
        compare_records(before, after)


def windows(seed: int, change: Callable[[tuple[float, ...]], tuple[float, ...]], count: int = 80) -> list[Window]:
    rng = np.random.default_rng(seed)
    return [served(rng, change(CODE), 4_000) for _ in range(count)]


def same(q: tuple[float, ...]) -> tuple[float, ...]:
    return q


def test_a_shape_never_seen_is_odd_and_the_usual_one_is_not() -> None:
    before = windows(1, same)
    strange = judge_shape(before, windows(2, lambda q: (q[0], 0.8 * q[1], min(0.99, 1.15 * q[2]), q[3])))
    assert strange.odd
    assert "unlike anything before" in strange.words
    assert strange.most_moved in {2, 3}
    usual = judge_shape(before, windows(3, same))
    assert not usual.odd
    assert "of a kind seen before" in usual.words
    assert judge_shape(before, windows(3, same), seed=1) == judge_shape(before, windows(3, same), seed=1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], []),
        (windows(1, same, 39), windows(2, same)),
        (windows(1, same), windows(2, same, 4)),
        ([Window(9.0, (5.0,), (9.0,), 5.0)] * 99, windows(2, same)),
    ],
)
def test_too_few_windows_are_refused(before: list[Window], after: list[Window]) -> None:
    with pytest.raises(OddShapeError, match="have enough drafts"):
        judge_shape(before, after)


def test_without_scikit_learn_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(RecordTestError, match=r"pip install '\.\[detect\]'"):
        compare_records(requests(1), requests(2))
    with pytest.raises(OddShapeError, match=r"pip install '\.\[detect\]'"):
        judge_shape(windows(1, same), windows(2, same))


def test_an_explanation_needs_no_library() -> None:
    program = (
        "import sys; from specwatch_detectors.explain.explanation import explain;"
        "from specwatch_detectors.explain.evidence import Evidence;"
        "from specwatch_detectors.explain.comparison import Comparison;"
        "from specwatch_detectors.window import window;"
        "pair = Comparison(window(1e6, [8e5, 6e5]), window(1e6, [7e5, 5e5]));"
        "assert explain(Evidence(pair)).headline;"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'pandas', 'rich', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert record_test.LEAST_REQUESTS > odd_shape.LEAST_WINDOWS
