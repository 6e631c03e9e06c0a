"""Whether speculation pays, from what a scrape sidecar reads: with a profile, and estimated without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from detectors.interval_of import WALL, increases, report
from specwatch_detectors.payoff.payoff import Verdict
from specwatch_detectors.payoff.payoff_families import families
from specwatch_detectors.payoff.payoff_reading import PayoffReport
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.payoff.step_profile import StepProfile
from specwatch_detectors.sidecar_payoff import SidecarPayoff
from specwatch_detectors.window import NOTHING
from specwatch_detectors.windows_of_counts import model_windows
from specwatch_exporters import catalog, request_catalog, step_catalog
from specwatch_exporters.engines.registry import read_page
from specwatch_exporters.exposition import parse
from specwatch_exporters.ledger import Ledger
from specwatch_exporters.page import Key
from specwatch_exporters.report import ModelReport, State
from specwatch_exporters.sidecar.watcher import Interval

RUNNING = 8.0
STEPS = 4000.0
DRAFTING = replace(report(), running=RUNNING)
PLAIN = replace(report(method="off", depth=None), running=RUNNING, state=State.OFF)


def scrape(now: float, step_s: float, rates: tuple[float, ...]) -> Interval:
    grown = increases(STEPS, tuple(STEPS * rate for rate in rates)) if rates else {}
    tokens = STEPS * (1.0 + sum(rates))
    grown |= {
        Key(f"{catalog.ITL_STEP.name}_count", "m", "0", ""): STEPS,
        Key(f"{catalog.ITL_STEP.name}_sum", "m", "0", ""): STEPS * step_s,
        Key(catalog.GENERATION_TOKENS.name, "m", "0", ""): tokens,
        Key(catalog.PROMPT_TOKENS.name, "m", "0", ""): 0.0,
    }
    return Interval(now, WALL + now, grown, (report(),))


def lived(
    watch: SidecarPayoff, own: ModelReport, began: float, step_s: float, rates: tuple[float, ...] = ()
) -> float:
    now = began
    for _ in range(60):
        now += 10.0
        one = scrape(now, step_s, rates)
        window = model_windows(one.increases).get("m")
        assert window is not None
        watch.take(own, one, window, 4.0, changed=False)
    return now


RATES = (0.7, 0.5, 0.35)


def test_an_engine_seen_without_and_with_speculation_gives_an_estimate_that_says_so() -> None:
    watch = SidecarPayoff(PLAIN, None, half_life_s=300.0)
    now = lived(watch, PLAIN, 0.0, 0.020)
    lived(watch, DRAFTING, now, 0.030, RATES)
    assert watch.report is not None
    reading = watch.report.main
    assert reading is not None
    assert reading.speedup is not None
    assert reading.speedup.estimate == pytest.approx(2.55 / 1.5, rel=0.02)
    assert reading.verdict is Verdict.PAYS
    assert (watch.report.basis, watch.report.profile) == ("estimated", "none")


def test_without_the_other_side_nobody_can_tell() -> None:
    watch = SidecarPayoff(DRAFTING, None, half_life_s=300.0)
    lived(watch, DRAFTING, 0.0, 0.030, RATES)
    assert watch.report is not None
    reading = watch.report.main
    assert reading is not None
    assert (reading.verdict, reading.speedup) == (Verdict.CANNOT_TELL, None)
    assert "no estimate" in reading.text


def test_what_was_seen_without_speculation_survives_a_restart() -> None:
    first = SidecarPayoff(PLAIN, None, half_life_s=300.0)
    now = lived(first, PLAIN, 0.0, 0.020)
    again = SidecarPayoff(DRAFTING, None, half_life_s=300.0, state=first.state())
    lived(again, DRAFTING, now + 60.0, 0.030, RATES)
    assert again.report is not None
    assert again.report.main is not None
    assert again.report.main.verdict is Verdict.PAYS


def test_a_broken_state_is_left_out() -> None:
    state = {"depth": "x", "steps": {"a|b": 1}, "spread": 3}
    watch = SidecarPayoff(DRAFTING, None, half_life_s=300.0, state=state)
    lived(watch, DRAFTING, 0.0, 0.030, RATES)
    assert watch.report is not None


def test_with_a_profile_the_profile_counts() -> None:
    watch = SidecarPayoff(DRAFTING, load_profile("llama-70b-fp8-h200"), half_life_s=300.0)
    lived(watch, DRAFTING, 0.0, 0.030, RATES)
    assert watch.report is not None
    assert watch.report.profile == "llama-70b-fp8-h200"
    assert watch.report.main is not None
    assert watch.report.main.verdict is Verdict.PAYS


LAB = load_profile("llama-70b-fp8-h200")
SILENT = replace(DRAFTING, state=State.OFF)


def test_speculation_that_goes_off_is_told_at_the_next_scrape() -> None:
    watch = SidecarPayoff(DRAFTING, LAB, half_life_s=300.0)
    now = lived(watch, DRAFTING, 0.0, 0.030, RATES)
    for number, own in enumerate((DRAFTING, SILENT, SILENT), start=1):
        one = scrape(now + 10.0 * number, 0.021, ())
        watch.take(own, one, model_windows(one.increases)["m"], 4.0, changed=False)
        assert watch.report is not None
        assert watch.report.main is not None
        assert watch.report.main.speedup is None
        assert "nothing is drafted" in watch.report.main.text


def test_an_engine_without_speculation_is_off() -> None:
    watch = SidecarPayoff(PLAIN, LAB, half_life_s=300.0)
    lived(watch, PLAIN, 0.0, 0.021)
    assert watch.report is not None
    assert watch.report.sentence == "Speculation: cannot tell: speculation is off (batch up to 8)."


def test_another_k_does_not_blend_with_the_one_before() -> None:
    watch = SidecarPayoff(DRAFTING, load_profile("llama-3.1-8b-h100"), half_life_s=300.0)
    now = lived(watch, DRAFTING, 0.0, 0.030, RATES)
    one = scrape(now + 10.0, 0.030, (0.2,))
    watch.take(replace(DRAFTING, speculative_tokens=1), one, model_windows(one.increases)["m"], 4.0, changed=False)
    assert watch.report is not None
    assert watch.report.main is not None
    assert watch.report.main.length == pytest.approx(1.2)


def basis(report: PayoffReport | None) -> set[str]:
    assert report is not None
    return {
        sample.labels["basis"]
        for family in families([report])
        for sample in family.samples
        if sample.name == "specwatch_payoff_info"
    }


@pytest.mark.parametrize(
    ("method", "told"), [("eagle3", "measured"), ("p-eagle", "measured"), ("mtp", "none"), (None, "none")]
)
def test_the_basis_is_measured_only_for_a_method_that_the_profile_has(method: str | None, told: str) -> None:
    own = replace(DRAFTING, method=method)
    watch = SidecarPayoff(own, LAB, half_life_s=300.0)
    lived(watch, own, 0.0, 0.030, RATES)
    assert basis(watch.report) == {told}


@pytest.mark.parametrize(
    ("method", "lines"), [("mtp", 1), ("draft-model", 1), ("p-eagle", 0), ("off", 0), (None, 0)]
)
def test_a_method_that_the_profile_does_not_know_is_logged_once(
    method: str | None, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    own = replace(DRAFTING, method=method)
    lived(SidecarPayoff(own, LAB, half_life_s=300.0), own, 0.0, 0.030, RATES)
    said = [record.getMessage() for record in caplog.records if record.name == "specwatch.payoff"]
    text = "has no step times for {} (it has eagle3, ngram, peagle), so it cannot say what pays"
    assert said == [f"m: the step-time profile llama-70b-fp8-h200 {text.format(method)}"] * lines


def test_without_a_profile_there_is_no_basis_before_both_sides_were_seen() -> None:
    watch = SidecarPayoff(DRAFTING, None, half_life_s=300.0)
    now = lived(watch, DRAFTING, 0.0, 0.030, RATES)
    assert basis(watch.report) == {"none"}
    lived(watch, PLAIN, now, 0.020)
    lived(watch, DRAFTING, now + 1000.0, 0.030, RATES)
    assert basis(watch.report) == {"estimated"}


@pytest.mark.parametrize("profile", [None, LAB])
def test_the_tax_of_drafting_nothing_is_seen_where_no_profile_has_it(profile: StepProfile | None) -> None:
    watch = SidecarPayoff(PLAIN, profile, half_life_s=300.0)
    now = lived(watch, PLAIN, 0.0, 0.020)
    now = lived(watch, DRAFTING, now, 0.030, RATES)
    assert watch.report is not None
    assert watch.report.idle_tax is None, "K = 0 was not seen yet"
    lived(watch, SILENT, now, 0.0212)
    assert watch.report.idle_tax == pytest.approx(1.06, rel=1e-3)
    assert watch.report.main is not None
    assert "steps take 6.0% longer than without speculation" in watch.report.main.text


HEAD = """# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{engine="0"} 1
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 5
"""


def plugin_page(small: float, large: float, waited_s: tuple[float, float]) -> str:
    """A vLLM page with the plugin's families: steps with 2 and with 24 requests, and what those waited."""
    edges = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    upto = [(small if edge >= 2 else 0.0) + (large if edge >= 32 else 0.0) for edge in edges]
    name, gap = step_catalog.STEP_BATCH.name, request_catalog.INTER_CHUNK.name
    lines = [HEAD.rstrip(), f"# TYPE {name} histogram"]
    lines += [
        f'{name}_bucket{{model="m",engine="0",le="{edge}.0"}} {value}'
        for edge, value in zip(edges, upto, strict=True)
    ]
    lines += [f'{name}_bucket{{model="m",engine="0",le="+Inf"}} {upto[-1]}']
    lines += [f'{name}_sum{{model="m",engine="0"}} {2 * small + 24 * large}']
    lines += [f'{name}_count{{model="m",engine="0"}} {upto[-1]}', f"# TYPE {gap} histogram"]
    for batch, count, seconds in (("2", 2 * small, waited_s[0]), ("32", 24 * large, waited_s[1])):
        own = f'model="m",traffic_class="unknown",batch="{batch}",speculation="eagle3"'
        lines += [f'{gap}_bucket{{{own},le="+Inf"}} {count}', f"{gap}_sum{{{own}}} {seconds}"]
        lines += [f"{gap}_count{{{own}}} {count}"]
    return "\n".join(lines) + "\n"


def test_the_plugins_steps_are_read_from_the_engines_page() -> None:
    """Both batch sizes are judged apart, by their own step times, though the gauge says 5 at every scrape."""
    watch = SidecarPayoff(PLAIN, None, half_life_s=300.0)
    ledger, now, steps, waited = Ledger(), 0.0, (0.0, 0.0), (0.0, 0.0)
    for own, step_s, rates in (
        (replace(PLAIN, running=5.0), (0.010, 0.020), ()),
        (replace(DRAFTING, running=5.0), (0.012, 0.040), RATES),
    ):
        for _ in range(60):
            now, steps = now + 10.0, (steps[0] + 500.0, steps[1] + 200.0)
            waited = (waited[0] + 1000.0 * step_s[0], waited[1] + 4800.0 * step_s[1])
            seen = ledger.update(read_page(parse(plugin_page(*steps, waited)), None)).by_key
            requests = 1000.0 + 4800.0
            grown = {**increases(requests, tuple(requests * rate for rate in rates))} if rates else {}
            grown |= {Key(f"{catalog.ITL_STEP.name}_count", "m", "0", ""): requests, **seen}
            one = Interval(now, WALL + now, grown, (own,))
            watch.take(own, one, model_windows(grown).get("m", NOTHING), 4.0, changed=False)
    assert watch.report is not None
    found = {reading.batch: reading for reading in watch.report.readings}
    assert set(found) == {"2", "32"}
    small, large = found["2"].break_even, found["32"].break_even
    assert small == pytest.approx(1.2, rel=1e-3)
    assert large == pytest.approx(2.0, rel=1e-3)
    assert found["32"].verdict is Verdict.PAYS
