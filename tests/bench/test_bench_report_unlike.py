"""Cells that ran under other conditions: never in one comparison, and each told what it is."""

from __future__ import annotations

import gzip
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from typer.testing import CliRunner

from bench.report_cells import head, manifest, requests, small_results, write
from specwatch_bench.bench_error import BenchError
from specwatch_bench.cost_of_cells import costs_of
from specwatch_bench.cost_prices import load_prices
from specwatch_bench.cost_settings import cost_settings
from specwatch_bench.plugin_counts import batch_rows, plugin_increases
from specwatch_bench.profile_table import gpus_of, read_table
from specwatch_bench.report_build import MARKDOWN, files_of, report_of
from specwatch_bench.report_cell import read_report_cell
from specwatch_bench.report_plugin import plugin_cost, plugin_pairs
from specwatch_bench.report_target import read_results
from specwatch_cli import main
from specwatch_exporters.vllm_plugin.families import PluginFamilies

GPU = {"kind": "gpu", "fields": ["at", "index", "name", "busy_percent", "power_w", "memory_mib"]}


def pages_of(folder: Path) -> dict[str, str]:
    return files_of(report_of(read_results(folder), load_prices(), cost_settings()))


def card(name: str) -> dict[str, Any]:
    return {**GPU, "rows": [[0.5, 0, name, 90.0, 500.0, 1024.0]]}


def section(page: str, title: str) -> str:
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


# Torn files


def test_a_torn_cell_is_named_as_missing_and_the_rest_is_reported(tmp_path: Path) -> None:
    folder = small_results(tmp_path / "results")
    manifest(folder, {"off": ["chat"], "eagle3": ["chat"]})
    torn = folder / "cells" / f"eagle3--chat--c4--{'0' * 12}.jsonl.gz"
    torn.write_bytes(torn.read_bytes()[:300])
    done = CliRunner().invoke(main.command_line(), ["bench", "report", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"left out: results: {torn.name}: not a whole cell" in done.stderr.replace("\n", "")
    missing = section((folder / "report" / MARKDOWN).read_text(), "What is missing")
    assert f"- results: {torn.name}: not a whole cell of this format (torn)\n" in missing
    assert "| small shape | eagle3 | chat 4, chat 16 | 2 |" in missing
    table = read_table(folder)
    assert torn.name in dict(table.left_out)
    assert table.plain


LINES = [json.dumps(one) for one in (head("off", 1), *(each.to_json() for each in requests(0.5, 1, 1)))]
LINES += [
    json.dumps({"kind": "end", "outcome": "ok", "seconds": 6.0, "requests": 2, "drafts": None, "notices": []})
]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    at=st.integers(0, len(LINES) - 1), other=st.sampled_from(["[]", "1", "null", "{}", '{"kind":"gpu"}', '"x"', ""])
)
def test_a_line_that_is_none_is_no_traceback(at: int, other: str, tmp_path: Path) -> None:
    path = tmp_path / "off--chat--c1--0.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([*LINES[:at], other, *LINES[at + 1 :]]).encode()))
    with suppress(BenchError):
        read_report_cell(path)


# Other engines, versions, cards, tools


@pytest.mark.parametrize(
    ("changes", "lines", "words"),
    [
        ({"engine": {**head("off", 1)["engine"], "kind": "sglang"}}, [], ("vLLM 0.0", "SGLang 0.0")),
        ({"version": "0.1"}, [], ("vLLM 0.0", "vLLM 0.1")),
        (
            {"engine": {**head("off", 1)["engine"], "kind": "imported"}, "tool": "AIPerf"},
            [],
            ("imported from AIPerf",),
        ),
        ({}, [card("H100")], ("vLLM 0.0, 1 x H100",)),
        (
            {"engine": {**head("off", 1)["engine"], "arguments": ["--tensor-parallel-size=2"]}},
            [card("H200")],
            ("vLLM 0.0, 2 x H200",),
        ),
    ],
    ids=["engine", "version", "tool", "card", "gpus"],
)
def test_cells_of_two_setups_are_two_targets(
    changes: dict[str, Any], lines: list[dict[str, Any]], words: tuple[str, ...], tmp_path: Path
) -> None:
    write(tmp_path, "off", 1, requests(0.02, 1, 1), lines=lines, **changes)
    write(tmp_path, "eagle3", 1, requests(0.02, 2, 1))
    results = read_results(tmp_path)
    assert len(results.targets) == 2
    assert [list(target.pairs()) for target in results.targets] == [[], []]
    page = pages_of(tmp_path)[MARKDOWN]
    assert "Verdict per batch size" not in page
    for each in words:
        assert f"\n## small shape, {each}\n" in page


def test_a_cell_without_figures_stays_with_the_others(tmp_path: Path) -> None:
    small_results(tmp_path)
    write(tmp_path, "ngram", 1, [], end={"outcome": "engine_failed", "reason": "no"}, version=None)
    (target,) = read_results(tmp_path).targets
    assert "ngram" in target.engines


def test_labels_of_one_target_are_not_the_reports(tmp_path: Path) -> None:
    small_results(tmp_path / "a")
    engine = {**head("off", 1)["engine"], "labels": ["made up", "Triton attention"]}
    write(tmp_path / "b", "off", 1, requests(0.02, 1, 1), engine=engine, target="other shape")
    write(tmp_path / "b", "off", 4, requests(0.02, 1, 4), target="other shape")
    page = pages_of(tmp_path)[MARKDOWN]
    top = page.split("\n## ")[0]
    assert "*made up*" in top
    assert "Triton" not in top
    assert "made up, Triton attention (1 of 2 cells), one run of" in section(page, "other shape")


def test_an_open_loop_alone_is_reported(tmp_path: Path) -> None:
    level = {"concurrency": None, "rate": 2.0, "repeat": 1}
    write(tmp_path, "off", 1, requests(0.02, 1, 1), level=level)
    page = pages_of(tmp_path)[MARKDOWN]
    assert "| off | chat | 2/s |" in page


@pytest.mark.parametrize(
    ("arguments", "gpus"),
    [
        ([], 1),
        (["--tensor-parallel-size", 4], 4),
        (["--tensor-parallel-size=4", "-pp", "2"], 8),
        (["--tp", "2", "--dp-size", 2], 4),
        (["--enable-dp-attention", "--tp", "8", "--dp", "8"], 8),
        (["--tensor-parallel-size"], 1),
    ],
)
def test_the_gpus_of_an_engine_are_what_its_arguments_say(
    arguments: list[object], gpus: int, tmp_path: Path
) -> None:
    engine = {**head("off", 1)["engine"], "arguments": arguments}
    assert gpus_of({"engine": engine}) == gpus
    write(tmp_path, "off", 1, requests(0.02, 1, 1), engine=engine)
    (target,) = read_results(tmp_path).targets
    (cost,) = costs_of(target, cost_settings(3.6, 1.0))
    assert cost.all_output[0] == pytest.approx(gpus * 1e3 / target.cells[0].tok_s[0])


TWO = {**GPU, "rows": [[0.5, 0, "H200", 10.0, 100.0, 1024.0], [0.5, 1, "H200", 90.0, 500.0, 1024.0]]}


@pytest.mark.parametrize(
    ("told", "setting", "line", "watts"),
    [
        (None, None, TWO, None),
        (None, "gpu = 0", TWO, 100.0),
        ("1", "gpu = 0", TWO, 500.0),
        ("0,1", None, TWO, None),
        ("1", None, card("H200"), 500.0),
        (None, "gpu = 1", card("H200"), 500.0),
        (None, "gpu = 1\n[targets.a.gpus]\n'off--chat--c1' = 0", TWO, 100.0),
        (None, "gpu = 1\n[targets.a.gpus]\n'off--chat--c4' = 0", TWO, 500.0),
    ],
)
def test_the_gpu_is_the_one_that_the_engine_saw(
    told: str | None, setting: str | None, line: dict[str, Any], watts: float | None, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    write(folder, "off", 1, requests(0.02, 1, 1), lines=[line], visible_gpus=told)
    if setting:
        (folder / "report.toml").write_text(f"[targets.a]\n{setting}\n")
    (target,) = read_results(folder).targets
    use = target.gpu_of(target.cells[0])
    assert (None if use is None else use.watts) == watts


def test_two_engines_of_one_method_and_depth_are_not_one(tmp_path: Path) -> None:
    small_results(tmp_path)
    other = {**head("eagle3", 1)["engine"], "name": "eagle3-other"}
    for batch in (1, 4):
        write(tmp_path, "eagle3-other", batch, requests(0.2, 2, batch), engine=other)
    (target,) = read_results(tmp_path).targets
    assert {name for price in target.table.prices for name in price.own.cells} == {
        "eagle3--chat--c1",
        "eagle3--chat--c4",
    }
    assert "eagle3 has the same method and K" in dict(target.table.left_out)["eagle3-other--chat--c1"]
    found = {(pair.own.engine, pair.own.batch): float(pair.speedup[0]) for pair in target.pairs()}
    assert found["eagle3-other", 1] == pytest.approx(0.2, rel=0.1)


# SGLang


def sglang_page(verified: int, tokens: int) -> str:
    labels = '{engine_type="unified",model_name="m"}'
    return (
        f"# TYPE sglang:generation_tokens_total counter\nsglang:generation_tokens_total{labels} {tokens}\n"
        f"# TYPE sglang:spec_verify_calls_total counter\nsglang:spec_verify_calls_total{labels} {verified}\n"
    )


def sglang(folder: Path) -> None:
    labels = ["made up", "mean acceptance length set and not its positions", "Triton attention"]
    speculative = ["--speculative-algorithm", "EAGLE3", "--speculative-num-steps", 3]
    shared = {"kind": "sglang", "speculative": None, "labels": labels}
    for batch in (1, 8, 32):
        plain = {**head("off", batch)["engine"], **shared, "acceptance": None}
        write(
            folder, "off", batch, requests(0.02, 1, batch), engine=plain, end={"drafts": None, "per_position": None}
        )
        own = {**head("eagle3", batch)["engine"], **shared, "arguments": speculative}
        pages = [
            {"kind": "page", "when": when, "at": at, "text": sglang_page(drafts, 2 * drafts)}
            for when, at, drafts in (("before", 0.0, 0), ("after", 6.0, 900))
        ]
        end = {"drafts": 900.0, "per_position": [], "acceptance_length": 1.95}
        write(
            folder, "eagle3", batch, requests(0.03, 2, batch),
            lines=pages, end=end, engine=own, synthetic_acceptance=[0.5, 0.3, 0.2],
        )  # fmt: skip


def test_a_folder_of_sglang_says_what_was_set_and_has_its_verdicts(tmp_path: Path) -> None:
    sglang(tmp_path / "sglang")
    small_results(tmp_path / "vllm", target="vllm's shape")
    files = pages_of(tmp_path)
    own = section(files[MARKDOWN], "small shape")
    assert "mean acceptance length set and not its positions, Triton attention" in own
    assert "| EAGLE-3 K=3 | chat | mean length 2.00 | mean length 1.95 | 2.00 | 2,700 |" in own
    assert "Acceptance was set, not found. Whose values:" in own
    assert re.search(r"\| 8 \| \*\*1\.3\dx", own)
    assert not [name for name in files if name.startswith("sglang-acceptance")]
    assert re.search(r"\| EAGLE-3 K=3 \| chat \| 8 \| 2\.00 \| 1\.3\dx ", own), "draft tokens are unknown, not none"
    top = files[MARKDOWN].partition("\n## ")[0]
    assert "Triton" not in top
    assert "Rows of two engines are no comparison of engines" in top


# The plugin


def plugin_page(drafts: int) -> str:
    registry = CollectorRegistry()
    families = PluginFamilies(registry)
    families.step_batch.labels("m", "0").observe_many(6, drafts)
    series = families.requests.series("m", "unknown", "8", "eagle3")
    series.acceptance_length.observe_many(3, drafts)
    series.inter_token.observe_many(0.0045, 3 * drafts)
    series.inter_chunk.observe_many(0.0135, drafts)
    return generate_latest(registry).decode()


def plugin_results(folder: Path, slower: float) -> None:
    for repeat in (1, 2):
        for batch in (1, 8):
            level = {"concurrency": batch, "rate": None, "repeat": repeat}
            step = 0.02 * (1 + 0.001 * repeat)
            bare = {**head("eagle3", batch)["engine"], "environment": {"VLLM_PLUGINS": "none"}}
            write(folder, "eagle3", batch, requests(step, 2, batch), engine=bare, level=level)
            own = {**bare, "name": "a-plugin", "environment": {"VLLM_PLUGINS": "specwatch"}}
            pages = [
                {"kind": "page", "when": when, "at": 0.0, "text": plugin_page(drafts)}
                for when, drafts in (("before", 50), ("after", 300))
            ]
            extra = slower * (1 + 0.0005 * (batch + repeat))
            cell = requests(step * extra, 2, batch)
            write(folder, "eagle3-plugin", batch, cell, lines=pages, engine=own, level=level)


def test_the_plugins_cost_is_the_quotient_of_pairs(tmp_path: Path) -> None:
    plugin_results(tmp_path, 1.02)
    (target,) = read_results(tmp_path).targets
    pairs = list(plugin_pairs(target))
    assert len(pairs) == 4
    cost = plugin_cost(pairs)
    assert cost.step.lower < 1.0232 < cost.step.upper
    assert cost.step.lower > 1.015
    assert cost.extra_us == pytest.approx(0.0232 * 20_030, rel=0.1)
    assert cost.rate.value == pytest.approx(1 / 1.0232, rel=0.02)


def test_the_page_says_what_the_plugin_costs_and_counted(tmp_path: Path) -> None:
    plugin_results(tmp_path, 1.02)
    page = pages_of(tmp_path)[MARKDOWN]
    assert re.search(r"a step takes 1\.02\d\d \(1\.0\d{3} to 1\.0\d{3}\) of its time without it, \+\d{3} µs", page)
    assert "over 4 pairs of cells: **that is a cost**" in page
    assert "up to 2 runs of 6 s a level" in page
    assert "| to 8 | 1,000 | 1,000 | 3.00 | 4.5 | 5.0 | 12.5 | 14.9 |" in page
    assert "Nothing ran without speculation, so there is no speed-up." in page


def test_the_page_says_how_far_two_starts_without_the_plugin_are_apart(tmp_path: Path) -> None:
    plugin_results(tmp_path / "a", 1.0)
    bare = {**head("eagle3", 8)["engine"], "environment": {}}
    wide = {"source": "nobody", "rates": {"chat": [0.5, 0.3, 0.2], "code": [0.9, 0.8, 0.7]}}
    for batch, step in ((1, 0.025), (8, 0.04)):
        write(
            tmp_path / "b",
            "eagle3",
            batch,
            requests(step, 2, batch),
            engine={**bare, "acceptance": wide},
            target="another shape",
        )
    page = pages_of(tmp_path)[MARKDOWN]
    assert "in another start (another shape) over 2 cells at the same loads" in page
    assert re.search(r"a step here takes 0\.50\d to 0\.80\d of its time there", page)
    assert "in another start" not in pages_of(tmp_path / "a")[MARKDOWN]


def test_targets_are_set_beside_each_other_without_speculation(tmp_path: Path) -> None:
    small_results(tmp_path / "a")
    write(tmp_path / "b", "off", 4, requests(0.01, 1, 4), target="another shape", version=None)
    (tmp_path / "report.toml").write_text(
        "[[beside]]\ntitle = 'Side by side'\ntargets = ['a', 'gone', 'b']\nbatches = [4, 8]\nnotes = ['Unlike.']\n"
        "[targets.b]\nversion = '1.2'\ncost = false\n"
    )
    page = pages_of(tmp_path)[MARKDOWN]
    section = page.partition("## Side by side")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0:3:2] for line in section.splitlines() if line.startswith("| ")][1:]
    assert "- Unlike." in section
    assert [(name.removeprefix("| "), rate.split()[0]) for name, rate in rows] == [
        ("small shape", "200"),
        ("another shape", "400"),
        ("small shape", "400"),
    ]
    assert "vLLM 1.2 (as installed)" in page
    assert "### small shape" in page
    assert "### another shape" not in page


def test_without_the_plugin_nothing_is_said_of_it(tmp_path: Path) -> None:
    assert "specwatch's plugin" not in pages_of(small_results(tmp_path))[MARKDOWN]
    assert plugin_increases("vllm:x 1\n", "vllm:x 2\n") is None
    assert plugin_increases(None, plugin_page(1)) is None


def test_steps_of_several_cells_add_up() -> None:
    found = plugin_increases(plugin_page(50), plugin_page(300))
    assert found is not None
    (row,) = batch_rows([found, found])
    assert (row.batch, row.steps, row.drafts, row.length) == ("8", 500.0, 500.0, 3.0)
    assert row.token.count == 1500.0
