"""A running Prometheus, asked within a time for each query."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from specwatch_alerts.slack.prometheus_query import PrometheusQuery, QueryError
from specwatch_alerts.slack.secret_file import SecretFile
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.inputs import PrometheusError, Sample

WITHIN_S: Final = 60.0
DAY_S: Final = 86_400.0
_POINTS: Final = 2_000
_LEAST_STEP_S: Final = 60.0


class LivePrometheus:
    """Asks one Prometheus API.

    Args:
        url: without `/api/v1`.
        token: bearer token, or None.
        now: epoch seconds.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        url: str,
        token: SecretFile | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._token = token
        self._now = now
        self._clock = clock

    def check(self) -> None:
        """See whether it answers at all.

        Raises:
            InputError: it does not, or the address is none.
        """
        try:
            self.instant("vector(1)")
        except ValueError as error:
            raise InputError(f"--prometheus: {error}") from error

    def instant(self, query: str) -> list[Sample]:
        """See `inputs.Prometheus`."""
        try:
            return self._asked().instant(query, self._now())
        except QueryError as error:
            raise PrometheusError(str(error)) from error

    def range(self, query: str, days: float) -> list[tuple[Mapping[str, str], list[tuple[float, float]]]]:
        """See `inputs.Prometheus`; at most 2,000 points a series, a minute apart at least."""
        step = max(_LEAST_STEP_S, days * DAY_S / _POINTS)
        end = self._now() // step * step
        try:
            return self._asked().ranges(query, end - days * DAY_S, end, step)
        except QueryError as error:
            raise PrometheusError(str(error)) from error

    def _asked(self) -> PrometheusQuery:
        return PrometheusQuery(self._url, self._token, self._clock, WITHIN_S)
