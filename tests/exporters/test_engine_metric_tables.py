"""The engines' metric tables: complete rows, and what the captured pages of each version show."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.engine_metrics.metric_table import PARTS, EngineTable, load_tables
from specwatch_exporters.engine_metrics.version import Version
from specwatch_exporters.engines import sglang, trtllm, vllm_v0, vllm_v1
from specwatch_exporters.engines.intake import Dialect
from specwatch_exporters.exposition import parse
from specwatch_exporters.metric import Kind

CAPTURES: Final = Path(__file__).parents[1] / "captures"
PAGES: Final = [
    ("vllm", "0.25.1", "vllm-0.25.1-h200/l70-eagle3.prom"),
    ("vllm", "0.25.1", "vllm-0.25.1-h200/l70-off.prom"),
    ("vllm", "0.32.0", "vllm-0.32.0-cpu/draft-k4.prom"),
    ("vllm", "0.32.0", "vllm-0.32.0-cpu/draft-k4-dp2.prom"),
    ("vllm", "0.33.0", "from-source/vllm-0.33.0-python-k3.prom"),
    ("vllm", "0.33.0", "from-source/vllm-0.33.0-rust-frontend-k3.openmetrics"),
    ("vllm", "0.7.3", "from-source/vllm-0.7.3-v0engine.prom"),
    ("vllm", "0.25.1", "vllm-0.25.1-h200-plugin/eagle3-c32-after.prom"),
    ("sglang", "0.5.17", "sglang-0.5.17-h200/llama-8b-eagle3.prom"),
    ("sglang", "0.5.17", "sglang-0.5.17-h200-loaded/off-c32-after.prom"),
    ("sglang", "0.5.17", "sglang-0.5.17-h200-loaded/eagle3-c32-after.prom"),
    ("sglang", "0.5.17", "sglang-0.5.17-h200-loaded/ngram-c32-after.prom"),
    ("sglang", "0.5.23", "from-source/sglang-0.5.23-tp2-eagle3.prom"),
    ("trtllm", "1.4.0rc1", "from-source/trtllm-main-eagle3-prometheus.prom"),
]
TABLES: Final = list(load_tables().values())


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.engine)
def test_every_entry_has_a_source_and_a_version(table: EngineTable) -> None:
    text = (
        files("specwatch_exporters.engine_metrics") / f"{table.engine.removesuffix('-trtllm')}.toml"
    ).read_text()
    sources = tomllib.loads(text)["sources"]
    assert all(re.search(r"\d|[Tt]riton", source) for source in sources.values())
    for name, rows in table.rows.items():
        assert name.startswith(table.prefix if table.engine != "dynamo" else "dynamo_")
        for row in rows:
            assert row.source in sources.values()
            assert row.labels is None or row.labels
            assert row.since is None or table.first <= row.since <= table.newest
            assert row.until is None or row.since is None or row.since <= row.until < table.newest
            assert row.kind is Kind.HISTOGRAM or not row.edges
            assert list(row.edges) == sorted(set(row.edges))


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.engine)
def test_a_metric_that_was_renamed_or_replaced_names_what_there_is_today(table: EngineTable) -> None:
    for rows in table.rows.values():
        for row in rows:
            if row.renamed_to:
                assert table.at(row.renamed_to) is not None, row.name
                assert table.at(row.name) is None, row.name
                assert row.renamed_in is not None
            named = re.findall(rf"{re.escape(table.prefix)}\w+", row.became)
            assert all(table.at(table.base(one)) is not None for one in named), row.name


@pytest.mark.parametrize(("engine", "version", "file"), PAGES, ids=lambda one: one)
def test_a_page_has_nothing_that_its_version_has_not(engine: str, version: str, file: str) -> None:
    table, this = load_tables()[engine], Version.parse(version)
    seen = 0
    for family in parse((CAPTURES / file).read_text()).families:
        for sample in family.samples:
            base = table.base(sample.name)
            ours = not sample.name.startswith(table.prefix) or sample.name.endswith("_created")
            if ours or sample.name.startswith(table.open):
                continue
            row = table.at(base, this)
            assert row is not None, f"{sample.name} is not in {engine} {version}"
            assert row.kind.value in {family.type, "unknown"} or family.type == "unknown"
            assert row.labels is None or set(sample.labels) - {"le"} <= row.labels, sample.name
            for label, values in (row.values or {}).items():
                assert label not in sample.labels or sample.labels[label] in values, sample
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_histograms_of_seconds_have_edges(engine: str) -> None:
    table = load_tables()[engine]
    optional = {"sglang:per_stage_req_latency_seconds"}  # 1 ms x 1.62^n
    for name in table.rows:
        row = table.at(name)
        if row is None or row.labels is None or row.flag:
            continue
        if row.kind is Kind.HISTOGRAM and name.endswith("_seconds"):
            assert row.edges or name in optional, name


@pytest.mark.parametrize(
    ("engine", "dialect"),
    [("vllm", vllm_v0.DIALECT), ("vllm", vllm_v1.DIALECT), ("sglang", sglang.DIALECT), ("trtllm", trtllm.DIALECT)],
    ids=["v0", "v1", "sglang", "trtllm"],
)
def test_what_the_readers_read_is_in_the_tables(engine: str, dialect: Dialect) -> None:
    table = load_tables()[engine]
    # Collected inside vLLM and never exported so far; SGLang's and TensorRT-LLM's later or former spellings.
    known = {"spec_decode_num_draft_tokens_per_pos"}
    names = [*dialect.counters, *dialect.gauges, *dialect.histograms, *dialect.own_counters]
    for raw in names:
        plain = next((raw.removesuffix(part) for part in PARTS if raw.endswith(part)), raw)
        spelt = {f"{table.prefix}{one}{tail}" for one in (raw, plain) for tail in ("", "_total")}
        assert spelt & set(table.rows) or raw in known, raw


VERSIONS: Final = [
    "0.4.6.post5",
    "0.8",
    "0.8.5",
    "0.10.2",
    "1.3.0rc1",
    "1.3.0",
    "1.3.0.post1",
    "1.4.0.dev2",
    "1.4.0rc1",
]


def test_versions_are_in_the_order_of_releases() -> None:
    parsed = [Version.parse(one) for one in VERSIONS]
    assert all(before < after for before, after in pairwise(parsed))
    assert Version.parse("v0.8") == Version.parse("0.8.0") == Version.parse("0.8.0+cpu")
    for text in ("", "new", "0.x", "main"):
        with pytest.raises(ValueError, match="is no version"):
            Version.parse(text)


@given(st.lists(st.integers(0, 99), min_size=3, max_size=3), st.sampled_from(["", "rc1", ".post2", ".dev3"]))
def test_a_version_is_written_as_it_was_read(release: list[int], tail: str) -> None:
    text = ".".join(map(str, release)) + tail
    assert str(Version.parse(text)) == text
