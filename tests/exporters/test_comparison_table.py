"""Markdown tables of configurations, as issues and pull requests set them against each other."""

from __future__ import annotations

from typing import Any

import pytest

from specwatch_exporters.inspection import Content, InspectionError, inspect

# The form and the figures of sgl-project/sglang#21599.
MODES = """\
| Mode | Throughput | Avg latency | Avg accept len |
|---|---:|---:|---:|
| baseline | 460.7 tok/s | 4.442 s | nan |
| static1 | 620.6 tok/s | 3.299 s | 2.00 |
"""
# vllm-project/vllm-ascend#16637.
SCHEDULES = """\
| config | c=16 aggregate throughput | decode TPOT p50 |
|---|---|---|
| MTP x 3 static | 333 tok/s | 24.7 ms |
| MTP x 3 + `num_speculative_tokens_per_batch_size=[[1,8,3],[9,32,0]]` | **107 tok/s** | 112.1 ms |
"""
# ggml-org/llama.cpp#22673.
WALL = """\
| Run            | Wall (s) | Accept rate | Avg tok/s |
|----------------|---------:|------------:|----------:|
| Baseline       |    72.70 |         n/a |    ~20.1  |
| MTP `n_max=2`  |    78.02 |       0.819 |    ~18.9  |
"""
# The form of llm-d/llm-d#2074; figures beyond those of its text are made up.
LADDER = """\
QPS | Config | TPOT p50 (ms) | Output tok/s
-- | -- | -- | --
1 | Baseline | 13.2 | 500
1 | EAGLE-3 | 9.7 | 510
16 | Baseline | 20.0 | 2,000
16 | EAGLE-3 | 24.1 | 1,740
"""


def changes(text: str) -> dict[tuple[str, Any, str], float]:
    report = inspect(Content("x", text.encode()))
    return {(one.config, one.at, one.measure): one.change_pct[0] for one in report.comparisons}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MODES, {("static1", None, "tok_s"): 34.71, ("static1", None, "latency_ms"): -25.73}),
        (WALL, {("MTP n_max=2", None, "tok_s"): -5.97, ("MTP n_max=2", None, "wall_s"): 7.32}),
        (
            LADDER,
            {
                ("EAGLE-3", 1, "tok_s"): 2.0,
                ("EAGLE-3", 1, "p50_tpot_ms"): -26.52,
                ("EAGLE-3", 16, "tok_s"): -13.0,
                ("EAGLE-3", 16, "p50_tpot_ms"): 20.5,
            },
        ),
    ],
)
@pytest.mark.parametrize("before", ["", "> ", "    "])
def test_configurations_are_compared_with_the_one_without_speculation(
    text: str, expected: dict[tuple[str, Any, str], float], before: str
) -> None:
    quoted = "We measured:\n\n" + "".join(f"{before}{line}\n" for line in text.splitlines())
    assert changes(quoted) == pytest.approx(expected, abs=0.01)


def test_a_load_in_the_head_is_every_row_s() -> None:
    found = changes(SCHEDULES)
    assert {at for _, at, _ in found} == {16}
    assert sorted(found.values()) == pytest.approx([-67.87, 353.85], abs=0.01)


def test_tables_are_compared_each_by_itself() -> None:
    """They may be of different models; those of ggml-org/llama.cpp#26750 name builds, and no baseline."""
    build = (
        "| build | draft_n | accepted | acceptance | verify steps | tok/s |\n|---|---|---|---|---|---|\n"
        "| b10261 | 198 | 132 | **66.67%** | 68 | **69.23** |\n"
        "| b10532 | 231 | 121 | **52.38%** | 79 | **57.67** |\n"
    )
    found = changes(f"{MODES}\nProse:\n\n{build}")
    assert found[("b10532", None, "tok_s")] == pytest.approx(-16.7, abs=0.01)
    assert len(found) == 3


def test_a_unit_in_the_cell_tells_what_the_head_does_not() -> None:
    text = (
        "| Backend | Draft acceptance | Mean len | Decode |\n|---|---|---|---|\n"
        "| ROCm0 | 60.1% (83/138) | 3.31 | ~25 tok/s |\n| Vulkan0 | 0.1% (1/894) | 1.00 | ~7 tok/s |\n"
    )
    assert changes(text) == pytest.approx({("Vulkan0", None, "tok_s"): -72.0}, abs=0.01)


def test_slower_is_said_with_the_acceptance_that_hid_it() -> None:
    (said,) = inspect(Content("x", WALL.encode())).notices
    assert (said.code, "81.9%" in said.message) == ("speculation_slower", True)


@pytest.mark.parametrize(
    "text",
    [
        MODES.splitlines()[0] + "\n" + MODES.splitlines()[1] + "\n" + MODES.splitlines()[2] + "\n",  # one row
        "| Environment | Value |\n|---|---|\n| GPU | 3 |\n| Driver | 550 |\n",
        "| bs | throughput |\n|---|---|\n| 1 | 222.47 |\n| 4 | 566.21 |\n",  # no configurations
        "a | b\nc | d\n",
        "| GPU | Mode | tok/s |\n|---|---|---|\n| A | baseline | 10 |\n| B | MTP | 20 |\n",  # which against which?
        "| Config | Speed-up |\n|---|---|\n| a | 1.5 |\n| b | 1.7 |\n",
    ],
)
def test_other_tables_are_none(text: str) -> None:
    with pytest.raises(InspectionError, match="neither a metrics page"):
        inspect(Content("x", text.encode()))
