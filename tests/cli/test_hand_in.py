"""The hand-in under `outputs/`: its figures are the report's, its commands and links exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from specwatch_cli.main import command_line

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "outputs" / "skill-inference-server.md"
TEXT = PAGE.read_text()
COMMANDS = [
    line
    for block in re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
    if line and not line.startswith("#")
]


SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]}
REPORT = ROOT / "bench" / "results" / "report" / "report.md"
FIGURES = [title for title in SECTIONS if title != "The stack"]


def tables_of(text: str) -> list[list[str]]:
    """Rows of each table."""
    return [block.splitlines() for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]


def parts_of(page: Path) -> list[set[str]]:
    """Lines under each heading of a page."""
    return [set(part.splitlines()) for part in re.split(r"^#{2,3} ", page.read_text(), flags=re.MULTILINE)]


@pytest.mark.parametrize("title", FIGURES)
def test_every_table_is_taken_from_one_place_of_a_page_that_its_section_names(title: str) -> None:
    pages = [REPORT, *((PAGE.parent / link) for link in re.findall(r"\]\((\.\./docs/[^)#]+)\)", SECTIONS[title]))]
    parts = [part for page in pages for part in parts_of(page)]
    strangers = [table[0] for table in tables_of(SECTIONS[title]) if not any(set(table) <= part for part in parts)]
    assert strangers == []


def test_what_was_asked_for_is_measured() -> None:
    assert len(tables_of(SECTIONS["Measured"])) >= 10
    assert len([title for title in SECTIONS if title.startswith("Exercise ")]) == 5
    assert all(tables_of(SECTIONS[title]) for title in FIGURES if title != FIGURES[2])


def options_of(words: list[str]) -> set[str]:
    """Options of the command that words name."""
    command: Any = typer.main.get_command(command_line())
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    assert not hasattr(command, "commands"), words
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_exists(line: str) -> None:
    program, *words = shlex.split(line)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    assert program == "specwatch"
    assert {word for word in words if word.startswith("--")} <= options_of(words)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", TEXT))))
def test_every_link_leads_somewhere(target: str) -> None:
    assert (PAGE.parent / target).exists()
