"""Speculative arguments of a command line: found in every spelling, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_deploy.actuators.spec_args import meaning, speculative, with_speculative
from specwatch_deploy.actuators.spec_flags import SGLANG, VLLM, SpecFlags

CONFIG = '{"method": "ngram", "num_speculative_tokens": 3}'
BACKWARDS = '{"num_speculative_tokens":3,"method":"ngram"}'
OTHERS = st.lists(
    st.sampled_from(["serve", "/m", "--port", "8000", "--port=8000", "-tp", "2", "--speculate", "", "a b", "-1"])
    | st.text(max_size=6).filter(lambda text: not text.startswith("-")),
    max_size=8,
)
SPECULATIVE = st.sampled_from(
    [
        ["--speculative-config", CONFIG],
        [f"--speculative-config={CONFIG}"],
        [f"--speculative_config={CONFIG}"],
        ["-sc", CONFIG],
        ["--speculative-config.method", "ngram"],
        ["--spec-method", "ngram", "--spec-tokens=3"],
        ["--num-speculative-tokens", "5", "--speculative-model", "[ngram]"],
        [],
    ]
)


@pytest.mark.parametrize(
    ("flags", "args", "found"),
    [
        (VLLM, ["serve", "/m", "--speculative-config", CONFIG, "--port", "1"], ["--speculative-config", CONFIG]),
        (VLLM, ["--speculative_config", CONFIG], ["--speculative_config", CONFIG]),
        (VLLM, ["-sc", CONFIG, "/m"], ["-sc", CONFIG]),
        (VLLM, ["--speculative-config.method", "ngram"], ["--speculative-config.method", "ngram"]),
        (VLLM, ["--ngram-prompt-lookup-max=4", "-tp", "2"], ["--ngram-prompt-lookup-max=4"]),
        (VLLM, ["--speculative-disable-mqa-scorer", "/m"], ["--speculative-disable-mqa-scorer"]),
        (VLLM, ["--speculative-config"], ["--speculative-config"]),
        (VLLM, ["--served-model-name", "speculative"], []),
        (SGLANG, ["--speculative-adaptive", "--tp", "2"], ["--speculative-adaptive"]),
        (SGLANG, ["--speculative-eagle-topk", "1", "--tp"], ["--speculative-eagle-topk", "1"]),
        (SGLANG, ["--speculative-accept-threshold-acc", "-1"], ["--speculative-accept-threshold-acc", "-1"]),
        (SGLANG, ["--spec-method", "x"], []),
    ],
)
def test_found(flags: SpecFlags, args: list[str], found: list[str]) -> None:
    assert speculative(args, flags) == found


@given(OTHERS, OTHERS, SPECULATIVE, SPECULATIVE)
def test_the_others_stay_byte_for_byte(before: list[str], after: list[str], old: list[str], new: list[str]) -> None:
    args = [*before, *old, *after]
    others = with_speculative(args, [], VLLM)
    changed = with_speculative(args, new, VLLM)
    assert speculative(others, VLLM) == []
    assert with_speculative(changed, [], VLLM) == others
    assert speculative(changed, VLLM) == new
    assert with_speculative(changed, new, VLLM) == changed, "the second time changes nothing"


@given(OTHERS, OTHERS, SPECULATIVE.filter(bool), SPECULATIVE.filter(bool))
def test_back_to_the_letter(before: list[str], after: list[str], old: list[str], new: list[str]) -> None:
    args = [*before, *old, *after]
    if speculative(args, VLLM) != old:
        return  # the last of `before` is no flag that could take `old` as its value, but `old` might end up so
    assert with_speculative(with_speculative(args, new, VLLM), old, VLLM) == args


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            ["--speculative-config", CONFIG],
            [f"--speculative_config={BACKWARDS}"],
            True,
        ),
        (["--spec-method", "ngram", "--spec-tokens", "3"], ["--spec-tokens=3", "--spec-method=ngram"], True),
        (["--speculative-config", CONFIG], [], False),
        (["--speculative-config", CONFIG], ["--speculative-config", CONFIG.replace("3", "4")], False),
        (["--speculative-config.method", "ngram"], ["--speculative-config.method", "suffix"], False),
    ],
)
def test_meaning(one: list[str], other: list[str], *, same: bool) -> None:
    assert (meaning(one, VLLM) == meaning(other, VLLM)) is same
