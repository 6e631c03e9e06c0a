from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.replay.scheduler import Scheduler
from specwatch_exporters.replay.sequence import FinishReason, Sequence, Submission
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.step_result import StepResult

ALL_KEPT = {"chat": (1.0, 1.0, 1.0), "code": (1.0, 1.0, 1.0), "math": (1.0, 1.0, 1.0)}
NONE_KEPT = {"chat": (0.0,), "code": (0.0,), "math": (0.0,)}


def asked(
    number: int, prompt: int, output: int, *, scheduler: Scheduler, kind: str = "chat", ignore_eos: bool = True
) -> Submission:
    return Submission(f"r{number}", scheduler.settings.class_named(kind), prompt, output, ignore_eos)


def steps(scheduler: Scheduler, now: float = 0.0) -> Iterator[StepResult]:
    """Step until nothing is left."""
    while (result := scheduler.step(now)) is not None:
        now = result.ended
        yield result


def lone(prompt: int, output: int, **fields: Any) -> tuple[Sequence, list[StepResult]]:
    scheduler = Scheduler(ReplaySettings(**fields))
    sequence = scheduler.submit(asked(0, prompt, output, scheduler=scheduler), 0.0)
    return sequence, list(steps(scheduler))


@pytest.mark.parametrize(
    ("output", "drafted", "kept"),
    [
        (1, [], []),
        (2, [3], [3]),
        (5, [3], [3]),
        (6, [3, 3], [3, 3]),
        (7, [3, 3], [3, 3]),
    ],
)
def test_drafts_are_not_shortened_at_max_tokens_and_cut_tokens_stay_accepted(
    output: int, drafted: list[int], kept: list[int]
) -> None:
    sequence, results = lone(10, output, acceptance=ALL_KEPT)
    assert (sequence.record.drafted, sequence.record.accepted) == (drafted, kept)
    assert sum(result.generation_tokens for result in results) == output
    assert sequence.finish is FinishReason.LENGTH


def test_drafts_are_shortened_at_the_model_length() -> None:
    # A running vLLM 0.32.0 with K=4 and a length of 1024 ended in drafts of 4, 3, 2, 1 in the same way.
    sequence, _ = lone(2, 1021, max_model_len=1024, acceptance=NONE_KEPT, num_speculative_tokens=4, kv_tokens=2048)
    assert sequence.record.drafted[-5:] == [4, 4, 3, 2, 1]
    assert sequence.generated == 1021


def test_the_first_token_has_no_draft() -> None:
    _, results = lone(10, 1)
    assert [len(result.drafts) for result in results] == [0]
    assert [result.prompt_tokens for result in results] == [10]


@pytest.mark.parametrize("fields", [{"method": "off"}, {"live_k": 0}, {"draft_probability": 0.0}])
def test_without_drafts_every_step_gives_one_token_and_counts_no_draft(fields: dict[str, Any]) -> None:
    sequence, results = lone(10, 20, **fields)
    assert len(results) == 20
    assert sequence.record.drafted == []
    assert all(not result.drafts for result in results)


def test_steps_without_a_match_are_not_drafts() -> None:
    sequence, results = lone(10, 400, method="ngram", draft_probability=0.5)
    share = len(sequence.record.drafted) / (len(results) - 1)
    assert 0.35 < share < 0.65
    assert 0 not in sequence.record.drafted


def test_a_long_prompt_is_prefilled_in_chunks() -> None:
    _, results = lone(1000, 2, max_batched_tokens=256, acceptance=ALL_KEPT)
    assert [result.generation_tokens for result in results] == [0, 0, 0, 1, 1]
    assert [result.prompt_tokens for result in results] == [0, 0, 0, 1000, 0]


def test_prefill_makes_a_step_longer() -> None:
    def first_step(prompt: int) -> float:
        return lone(prompt, 1)[1][0].ended

    assert first_step(2000) == pytest.approx(first_step(1000) + 1000 * 0.0001)


def test_requests_start_in_order_and_wait_for_slots() -> None:
    scheduler = Scheduler(ReplaySettings(slots=2))
    sequences = [scheduler.submit(asked(n, 10, 30, scheduler=scheduler), 0.0) for n in range(5)]
    first = scheduler.step(0.0)
    assert first is not None
    assert (first.load.running, first.load.waiting) == (2, 3)
    finished = [done for result in steps(scheduler, first.ended) for done in result.finished]
    starts = [sequence.times.scheduled for sequence in sequences]
    assert starts == sorted(start for start in starts if start is not None)
    assert sum(done.queue > 0 for done in finished) == 3


def test_fewer_slots_let_running_requests_finish_and_admit_no_others() -> None:
    scheduler = Scheduler(ReplaySettings(slots=4))
    for number in range(8):
        scheduler.submit(asked(number, 10, 50, scheduler=scheduler), 0.0)
    scheduler.step(0.0)
    scheduler.reconfigure(ReplaySettings(slots=1))
    running = [result.load.running for result in steps(scheduler, 1.0)]
    above = [count for count in running if count > 1]
    assert running[: len(above)] == above == sorted(above, reverse=True)
    assert above[0] == 4
    assert scheduler.load.waiting == 0


def test_changed_acceptance_counts_for_requests_that_run() -> None:
    scheduler = Scheduler(ReplaySettings(acceptance=ALL_KEPT))
    sequence = scheduler.submit(asked(0, 10, 101, scheduler=scheduler), 0.0)
    for result in itertools.islice(steps(scheduler), 5):
        last = result
    scheduler.reconfigure(ReplaySettings(acceptance=NONE_KEPT))
    list(steps(scheduler, last.ended))
    assert sequence.record.accepted[:4] == [3] * 4
    assert set(sequence.record.accepted[4:]) == {0}


def test_a_request_that_may_stop_ends_with_its_end_token() -> None:
    scheduler = Scheduler(ReplaySettings())
    asked_for = [asked(number, 10, 2000, scheduler=scheduler, ignore_eos=False) for number in range(200)]
    sequences = [scheduler.submit(submission, 0.0) for submission in asked_for]
    reasons = Counter(done.reason for result in steps(scheduler) for done in result.finished)
    assert reasons == {FinishReason.STOP: 200}
    assert all(sequence.generated == sequence.stop_at for sequence in sequences)
    mean = sum(sequence.generated for sequence in sequences) / 200
    assert mean == pytest.approx(180, rel=0.3)


@pytest.mark.parametrize("steps_before", [0, 1, 3])
def test_an_aborted_request_leaves_nothing(steps_before: int) -> None:
    scheduler = Scheduler(ReplaySettings())
    sequence = scheduler.submit(asked(0, 100, 50, scheduler=scheduler), 0.0)
    for _ in range(steps_before):
        scheduler.step(0.0)
    assert scheduler.abort(sequence)
    assert not scheduler.abort(sequence)
    assert (scheduler.load.running, scheduler.load.waiting, scheduler.load.kv_usage) == (0, 0, 0.0)
    assert scheduler.step(1.0) is None


def test_a_request_aborted_within_a_step_gives_no_output() -> None:
    scheduler = Scheduler(ReplaySettings())
    sequence = scheduler.submit(asked(0, 10, 50, scheduler=scheduler), 0.0)
    plan = scheduler.begin(0.0)
    assert plan is not None
    scheduler.abort(sequence)
    result = scheduler.finish(plan, 0.1)
    assert (result.outputs, result.generation_tokens, result.finished) == ([], 0, [])


def test_lack_of_kv_blocks_preempts_the_last_and_nothing_is_counted_twice() -> None:
    scheduler = Scheduler(
        ReplaySettings(slots=8, max_model_len=512, kv_tokens=640, acceptance=NONE_KEPT, block_size=16)
    )
    sequences = [scheduler.submit(asked(n, 100, 300, scheduler=scheduler), 0.0) for n in range(6)]
    results = list(steps(scheduler))
    preempted = sum(result.preempted for result in results)
    finished = [done for result in results for done in result.finished]
    assert preempted == sum(sequence.preemptions for sequence in sequences) > 0
    assert sequences[0].preemptions == 0
    assert sum(result.prompt_tokens for result in results) == 600
    assert sum(result.generation_tokens for result in results) == 1800
    assert sum(len(result.first_token_latencies) for result in results) == 6
    assert [done.generation_tokens for done in finished] == [300] * 6
    assert max(result.load.kv_usage for result in results) <= 1.0
    assert scheduler.kv_cache.held == 0


def test_draws_do_not_depend_on_other_requests_or_on_slots() -> None:
    def records(slots: int) -> list[list[int]]:
        scheduler = Scheduler(ReplaySettings(slots=slots))
        sequences = [scheduler.submit(asked(n, 10, 80, scheduler=scheduler), 0.0) for n in range(10)]
        list(steps(scheduler))
        return [sequence.record.accepted for sequence in sequences]

    assert records(1) == records(4) == records(10)


requests = st.lists(
    st.tuples(st.integers(1, 400), st.integers(1, 60), st.booleans(), st.sampled_from(["code", "chat", "math"])),
    min_size=1,
    max_size=15,
)


@settings(max_examples=60, deadline=None)
@given(requests, st.integers(1, 6), st.integers(0, 4), st.integers(64, 600), st.integers(0, 10_000))
def test_every_token_is_accounted_for(
    asked_for: list[tuple[int, int, bool, str]], slots: int, live_k: int, budget: int, seed: int
) -> None:
    scheduler = Scheduler(
        ReplaySettings(
            slots=slots,
            num_speculative_tokens=4,
            live_k=live_k,
            max_model_len=512,
            kv_tokens=1024,
            max_batched_tokens=budget,
            seed=seed,
        )
    )
    sequences = [
        scheduler.submit(asked(n, prompt, output, scheduler=scheduler, kind=kind, ignore_eos=forced), 0.0)
        for n, (prompt, output, forced, kind) in enumerate(asked_for)
    ]
    results = list(steps(scheduler))
    finished = [done for result in results for done in result.finished]
    drafts = [draft for result in results for draft in result.drafts]
    assert len(finished) == len(sequences)
    assert all(sequence.finish in {FinishReason.STOP, FinishReason.LENGTH} for sequence in sequences)
    assert sum(result.generation_tokens for result in results) == sum(s.generated for s in sequences)
    assert sum(result.prompt_tokens for result in results) == sum(s.submission.prompt_tokens for s in sequences)
    assert Counter(drafts) == Counter(
        pair for s in sequences for pair in zip(s.record.drafted, s.record.accepted, strict=True)
    )
    assert all(0 < drafted <= live_k and 0 <= kept <= drafted for drafted, kept in drafts)
    outputs = [output for result in results for output in result.outputs]
    assert len(outputs) == sum(
        len(result.first_token_latencies) + len(result.inter_token_latencies) for result in results
    )
    assert all(done.queue >= 0 and done.prefill > 0 and done.decode >= 0 for done in finished)
    assert scheduler.kv_cache.held == 0


def test_tallies_are_kept_by_class() -> None:
    scheduler = Scheduler(ReplaySettings(acceptance={"code": (1.0, 1.0, 1.0), "math": (0.0,)}))
    for number, kind in enumerate(["code", "math", "math"]):
        scheduler.submit(asked(number, 10, 9, scheduler=scheduler, kind=kind), 0.0)
    list(steps(scheduler))
    code, math = scheduler.tallies["code"], scheduler.tallies["math"]
    assert (code.drafts, code.accepted_tokens, code.per_position) == (2, 6, [2, 2, 2])
    assert (math.drafts, math.accepted_tokens, math.per_position) == (16, 0, [0, 0, 0])
    assert scheduler.tallies["chat"].drafts == 0
