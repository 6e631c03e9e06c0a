"""The plugin as a vLLM of each release drives it."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from exporters import vllm_stats_fakes as fakes
from exporters.vllm_stats_fakes import Manager, Release
from specwatch_exporters.vllm_plugin.start import start_recorder
from specwatch_exporters.vllm_plugin.stat_logger import stat_logger_class
from specwatch_exporters.vllm_plugin.vllm_interface import find_interface

ENGINE = {"model": "m", "engine": "0"}
COUNTS = ENGINE | {"definition": "vllm-v1-plugin"}
REQUEST = {"model": "m", "traffic_class": "unknown", "batch": "4", "speculation": "eagle3"}
EVERY = pytest.mark.parametrize(
    "release", [*fakes.RELEASES, fakes.PER_ENGINE_ONLY], ids=lambda release: release.version
)


class Page:
    """The registry that vLLM's page would show."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def value(self, name: str, **labels: str) -> float | None:
        return self._registry.get_sample_value(name, labels)

    def positions(self, name: str, count: int = 4) -> list[float | None]:
        return [self.value(name, **COUNTS, position=str(at)) for at in range(count)]

    def errors(self) -> dict[str, float]:
        return {
            sample.labels["part"]: sample.value
            for family in self._registry.collect()
            for sample in family.samples
            if sample.name == "specwatch_plugin_errors_total"
        }


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def page(registry: CollectorRegistry) -> Page:
    return Page(registry)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> logging.Logger:
    caplog.set_level(logging.INFO, "test.specwatch")
    return logging.getLogger("test.specwatch")


def logger_class(release: Release, registry: CollectorRegistry, log: logging.Logger) -> type:
    interface = find_interface(fakes.importer(release))
    return stat_logger_class(interface, partial(start_recorder, registry=registry, log=log))


def two_steps(manager: Manager, release: Release) -> None:
    """Three requests: one prefilled and two that drafted 4 and 2; then all three draft, and one finishes."""
    drafts = [(4, 3), (2, 0)]
    iteration = fakes.iteration_stats(release, 6, firsts=[0.2], gaps=[0.03, 0.03])
    manager.record(fakes.scheduler_stats(release, 3, drafts), iteration)
    done = fakes.finished_request(
        release, num_prompt_tokens=9, num_generation_tokens=7, queued_time=0.004, e2e_latency=0.9
    )
    iteration = fakes.iteration_stats(release, 4, gaps=[0.03, 0.03, 0.03], finished=[done])
    manager.record(fakes.scheduler_stats(release, 2, [(4, 1), (4, 0), (1, 0)]), iteration)
    manager.log()


@EVERY
def test_every_release_gives_the_same_figures(
    release: Release, registry: CollectorRegistry, page: Page, log: logging.Logger
) -> None:
    two_steps(Manager(release, logger_class(release, registry, log), fakes.vllm_config()), release)
    assert page.value("specwatch_drafts_total", **COUNTS) == 5
    assert page.value("specwatch_draft_tokens_total", **COUNTS) == 15
    assert page.value("specwatch_accepted_tokens_total", **COUNTS) == 4
    assert page.positions("specwatch_accepted_tokens_per_position_total") == [2, 1, 1, 0]
    assert page.positions("specwatch_draft_tokens_per_position_total") == [5, 4, 3, 3]
    assert page.value("specwatch_step_batch_requests_count", **ENGINE) == 2
    assert page.value("specwatch_step_batch_requests_sum", **ENGINE) == 6
    assert page.value("specwatch_request_inter_chunk_seconds_count", **REQUEST) == 5
    assert page.value("specwatch_request_inter_chunk_seconds_sum", **REQUEST) == pytest.approx(0.15)
    assert page.value("specwatch_request_inter_token_seconds_count", **REQUEST) == 9
    assert page.value("specwatch_request_inter_token_seconds_sum", **REQUEST) == pytest.approx(0.15)
    assert page.value("specwatch_request_time_to_first_token_seconds_sum", **REQUEST) == pytest.approx(0.2)
    assert page.value("specwatch_request_queue_wait_seconds_sum", **REQUEST) == pytest.approx(0.004)
    assert page.value("specwatch_request_e2e_latency_seconds_sum", **REQUEST) == pytest.approx(0.9)
    assert page.value("specwatch_request_acceptance_length_tokens_count", **REQUEST) == 5
    assert page.value("specwatch_request_acceptance_length_tokens_sum", **REQUEST) == 9
    assert page.errors() == {}


@EVERY
def test_every_release_gives_the_same_counts_of_requests(
    release: Release, registry: CollectorRegistry, page: Page, log: logging.Logger
) -> None:
    two_steps(Manager(release, logger_class(release, registry, log), fakes.vllm_config()), release)
    known = {"model": "m", "traffic_class": "unknown"}
    assert page.value("specwatch_request_finished_total", **known, outcome="success") == 1
    assert page.value("specwatch_request_prompt_tokens_total", **known) == 9
    assert page.value("specwatch_request_output_tokens_total", **known) == 7
    assert page.value("specwatch_request_drafts_total", **known, speculation="eagle3") == 5


@EVERY
def test_the_page_says_what_is_configured(
    release: Release,
    registry: CollectorRegistry,
    page: Page,
    log: logging.Logger,
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = Manager(release, logger_class(release, registry, log), fakes.vllm_config(model=["m", "alias"]))
    manager.other_calls()
    known = {"model": "m", "method": "eagle3", "definition": "vllm-v1-plugin"}
    assert page.value("specwatch_speculation_info", **known) == 1
    assert page.value("specwatch_num_speculative_tokens", model="m") == 4
    assert page.positions("specwatch_accepted_tokens_per_position_total") == [0, 0, 0, 0]
    assert page.value("specwatch_speculation_adapts_info", model="m", what="K by batch") is None
    (line,) = {record.getMessage() for record in caplog.records}
    assert f"on for model m, speculation eagle3, engines [0], vLLM {release.version}" in line


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ({"num_speculative_tokens_per_batch_size": [[1, 8, 4], [9, 64, 0]]}, "K by batch"),
        ({"enable_adaptive_verification": True}, "adaptive verification"),
    ],
)
def test_the_page_says_what_the_engine_changes_by_itself(
    registry: CollectorRegistry, page: Page, log: logging.Logger, setting: dict[str, Any], what: str
) -> None:
    release = fakes.RELEASES[-1]
    Manager(release, logger_class(release, registry, log), fakes.vllm_config(**setting)).other_calls()
    assert page.value("specwatch_speculation_adapts_info", model="m", what=what) == 1


@pytest.mark.parametrize(
    ("method", "one_pass", "named"),
    [("eagle3", True, "p-eagle"), ("eagle3", False, "eagle3"), ("draft_model", True, "draft_model")],
)
def test_eagle_heads_that_draft_in_one_pass_have_their_own_name(
    registry: CollectorRegistry, page: Page, log: logging.Logger, method: str, one_pass: bool, named: str
) -> None:
    """`specwatch inject` and the step-time profiles call them so; vLLM says eagle3 and parallel_drafting."""
    release = fakes.RELEASES[-1]
    config = fakes.vllm_config(method=method, parallel_drafting=one_pass)
    Manager(release, logger_class(release, registry, log), config).other_calls()
    assert page.value("specwatch_speculation_info", model="m", method=named, definition="vllm-v1-plugin") == 1


def test_engines_keep_their_counts_apart(registry: CollectorRegistry, page: Page, log: logging.Logger) -> None:
    release = fakes.RELEASES[-1]
    manager = Manager(release, logger_class(release, registry, log), fakes.vllm_config(), engines=(0, 1))
    for engine, running in ((0, 1), (1, 3), (1, 3)):
        manager.record(fakes.scheduler_stats(release, running, [(4, 2)] * running), None, engine)
    manager.log()
    counts = [page.value("specwatch_drafts_total", **COUNTS | {"engine": str(engine)}) for engine in range(2)]
    assert counts == [1, 6]
    assert page.value("specwatch_step_batch_requests_count", model="m", engine="1") == 2


@pytest.mark.parametrize(
    ("config", "method"),
    [
        (fakes.vllm_config(method=None), "off"),
        (fakes.vllm_config(diffusion=True), "eagle3"),
        (object(), "off"),
    ],
    ids=["off", "diffusion", "strange"],
)
def test_without_drafts_there_is_no_acceptance_but_latency(
    registry: CollectorRegistry, page: Page, log: logging.Logger, config: Any, method: str
) -> None:
    """A diffusion model reports denoising steps through the speculative counts: they are not acceptance."""
    release = fakes.RELEASES[-1]
    manager = Manager(release, logger_class(release, registry, log), config)
    two_steps(manager, release)
    model = "m" if config.__class__ is not object else "unknown"
    labels = REQUEST | {"model": model, "speculation": method}
    assert page.value("specwatch_drafts_total", **COUNTS | {"model": model}) is None
    assert page.value("specwatch_request_acceptance_length_tokens_count", **labels) is None
    assert page.value("specwatch_request_inter_chunk_seconds_count", **labels) == 5
    assert page.value("specwatch_request_inter_token_seconds_count", **labels) == 9
    assert page.value("specwatch_speculation_info", model=model, method=method, definition="vllm-v1-plugin") == 1


@pytest.mark.parametrize(
    ("release", "part", "lost"),
    [
        (fakes.RENAMED_GAPS, "latency", "specwatch_request_inter_chunk_seconds_count"),
        (fakes.RENAMED_DRAFTS, "speculation", "specwatch_request_acceptance_length_tokens_count"),
        (fakes.RENAMED_QUEUED, "requests", "specwatch_request_e2e_latency_seconds_count"),
    ],
    ids=lambda case: case.version if isinstance(case, Release) else None,
)
def test_an_unknown_form_loses_its_part_alone_and_says_so_once(
    registry: CollectorRegistry,
    page: Page,
    log: logging.Logger,
    caplog: pytest.LogCaptureFixture,
    release: Release,
    part: str,
    lost: str,
) -> None:
    parts = {
        "latency": "specwatch_request_inter_chunk_seconds_count",
        "speculation": "specwatch_request_acceptance_length_tokens_count",
        "requests": "specwatch_request_e2e_latency_seconds_count",
    }
    manager = Manager(release, logger_class(release, registry, log), fakes.vllm_config())
    two_steps(manager, release)
    two_steps(manager, release)
    seen = {name: page.value(parts[name], **REQUEST) for name in parts}
    assert seen.pop(part) is None
    assert page.value(lost, **REQUEST) is None
    assert all(seen.values())
    assert page.errors() == {part: 2 if part == "requests" else 4}
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert f"no figures of {part!r}: " in warnings[0]


def test_unknown_batch_sizes_leave_the_rest(registry: CollectorRegistry, page: Page, log: logging.Logger) -> None:
    """Without the scheduler's count the batch is what finished, and speculation, read through it, is unknown."""
    release = fakes.RENAMED_RUNNING
    two_steps(Manager(release, logger_class(release, registry, log), fakes.vllm_config()), release)
    assert page.value("specwatch_step_batch_requests_count", **ENGINE) == 0
    assert page.value("specwatch_request_inter_chunk_seconds_count", **REQUEST | {"batch": "1"}) == 5
    assert page.errors() == {"batch": 2}


def test_drafted_tokens_per_position_may_be_unknown(
    registry: CollectorRegistry, page: Page, log: logging.Logger
) -> None:
    release = fakes.NO_DRAFTED
    two_steps(Manager(release, logger_class(release, registry, log), fakes.vllm_config()), release)
    assert page.value("specwatch_drafts_total", **COUNTS) == 5
    assert page.positions("specwatch_accepted_tokens_per_position_total") == [2, 1, 1, 0]
    assert page.positions("specwatch_draft_tokens_per_position_total") == [None] * 4
    assert page.errors() == {}


def test_duties_that_a_newer_vllm_adds_do_nothing(
    registry: CollectorRegistry, page: Page, log: logging.Logger
) -> None:
    release = fakes.NEW_DUTIES
    manager = Manager(release, logger_class(release, registry, log), fakes.vllm_config())
    manager.other_calls()
    two_steps(manager, release)
    assert page.value("specwatch_drafts_total", **COUNTS) == 5


def test_a_vllm_without_the_interface_is_told_in_one_line() -> None:
    release = Release("0.99.0")
    with pytest.raises(ImportError) as raised:
        find_interface(fakes.importer(release, classes={}))
    assert "vLLM 0.99.0 has no AggregateStatLoggerBase or StatLoggerBase" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_base_that_vllm_would_refuse_is_not_used() -> None:
    release = fakes.RELEASES[0]
    classes = fakes.base_classes(release) | {"AggregateStatLoggerBase": dict}
    assert find_interface(fakes.importer(release, classes)).base is classes["StatLoggerBase"]
