"""Rounds at an interval, and what is served meanwhile."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from specwatch_detectors.fallback.controller import Controller
from specwatch_detectors.fallback.controller_status import status
from specwatch_detectors.fallback.controller_view import ControllerView
from specwatch_detectors.fallback.fallback_families import families
from specwatch_exporters.sidecar.site import Answer, MetricsSite

LOG = logging.getLogger("specwatch.fallback")
LATE_ROUNDS: Final = 4
"""Intervals without a finished round after which the controller is not ready."""


class ControllerLoop:
    """Runs a controller.

    Args:
        controller: what is run.
        interval_s: seconds from one round to the next.
        clock: epoch seconds.
    """

    def __init__(self, controller: Controller, interval_s: float, clock: Callable[[], float] = time.time) -> None:
        self._controller = controller
        self._interval_s = interval_s
        self._clock = clock
        self._fault = ""

    def run(self, stop: threading.Event) -> None:
        """Rounds until it is told to stop; a fault in one ends that one."""
        while not stop.is_set():
            self.once()
            stop.wait(self._interval_s)

    def once(self) -> ControllerView:
        """One round."""
        try:
            view = self._controller.round()
        except Exception as error:
            if not self._fault:
                LOG.exception("internal error in a round, said once; the next one tries again")
            self._fault = f"internal error: {type(error).__name__}; the log says more"
            return self._controller.view
        self._fault = ""
        return view

    def ready(self) -> tuple[bool, str]:
        """Whether rounds are finished in time, and if not, why."""
        view = self._controller.view
        if self._fault:
            return False, self._fault
        if not view.leading and "leader" in view.troubles:
            return True, view.troubles["leader"]
        if view.troubles:
            return False, "; ".join(view.troubles.values())
        if not view.at:
            return False, "no round has finished yet"
        late = self._clock() - view.at
        if late > LATE_ROUNDS * self._interval_s:
            return False, f"the last round was {late:.0f} s ago"
        return True, ""

    def status(self, view: ControllerView) -> dict[str, Any]:
        """A view as JSON, with whether rounds are finished in time."""
        return {**status(view), "ready": self.ready()[0]}

    def close(self) -> None:
        """Give lead and log away."""
        self._controller.close()

    def collect(self) -> Iterable[Metric]:
        """Metrics of the controller now."""
        return list(families(self._view()))

    def _view(self) -> ControllerView:
        view = self._controller.view
        return replace(view, troubles={**view.troubles, "internal": self._fault}) if self._fault else view

    def site(self) -> MetricsSite:
        """`/metrics`, `/healthz`, `/readyz`, and the status as JSON."""
        registry = CollectorRegistry()
        registry.register(self)

        def page(_query: str, _accept: str) -> Answer:
            body = json.dumps(self.status(self._view()), indent=1)
            return Answer(HTTPStatus.OK, "application/json", body.encode() + b"\n")

        return MetricsSite(registry, self.ready, {"/status.json": ("the controller's status as JSON", page)})
