"""The page's tables and example are what the commands and the reader say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specwatch_detectors.payoff.break_even_table import main
from specwatch_detectors.payoff.profile_file import profile_from_text, shipped_names
from specwatch_exporters.inspection import Content, inspect
from specwatch_exporters.metric import Metric
from specwatch_exporters.payoff_catalog import PAYOFF_CATALOG

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "payoff.md").read_text()


def test_the_tables_are_those_that_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    held = re.search(r"<!-- begin: break-even -->\n(.*?)\n<!-- end: break-even -->", PAGE, re.DOTALL)
    assert held is not None
    assert held.group(1) == capsys.readouterr().out.strip()


def test_the_example_is_a_profile() -> None:
    example = re.search(r"```json\n(\{.*?)```", PAGE, re.DOTALL)
    assert example is not None
    assert profile_from_text(example.group(1), "example").methods == ("eagle3",)


@pytest.mark.parametrize("row", PAYOFF_CATALOG, ids=lambda row: row.name)
def test_every_metric_is_on_the_page_with_its_labels(row: Metric) -> None:
    assert f"`{row.name}{{{','.join(row.labels)}}}`" in PAGE


def test_the_reported_taxes_come_out_of_the_rows_on_the_page() -> None:
    rows = re.search(r"<!-- begin: reported -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert rows is not None
    report = inspect(Content("reported.json", rows.group(1).encode()))
    change = {(found.at, found.measure): found.change_pct[0] for found in report.comparisons}
    assert set(change) == {(1, "tok_s"), (2, "tpot_ms"), (189, "tpot_ms")}
    words = " ".join(PAGE.split())
    assert f"{change[2, 'tpot_ms']:.1f} % more time per token with 2 clients" in words
    assert f"{change[189, 'tpot_ms']:.1f} % with 189" in words
    assert f"with one client {-change[1, 'tok_s']:.1f} % fewer tokens per second" in words


def test_the_page_lists_every_profile_that_ships() -> None:
    listed = re.findall(r"^\| `([a-z0-9.-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(listed) == list(shipped_names())
