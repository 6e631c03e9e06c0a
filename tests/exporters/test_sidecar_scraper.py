from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics

from specwatch_exporters import catalog
from specwatch_exporters.bounds import MAX_MODELS
from specwatch_exporters.sidecar.collector import SidecarCollector
from specwatch_exporters.sidecar.declaration import Declaration
from specwatch_exporters.sidecar.fetch import Fetched
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError
from specwatch_exporters.sidecar.recent import WINDOW_S, window_of
from specwatch_exporters.sidecar.scraper import Scraper
from specwatch_exporters.sidecar.version_probe import EngineFacts
from specwatch_exporters.sidecar.watcher import Interval, NoWatcher, Watcher

CAPTURES = Path(__file__).parent.parent / "captures"
STALE_S = 15.0


class Bench:
    """A sidecar with a scripted engine and a hand-wound clock."""

    def __init__(
        self,
        declaration: Declaration | None = None,
        window_s: float = WINDOW_S,
        watcher: Watcher | None = None,
    ) -> None:
        self.now = 1000.0
        self.answer: str | FetchError | Callable[[], str] = ""
        self.probes = 0
        self.framed = True
        self.scraper = Scraper(
            self._fetch,
            self._probe,
            declaration=declaration or Declaration(),
            window_s=window_s,
            watcher=watcher,
            clock=lambda: self.now,
        )
        self.registry = CollectorRegistry()
        self.registry.register(SidecarCollector(self.scraper.snapshot, STALE_S, "0", clock=lambda: self.now))

    def _fetch(self) -> Fetched:
        if isinstance(self.answer, FetchError):
            raise self.answer
        text = self.answer if isinstance(self.answer, str) else self.answer()
        return Fetched(200, "text/plain", text.encode(), 0.01, framed=self.framed)

    def _probe(self, kind: str) -> EngineFacts:
        self.probes += 1
        return EngineFacts(version=f"{kind}-1")

    def scrape(self, answer: str | FetchError | Callable[[], str], after: float = 5.0) -> bool:
        self.now += after
        self.answer = answer
        return self.scraper.scrape()

    def value(self, metric: catalog.Metric, **labels: str) -> float | None:
        return self.registry.get_sample_value(metric.name, labels)

    def names(self) -> set[str]:
        return {sample.name for family in self.registry.collect() for sample in family.samples}


def engine(drafts: int, drafted: int, accepted: int, tokens: int, start: float = 1.0) -> str:
    labels = '{engine="0",model_name="m"}'
    return (
        f"process_start_time_seconds {start}\n"
        f"vllm:spec_decode_num_drafts_total{labels} {drafts}\n"
        f"vllm:spec_decode_num_draft_tokens_total{labels} {drafted}\n"
        f"vllm:spec_decode_num_accepted_tokens_total{labels} {accepted}\n"
        f"vllm:generation_tokens_total{labels} {tokens}\n"
        f"vllm:num_requests_waiting{labels} 3\n"
    )


LABELS = {"model": "m", "engine": "0", "definition": "vllm-v1-counters"}
REFUSED = FetchError(Cause.REFUSED, "connection refused")


def test_counters_start_at_the_engines_own_and_carry_on_over_a_restart() -> None:
    bench = Bench()
    assert bench.scrape(engine(100, 300, 150, 250))
    assert bench.value(catalog.DRAFTS, **LABELS) == 100
    bench.scrape(REFUSED)
    bench.scrape(engine(10, 30, 15, 25, start=2000.0))
    assert bench.value(catalog.DRAFTS, **LABELS) == 110
    assert bench.value(catalog.ACCEPTED_TOKENS, **LABELS) == 165
    assert bench.value(catalog.ENGINE_RESTARTS) == 1
    assert bench.probes == 2


class Heard(NoWatcher):
    """Keeps the intervals."""

    def __init__(self) -> None:
        self.intervals: list[Interval] = []

    def take(self, interval: Interval) -> None:
        self.intervals.append(interval)


def test_a_watcher_is_told_which_process_it_is_and_what_that_has_counted_itself() -> None:
    """Totals carry on over a restart; these do not, so that a watcher can compare them with what it kept."""
    heard = Heard()
    bench = Bench(watcher=heard)
    for page in (engine(10, 30, 12, 100), engine(2, 6, 3, 20, start=500.0)):
        assert bench.scrape(page)
    found = [(one.starts, {key.metric: value for key, value in one.counted.items()}) for one in heard.intervals]
    drafts, tokens = catalog.DRAFTS.name, catalog.GENERATION_TOKENS.name
    assert found == [({"": 1.0}, {drafts: 10.0, tokens: 100.0}), ({"": 500.0}, {drafts: 2.0, tokens: 20.0})]


@pytest.mark.parametrize("interval", [5.0, 30.0, 60.0, 90.0, 600.0])
def test_scrapes_far_apart_have_figures_too(interval: float) -> None:
    bench = Bench(window_s=window_of(interval))
    ratio = {"model": "m", "definition": "vllm-v1-counters"}
    for step, late in enumerate((0.0, 0.4, 0.0, 0.7)):
        drafts = 100 * step
        bench.scrape(engine(drafts, 3 * drafts, 2 * drafts, 3 * drafts), after=interval + late)
        if step:
            assert bench.value(catalog.ACCEPTANCE_RATIO, **ratio) == pytest.approx(2 / 3)


def test_figures_of_the_last_minute_need_two_pages_and_are_absent_when_nothing_was_drafted() -> None:
    bench = Bench()
    ratio = {"model": "m", "definition": "vllm-v1-counters"}
    bench.scrape(engine(100, 300, 150, 250))
    assert bench.value(catalog.ACCEPTANCE_RATIO, **ratio) is None
    bench.scrape(engine(110, 330, 171, 281))
    assert bench.value(catalog.ACCEPTANCE_RATIO, **ratio) == pytest.approx(21 / 30)
    assert bench.value(catalog.ACCEPTANCE_LENGTH, **ratio) == pytest.approx(3.1)
    for _ in range(3):
        bench.scrape(engine(110, 330, 171, 281), after=30)
    assert bench.value(catalog.ACCEPTANCE_RATIO, **ratio) is None
    assert bench.value(catalog.STATE, model="m", state="idle") == 1
    bench.scrape(engine(110, 330, 171, 400), after=30)
    assert bench.value(catalog.STATE, model="m", state="off") == 1
    assert bench.value(catalog.SCRAPE_WARNINGS, code="not_drafting") == 1


def test_a_first_look_at_a_running_engine_knows_no_minute() -> None:
    bench = Bench()
    bench.scrape(engine(100, 300, 150, 250))
    assert bench.value(catalog.STATE, model="m", state="active") == 0
    bench.scrape(engine(110, 330, 171, 281))
    assert bench.value(catalog.STATE, model="m", state="active") == 1


def test_an_outage_is_not_a_minute() -> None:
    bench = Bench()
    bench.scrape(engine(100, 300, 150, 250))
    bench.scrape(engine(110, 330, 171, 281), after=600)
    assert bench.value(catalog.ACCEPTANCE_RATIO, model="m", definition="vllm-v1-counters") is None
    assert bench.value(catalog.DRAFTS, **LABELS) == 110


def test_positions_that_a_restart_with_less_k_took_away_are_gone_not_zero() -> None:
    def page(start: float, *counts: int) -> str:
        name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
        lines = [f'{name}{{engine="0",model_name="m",position="{p}"}} {n}\n' for p, n in enumerate(counts)]
        return engine(sum(counts), 5 * sum(counts), sum(counts), 9, start=start) + "".join(lines)

    bench = Bench()
    for answer in (page(1, 80, 50, 20, 9, 4), page(1, 90, 55, 22, 10, 5), page(99, 8, 5, 2), page(99, 16, 10, 4)):
        assert bench.scrape(answer)
    (family,) = [f for f in bench.registry.collect() if f.name == catalog.ACCEPTED_PER_POSITION.family]
    assert {sample.labels["position"]: sample.value for sample in family.samples} == {"0": 106, "1": 65, "2": 26}
    view = bench.scraper.snapshot().engine
    assert view is not None
    assert len(view.recent[0].tally.per_position) == 3


def test_a_model_that_left_and_a_page_of_many_leave_no_frozen_series() -> None:
    bench = Bench()
    bench.scrape("".join(f'vllm:generation_tokens_total{{engine="0",model_name="m{i}"}} 1\n' for i in range(50)))
    bench.scrape(engine(100, 300, 150, 250))
    models = {s.labels["model"] for f in bench.registry.collect() for s in f.samples if "model" in s.labels}
    assert models == {"m"}


def test_a_failed_probe_keeps_what_the_engine_said_before() -> None:
    bench = Bench()
    bench.scrape(engine(100, 300, 150, 250))
    bench.scraper._probe = lambda _: EngineFacts()
    bench.scrape(engine(101, 303, 152, 253), after=400)
    assert bench.value(catalog.ENGINE_INFO, kind="vllm", dialect="v1", version="vllm-1") == 1


@pytest.mark.parametrize(("adaptive", "told"), [(True, 1.0), (False, None), (None, None)])
def test_an_engine_that_changes_its_k_by_itself_is_told(adaptive: bool | None, told: float | None) -> None:
    bench = Bench()
    bench.scraper._probe = lambda _: EngineFacts(version="0.5.17", adaptive=adaptive)
    for _ in range(2):
        bench.scrape(engine(100, 300, 150, 250))
    assert bench.value(catalog.ADAPTS, model="m", what="adaptive K") == told


def test_a_failing_engine_goes_stale_instead_of_freezing() -> None:
    bench = Bench()
    bench.scrape(engine(100, 300, 150, 250))
    bench.scrape(REFUSED)
    assert bench.value(catalog.SCRAPE_SUCCESS) == 0
    assert bench.value(catalog.SCRAPES, outcome="refused") == 1
    assert bench.value(catalog.DRAFTS, **LABELS) == 100
    bench.now += STALE_S
    assert bench.value(catalog.DRAFTS, **LABELS) is None
    assert bench.value(catalog.STATE, model="m", state="stale") == 1
    assert bench.value(catalog.SCRAPE_AGE) == pytest.approx(20.0)
    assert not any(name.startswith("specwatch_engine_info") for name in bench.names())


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (REFUSED, "refused"),
        (FetchError(Cause.TIMEOUT, "slow"), "timeout"),
        (FetchError(Cause.TOO_LARGE, "16 MiB"), "too_large"),
        ('vllm:x{engine="0" 1\n', "malformed"),
        ("<p>\n", "malformed"),
        ('vllm:num_requests_waiting{engine="0",model_name="m"} 12', "truncated"),
        ("python_info 1\n", "no_engine"),
        ("\n", "no_engine"),
        ('{"detail":"Not Found"}', "malformed"),
    ],
)
def test_each_bad_page_is_a_failure_with_its_cause(
    answer: str | FetchError, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()
    assert bench.scrape(engine(100, 300, 150, 250))
    bench.framed = False
    assert not bench.scrape(answer)
    assert not bench.scrape(answer)
    assert bench.value(catalog.SCRAPE_SUCCESS) == 0
    assert bench.value(catalog.SCRAPES, outcome=cause) == 2
    assert bench.value(catalog.DRAFTS, **LABELS) == 100
    assert [record.getMessage() for record in caplog.records if cause in record.getMessage()].__len__() == 1
    assert bench.scrape(engine(101, 303, 151, 252))
    assert bench.value(catalog.DRAFTS, **LABELS) == 101


def test_an_internal_error_is_a_failure_too(caplog: pytest.LogCaptureFixture) -> None:
    def boom() -> str:
        raise ZeroDivisionError

    bench = Bench()
    assert not bench.scrape(boom)
    assert bench.value(catalog.SCRAPES, outcome="internal") == 1
    assert "internal error" in caplog.text


def test_ten_thousand_models_are_cut_to_the_limit() -> None:
    page = "".join(f'vllm:num_requests_waiting{{engine="0",model_name="m{i:05}"}} 1\n' for i in range(10_000))
    bench = Bench()
    assert bench.scrape(page)
    waiting = [f for f in bench.registry.collect() if f.name == catalog.WAITING.name]
    assert len(waiting[0].samples) == MAX_MODELS
    assert bench.value(catalog.SCRAPE_WARNINGS, code="too_many_labels") == 1


def test_changing_labels_do_not_grow_the_books() -> None:
    bench = Bench()
    bench.scraper._ledger.max_series = 2000
    for round_ in range(30):
        bench.scrape(
            "".join(
                f'vllm:generation_tokens_total{{engine="{round_}-{i}",model_name="m{round_}-{i}"}} 1\n'
                for i in range(600)
            )
        )
    assert len(bench.scraper._ledger.totals) <= 2600
    assert len(bench.scraper._ledger._last) <= 2600


def test_a_declared_method_without_speculative_series_is_unknown_with_a_warning() -> None:
    page = (CAPTURES / "vllm-0.25.1-h200/l70-off.prom").read_text()
    declared, silent = Bench(Declaration(method="eagle3")), Bench()
    declared.scrape(page)
    silent.scrape(page)
    model = "llama-3.3-70b-shape"
    assert declared.value(catalog.STATE, model=model, state="unknown") == 1
    assert declared.value(catalog.SCRAPE_WARNINGS, code="no_spec_series") == 1
    assert silent.value(catalog.STATE, model=model, state="off") == 1


def test_drained_iterations_are_added_up_and_gaps_are_seen() -> None:
    text = (CAPTURES / "from-source/trtllm-metrics-iteration-stats.json").read_text()
    bench = Bench(Declaration(model="m"))
    labels = {"model": "m", "engine": "0", "definition": "trtllm-iterations"}
    assert bench.scrape(text)
    assert bench.scrape(text.replace("4181", "4190").replace("4182", "4191"))
    assert bench.value(catalog.DRAFT_TOKENS, **labels) == 66
    assert bench.value(catalog.SCRAPE_WARNINGS, code="drain_gap") == 1
    assert bench.scrape("[]")
    assert bench.value(catalog.DRAFT_TOKENS, **labels) == 66


@pytest.mark.parametrize(
    "name",
    [
        "vllm-0.25.1-h200/l70-eagle3.prom",
        "vllm-0.32.0-cpu/ngram-k3.prom",
        "sglang-0.5.17-h200/llama-8b-eagle3.prom",
        "from-source/trtllm-main-eagle3-prometheus.prom",
        "from-source/vllm-0.33.0-python-dp2-multiprocess-k3.prom",
        "from-source/vllm-0.7.3-v0engine.prom",
    ],
)
def test_everything_exported_is_in_the_catalogue_and_is_valid_openmetrics(name: str) -> None:
    bench = Bench()
    text = (CAPTURES / name).read_text()
    assert bench.scrape(text)
    assert bench.scrape(text)
    families = {metric.family: metric for metric in catalog.CATALOG}
    for family in bench.registry.collect():
        metric = families[family.name]
        assert (family.type, family.documentation) == (metric.kind.value, metric.help)
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels), sample.name
    assert openmetrics(bench.registry).endswith(b"# EOF\n")


def test_histograms_are_carried_over_with_the_engines_buckets() -> None:
    bench = Bench()
    bench.scrape((CAPTURES / "vllm-0.25.1-h200/l70-bf16-off-queued.prom").read_text())
    labels = {"model": "llama-3.3-70b-shape", "engine": "0"}
    name = catalog.QUEUE_WAIT.name
    assert bench.registry.get_sample_value(f"{name}_count", labels) == 133
    assert bench.registry.get_sample_value(f"{name}_sum", labels) == pytest.approx(699.7, abs=0.1)
    assert bench.registry.get_sample_value(f"{name}_bucket", {**labels, "le": "0.3"}) is not None
    assert bench.registry.get_sample_value(f"{name}_bucket", {**labels, "le": "+Inf"}) == 133
