"""Figures that others have published of an engine that was not run here, each with where and when it was read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.yaml_fields import Fields

_SHIPPED: Final = Path(__file__).parent / "published_engines.toml"


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One figure, in the words of its source; `not said` where that is silent.

    Attributes:
        target: the model.
        precision: of its weights.
        hardware: GPUs and how many.
        version: of the engine.
        draft: and its depth.
        load: requests in flight, lengths.
        measured: what the value counts, with its unit.
        value: as printed.
        source: address of the text in which it was read.
        seen: day of reading.
        note: what else belongs to it.
    """

    target: str
    precision: str
    hardware: str
    version: str
    draft: str
    load: str
    measured: str
    value: str
    source: str
    seen: date
    note: str


@dataclass(frozen=True, slots=True)
class PublishedEngine:
    """All figures of one engine."""

    name: str
    figures: tuple[PublishedFigure, ...]


def load_published(path: Path = _SHIPPED) -> PublishedEngine:
    """Read the shipped file, or another of its form.

    Raises:
        BenchError: it is not TOML, or a member is missing, unknown or without its source.
    """
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: cannot be read as TOML: {error}") from error
    fields = Fields(body, str(path))
    name = fields.text("engine")
    figures = tuple(_figure(one, f"{path}: figure {at}") for at, one in enumerate(fields.items("figure"), start=1))
    fields.finish()
    return PublishedEngine(name, figures)


def _figure(item: Any, where: str) -> PublishedFigure:
    fields = Fields(item, where)
    seen = fields.take("seen")
    if type(seen) is not date:
        raise BenchError(f"{where}: seen must be a day such as 2026-11-30, not {seen!r}")
    source = fields.text("source")
    if not source.startswith("https://"):
        raise BenchError(f"{where}: source must be an address, not {source!r}")
    found = PublishedFigure(
        target=fields.text("target"),
        precision=fields.text("precision"),
        hardware=fields.text("hardware"),
        version=fields.text("version"),
        draft=fields.text("draft"),
        load=fields.text("load"),
        measured=fields.text("measured"),
        value=fields.text("value"),
        source=source,
        seen=seen,
        note=fields.text("note"),
    )
    fields.finish()
    return found
