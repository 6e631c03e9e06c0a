"""Load what `inspect` is pointed at: a file, standard input, or a URL."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from specwatch_exporters.inspection import MAX_BYTES, Content, InspectionError
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import FetchError

TIMEOUT_S = 10.0
_HOST_AND_PORT = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}(/.*)?")


def load(source: str) -> Content:
    """Read a source into memory.

    Args:
        source: path, `-` for standard input, an http(s) URL, or host:port; without a path it means `/metrics`.

    Raises:
        InspectionError: it cannot be read; the message says why.
    """
    if source == "-":
        return Content("standard input", sys.stdin.buffer.read())
    if source.lower().startswith(("http://", "https://")):
        return _fetch(source)
    if _HOST_AND_PORT.fullmatch(source) and not Path(source).exists():
        return _fetch(f"http://{source}")
    try:
        with Path(source).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InspectionError(f"{source}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_BYTES:
        raise InspectionError(f"{source}: over {MAX_BYTES >> 20} MiB; cut a part of it out")
    return Content(source, data)


def _fetch(source: str) -> Content:
    try:
        parts = urlsplit(source)
    except ValueError as error:
        raise InspectionError(f"{source}: not a URL ({error})") from error
    url = urlunsplit(parts._replace(path="/metrics")) if parts.path in ("", "/") else source
    try:
        fetched = fetch(url, timeout_s=TIMEOUT_S)
    except FetchError as error:
        raise InspectionError(str(error)) from error
    return Content(url, fetched.body, fetched.content_type)
