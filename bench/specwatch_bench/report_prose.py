"""Sentences of the report, kept beside the code in `report_prose.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).parent / "report_prose.toml"


def sentence(name: str, **values: object) -> str:
    """One text, with its names filled in."""
    return str(tomllib.loads(_FILE.read_text(encoding="utf-8"))[name]).format(**values)


def sentences(name: str, **values: object) -> tuple[str, ...]:
    """A list of texts, with their names filled in."""
    return tuple(str(one).format(**values) for one in tomllib.loads(_FILE.read_text(encoding="utf-8"))[name])
