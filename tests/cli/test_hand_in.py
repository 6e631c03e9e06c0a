"""The hand-in under `outputs/`: its figures are the report's, its commands and links exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from specwatch_cli.main import app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "outputs" / "skill-inference-server.md"
TEXT = PAGE.read_text()
COMMANDS = [
    line
    for block in re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
    if line and not line.startswith("#")
]


def test_every_measured_row_is_one_of_the_report() -> None:
    measured = TEXT.split("\n## Measured\n")[1].split("\n## ")[0]
    rows = [line for line in measured.splitlines() if line.startswith("|")]
    report = set((ROOT / "bench" / "results" / "report" / "report.md").read_text().splitlines())
    assert len(rows) > 40
    assert [row for row in rows if row not in report] == []


def options_of(words: list[str]) -> set[str]:
    """Options of the command that words name."""
    command: Any = typer.main.get_command(app)
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
