"""Queries with no dashboard or rule around them: names with PromQL in JSON or YAML, or one query on each line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specwatch_alerts.promql import PromQLError, parse
from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.engine import SPELLINGS
from specwatch_deploy.doctor.grafana_query import readable
from specwatch_deploy.doctor.query import Query, Role

_PREFIXES: Final = "|".join(sorted({re.escape(one) for all_ in SPELLINGS.values() for one in all_}, reverse=True))
_SERIES: Final = re.compile(rf"(?<![\w:/.-])(?:(?:{_PREFIXES})|specwatch_)[A-Za-z]\w*")
_FORMS: Final = re.compile(r"[:({\[]")
_TEXTS: Final = ("expr", "query", "promql")
_NAMES: Final = ("name", "title", "id")
_OTHERS: Final = frozenset({"alert", "record", "refId", "serverAddress"})
"""Marks of a rule, a panel's target, a trigger: each has its own reader."""
_AROUND: Final = "queries"
_COMMENT: Final = "#"


def listed_queries(document: Document) -> Iterator[Query]:
    """Queries of a document that is a list of them; none if it is anything else."""
    rows = [row for row in _rows(document) if reads_engine(row[2]) or _SERIES.fullmatch(row[2].strip())]
    if any(reads_engine(text) for _, _, text in rows):
        yield from (Query(text, Role.GIVEN, document.place(*path, part=name), name) for path, name, text in rows)


def reads_engine(text: str) -> bool:
    """Whether a text looks like PromQL over the series of an engine, and not like a name in a file of settings."""
    return _SERIES.search(text) is not None and _FORMS.search(text) is not None


def query_lines(text: str) -> dict[str, str]:
    """Queries of a text, one on each line, by `line N`; none if a line is none of them or none reads an engine."""
    rows: dict[str, str] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line and not line.startswith(_COMMENT):
            if not _is_query(line):
                return {}
            rows[f"line {number}"] = line
    return rows if any(map(reads_engine, rows.values())) else {}


def _is_query(line: str) -> bool:
    """Whether a line is PromQL, with Grafana's variables or not; what it reads may be another exporter's."""
    return any(map(_parses, readable(line)))


def _parses(text: str) -> bool:
    try:
        parse(text)
    except (PromQLError, RecursionError):
        return False
    return True


def _rows(document: Document) -> Iterator[tuple[tuple[Key, ...], str, str]]:
    """Path, name and text of each query that may be one."""
    body = document.body
    base: tuple[Key, ...] = ()
    if isinstance(body, Mapping) and "apiVersion" not in body and isinstance(body.get(_AROUND), Mapping | list):
        body, base = body[_AROUND], (_AROUND,)
    if isinstance(body, Mapping):
        if all(isinstance(text, str) for text in body.values()):
            yield from (((*base, str(key)), str(key), text) for key, text in body.items())
    elif isinstance(body, list):
        for number, row in enumerate(body):
            yield from _of_row(row, (*base, number))


def _of_row(row: Any, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], str, str]]:
    name = f"query {int(path[-1]) + 1}"
    if isinstance(row, str):
        yield path, name, row
    elif isinstance(row, Mapping):
        key = next((one for one in _TEXTS if isinstance(row.get(one), str)), "")
        if key and not _OTHERS & set(row):
            yield (*path, key), next((str(row[one]) for one in _NAMES if row.get(one)), name), row[key]
