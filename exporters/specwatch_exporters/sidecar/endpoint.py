"""An http or https URL, taken apart; its credentials stay out of everything that is printed."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import SplitResult, quote, unquote_to_bytes, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]")
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)?.*@", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to send a request.

    Attributes:
        scheme: `http` or `https`.
        host: name or address, IPv6 without brackets.
        port: 1 to 65535.
        path: percent-encoded path, `/` at least.
        query: percent-encoded query without `?`, or empty.
        userinfo: `user:password` as bytes, or None; never printed.
    """

    scheme: str
    host: str
    port: int
    path: str = "/"
    query: str = field(default="", repr=False)
    userinfo: bytes | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """Take a URL apart.

        Raises:
            ValueError: one clause that says what is wrong; it does not repeat credentials.
        """
        if _UNPRINTABLE.search(url):
            raise ValueError("it holds a space or a control character")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(_split_problem(str(error))) from None
        scheme = parts.scheme.lower()
        if scheme not in DEFAULT_PORTS:
            raise ValueError(f"its scheme is {scheme!r}" if scheme else "it has no scheme")
        if not parts.hostname:
            raise ValueError("it has no host")
        if port == 0:
            raise ValueError("port 0 cannot be asked")
        if parts.fragment:
            raise ValueError("it has a #fragment")
        port = DEFAULT_PORTS[scheme] if port is None else port
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
        query = quote(parts.query, safe="/%:@!$&'()*+,;=~?")
        return cls(scheme, parts.hostname, port, path, query, _userinfo(parts))

    @property
    def authority(self) -> str:
        """Host and, where it is not the scheme's default, port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def display(self) -> str:
        """The URL for people: no credentials, no query."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def target(self) -> str:
        """Request target: path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def authorization(self) -> str | None:
        """Value of a Basic `Authorization` header, if the URL carried `user:password@`."""
        return None if self.userinfo is None else f"Basic {b64encode(self.userinfo).decode()}"


def redact(text: str) -> str:
    """Replace whatever may be `user:password@` in a URL, even a malformed one."""
    return _USERINFO.sub(r"\1***@", text, count=1)


def _userinfo(parts: SplitResult) -> bytes | None:
    if parts.username is None:
        return None
    return unquote_to_bytes(parts.username) + b":" + unquote_to_bytes(parts.password or "")


def _split_problem(reason: str) -> str:
    lowered = reason.lower()
    if "port" in lowered:
        return "its port is not a number from 1 to 65535"
    if "ipv6" in lowered or "ip address" in lowered or "ipv4 or ipv6" in lowered:
        return "its IPv6 address is malformed (write it in brackets)"
    return "it is not a URL"
