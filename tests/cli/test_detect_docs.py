from __future__ import annotations

from pathlib import Path

import pytest

from tools.drift_example import PAGE, PART, PICTURE, printed

PARTS = {found.group("name"): found.group() for found in PART.finditer(PAGE.read_text())}


@pytest.mark.parametrize("name", ["stale-draft", "mix-shift"])
def test_the_worked_examples_are_what_the_commands_print(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, run: PYTHONPATH=tests .venv/bin/python -m tools.drift_example."""
    monkeypatch.chdir(tmp_path)
    assert printed(name) in PARTS[name]


def test_the_picture_is_there() -> None:
    assert PICTURE.read_bytes().startswith(b"\x89PNG")
    assert f"pictures/{PICTURE.name}" in PAGE.read_text()
