"""What an exchange reports to: counts bytes, and keeps a reader's failure away from the stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from specwatch_exporters.proxy.http_head import ResponseHead
from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.observer import Observer
from specwatch_exporters.proxy.parties import Ending
from specwatch_exporters.proxy.request_watch import RequestWatch

_KEPT_LIMIT: Final = 256 * 1024


class GuardedWatch:
    """Passes every call on to a watch until it raises; from then on only bytes are counted.

    Args:
        observer: hears of failures and bytes.
        watch: of the request, or None if its path is not read.
    """

    def __init__(self, observer: Observer, watch: RequestWatch | None) -> None:
        self._observer = observer
        self._watch = watch
        self._sent = 0
        self._returned = 0
        self._lane: Lane | None = None
        self._kept: list[tuple[bytes, float, int]] = []
        self._kept_size = 0

    def request_body(self, data: bytes) -> None:
        """See `Witness`."""
        self._sent += len(data)
        if self._watch is not None:
            self._try(self._watch.request_body, data)

    def request_end(self) -> None:
        """See `Witness`."""
        if self._watch is not None:
            self._try(self._watch.request_end)

    def goes_to(self, lane: Lane) -> None:
        """See `Witness`."""
        self._lane = lane
        lane.ledger.in_flight += 1
        if self._watch is not None:
            self._try(self._watch.goes_to, lane)

    def response_head(self, head: ResponseHead) -> None:
        """See `Witness`."""
        if self._watch is not None:
            self._try(self._watch.response_head, head)

    def response_body(self, data: bytes) -> None:
        """See `Witness`."""
        self._returned += len(data)
        watch, observer = self._watch, self._observer
        if watch is None:
            return
        if observer.later is None or not watch.has_text:
            self._try(watch.response_body, data, observer.clock(), observer.batch.size)
            return
        self._kept.append((data, observer.clock(), observer.batch.size))
        self._kept_size += len(data)
        if self._kept_size > _KEPT_LIMIT:
            self.read_kept()
        else:
            observer.later.add(self)

    def read_kept(self) -> int:
        """Read the chunks that waited; returns how many there were."""
        kept, self._kept, self._kept_size = self._kept, [], 0
        for chunk in kept:
            if self._watch is not None:
                self._try(self._watch.response_body, *chunk)
        return len(kept)

    def ended(self, ending: Ending) -> None:
        """See `Witness`."""
        self._observer.metrics.body_bytes("request", self._sent)
        self._observer.metrics.body_bytes("response", self._returned)
        if self._kept:
            self.read_kept()
        if self._observer.later is not None:
            self._observer.later.drop(self)
        if self._watch is not None:
            self._try(self._watch.ended, ending)
        if self._lane is not None:
            self._lane.ledger.in_flight -= 1

    def _try(self, step: Callable[..., None], *arguments: object) -> None:
        try:
            step(*arguments)
        except Exception as error:  # noqa: BLE001  # whatever a reader does, the stream goes on
            self._observer.reading_failed(error)
            watch, self._watch = self._watch, None
            if watch is not None:
                watch.abandon()
