"""From what the user names to the inputs of an examination: files of every kind, engines, queries."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from specwatch_deploy.doctor.alertmanager_file import is_alertmanager
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.documents import documents, files_in
from specwatch_deploy.doctor.engine import Engine
from specwatch_deploy.doctor.engine_source import engine_of, is_page, page_engine
from specwatch_deploy.doctor.finding import Place
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.inputs import Inputs, Prometheus
from specwatch_deploy.doctor.query import Query, Role
from specwatch_deploy.doctor.query_list import query_lines
from specwatch_deploy.doctor.registry import EXTRACTORS
from specwatch_deploy.doctor.scaler_answer import is_answer
from specwatch_deploy.doctor.series_list import as_page
from specwatch_exporters.inspection import Content

_MOST_BYTES: Final = 64 * 2**20
_NOTHING: Final = "no object, no dashboard, no rules, no list of queries and no page in it"
_RESULT: Final = '"resultType"'
"""Of an answer to a query, which is looked at as such."""
# A dashboard, a rule file or a configuration with nothing in it is one all the same.
_PARTS: Final = frozenset({"groups", "panels", "rules", "externalRules", "rows", "elements", "templating"})


@dataclass(slots=True)
class Gathered:
    """What was read.

    Attributes:
        documents: of all files.
        engines: whose pages were among them, and those that were named.
        skipped: files in folders that could not be read, one line each.
    """

    documents: list[Document] = field(default_factory=list)
    engines: list[Engine] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def gather(paths: Sequence[str], engines: Iterable[str] = (), *, skip_unknown: bool = False) -> Gathered:
    """Read files, folders and standard input (`-`), and find out about engines.

    Args:
        paths: what to read; pages of engines may be among them.
        engines: see `engine_source.engine_of`.
        skip_unknown: whether named files are treated as those inside folders, since nobody chose them.

    Raises:
        InputError: a file that was named cannot be used; one inside a folder is skipped, and that is said.
    """
    found = Gathered(engines=[engine_of(source) for source in engines])
    given = len(found.engines)
    strange: list[str] = []
    for name in paths:
        if name == "-":
            data = sys.stdin.buffer.read()
            if not data.strip():
                raise InputError("standard input is empty: the command before it printed nothing")
            _take(found, data, "standard input")
            continue
        path = Path(name)
        if not path.exists():
            raise InputError(f"{name}: there is no such file or folder")
        for file in files_in(path):
            before = len(found.documents), len(found.engines)
            try:
                _take(found, _bytes(file), str(file))
            except InputError as error:
                if file == path and not skip_unknown:
                    raise
                found.skipped.append(str(error))
                continue
            if (
                file == path
                and len(found.engines) == before[1]
                and not any(map(known, found.documents[before[0] :]))
            ):
                strange.append(name)
    if paths and not skip_unknown and len(found.engines) == given and not any(map(known, found.documents)):
        raise InputError(f"{', '.join(paths)[:200]}: {_NOTHING}")
    found.skipped += [f"{name}: {_NOTHING}" for name in strange]
    return found


def known(document: Document) -> bool:
    """Whether a document is something that the doctor reads; an object of Kubernetes is, whatever its kind."""
    if document.kind or is_alertmanager(document) or is_answer(document):
        return True
    return any(next(extract(document), None) is not None for extract in EXTRACTORS) or bool(
        isinstance(document.body, Mapping) and _PARTS & set(document.body)
    )


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: over {_MOST_BYTES >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _take(found: Gathered, data: bytes, name: str) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no text") from error
    lines = query_lines(text)
    if is_page(text) or (as_page(text) and _RESULT not in text):
        found.engines.append(page_engine(Content(name, data)))
    elif lines:
        found.documents.append(Document(name, lines))
    else:
        found.documents += documents(text, name)


def inputs_of(
    found: Gathered,
    given: Iterable[str] = (),
    *,
    prometheus: Prometheus | None = None,
    scrape_s: float = 15.0,
    reach: bool = False,
) -> Inputs:
    """The inputs of an examination.

    Args:
        found: what was read.
        given: PromQL from the command line.
        prometheus: a running one, or None.
        scrape_s: scrape interval in seconds.
        reach: whether addresses in configurations may be connected to.
    """
    asked = [Query(text, Role.GIVEN, Place("--query", number, "")) for number, text in enumerate(given, 1)]
    asked += [query for document in found.documents for extract in EXTRACTORS for query in extract(document)]
    return Inputs(tuple(found.documents), tuple(asked), tuple(found.engines), prometheus, scrape_s, reach)
