"""What a sidecar carries in every pod: the command's own modules, and not those of commands that do not run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from specwatch_cli.main import COMMANDS, GROUPS, command_line

WORK = (
    "specwatch_detectors.calibrate",
    "specwatch_detectors.drift_monitor",
    "specwatch_detectors.explain",
    "specwatch_detectors.fallback",
    "specwatch_exporters.demo",
    "specwatch_exporters.sidecar.watcher",
)


def loaded(*arguments: str) -> list[str]:
    """Modules that are loaded once the program has answered."""
    program = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))\n"
        "from specwatch_cli.main import run\n"
        f"sys.argv = ['specwatch', *{list(arguments)!r}]\n"
        "run()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(done.stderr)
    return modules


@pytest.mark.parametrize("group", ["exporter", "proxy"])
def test_a_sidecar_loads_its_own_command_only(group: str) -> None:
    names = loaded(group, "run", "--help")
    commands = {name for name in (*COMMANDS, *GROUPS) if f"specwatch_cli.{name}" in names}
    assert commands == {group}
    assert [name for name in WORK if name in names] == []


def test_help_names_all_of_them() -> None:
    names = loaded("--help")
    assert {f"specwatch_cli.{name}" for name in (*COMMANDS, *GROUPS)} <= set(names)
    assert [name for name in WORK if name in names] == []


@pytest.mark.parametrize("asked", ["", "--version", "exporte", "../exporter", "__init__"])
def test_what_is_no_command_loads_all_of_them(asked: str) -> None:
    app = command_line(asked)
    assert len(app.registered_groups) == len(GROUPS)
    assert len(app.registered_commands) == len(COMMANDS)


@pytest.mark.parametrize("asked", [*COMMANDS, *GROUPS])
def test_each_is_found_alone(asked: str) -> None:
    app = command_line(asked)
    names = [group.name for group in app.registered_groups] + [command.name for command in app.registered_commands]
    assert names == [asked]
