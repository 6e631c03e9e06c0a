"""What all watched requests share: metrics, the batch, requests under way, and the choice of classes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from specwatch_exporters.proxy.batch_meter import BatchMeter
from specwatch_exporters.proxy.class_choice import ClassChoice
from specwatch_exporters.proxy.in_flight import InFlight
from specwatch_exporters.proxy.read_later import ReadLater
from specwatch_exporters.request_labels import UNKNOWN, model_label
from specwatch_exporters.request_metrics import RequestMetrics

LOG = logging.getLogger("specwatch.proxy")
_MAX_VERIFIED: Final = 64


@dataclass(slots=True)
class Observer:
    """Shared by all requests of a sidecar.

    Attributes:
        metrics: where observations go.
        in_flight: requests under way.
        classes: chooses traffic classes.
        clock: monotonic seconds.
        speculation: method in use, `off`, or `unknown`.
        model: label for answers that name no model; if it is unknown, the only model that any answer has named.
        read_limit: bytes of a body that is read whole.
        batch: how many requests generate now.
        later: lets the reading of chunks wait, or None to read at once.
    """

    metrics: RequestMetrics
    in_flight: InFlight
    classes: ClassChoice
    clock: Callable[[], float]
    speculation: str = UNKNOWN
    model: str = UNKNOWN
    read_limit: int = 1024 * 1024
    batch: BatchMeter = field(default_factory=BatchMeter)
    later: ReadLater | None = None
    _verified: set[str] = field(default_factory=set)
    _warned: bool = False

    def answered(self, model: str) -> str:
        """The label of the model that an answer names; it is remembered as one that exists."""
        label = model_label(model)
        if len(self._verified) < _MAX_VERIFIED:
            self._verified.add(label)
        return label

    def asked(self, model: str | None) -> str:
        """The label of the model that a request names, if an answer has named it before: names are not invented."""
        if model is None:
            return self._unnamed()
        label = model_label(model)
        return label if label in self._verified else self.model

    def _unnamed(self) -> str:
        """An engine with one model answers with it when none is asked for; of several, nobody knows which."""
        if self.model == UNKNOWN and len(self._verified) == 1:
            return next(iter(self._verified))
        return self.model

    def reading_failed(self, error: Exception) -> None:
        """A reader raised; its text may hold a prompt, so only its kind is logged, once."""
        self.metrics.unread("internal")
        if not self._warned:
            self._warned = True
            LOG.error("reading a request failed (%s); it is passed on all the same", type(error).__name__)
