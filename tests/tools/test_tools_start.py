"""Every program of the table is there and starts."""

from __future__ import annotations

import subprocess

import pytest

from tools.tool_paths import find_tool
from tools.tool_table import TOOLS, Tool


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_it_prints_its_version(tool: Tool) -> None:
    command = [str(find_tool(tool.name)), *tool.version_arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert any(character.isdigit() for character in done.stdout + done.stderr)
