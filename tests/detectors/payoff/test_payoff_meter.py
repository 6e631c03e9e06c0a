from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric

from specwatch_detectors.payoff.estimate import StepTimesBook
from specwatch_detectors.payoff.payoff import Verdict
from specwatch_detectors.payoff.payoff_families import families
from specwatch_detectors.payoff.payoff_meter import PayoffMeter
from specwatch_detectors.payoff.payoff_reading import PayoffReport
from specwatch_detectors.payoff.payoff_sample import PayoffSample, split_by_steps
from specwatch_detectors.payoff.profile_file import load_profile, profile_from_json
from specwatch_detectors.payoff.step_cost import Basis, Cost, Load, StepCost, Unknown
from specwatch_detectors.window import NOTHING, window
from specwatch_exporters.payoff_catalog import PAYOFF_CATALOG

LAB = load_profile("llama-70b-fp8-h200")
EAGLE = LAB.cost_of("eagle3")
WITH_IDLE = profile_from_json(
    {
        "format": 1,
        "name": "mine",
        "label": "one run",
        "target": "a model",
        "hardware": "two GPUs",
        "gpus": 2,
        "engine": "vLLM",
        "source": "a bench",
        "context_tokens": 500,
        "batches": [1, 64],
        "plain_seconds": [0.010, 0.020],
        "methods": {"mtp": [{"depth": 1, "seconds": [0.012, 0.036], "idle_seconds": [0.0105, 0.024]}]},
    }
).cost_of("mtp")


def lab_sample(batch: float, drafts: float = 1000.0) -> PayoffSample:
    return PayoffSample(window(drafts, [0.76 * drafts, 0.55 * drafts, 0.38 * drafts]), batch)


def run(meter: PayoffMeter, samples: Sequence[PayoffSample], rounds: int = 60) -> PayoffReport:
    report = meter.update([], 10.0)
    for _ in range(rounds):
        report = meter.update(samples, 10.0, design=2.0)
    return report


def test_the_laboratorys_own_draft_pays_in_every_bucket() -> None:
    report = run(PayoffMeter("m", EAGLE, depth=3), [lab_sample(1), lab_sample(8), lab_sample(32)])
    assert [reading.batch for reading in report.readings] == ["1", "8", "32"]
    assert {reading.verdict for reading in report.readings} == {Verdict.PAYS}
    for reading, expected in zip(report.readings, (1.174, 1.631, 1.446), strict=True):
        assert reading.break_even == pytest.approx(expected, abs=1e-3)
        assert reading.length == pytest.approx(2.69)
        assert reading.share == pytest.approx(1 / 3)
        assert reading.best_depth is None  # what other K cost was not measured
    assert (report.profile, report.basis, report.idle_tax) == ("llama-70b-fp8-h200", Basis.MEASURED, None)


def test_with_the_runs_prefill_the_measured_speed_up_comes_out() -> None:
    sample = PayoffSample(lab_sample(32).window, 32, prompt_per_output=LAB.prompt_per_output)
    reading = run(PayoffMeter("m", EAGLE, depth=3), [sample]).main
    assert reading is not None
    assert reading.text.startswith("pays 1.67x (1.6")


def test_a_draft_that_fits_no_more_does_not_pay() -> None:
    sample = PayoffSample(window(1000, [150, 20, 2]), 8)
    report = run(PayoffMeter("m", EAGLE, depth=3), [sample])
    assert report.main is not None
    assert report.main.verdict is Verdict.DOES_NOT_PAY
    assert report.sentence.startswith("Speculation: does not pay: 0.72x (0.7")
    assert report.sentence.endswith("(batch up to 8, break-even 1.63 tokens per step).")


def test_constants_tell_the_best_depth() -> None:
    cost = load_profile("llama-3.1-8b-h100").cost_of("eagle")
    sample = PayoffSample(window(1e5, [66e3, 44e3, 29e3, 19e3, 12.5e3]), 512, context=500)
    reading = run(PayoffMeter("m", cost, depth=5), [sample]).readings[0]
    assert (reading.batch, reading.best_depth) == ("+", 2)
    assert reading.verdict is Verdict.DOES_NOT_PAY
    assert "extrapolated" in reading.text


@pytest.mark.parametrize(
    ("cost", "batch", "text"),
    [
        (None, 8, "cannot tell: no step-time profile for this model"),
        (
            LAB.cost_of("mtp"),
            8,
            "cannot tell: the profile has no step times for mtp (it has eagle3, ngram, peagle)",
        ),
        (EAGLE, 500, "cannot tell: batch 500 is too far from the batch sizes of the profile"),
        (StepTimesBook().cost("eagle3", 0.0), 8, "cannot tell: no profile, and no estimate at batch 8: step times"),
    ],
)
def test_without_a_price_there_is_a_reason_and_no_number(cost: StepCost | None, batch: float, text: str) -> None:
    report = run(PayoffMeter("m", cost, depth=3), [lab_sample(batch)])
    reading = report.readings[0]
    assert reading.verdict is Verdict.CANNOT_TELL
    assert reading.text.startswith(text)
    assert (reading.speedup, reading.break_even, report.rejected_seconds) == (None, None, None)
    assert reading.length == pytest.approx(2.69)


def test_too_few_drafts() -> None:
    report = PayoffMeter("m", EAGLE, depth=3).update([lab_sample(8, drafts=100)], 10.0)
    assert report.readings[0].text == "cannot tell: too few drafts (2.22 independent, 30 are needed)"


def test_seconds_lost_to_rejected_tokens() -> None:
    """800 drafts at batch 8 are 100 steps; each is longer by speculation; 1.31 of 3 tokens are thrown away."""
    cost = EAGLE.at(Load(8, 3))
    assert isinstance(cost, Cost)
    assert cost.spec_seconds is not None
    assert cost.plain_seconds is not None
    meter = PayoffMeter("m", EAGLE, depth=3)
    expected = 100 * (cost.spec_seconds - cost.plain_seconds) * 1.31 / 3
    assert meter.update([lab_sample(8, 800)], 10.0).rejected_seconds == pytest.approx(expected)
    assert meter.update([], 10.0).rejected_seconds == pytest.approx(expected)
    assert meter.update([lab_sample(8, 800)], 10.0).rejected_seconds == pytest.approx(2 * expected)


def test_no_more_gpu_seconds_are_lost_than_there_were() -> None:
    meter = PayoffMeter("m", WITH_IDLE, depth=1)
    report = meter.update([PayoffSample(window(1e9, [0]), 64)], 10.0, engines=3)
    assert report.rejected_seconds == pytest.approx(10.0 * 3 * 2 * (1 - 0.020 / 0.036))


def test_an_engine_that_drafts_nothing_is_told_from_one_that_drafts_badly() -> None:
    idle = PayoffSample(NOTHING, 64, request_steps=10_000)
    report = run(PayoffMeter("m", WITH_IDLE, depth=1), [idle])
    assert report.readings[0].verdict is Verdict.DOES_NOT_PAY
    assert report.readings[0].text.startswith("does not pay: nothing is drafted, steps take 20.0% longer")
    assert report.readings[0].break_even == pytest.approx(1.8)
    assert report.idle_tax == pytest.approx(1.2)
    assert report.rejected_seconds == pytest.approx(0.0)
    unmeasured = run(PayoffMeter("m", EAGLE, depth=3), [PayoffSample(NOTHING, 8, request_steps=10_000)])
    assert unmeasured.readings[0].verdict is Verdict.CANNOT_TELL
    assert unmeasured.readings[0].length is None


def test_steps_without_a_match_lower_the_length_and_the_price() -> None:
    cost = LAB.cost_of("ngram")
    seldom = PayoffSample(window(1000, [450, 250, 150]), 8, request_steps=4000)
    reading = run(PayoffMeter("m", cost, depth=3), [seldom]).readings[0]
    assert reading.length == pytest.approx(1 + 850 / 4000)
    assert reading.break_even == pytest.approx(1 + 0.567 / 4, abs=1e-3)
    assert "inferred from another K" in reading.caveats


def test_an_estimate_serves_where_there_is_no_profile() -> None:
    book = StepTimesBook()
    for number in range(20):
        book.observe("off", 8, 100, 2.0, 10.0 * number)
        book.observe("eagle3", 8, 100, 3.0, 10.0 * number)
    report = run(PayoffMeter("m", book.cost("eagle3", 200.0), depth=3), [lab_sample(8)])
    assert report.readings[0].text.endswith(", estimated")
    assert report.readings[0].speedup is not None
    assert report.readings[0].speedup.estimate == pytest.approx(2.69 / 1.5)
    assert (report.profile, report.basis) == ("none", Basis.ESTIMATED)


def test_traffic_that_has_ended_says_nothing_of_now() -> None:
    meter = PayoffMeter("m", EAGLE, depth=3)
    run(meter, [lab_sample(8, 1e6)])
    for _ in range(31):
        report = meter.update([], 10.0)
    assert report.readings == ()
    assert report.main is None
    assert report.sentence == ""
    assert report.rejected_seconds is not None


def test_another_method_starts_anew_and_keeps_what_was_lost() -> None:
    meter = PayoffMeter("m", EAGLE, depth=3)
    lost = run(meter, [lab_sample(8)]).rejected_seconds
    meter.changed(LAB.cost_of("peagle"), 5)
    report = meter.update([], 10.0)
    assert (report.readings, report.rejected_seconds) == ((), lost)


def test_a_restarted_meter_goes_on_where_it_was() -> None:
    meter = PayoffMeter("m", EAGLE, depth=3)
    run(meter, [lab_sample(1), PayoffSample(window(50, [9], draft_tokens=150), 8, 90, 150, 300, 1.5, 0.03)])
    kept = json.loads(json.dumps(meter.state()))
    again = PayoffMeter("m", EAGLE, depth=3, state=kept)
    assert again.update([lab_sample(8)], 10.0) == meter.update([lab_sample(8)], 10.0)
    other = PayoffMeter("m", EAGLE, depth=4, state=kept).update([], 10.0)
    assert (other.readings, other.rejected_seconds) == ((), kept["rejected_seconds"])


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"depth": 3, "rejected_seconds": -1, "buckets": {}},
        {"depth": 3, "rejected_seconds": None, "buckets": {"8": {}}},
        {"depth": 3, "rejected_seconds": None, "buckets": {"8": 5}},
        {"depth": "x", "rejected_seconds": None, "buckets": {}},
        {"depth": 3, "rejected_seconds": None, "buckets": 3},
    ],
)
def test_a_state_of_something_else_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not the state|invalid literal"):
        PayoffMeter("m", EAGLE, depth=3, state=state)


def test_wrong_use_is_refused() -> None:
    meter = PayoffMeter("m", EAGLE, depth=3)
    for seconds in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="positive number of seconds"):
            meter.update([], seconds)
    with pytest.raises(ValueError, match="K must be 1"):
        PayoffMeter("m", EAGLE, depth=0)
    with pytest.raises(ValueError, match="K must be 1"):
        meter.changed(EAGLE, 0)
    for value in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="None is unknown"):
            PayoffSample(NOTHING, value)


class TestSplitBySteps:
    def test_buckets_share_the_drafts_by_requests_in_steps(self) -> None:
        whole = PayoffSample(window(100, [50]), 0, request_steps=200, draft_tokens=100)
        parts = split_by_steps(whole, {1: 40, 2: 0, 4: 10, math.inf: 0}, batch_total=75)
        assert [part.batch for part in parts] == [1.0, 3.5]
        assert [part.window.drafts for part in parts] == pytest.approx([100 * 40 / 75, 100 * 35 / 75])
        assert sum(part.request_steps or 0 for part in parts) == pytest.approx(200)

    def test_no_steps_no_samples(self) -> None:
        assert split_by_steps(PayoffSample(window(100, [50]), 0), {1: 0, 2: 0}) == ()

    @given(
        st.dictionaries(st.sampled_from([1.0, 2.0, 4.0, 8.0, 16.0, 1024.0, math.inf]), st.floats(0, 1e9)),
        st.floats(0, 1e9),
        st.one_of(st.none(), st.floats(0, 1e12)),
    )
    def test_nothing_is_lost_and_sizes_stay_in_their_buckets(
        self, steps: dict[float, float], drafts: float, total: float | None
    ) -> None:
        parts = split_by_steps(PayoffSample(window(drafts, [drafts / 2]), 0), steps, total)
        if parts:
            assert sum(part.window.drafts for part in parts) == pytest.approx(drafts)
        for part, edge in zip(parts, (edge for edge in sorted(steps) if steps[edge] > 0), strict=False):
            assert 1.0 <= part.batch <= edge


COUNT = st.one_of(st.floats(0, 1e9), st.just(0.0), st.floats(0, 1e-6))


@given(
    st.lists(st.tuples(COUNT, st.floats(0, 1), st.floats(0, 1), st.floats(0, 600), COUNT), max_size=20),
    st.floats(0.001, 1e6),
    st.one_of(st.none(), st.floats(0, 1e6)),
)
def test_no_volume_gives_nan_zero_or_disordered_bounds(
    counts: list[tuple[float, float, float, float, float]], seconds: float, design: float | None
) -> None:
    for cost, depth in ((EAGLE, 3), (WITH_IDLE, 1), (load_profile("llama-3.1-8b-h100").cost_of("ngram"), 2)):
        meter = PayoffMeter("m", cost, depth=depth)
        before = 0.0
        for drafts, first, second, batch, steps in counts:
            accepted = [drafts * first, drafts * first * second][:depth]
            sample = PayoffSample(window(drafts, accepted), batch, request_steps=steps)
            report = meter.update([sample], seconds, design=design)
            lost = report.rejected_seconds or 0.0
            assert before <= lost < math.inf
            before = lost
            assert sum(reading.share for reading in report.readings) == pytest.approx(1.0 if report.readings else 0)
            for reading in report.readings:
                assert "nan" not in reading.text
                if reading.speedup is not None:
                    bounds = reading.speedup
                    assert 0.0 < bounds.lower <= bounds.estimate <= bounds.upper < math.inf
                if reading.break_even is not None:
                    assert 0.0 < reading.break_even < math.inf
        assert (
            PayoffMeter("m", cost, depth=depth, state=json.loads(json.dumps(meter.state()))).state()
            == meter.state()
        )


def samples_of(reports: list[PayoffReport]) -> str:
    class Held:
        def collect(self) -> list[Metric]:
            return list(families(reports))

    registry = CollectorRegistry()
    registry.register(Held())
    return generate_latest(registry).decode()


def test_metrics_have_the_catalogues_rows_and_unknown_is_absent() -> None:
    known = run(PayoffMeter("m", WITH_IDLE, depth=1), [PayoffSample(window(1000, [800]), 64)])
    page = samples_of([known])
    for row in PAYOFF_CATALOG:
        assert f"# TYPE {row.name} {row.kind}" in page
        assert row.name.startswith("specwatch_payoff_")
    assert 'specwatch_payoff_speedup_ratio{batch="64",bound="estimate",model="m"} 1.0' in page
    assert 'specwatch_payoff_info{basis="measured",model="m",profile="mine"} 1.0' in page
    assert "specwatch_payoff_rejected_seconds_total{" in page
    silent = PayoffMeter("m", None, depth=3).update([lab_sample(8)], 10.0)
    assert samples_of([silent]) == ""


def test_unknown_is_not_a_cost() -> None:
    assert isinstance(EAGLE.at(Load(1e6, 3)), Unknown)
