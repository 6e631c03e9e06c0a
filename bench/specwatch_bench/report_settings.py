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
        gpus: the same for single cells, by their name, such as `off--chat--c32`.
        version: of the engine, where the records do not tell it.
        cost: whether it has a section about money.
        notes: sentences for its readers.
    """

    gpu: int | None = None
    gpus: Mapping[str, int] = field(default_factory=dict)
    version: str = ""
    cost: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BesideSettings:
    """Targets whose engines without speculation are set beside each other.

    Attributes:
        title: of the section.
        targets: names of their folders, in the order of the table.
        batches: requests in flight to show.
        notes: sentences for its readers: in what the targets differ.
    """

    title: str
    targets: tuple[str, ...]
    batches: tuple[int, ...]
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
        beside: targets to set beside each other, without speculation.
        targets: by name of their folder, in the order of the report; others follow by name.
    """

    title: str = "Speculative decoding, measured"
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    capacity: bool = False
    published: bool = False
    planned: tuple[Path, ...] = ()
    beside: tuple[BesideSettings, ...] = ()
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
        beside=tuple(_beside(one, f"{path}: beside") for one in fields.take("beside", [])),
        targets={name: _target(one, f"{path}: targets.{name}") for name, one in fields.mapping("targets").items()},
    )
    fields.finish()
    return found


def _beside(body: object, where: str) -> BesideSettings:
    fields = Fields(body, where)
    found = BesideSettings(
        title=fields.text("title"),
        targets=fields.texts("targets"),
        batches=tuple(int(batch) for batch in fields.texts("batches")),
        notes=fields.texts("notes"),
    )
    fields.finish()
    return found


def _target(body: object, where: str) -> TargetSettings:
    fields = Fields(body, where)
    gpu = fields.whole("gpu", -1, least=-1)
    gpus = fields.mapping("gpus")
    cells = Fields(gpus, f"{where}.gpus")
    found = TargetSettings(
        gpu=None if gpu < 0 else gpu,
        gpus={name: cells.whole(name, 0, least=0) for name in gpus},
        version=fields.maybe_text("version") or "",
        cost=fields.flag("cost", default=True),
        notes=fields.texts("notes"),
    )
    fields.finish()
    return found
