"""`report.toml` beside the results: what the records cannot know."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from specwatch_bench.bench_error import BenchError
from specwatch_bench.yaml_fields import Fields

FILE = "report.toml"


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """What is known of one folder of results.

    Attributes:
        gpu: index of the GPU that its engines ran on; None where the record has one only, or nobody knows.
        notes: sentences for its readers.
    """

    gpu: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """What a report is told.

    Attributes:
        title: of the report.
        notes: sentences about all of it.
        missing: sentences about what has not been run.
        capacity: add what fits on a GPU, for the shipped shapes.
        published: add what others have published of engines that were not run.
        planned: matrices whose cells are named as missing although nothing of them ran.
        targets: by name of their folder, in the order of the report; others follow by name.
    """

    title: str = "Speculative decoding, measured"
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    capacity: bool = False
    published: bool = False
    planned: tuple[Path, ...] = ()
    targets: Mapping[str, TargetSettings] = field(default_factory=dict)


def read_report_settings(folder: Path) -> ReportSettings:
    """Read the file of a folder of results; without one, the settings are empty.

    Raises:
        BenchError: it is not TOML, or has a member that is not known.
    """
    path = folder / FILE
    if not path.is_file():
        return ReportSettings()
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: cannot be read as TOML: {error}") from error
    fields = Fields(body, str(path))
    plain = ReportSettings()
    found = ReportSettings(
        title=fields.text("title", plain.title),
        notes=fields.texts("notes"),
        missing=fields.texts("missing"),
        capacity=fields.flag("capacity"),
        published=fields.flag("published"),
        planned=tuple(folder / name for name in fields.texts("planned")),
        targets={name: _target(one, f"{path}: targets.{name}") for name, one in fields.mapping("targets").items()},
    )
    fields.finish()
    return found


def _target(body: object, where: str) -> TargetSettings:
    fields = Fields(body, where)
    gpu = fields.whole("gpu", -1, least=-1)
    found = TargetSettings(None if gpu < 0 else gpu, fields.texts("notes"))
    fields.finish()
    return found
