"""From the text of a setting to its value.

Each function raises `ValueError` with one clause that says what is wrong; what is accepted stands beside the
function in the table of options.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from specwatch_exporters.sidecar.endpoint import Endpoint

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}", re.ASCII)
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class Listen(NamedTuple):
    """Where to serve.

    Attributes:
        host: address or name, IPv6 without brackets; empty is every address.
        port: 0 takes a free one.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def duration(text: str) -> float:
    """Seconds from `500ms`, `5s`, `2.5s`, `1m30s` or `1h`."""
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        raise ValueError(f"it has no unit (write {text}s?)")
    found = _DURATION.fullmatch(text) if text else None
    if found is None:
        raise ValueError("it is not a duration")
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


def listen(text: str) -> Listen:
    """Address and port from `:9477`, `127.0.0.1:0`, `[::]:9477` or `9477`."""
    host, colon, port = text.rpartition(":")
    if not port.isdecimal() or not port.isascii() or int(port) > 65535:
        raise ValueError("it has no port from 0 to 65535")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if ":" not in host:
            raise ValueError("only an IPv6 address belongs in brackets")
    elif ":" in host:
        raise ValueError("an IPv6 address belongs in brackets")
    if any(letter.isspace() or letter in "/@" for letter in host) or (colon and not host and text[0] != ":"):
        raise ValueError("it is not an address")
    return Listen(host, int(port))


def count(text: str) -> int:
    """A whole number that is not negative."""
    if not text.isdecimal() or not text.isascii() or len(text) > 9:
        raise ValueError("it is not a whole number")
    return int(text)


def word(text: str) -> str:
    """One lower-case word, such as a speculation method."""
    if not _WORD.fullmatch(text):
        raise ValueError("it is not one word")
    return text.lower()


def name(text: str) -> str:
    """A printable name, such as a model's."""
    if not text.isprintable():
        raise ValueError("it holds characters that do not print")
    if len(text) > 256:
        raise ValueError(f"it is {len(text)} characters long")
    return text


def flag(text: str) -> bool:
    """True or false."""
    lowered = text.lower()
    if lowered not in _TRUE | _FALSE:
        raise ValueError("it is neither true nor false")
    return lowered in _TRUE


def readable_file(text: str) -> Path:
    """A file that exists and can be read now."""
    path = Path(text)
    try:
        with path.open("rb") as file:
            file.read(1)
    except (OSError, ValueError) as error:
        raise ValueError(f"it cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return path


def writable_file(text: str) -> Path:
    """A file that can be written now, or made in a directory that can."""
    path = Path(text)
    if path.is_dir():
        raise ValueError("it is a directory")
    if not path.parent.is_dir():
        raise ValueError("its directory does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError("it cannot be written")
    return path


def page_url(text: str) -> str:
    """An http or https URL."""
    Endpoint.parse(text)
    return text
