"""The report's pages: what was published is what the records give, and what a reader must be told is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from bench.report_cells import head, manifest, requests, small_results, write
from specwatch_bench.bench_error import BenchError
from specwatch_bench.cost_prices import load_prices
from specwatch_bench.cost_settings import cost_settings
from specwatch_bench.report_blocks import Mark, Report, Section, Table, Text
from specwatch_bench.report_build import HTML, MARKDOWN, files_of, report_of
from specwatch_bench.report_html import html_of
from specwatch_bench.report_markdown import markdown_of
from specwatch_bench.report_target import Results, read_results
from specwatch_bench.report_words import drawn
from specwatch_cli import main

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"


@cache
def published() -> tuple[Results, dict[str, str]]:
    """The records that are kept, and the report that they give; half a minute."""
    results = read_results(RESULTS)
    return results, files_of(report_of(results, load_prices(), cost_settings()))


@cache
def small(folder: Path) -> dict[str, str]:
    results = read_results(folder)
    return files_of(report_of(results, load_prices(), cost_settings()))


@pytest.mark.timeout(600)
def test_the_published_report_is_what_the_command_makes_of_the_records() -> None:
    _, files = published()
    kept = {path.name: path.read_text(encoding="utf-8") for path in (RESULTS / "report").iterdir()}
    assert sorted(files) == sorted(kept), "run: specwatch bench report bench/results"
    changed = [name for name, text in files.items() if text != kept[name]]
    assert not changed, "run: specwatch bench report bench/results"


@pytest.mark.timeout(600)
def test_spoiled_cells_are_named_with_their_reason_and_their_figures_are_nowhere() -> None:
    results, files = published()
    page, refused = files[MARKDOWN], [cell for target in results.targets for cell in target.cells if cell.refused]
    assert {(cell.head["matrix"], cell.name) for cell in refused} == {
        ("qwen3-coder-30b", "eagle3-k3--chat--c32"),
        *(("gpt-oss-120b", f"off--chat--c{batch}") for batch in (32, 64, 128)),
        *(("gpt-oss-120b", f"eagle3-k3--chat--c{batch}") for batch in (8, 32, 64, 128)),
    }
    assert "`Using 'TRITON' Mxfp4 MoE backend`" in page
    assert "compiled during inference" in page
    for cell in refused:
        assert cell.refused in page
        assert drawn(cell.tok_s) not in page


@pytest.mark.timeout(600)
def test_labels_sources_and_missing_cells_are_on_the_page() -> None:
    page = published()[1][MARKDOWN]
    for words in (
        "*dummy weights* · *up to 2 runs of 8 to 20 s a level*",
        "*SGLang 0.5.17 (as installed)*",
        "mean acceptance length set and not its positions, Triton attention, one run of 16 to 20 s a level.",
        "draws one whole number beside a mean length for all requests of a step",
        "A cost smaller than that difference cannot be told from it.",
        "the EAGLE-3 head's values are assumed for it",
        "| Llama 3.3 70B shape, AWQ INT4 | eagle3-k3 | all of them | 5 |",
        "| Qwen3-Coder-30B-A3B shape, FP8 | eagle3-k3 | code 32, math 32, chat 64, chat 128 | 4 |",
        "| Qwen3-Coder-30B-A3B shape, FP8 | ngram-k3 | all of them | 7 |",
        "TensorRT-LLM has not been run",
        "of which no price was found",
    ):
        assert words in page, words


class _Page(HTMLParser):
    """Collects what a page would load, its headings' ids, and whether its tags are closed in order."""

    VOID = ("meta", "br", "link", "img")

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.loads += [str(named[key]) for key in ("src", "srcset", "data") if key in named]
        self.loads += [tag] * (tag in {"script", "link", "iframe", "object", "style"} and tag != "style")
        self.links += [str(named["href"])] if "href" in named else []
        self.ids |= {str(named["id"])} if "id" in named else set()
        assert "style" not in named, "the content policy forbids it"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["published", "small"])
@pytest.mark.timeout(600)
def test_the_page_loads_nothing_and_its_links_lead_somewhere(name: str, tmp_path: Path) -> None:
    files = published()[1] if name == "published" else small(small_results(tmp_path))
    page = _Page()
    page.feed(files[HTML])
    page.close()
    assert not page.loads
    assert not page.open
    assert all(link.startswith("https://") or link.removeprefix("#") in page.ids for link in page.links)
    pictures = set(re.findall(r"!\[[^]]*\]\(([^)]+)\)", files[MARKDOWN]))
    assert pictures == {file for file in files if file.endswith(".svg")}
    for picture in pictures:
        root = ET.fromstring(files[picture])  # noqa: S314 - our own
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("aria-label")


@pytest.mark.timeout(600)
def test_every_row_of_the_markdown_has_the_columns_of_its_table() -> None:
    columns = 0
    for line in published()[1][MARKDOWN].splitlines():
        if not line.startswith("|"):
            columns = 0
            continue
        found = len(re.findall(r"(?<!\\)\|", line))
        assert columns in {0, found}, line
        columns = found


@pytest.mark.timeout(600)
def test_lines_run_from_the_left_to_the_right() -> None:
    """Also where a point comes from step times and was found after the others."""
    paths = re.findall(r'class="curve" d="M([^"]+)"', published()[1][HTML])
    assert len(paths) > 60
    for path in paths:
        places = [float(point.split()[0]) for point in path.split("L")]
        assert places == sorted(places)


def test_names_from_the_records_are_shown_and_not_run(tmp_path: Path) -> None:
    bad = '<script>alert(1)</script> & "quoted"'
    files = small(small_results(tmp_path, target=bad))
    assert "<script" not in files[HTML]
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;" in files[HTML]
    for name, text in files.items():
        if name.endswith(".svg"):
            ET.fromstring(text)  # noqa: S314 - our own


def test_a_winner_is_green_and_a_loser_red_and_both_say_so(tmp_path: Path) -> None:
    page = small(small_results(tmp_path))[HTML]
    assert re.search(r'<td class="good">2\.0\dx \([^)]+\)</td>', page)
    assert re.search(r'<td class="bad">0\.50x \([^)]+\) hurts</td>', page)


def test_words_of_a_block_in_both_forms() -> None:
    table = Table(("a", "b"), [["x|y", Mark("1", "good")], ["`c` <d>", Mark("2", "bad")]], "cap", folded=True)
    report = Report("t", ["l"], [Text("**s** https://example.com/a.")], [Section("k", "T", [table])])
    assert "| x\\|y | **1** |" in markdown_of(report)
    page = html_of(report)
    assert '<b>s</b> <a href="https://example.com/a" rel="noreferrer">https://example.com/a</a>.' in page
    assert "<code>c</code> &lt;d&gt;" in page
    assert "<details><summary>cap</summary>" in page


def test_a_report_of_imported_cells_says_nothing_of_their_host_and_load(tmp_path: Path) -> None:
    engine = {**head("off", 1)["engine"], "kind": "imported", "labels": ["imported from a tool"]}
    write(tmp_path / "one", "off", 1, requests(0.02, 1, 1))
    assert "client and engine on one host" in small(tmp_path / "one")[MARKDOWN]
    write(tmp_path / "two", "off", 1, requests(0.02, 1, 1))
    write(tmp_path / "two", "off", 4, requests(0.02, 1, 4), engine=engine)
    mixed = small(tmp_path / "two")[MARKDOWN]
    assert "client and engine on one host" not in mixed
    assert "imported from a tool (1 of 2 cells)" not in mixed
    assert "; made up, one run of" in mixed
    assert "; imported from a tool, one run of" in mixed
    assert "*imported from a tool*" not in mixed
    assert "Imported cells were measured by other tools" in mixed


def test_the_command_writes_the_report_and_says_where(tmp_path: Path) -> None:
    folder = small_results(tmp_path / "results")
    manifest(folder, {"off": ["chat"], "eagle3": None})
    done = CliRunner().invoke(main.command_line(), ["bench", "report", str(folder)])
    assert done.exit_code == 0, done.output
    out = folder / "report"
    assert f"{out / HTML}, {out / MARKDOWN} and " in done.output.replace("\n", "")
    (out / "old.svg").write_text("<svg/>")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert CliRunner().invoke(main.command_line(), ["bench", "report", str(folder)]).exit_code == 0
    after = {path.name: path.read_bytes() for path in out.iterdir()}
    assert {name: text for name, text in before.items() if name != "old.svg"} == after
    assert "chat 16" in (out / MARKDOWN).read_text()


def _no_results(folder: Path) -> None:
    folder.mkdir()


def _torn(folder: Path) -> None:
    path = write(folder, "off", 1, requests(0.02, 1, 1))
    path.write_bytes(path.read_bytes()[:200])


def _two_targets(folder: Path) -> None:
    write(folder, "off", 1, requests(0.02, 1, 1))
    write(folder, "off", 4, requests(0.02, 1, 4), target=head("off", 1)["target"] + " two")


def _unknown_setting(folder: Path) -> None:
    write(folder, "off", 1, requests(0.02, 1, 1))
    (folder / "report.toml").write_text("titel = 'x'\n")


def _no_toml(folder: Path) -> None:
    write(folder, "off", 1, requests(0.02, 1, 1))
    (folder / "report.toml").write_text("title = \n")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_no_results, "no results; give a folder that `specwatch bench run` wrote"),
        (_torn, "not a whole cell"),
        (_two_targets, "cells of 2 targets"),
        (_unknown_setting, "titel is not known here"),
        (_no_toml, "cannot be read as TOML"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_one_line(
    make: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    make(folder)
    with pytest.raises(BenchError, match=words) as raised:
        small(folder)
    assert "\n" not in str(raised.value)
