"""Response bodies: collect and decompress within a limit, so that a gzip bomb costs no memory."""

from __future__ import annotations

import zlib
from typing import Protocol

from specwatch_exporters.sidecar.fetch_error import Cause, FetchError

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_MAX_MEMBERS = 64


class Decoder(Protocol):
    """Takes a body as it arrives."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes.

        Raises:
            FetchError: too large, or not what it says it is.
        """
        ...

    def finish(self) -> bytes:
        """The whole body.

        Raises:
            FetchError: the compressed stream has no end.
        """
        ...


class PlainBody:
    """A body that is not compressed.

    Args:
        max_bytes: how much to accept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes; raises `FetchError` over the limit."""
        self._body += data
        if len(self._body) > self._max_bytes:
            raise too_large(self._max_bytes)

    def finish(self) -> bytes:
        """The whole body."""
        return bytes(self._body)


class GzipBody:
    """A gzip body, members one after the other; never holds more than the limit and one step.

    Args:
        max_bytes: how much to accept after decompression.

    Attributes:
        produced: bytes decompressed so far.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._body = bytearray()
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self._members = 1
        self._began = False

    @property
    def produced(self) -> int:
        """Bytes decompressed so far: at most one over the limit."""
        return len(self._body)

    def feed(self, data: bytes) -> None:
        """Take the next compressed bytes; raises `FetchError` over the limit or on damage."""
        while data:
            if self._member.eof:
                data = self._next_member(data)
                continue
            self._began = True
            data = self._inflate(data)

    def _inflate(self, data: bytes) -> bytes:
        """Decompress up to one byte over the limit; returns the input that was not used."""
        room = self._max_bytes + 1 - len(self._body)
        try:
            self._body += self._member.decompress(data, room)
        except zlib.error as error:
            raise FetchError(Cause.BAD_GZIP, f"the gzip body is damaged after {self.produced} bytes") from error
        if len(self._body) > self._max_bytes:
            raise too_large(self._max_bytes)
        return self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def _next_member(self, data: bytes) -> bytes:
        data = data.lstrip(b"\0")  # padding between members is allowed
        if not data:
            return data
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise FetchError(Cause.BAD_GZIP, f"the gzip body has more than {_MAX_MEMBERS} members")
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        return data

    def finish(self) -> bytes:
        """The whole body; raises `FetchError` if the stream broke off."""
        if self._began and not self._member.eof:
            raise FetchError(Cause.TRUNCATED, f"the gzip body breaks off after {self.produced} bytes")
        return bytes(self._body)


def too_large(max_bytes: int) -> FetchError:
    """The error for a body over the limit."""
    return FetchError(Cause.TOO_LARGE, f"the body is larger than {max_bytes / 2**20:g} MiB")
