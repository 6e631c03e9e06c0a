"""Recording rules: the files of `recording/`, and those that objectives need."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from specwatch_alerts.origin import Origin


@dataclass(frozen=True, slots=True)
class RecordingRule:
    """One recorded series.

    Attributes:
        record: its name, `specwatch:<what>:<operation and window>`.
        help: what it holds.
        expr: expression by origin, with placeholders.
    """

    record: str
    help: str
    expr: Mapping[str, str]

    def expression(self, origin: Origin) -> str | None:
        """The expression for an origin, or None if it has none."""
        return next((self.expr[key].strip() for key in origin.keys if key in self.expr), None)


@cache
def load_recordings() -> Mapping[str, tuple[RecordingRule, ...]]:
    """The recording rules that come with specwatch, by file, in the files' order."""
    folder = files("specwatch_alerts") / "recording"
    found = {}
    for name in sorted(path.name for path in folder.iterdir() if path.name.endswith(".toml")):
        body = tomllib.loads((folder / name).read_text(encoding="utf-8"))
        found[name.removesuffix(".toml")] = tuple(RecordingRule(**row) for row in body["rules"])
    return found
