"""Reads dashboards from JSON files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specwatch_exporters.json_text import decode


class DashboardFileError(ValueError):
    """A file is no dashboard; one line."""


def read_dashboards(paths: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """Dashboards by uid, in order.

    Raises:
        DashboardFileError: a file cannot be read, is no dashboard, or has the uid of another one.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        one = _read(path)
        if one["uid"] in found:
            raise DashboardFileError(f"{path}: another file has the uid {one['uid']!r} too")
        found[one["uid"]] = one
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        body = decode(path.read_bytes())
    except OSError as error:
        raise DashboardFileError(f"{path}: {error.strerror or error}") from error
    if not isinstance(body, Mapping) or not isinstance(body.get("panels"), list):
        raise DashboardFileError(f"{path}: it is not the JSON of a dashboard with panels")
    uid = body.get("uid")
    if not isinstance(uid, str) or not uid or "/" in uid or uid.startswith("."):
        raise DashboardFileError(f"{path}: the dashboard has no uid that can be a file's name")
    return dict(body)
