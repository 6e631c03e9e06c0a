"""One request and its answer on their way through: what comes from one side goes to the other."""

from __future__ import annotations

from collections.abc import Sequence

from specwatch_exporters.proxy.engine_connection import EngineConnection
from specwatch_exporters.proxy.http_head import (
    Framing,
    Header,
    Headers,
    RequestHead,
    ResponseHead,
    chunk,
    interim_bytes,
    last_chunk,
    request_bytes,
    response_bytes,
    uncoded,
    without,
)
from specwatch_exporters.proxy.own_answers import Refusal, refusal_bytes
from specwatch_exporters.proxy.parties import BodyFilter, ClientSide, Ending, Passage
from specwatch_exporters.proxy.response_parser import Received

_HELD_LIMIT = 64 * 1024


class Exchange:
    """One request and its answer.

    Args:
        head: of the request.
        client: where it comes from.
        passage: where it goes.
    """

    def __init__(self, head: RequestHead, client: ClientSide, passage: Passage) -> None:
        self._head = head
        self._client = client
        self._passage = passage
        self._witness = passage.witness(head)
        self._rewriter = passage.rewriter(head)
        self._filter: BodyFilter | None = None
        self._engine: EngineConnection | None = None
        self._framing = head.framing
        self._held: list[bytes] = []
        self._held_size = 0
        self._unsent: list[bytes] = []
        self._received = 0
        self._started = False
        self._request_over = False
        self._trailers: Sequence[Header] = ()
        self._response: ResponseHead | None = None
        self._out = Framing.NONE
        self._keep_alive = head.keep_alive
        self._refusal: Refusal | None = None
        self.over = False

    # From the client.

    def start(self) -> None:
        """It is this request's turn."""
        self._started = True
        too_large = (self._head.length or 0) > self._passage.limits.body_bytes
        refusal = Refusal.BODY_TOO_LARGE if too_large else self._refusal
        if refusal is not None:
            self._refuse(refusal)
            return
        if self._rewriter is None:
            self._passage.pool.request(self)
        elif self._request_over:
            self._send_rewritten()
        elif self._head.headers.get(b"expect") is not None and self._head.version == "1.1":
            self._client.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def request_body(self, data: bytes) -> None:
        """A part of the body came."""
        if self.over:
            return
        self._received += len(data)
        if self._received > self._passage.limits.body_bytes:
            self._refuse(Refusal.BODY_TOO_LARGE)
            return
        if self._engine is not None:
            self._unsent.append(self._framed(data))
        else:
            self._hold(data)
        self._witness.request_body(data)

    def request_end(self, trailers: Sequence[Header]) -> None:
        """The body is complete."""
        self._request_over = True
        self._trailers = trailers
        if self.over:
            return
        if self._engine is not None:
            if self._framing is Framing.CHUNKED:
                self._unsent.append(last_chunk(trailers))
        elif self._rewriter is not None and self._started:
            self._send_rewritten()
        self._witness.request_end()

    def flush(self) -> None:
        """What one read from the client brought goes on together."""
        if self._unsent:
            unsent, self._unsent = self._unsent, []
            if self._engine is not None:
                self._engine.write(b"".join(unsent))

    def request_failed(self, refusal: Refusal) -> None:
        """What follows of the body is malformed."""
        if not self.over:
            self._refuse(refusal)

    def client_gone(self) -> None:
        """The client has left: so does the request, at once."""
        if not self.over:
            self._end(Ending.CLIENT_GONE)

    def client_full(self) -> None:
        """The client reads more slowly than the engine sends."""
        if self._engine is not None:
            self._engine.pause_reading()

    def client_drained(self) -> None:
        """The client has caught up."""
        if self._engine is not None:
            self._engine.resume_reading()

    # From the engine.

    def engine_ready(self, connection: EngineConnection) -> None:
        """There is a connection: send what is there."""
        self._engine = connection
        connection.begin(self, self._head.method)
        whole = self._rewriter is not None and self._request_over
        body = b"".join(self._held) if whole else b"".join(map(self._framed, self._held))
        length = len(body) if whole else None
        lane = connection.lane
        route = self._passage.route if lane is None else lane.route
        head = request_bytes(self._forwarded_head(), route, length)
        if lane is not None:
            self._witness.goes_to(lane)
        self._unsent += [head, body]
        if not whole and self._request_over and self._framing is Framing.CHUNKED:
            self._unsent.append(last_chunk(self._trailers))
        self._held = []
        self._held_size = 0
        if not self._client.reading:
            self.flush()
        self._client.release_reading("held")
        if self._client.full:  # with an earlier answer on the same connection
            connection.pause_reading()

    def engine_unreachable(self, refusal: Refusal) -> None:
        """There is no connection to be had."""
        if not self.over:
            self._refuse(refusal, Ending.UNREACHABLE)

    def received(self, got: Received) -> None:
        """The engine sent something: pass it on first, look at it afterwards."""
        data = self._translated(got)
        if data:
            self._client.write(data)
        if got.head is not None:
            self._witness.response_head(got.head)
        if got.body:
            self._witness.response_body(got.body)
        if got.end:
            self._end(Ending.COMPLETE)

    def _translated(self, got: Received) -> bytes:
        """What the client gets for it."""
        out: list[bytes] = []
        if got.interim and self._head.version == "1.1":
            out.extend(map(interim_bytes, got.interim))
        if got.head is not None:
            out.append(self._begin_response(got.head))
        if got.body:
            out.append(self._outgoing(got.body if self._filter is None else self._filter.feed(got.body)))
        if got.end:
            out.append(self._closing(got.trailers))
        return b"".join(out)

    def _closing(self, trailers: Sequence[Header]) -> bytes:
        """The end of the body."""
        held = b"" if self._filter is None else self._outgoing(self._filter.close())
        return held + last_chunk(trailers) if self._out is Framing.CHUNKED else held

    def engine_lost(self, refusal: Refusal) -> None:
        """The engine has left before its answer was complete."""
        self._engine = None
        if self.over:
            return
        if self._response is None:
            self._refuse(refusal, Ending.ENGINE_GONE)
            return
        self._break_off(Ending.ENGINE_GONE)

    def engine_full(self) -> None:
        """The engine reads more slowly than the client sends."""
        self._client.hold_reading("engine")

    def engine_drained(self) -> None:
        """The engine has caught up."""
        self._client.release_reading("engine")

    # Inside.

    def _hold(self, data: bytes) -> None:
        """Keep a part of the body until there is a connection, or until it is whole if it may be rewritten."""
        self._held.append(data)
        self._held_size += len(data)
        if self._rewriter is not None:
            if self._held_size > self._rewriter.limit and self._started:
                self._rewriter = None
                self._passage.pool.request(self)
        elif self._held_size > _HELD_LIMIT:
            self._client.hold_reading("held")

    def _send_rewritten(self) -> None:
        if self._rewriter is not None:
            self._held = [self._rewriter.rewrite(b"".join(self._held))]
        self._passage.pool.request(self)

    def _forwarded_head(self) -> RequestHead:
        head = self._head
        if self._rewriter is None:
            return head
        fields = without(head.headers.pairs, b"expect")
        if self._rewriter.asked:
            fields = uncoded(fields)
        return RequestHead(head.method, head.target, head.version, Headers(fields), head.keep_alive)

    def _framed(self, data: bytes) -> bytes:
        return chunk(data) if self._framing is Framing.CHUNKED else data

    def _begin_response(self, head: ResponseHead) -> bytes:
        self._response = head
        incoming = head.framing
        shown: Framing
        if not head.has_body(self._head.method):
            shown = Framing.NONE if self._head.version == "1.0" or incoming is Framing.CLOSE else incoming
        else:
            if self._rewriter is not None:
                self._filter = self._rewriter.response_filter(head)
            open_ended = Framing.CHUNKED if self._head.version == "1.1" else Framing.CLOSE
            kept = incoming is Framing.LENGTH and self._filter is None
            shown = self._out = Framing.LENGTH if kept else open_ended
        self._keep_alive = self._keep_alive and self._out is not Framing.CLOSE and not self._passage.stopping
        return response_bytes(head, framing=shown, client=self._head, keep_alive=self._keep_alive)

    def _outgoing(self, data: bytes) -> bytes:
        return chunk(data) if data and self._out is Framing.CHUNKED else data

    def _refuse(self, refusal: Refusal, ending: Ending = Ending.REFUSED) -> None:
        """Give an answer of our own, or break off the one that has begun; before its turn, remember it."""
        if not self._started:
            self._refusal = refusal
            return
        if self._response is not None:
            self._break_off(ending)
            return
        self._keep_alive = self._keep_alive and self._request_over and ending is not Ending.REFUSED
        head_only = self._head.method == b"HEAD"
        self._client.write(refusal_bytes(refusal, keep_alive=self._keep_alive, head_only=head_only))
        self._end(ending)

    def _break_off(self, ending: Ending) -> None:
        """End an answer that has begun; the client gets what there is of it."""
        if self._filter is not None:
            self._client.write(self._outgoing(self._filter.broken()))
        self._finish(ending)
        self._client.break_off(hard=self._out is Framing.CLOSE)

    def _end(self, ending: Ending) -> None:
        self._finish(ending)
        if ending is not Ending.CLIENT_GONE:
            keep_alive = self._keep_alive and self._request_over and not self._passage.stopping
            self._client.exchange_done(keep_alive=keep_alive)

    def _finish(self, ending: Ending) -> None:
        """Part with the engine and the witness."""
        self.over = True
        engine, self._engine = self._engine, None
        if engine is not None:
            if ending is Ending.COMPLETE and self._request_over and engine.reusable:
                engine.give_back()
            else:
                engine.abort()
        self._held = []
        self._unsent = []
        self._client.release_reading("held")
        self._client.release_reading("engine")
        self._witness.ended(ending)
