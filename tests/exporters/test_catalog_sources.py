"""The catalogue says which parts export a metric; here each part runs and shows it."""

from __future__ import annotations

import json
import logging

from prometheus_client import CollectorRegistry

from exporters import vllm_stats_fakes as fakes
from exporters.proxy.proxy_rig import CHAT, LIMITS, ask, eventually, request, sample, sidecar
from specwatch_exporters.catalog import CATALOG, Kind, Metric, Source
from specwatch_exporters.pool_catalog import POOL_CATALOG
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread
from specwatch_exporters.sidecar.run import Sidecar
from specwatch_exporters.sidecar.settings import load
from specwatch_exporters.vllm_plugin.start import start_recorder

RELEASE = fakes.RELEASES[-1]


def exported(registry: CollectorRegistry) -> set[str]:
    """Catalogue names of the metrics that have a sample."""
    found = {sample.name for family in registry.collect() for sample in family.samples}
    return {
        metric.name
        for metric in CATALOG
        if metric.name in found or (metric.kind is Kind.HISTOGRAM and f"{metric.name}_count" in found)
    }


def rows(part: Source) -> set[str]:
    return {metric.name for metric in CATALOG if part in metric.source}


def test_the_plugin_exports_what_the_catalogue_says() -> None:
    registry = CollectorRegistry()
    config = fakes.vllm_config(num_speculative_tokens_per_batch_size=[[1, 8, 4]])
    recorder = start_recorder(config, (0,), RELEASE.version, registry, logging.getLogger("test"))
    assert recorder is not None
    done = fakes.finished_request(
        RELEASE, num_prompt_tokens=9, num_generation_tokens=7, queued_time=0.004, e2e_latency=0.9
    )
    iteration = fakes.iteration_stats(RELEASE, 6, firsts=[0.2], gaps=[0.03, 0.03], finished=[done])
    recorder.record(fakes.scheduler_stats(RELEASE, 3, [(4, 3), (2, 0)]), iteration, 0)
    recorder.record(object(), None, 0)  # no statistics of any vLLM: an error
    recorder.flush()
    assert exported(registry) == rows(Source.PLUGIN)


def chat(traffic_class: str = "", **fields: object) -> bytes:
    body = {"messages": [{"role": "user", "content": "tell me"}], "max_tokens": 8, "ignore_eos": True, **fields}
    headers = {"Content-Type": "application/json", "x-specwatch-class": traffic_class}
    return request(CHAT, json.dumps(body).encode(), headers=headers)


def test_the_request_sidecar_exports_what_the_catalogue_says() -> None:
    settings = ReplaySettings(per_request=PerRequest.DETAILED, timings=True, speed=50.0)
    fields = {"stream": True, "stream_options": {"include_usage": True}}
    with ReplayThread(settings) as engine, sidecar(engine.url, LIMITS) as running:
        for number in range(20):  # classes, more than there are places for
            ask(running.port, chat(f"c{number}", **fields))
        ask(running.port, chat(stream=True))  # no record
        ask(running.port, request(CHAT, b"no json"))
        eventually(lambda: sample(running, "specwatch_request_finished_total") == 22)
        of_pools = {metric.name for metric in POOL_CATALOG}  # only with several upstreams
        assert exported(running.registry) == rows(Source.REQUEST) - of_pools


def test_the_scrape_sidecar_exports_only_what_the_catalogue_says() -> None:
    with ReplayThread(ReplaySettings(speed=50.0)) as engine:
        with sidecar(engine.url, LIMITS) as running:
            ask(running.port, chat())
        flags = {"engine": engine.url, "listen": "127.0.0.1:0", "interval": "100ms"}
        with Sidecar(load(flags, {})) as scraping:
            eventually(lambda: scraping.registry.get_sample_value("specwatch_scrape_success") == 1)
            found = exported(scraping.registry)
    own = rows(Source.SCRAPE)
    assert found <= own | rows(Source.DETECT)
    assert len(found & own) > len(own) // 2


def test_parts_are_named_in_words() -> None:
    both = Source.SCRAPE | Source.PLUGIN
    assert str(both) == "scrape sidecar, vLLM plugin"
    assert all(str(part) for part in Source)
    assert str(Metric("specwatch_x", Kind.GAUGE, (), "x.").source) == "scrape sidecar"
