"""Load what `inspect` is pointed at: a file, standard input, or a URL."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from specwatch_exporters.inspection import Content, InspectionError
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import FetchError

TIMEOUT_S = 10.0


def load(source: str) -> Content:
    """Read a source into memory.

    Args:
        source: path, `-` for standard input, or an http(s) URL; a URL without a path means its `/metrics`.

    Raises:
        InspectionError: it cannot be read; the message says why.
    """
    if source == "-":
        return Content("standard input", sys.stdin.buffer.read())
    if source.startswith(("http://", "https://")):
        return _fetch(source)
    try:
        return Content(source, Path(source).read_bytes())
    except OSError as error:
        raise InspectionError(f"{source}: {error.strerror or error}") from error


def _fetch(source: str) -> Content:
    parts = urlsplit(source)
    url = urlunsplit(parts._replace(path="/metrics")) if parts.path in ("", "/") else source
    try:
        fetched = fetch(url, timeout_s=TIMEOUT_S)
    except FetchError as error:
        raise InspectionError(str(error)) from error
    return Content(url, fetched.body, fetched.content_type)
