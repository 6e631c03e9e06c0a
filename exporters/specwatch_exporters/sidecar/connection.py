"""Open a connection to an endpoint within a deadline."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from specwatch_exporters.sidecar.deadline import Deadline
from specwatch_exporters.sidecar.endpoint import Endpoint
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError
from specwatch_exporters.sidecar.resolve import Address, Resolver

if TYPE_CHECKING:
    from specwatch_exporters.sidecar.tls_trust import TlsTrust


def connect(endpoint: Endpoint, deadline: Deadline, resolver: Resolver, tls: TlsTrust | None) -> socket.socket:
    """Look the host up, connect to the first address that answers, and shake hands if the scheme is https.

    Args:
        endpoint: whom to call.
        deadline: for all of it.
        resolver: looks the host up.
        tls: whom to trust over https; the system's authorities if None.

    Returns:
        A connected socket; the caller closes it.

    Raises:
        FetchError: cause `dns`, `refused`, `timeout`, `tls` or `settings`.
    """
    sock = _connect_any(_addresses(endpoint, deadline, resolver), deadline)
    if endpoint.scheme == "http":
        return sock
    return _handshake(sock, endpoint, deadline, tls)


def _addresses(endpoint: Endpoint, deadline: Deadline, resolver: Resolver) -> list[Address]:
    try:
        return resolver.resolve(endpoint.host, endpoint.port, deadline)
    except TimeoutError:
        raise FetchError(Cause.TIMEOUT, f"no answer about the name {endpoint.host} in time") from None
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a host name"
        raise FetchError(Cause.DNS, f"the name {endpoint.host} does not resolve: {reason}") from error


def _connect_any(addresses: list[Address], deadline: Deadline) -> socket.socket:
    """Try each address; the time that is left is shared among those not tried yet."""
    problem = FetchError(Cause.DNS, "the name has no address")
    for tried, (family, address) in enumerate(addresses):
        try:
            share = deadline.remaining() / (len(addresses) - tried)
            return _connect_one(family, address, share)
        except TimeoutError:
            problem = FetchError(Cause.TIMEOUT, "no connection in time: nothing answers at this address")
        except OSError as error:
            problem = FetchError(Cause.REFUSED, f"no connection: {error.strerror or error}")
    raise problem


def _connect_one(family: int, address: tuple[object, ...], timeout_s: float) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return sock


def _handshake(sock: socket.socket, endpoint: Endpoint, deadline: Deadline, tls: TlsTrust | None) -> socket.socket:
    from specwatch_exporters.sidecar.tls_trust import TlsTrust  # noqa: PLC0415  # ssl is for https only

    trust = TlsTrust() if tls is None else tls
    try:
        return trust.wrap(sock, endpoint.host, deadline.remaining())
    except TimeoutError:
        sock.close()
        raise FetchError(Cause.TIMEOUT, "the TLS handshake was not finished in time") from None
