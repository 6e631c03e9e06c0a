from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.payoff.break_even_table import main
from specwatch_detectors.payoff.profile_file import (
    MAX_BYTES,
    ProfileError,
    load_profile,
    profile_from_json,
    profile_from_text,
)
from specwatch_detectors.payoff.step_cost import Cost, Load, Unknown
from specwatch_detectors.payoff.step_curve import StepCurve

MEASURED: dict[str, Any] = {
    "format": 1,
    "name": "mine",
    "label": "three runs",
    "target": "some model",
    "hardware": "two GPUs",
    "gpus": 2,
    "engine": "vLLM 0.33.0",
    "source": "a bench",
    "context_tokens": 1000,
    "batches": [1, 8],
    "plain_seconds": [0.01, 0.02],
    "methods": {
        "eagle3": [
            {"depth": 1, "seconds": [0.012, 0.025]},
            {
                "depth": 5,
                "seconds": [0.016, 0.045],
                "relative_error": [0.01, 0.02],
                "idle_seconds": [0.0105, 0.024],
            },
        ]
    },
}


def changed(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    body: Any = copy.deepcopy(MEASURED)
    at = body
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return body  # type: ignore[no-any-return]


def test_several_runs_of_one_method_give_what_lies_between_them() -> None:
    cost = profile_from_json(MEASURED).cost_of("eagle3").at(Load(1, 3))
    assert isinstance(cost, Cost)
    assert cost.ratio == pytest.approx(1.4)
    assert cost.caveats == ()
    assert cost.relative_error == 0.01
    assert cost.idle_ratio == pytest.approx(1.05)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), 2, "format must be 1, not 2"),
        (("name",), "", "name must be a text"),
        (("gpus",), 0, "gpus must be a whole number"),
        (("gpus",), 1.5, "gpus must be a whole number"),
        (("context_tokens",), None, "context_tokens must be a number"),
        (("prefill_seconds_per_token",), -1, "prefill_seconds_per_token must be a number"),
        (("prompt_per_output",), "2", "prompt_per_output must be a number"),
        (("batches",), [8, 1], "plain_seconds: batch sizes must ascend"),
        (("batches",), [1], "plain_seconds: a curve needs two"),
        (("batches",), [0.5, 8], "plain_seconds: batch sizes must ascend from 1"),
        (("batches",), "1,8", "batches must be a list"),
        (("plain_seconds",), [0.01, 0], "plain_seconds: values of a curve must be positive"),
        (("plain_seconds",), [True, 1], "plain_seconds: plain_seconds must be a number"),
        (("plain_seconds",), [0.01], "plain_seconds: a curve needs"),
        (("methods",), [], "methods must be an object"),
        (("methods", "eagle3"), {}, "methods.eagle3 must be a list"),
        (("methods", "eagle3", 0), 3, "a run of methods.eagle3 must be an object"),
        (("methods", "eagle3", 0, "depth"), 0, "depth must be a whole number"),
        (("methods", "eagle3", 0, "depth"), 5, "two runs of one K"),
        (("methods", "eagle3", 0, "seconds"), None, "seconds must be a list"),
        (("constants",), [], "constants must be an object"),
        (("constants",), {"fixed": 1}, "drafters must be an object"),
    ],
)
def test_a_wrong_part_is_named_in_one_line(path: tuple[str | int, ...], value: object, message: str) -> None:
    with pytest.raises(ProfileError) as caught:
        profile_from_text(json.dumps(changed(path, value)), "mine.json")
    assert message in str(caught.value)
    assert str(caught.value).startswith("mine.json: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[", "[]", "1", '{"format": NaN}', "[" * 100_000])
def test_what_is_no_profile_at_all(text: str) -> None:
    with pytest.raises(ProfileError, match=r"^x\.json: "):
        profile_from_text(text, "x.json")


def test_constants_of_nothing_are_refused() -> None:
    body = {**MEASURED, "constants": dict.fromkeys(("fixed", "per_token", "per_kv_token", "overhead"), 0)}
    with pytest.raises(ValueError, match="cannot both be 0"):
        profile_from_json({**body, "drafters": {}})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_text(" " * (MAX_BYTES + 1))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name, message in (("none", "llama-70b-fp8-h200"), ("large", "1 MiB"), ("binary", "not UTF-8")):
        with pytest.raises(ProfileError, match=message):
            load_profile(tmp_path / name)
    with pytest.raises(ProfileError):
        load_profile(tmp_path)


def test_a_file_beside_the_shipped_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(MEASURED))
    assert load_profile(str(path)).gpus == 2


def test_the_table_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["qwen3-coder-30b-h200"]) == 0
    assert "| 32 | 1.54 |" in capsys.readouterr().out
    assert main(["nowhere.json"]) == 2
    assert capsys.readouterr().err.startswith("nowhere.json: No such file")


@given(
    st.lists(st.tuples(st.floats(1, 1e4), st.floats(1e-6, 1e3)), min_size=2, max_size=6, unique_by=lambda p: p[0]),
    st.floats(0, 1e6),
)
def test_a_curve_is_positive_and_marked_outside_its_sizes(points: list[tuple[float, float]], batch: float) -> None:
    batches, values = zip(*sorted(points), strict=True)
    found = StepCurve(batches, values).at(batch)
    if found is not None:
        assert found.value > 0
        assert found.extrapolated == (not batches[0] <= max(1.0, batch) <= batches[-1])
    else:
        assert not batches[0] / 4 <= max(1.0, batch) <= batches[-1] * 4


@given(st.floats(0, 1e5), st.floats(0, 64))
def test_the_ratio_is_a_positive_number_or_a_reason(batch: float, drafted: float) -> None:
    for name in ("llama-70b-fp8-h200", "llama-3.1-8b-h100"):
        profile = load_profile(name)
        for method in profile.methods:
            found = profile.cost_of(method).at(Load(batch, drafted))
            if isinstance(found, Unknown):
                assert found.reason
            else:
                assert 0.5 < found.ratio < 1000
