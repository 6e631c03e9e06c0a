"""Names of series instead of a metrics page: one on each line, or what Prometheus's HTTP API answers.

Source: Prometheus 3.5, querying/api: `/label/__name__/values` gives names, `/series` label sets, `/query` a result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specwatch_deploy.doctor.engine import SPELLINGS
from specwatch_exporters.json_text import decode

_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_PREFIXES: Final = tuple(prefix for prefixes in SPELLINGS.values() for prefix in prefixes)
_METRIC: Final = "__name__"
_HEAD: Final = 200
"""Letters in which an answer of Prometheus says its status."""


def as_page(text: str) -> str:
    """The series as a metrics page; empty if the text is no list of an engine's series.

    Values that are not told are 0; types are left out, as nobody said them.
    """
    start = text.lstrip()[:_HEAD]
    if start.startswith("{") and '"status"' not in start:
        return ""  # a dashboard is long
    rows = list(_of_json(text) if start.startswith(("{", "[")) else _of_lines(text))
    return "\n".join([*rows, ""]) if any(row.startswith(_PREFIXES) for row in rows) else ""


def _of_lines(text: str) -> Iterator[str]:
    lines = text.splitlines()
    if any(line.strip() and _NAME.fullmatch(line.strip()) is None for line in lines):
        return iter(())
    return (f"{line.strip()} 0" for line in lines if line.strip())


def _of_json(text: str) -> Iterator[str]:
    body = decode(text)
    data = body.get("data") if isinstance(body, Mapping) and body.get("status") == "success" else body
    if isinstance(data, Mapping):
        found = data.get("result")
        data = [row.get("metric") for row in found if isinstance(row, Mapping)] if isinstance(found, list) else None
    for row in data if isinstance(data, list) else ():
        line = _line(row)
        if line:
            yield line


def _line(row: Any) -> str:
    labels = row if isinstance(row, Mapping) else {_METRIC: row}
    name = labels.get(_METRIC)
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return ""
    own = ",".join(f"{label}={json.dumps(str(value))}" for label, value in labels.items() if label != _METRIC)
    return f"{name}{{{own}}} 0" if own else f"{name} 0"
