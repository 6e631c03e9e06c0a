"""The finding codes: one table per code in `codes/*.toml`, with meaning, example and mend."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of fault.

    Attributes:
        name: the code.
        area: name of the file that defines it: what it is about.
        severity: `error`, `warning` or `info`.
        meaning: what is wrong and what it causes.
        example: what shows it, in one line.
        mend: what to write instead.
    """

    name: str
    area: str
    severity: str
    meaning: str
    example: str
    mend: str


def _load() -> Mapping[str, Code]:
    folder = files("specwatch_deploy.doctor") / "codes"
    found: dict[str, Code] = {}
    for path in sorted(folder.iterdir(), key=lambda one: one.name):
        area = path.name.removesuffix(".toml")
        for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if name in found:
                raise ValueError(f"code {name} stands in {found[name].area}.toml and in {path.name}")
            found[name] = Code(name, area, **row)
    return dict(sorted(found.items()))


CODES: Final[Mapping[str, Code]] = _load()
"""By name, sorted."""
