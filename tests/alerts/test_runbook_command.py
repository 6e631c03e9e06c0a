from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from specwatch_alerts import runbook_files
from specwatch_alerts.runbook_files import RunbookError, runbook_names, runbook_text
from specwatch_cli import alerts_runbook
from specwatch_cli.errors import UserError
from specwatch_cli.main import command_line


def test_a_runbook_is_printed_as_it_is_into_a_pipe() -> None:
    for name in runbook_names():
        printed = CliRunner().invoke(command_line(), ["alerts", "runbook", name])
        assert (printed.exit_code, printed.output) == (0, runbook_text(name))


def test_a_terminal_gets_it_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda: Console(file=screen, force_terminal=True, width=90))
    alerts_runbook.runbook_command("SpecwatchKVPressure")
    text = screen.getvalue()
    assert "\x1b[" in text
    assert "specwatch_kv_cache_usage_ratio" in text
    assert "## Impact" not in text
    assert "```" not in text


@pytest.mark.parametrize(
    "name",
    ["SpecwatchKVPressure", "specwatchkvpressure", "KVPressure", "kvpressure", " KVPressure ", "KVPressure.md"],
)
def test_a_name_is_found_in_any_case_and_without_its_prefix(name: str) -> None:
    assert runbook_text(name).startswith("# SpecwatchKVPressure\n")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("SpecwatchKvPresure", ("SpecwatchKVPressure",)),
        ("drift", ("SpecwatchDraftDrifted", "SpecwatchDraftDriftedNotPaying")),
        ("ttft", ("SpecwatchTTFTBurn",)),
        ("Xyz", ()),
        ("", ()),
        ("../SpecwatchKVPressure", ("SpecwatchKVPressure",)),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, nearest: tuple[str, ...]) -> None:
    with pytest.raises(RunbookError) as caught:
        runbook_text(name)
    assert caught.value.nearest[: len(nearest)] == nearest
    assert bool(caught.value.nearest) == bool(nearest)
    with pytest.raises(UserError, match="no runbook") as told:
        alerts_runbook.runbook_command(name)
    assert told.value.exit_code == 2


def test_an_installed_package_has_them_inside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "SpecwatchKVPressure.md").write_text("# SpecwatchKVPressure\n")
    monkeypatch.setattr(runbook_files, "_INSTALLED", tmp_path)
    assert runbook_names() == ("SpecwatchKVPressure",)
