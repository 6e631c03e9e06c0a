"""What the documentation says about installing and about the plugin's cost, held against what is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
FILES = (
    "README.md",
    "docs/metrics.md",
    "docs/proxy.md",
    "docs/traffic-classes.md",
    "docs/vllm-plugin.md",
    "docs/detect.md",
    *(
        str(path.relative_to(ROOT))
        for part in ("exporters", "detectors", "cli")
        for path in sorted((ROOT / part).rglob("*.py"))
    ),
)


def test_the_readme_names_the_dependencies() -> None:
    needed = [re.split(r"[\[<>=!~]", text)[0] for text in PROJECT["dependencies"]]
    found = re.search(r"\((\w+)\s+dependencies:\s+([^)]*)\)", (ROOT / "README.md").read_text())
    assert found is not None
    assert sorted(re.split(r",\s+", found[2])) == sorted(needed)
    assert NUMBERS.index(found[1]) == len(needed)


@pytest.mark.parametrize("name", FILES)
def test_specwatch_is_installed_from_its_folder_and_from_no_index(name: str) -> None:
    """It is on no index: `.` is the folder, with extras in brackets."""
    for command in re.findall(r"pip install ((?:[^\s`#&|]+ ?)+)", (ROOT / name).read_text()):
        words = [word.strip("'\",;.)") for word in command.split()]
        assert not [word for word in words if word.startswith("specwatch")], command
        assert "<this" not in words


def test_extras_that_the_documentation_installs_exist() -> None:
    for name in FILES:
        for extras in re.findall(r"pip install [^\n]*'\.\[([\w,]+)\]'", (ROOT / name).read_text()):
            assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), name


def test_the_plugins_whole_cost_stands_beside_its_aim() -> None:
    text = (ROOT / "docs/vllm-plugin.md").read_text()
    parts = re.findall(r"^\| the plugin, .* \| (\d+) \|$", text, re.MULTILINE)
    assert len(parts) == 2
    aim = next(part for part in text.split("\n\n") if "aim is 20 µs" in part)
    assert f"{sum(map(int, parts))} µs" in aim, "what a step costs in a real engine is not said where the aim is"
