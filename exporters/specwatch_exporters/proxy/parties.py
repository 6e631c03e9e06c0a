"""The parties of an exchange, as it sees them: both sides, who watches, and who changes something."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from specwatch_exporters.proxy.engine_pool import Applicant
from specwatch_exporters.proxy.http_head import RequestHead, ResponseHead, Route
from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.proxy_limits import ProxyLimits


class Ending(Enum):
    """How an exchange ended."""

    COMPLETE = "complete"
    CLIENT_GONE = "client gone"
    ENGINE_GONE = "engine gone"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"


class Witness(Protocol):
    """Sees an exchange without changing it; never raises."""

    def request_body(self, data: bytes) -> None:
        """The client sent a part of the body."""

    def request_end(self) -> None:
        """The request is complete."""

    def goes_to(self, lane: Lane) -> None:
        """It is sent to one of several pools; called at most once."""

    def response_head(self, head: ResponseHead) -> None:
        """The engine sent the head."""

    def response_body(self, data: bytes) -> None:
        """The engine sent a part of the body, as it arrived."""

    def ended(self, ending: Ending) -> None:
        """It is over; called once."""


class BodyFilter(Protocol):
    """Takes something out of a response's body."""

    def feed(self, data: bytes) -> bytes:
        """Bytes that may go on now."""

    def close(self) -> bytes:
        """Bytes that were held back, now that the body is complete."""

    def broken(self) -> bytes:
        """Bytes that were held back, now that the body has broken off."""


class Rewriter(Protocol):
    """Changes a request that is held whole, and takes the consequences out of its answer.

    Attributes:
        limit: bytes of a request that is held.
        asked: whether the request was changed.
    """

    limit: int
    asked: bool

    def rewrite(self, body: bytes) -> bytes:
        """The body to send instead; the same one to leave it as it is."""

    def response_filter(self, head: ResponseHead) -> BodyFilter | None:
        """What takes the consequences out, or None if there are none."""


class ClientSide(Protocol):
    """The client's connection, as an exchange sees it."""

    @property
    def full(self) -> bool:
        """Whether the client is behind."""

    @property
    def reading(self) -> bool:
        """Whether one read is being taken apart; `flush` is called at its end."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def hold_reading(self, reason: str) -> None:
        """Stop reading, until every reason is released."""

    def release_reading(self, reason: str) -> None:
        """Take a reason back."""

    def exchange_done(self, *, keep_alive: bool) -> None:
        """The answer was written whole."""

    def break_off(self, *, hard: bool) -> None:
        """Close so that the client sees that the answer is not whole."""


class EngineSide(Protocol):
    """The engine, as an exchange sees it."""

    def request(self, applicant: Applicant) -> None:
        """Give a connection, now or later."""


class Passage(Protocol):
    """What is the same for all exchanges."""

    @property
    def pool(self) -> EngineSide:
        """The engine."""

    @property
    def limits(self) -> ProxyLimits:
        """What a client may send."""

    @property
    def route(self) -> Route:
        """How requests name the engine."""

    @property
    def stopping(self) -> bool:
        """Whether the sidecar stops: no connection is kept."""

    def witness(self, head: RequestHead) -> Witness:
        """Whoever watches this request."""

    def rewriter(self, head: RequestHead) -> Rewriter | None:
        """Whoever changes this request, or None."""
