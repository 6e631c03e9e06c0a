"""Times to first token that cannot be what their name says, as vLLM 0.5 exported them."""

from __future__ import annotations

import pytest

from exporters.page_text import codes, read, sample, vllm

EDGES = ("0.001", "0.005", "0.01", "0.25", "+Inf")


def histogram(*counts: float) -> str:
    """Buckets alone, as the excerpt in vllm-project/vllm#6337 has them."""
    name = "vllm:time_to_first_token_seconds_bucket"
    rows = zip(EDGES, counts, strict=True)
    return "".join(f'{name}{{le="{edge}",model_name="m"}} {count}\n' for edge, count in rows)


def ended(count: float, running: float | None = None) -> str:
    lines = f'vllm:request_success_total{{finished_reason="stop",model_name="m"}} {count}\n'
    return lines if running is None else f'{lines}vllm:num_requests_running{{model_name="m"}} {running}\n'


def test_buckets_without_a_count_have_their_last_edge_for_it() -> None:
    (model,) = read(histogram(0, 2, 8, 10, 10))["models"]
    latency = model["latency"]["time_to_first_token_seconds"]
    assert (latency["count"], latency["mean"], latency["p50"]) == (10, None, 0.0075)


@pytest.mark.parametrize(
    ("counts", "warned"),
    [((208, 208, 208, 208, 208), True), ((207, 207, 207, 208, 208), True), ((100, 208, 208, 208, 208), False)],
)
def test_first_tokens_within_a_millisecond_were_not_measured(counts: tuple[float, ...], warned: bool) -> None:
    assert ("ttft_not_measured" in codes(read(histogram(*counts)))) is warned


@pytest.mark.parametrize(
    ("first", "finished", "running", "warned"),
    [(8060, 3918, None, True), (8060, 3918, 4142, False), (8060, 8000, 0, False), (60, 20, 0, False)],
)
def test_more_first_tokens_than_requests_are_told(
    first: float, finished: float, running: float | None, warned: bool
) -> None:
    page = f'vllm:time_to_first_token_seconds_count{{model_name="m"}} {first}\n{ended(finished, running)}'
    assert ("ttft_counted_twice" in codes(read(page))) is warned


def test_a_page_without_finished_requests_says_nothing_of_them() -> None:
    assert "ttft_counted_twice" not in codes(read('vllm:time_to_first_token_seconds_count{model_name="m"} 500\n'))


def test_a_line_in_bold_and_italics_is_a_sample() -> None:
    page = f'{histogram(0, 0, 1, 1, 1)}**_vllm:time_to_first_token_seconds_sum{{model_name="m"}} 9.3e-03_**\n'
    (model,) = read(page)["models"]
    assert model["latency"]["time_to_first_token_seconds"]["mean"] == pytest.approx(0.0093)


def test_priorities_of_finished_requests_are_not_engines() -> None:
    """The label of vllm-project/vllm#58078; its values are -1, 0, 1 and what is beyond."""
    page = vllm(100, 300, 150) + "".join(
        sample(f"vllm:time_to_first_token_seconds{part}", value, engine="0", priority=priority)
        for priority, count, total in (("0", 30, 3.0), (">1", 10, 5.0))
        for part, value in (("_count", count), ("_sum", total))
    )
    (model,) = read(page)["models"]
    latency = model["latency"]["time_to_first_token_seconds"]
    assert (model["engines"], latency["count"], latency["mean"]) == (1, 40, pytest.approx(0.2))
