"""Published figures of engines that were not run: each with its source, and apart from what was measured."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from bench.report_cells import small_results
from specwatch_bench.bench_error import BenchError
from specwatch_bench.cost_prices import load_prices
from specwatch_bench.cost_settings import cost_settings
from specwatch_bench.published_engines import load_published
from specwatch_bench.report_blocks import Bullets, Table
from specwatch_bench.report_build import MARKDOWN, files_of, report_of
from specwatch_bench.report_section_published import published_section
from specwatch_bench.report_target import read_results

SHIPPED = load_published()
FIGURE = """[[figure]]
target = "t"
precision = "FP8"
hardware = "1 x H200"
version = "1"
draft = "none"
load = "8 in flight"
measured = "tok/s"
value = "5"
source = "https://example.com/page"
seen = 2026-01-01
note = "n"
"""
WHOLE = 'engine = "e"\n' + FIGURE


def test_every_shipped_figure_says_where_and_when_it_was_read() -> None:
    assert SHIPPED.name == "TensorRT-LLM"
    assert {"Llama 3.3 70B", "GPT-OSS-120B"} <= {one.target for one in SHIPPED.figures}
    for one in SHIPPED.figures:
        assert one.source.startswith("https://")
        assert one.seen >= date(2026, 11, 30)
        assert any(letter.isdigit() for letter in one.value)


def test_every_row_leads_to_its_source() -> None:
    section = published_section(SHIPPED)
    assert section.title == "TensorRT-LLM, published figures (not run here)"
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    (sources,) = [block for block in section.blocks if isinstance(block, Bullets)]
    for one, row in zip(SHIPPED.figures, table.rows, strict=True):
        assert one.value in row
        at = str(row[table.columns.index("source")])
        assert sources.items[int(at) - 1].startswith(f"Source {at}: {one.source}, read {one.seen}")


@pytest.mark.parametrize("asked", [True, False])
def test_it_is_in_a_report_that_asks_for_it_and_changes_nothing_else(asked: bool, tmp_path: Path) -> None:
    folder = small_results(tmp_path)
    plain = _page(folder)
    (folder / "report.toml").write_text(f"published = {str(asked).lower()}\n")
    page = _page(folder)
    head = "## TensorRT-LLM, published figures (not run here)\n"
    assert (head in page) is asked
    before, _, behind = page.partition(head)
    assert before + behind.partition("\n## ")[1].lstrip("\n") + behind.partition("\n## ")[2] == plain


def _page(folder: Path) -> str:
    return files_of(report_of(read_results(folder), load_prices(), cost_settings()))[MARKDOWN]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (WHOLE.replace("source =", "sauce ="), "source must be a text"),
        (WHOLE.replace("https://", "http://"), "source must be an address"),
        (WHOLE.replace("seen = 2026-01-01", "seen = 'today'"), "seen must be a day"),
        (WHOLE.replace('hardware = "1 x H200"\n', ""), "figure 1: hardware must be a text"),
        (WHOLE.replace('value = "5"', "value = 5"), "value must be a text"),
        (WHOLE + "speedup = 2\n", "speedup is not known here"),
        (FIGURE, "engine must be a text"),
        ('engine = "e"\n', "figure must be a list that is not empty"),
        ("x = ", "cannot be read as TOML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "figures.toml"
    path.write_text(text)
    with pytest.raises(BenchError, match=words) as raised:
        load_published(path)
    assert "\n" not in str(raised.value)
