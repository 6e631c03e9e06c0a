"""A copy of a compressed body, decompressed as it arrives and within bounds."""

from __future__ import annotations

import zlib
from typing import Final, Protocol

STEP: Final = 256 * 1024
_GZIP, _ZLIB = 31, 15


class InflateError(ValueError):
    """The copy cannot be read: another coding, damage, or more than it may hold."""


class Inflater(Protocol):
    """Turns a body's bytes into what they stand for."""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes.

        Raises:
            InflateError: they are damaged or swell too much.
        """


class Identity:
    """A body that is not compressed."""

    def feed(self, data: bytes) -> bytes:
        """The same bytes."""
        return data


class Zlib:
    """gzip or deflate.

    Args:
        window: zlib's window bits, which tell the two apart.
        step: bytes that one read may swell to; more is an attack.
    """

    def __init__(self, window: int, step: int) -> None:
        self._inflate = zlib.decompressobj(window)
        self._step = step

    def feed(self, data: bytes) -> bytes:
        """See `Inflater`."""
        try:
            found = self._inflate.decompress(data, self._step)
        except zlib.error as error:
            raise InflateError(f"it is damaged ({error})") from None
        if self._inflate.unconsumed_tail:
            raise InflateError("it swells too much")
        return found


def inflater(content_encoding: bytes | None, step: int = STEP) -> Inflater:
    """What reads a coding.

    Args:
        content_encoding: the header's value.
        step: bytes that one read may swell to.

    Raises:
        InflateError: the coding is none that is read here.
    """
    coding = (content_encoding or b"").strip().lower()
    if coding in (b"", b"identity"):
        return Identity()
    if coding in (b"gzip", b"x-gzip"):
        return Zlib(_GZIP, step)
    if coding == b"deflate":
        return Zlib(_ZLIB, step)
    raise InflateError("its coding is not known")
