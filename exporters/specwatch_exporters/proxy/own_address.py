"""Whether an address is one that this process listens on itself."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

from specwatch_exporters.sidecar.setting_values import Listen

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def leads_to(host: str, port: int, listen: Listen) -> bool:
    """Whether a connection to host and port arrives at a listener; no name but `localhost` is looked up."""
    if port != listen.port:
        return False
    heard = _addresses(listen.host)
    everywhere = not listen.host or any(address.is_unspecified for address in heard)
    return any(_is_here(address) and (everywhere or address in heard) for address in _addresses(host))


class Ends(NamedTuple):
    """The two ends of a connection, host and port each.

    Both are needed to tell a connection from others: the system gives one port to several, if they go to different
    addresses.
    """

    caller: tuple[str, int]
    called: tuple[str, int]


def ends(caller: object, called: object) -> Ends | None:
    """The ends of a connection from its sockets' names; None if they are no addresses."""
    first, second = _plain(caller), _plain(called)
    return None if first is None or second is None else Ends(first, second)


def _plain(name: object) -> tuple[str, int] | None:
    """Host and port; an IPv4 address that a dual-stack socket shows as IPv6 is IPv4 again."""
    if not isinstance(name, tuple) or len(name) < 2:
        return None
    return str(name[0]).removeprefix("::ffff:"), int(name[1])


def _addresses(host: str) -> list[_Address]:
    if host.lower() == "localhost":
        return [ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return []
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    found = [mapped or address]
    if found[0].is_unspecified:  # whoever connects to it reaches this machine
        found += _addresses("localhost")
    return found


def _is_here(address: _Address) -> bool:
    """Whether it belongs to this machine: only such an address can be bound."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.bind((str(address), 0))
    except OSError:
        return False
    return True
