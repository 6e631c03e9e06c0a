"""The detectors of one scrape sidecar put together from its settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from prometheus_client.metrics_core import Metric

from specwatch_detectors.class_counts import ClassCounts
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.profile_use import ProfileUse
from specwatch_detectors.sidecar_watch import SidecarWatch
from specwatch_detectors.state_store import FileStore
from specwatch_detectors.threshold import Budget
from specwatch_exporters.exposition import ExpositionError, parse
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import FetchError
from specwatch_exporters.sidecar.settings import SidecarSettings
from specwatch_exporters.sidecar.tls_trust import TlsTrust

_LONGEST_S: Final = 1.0
"""Classes are a help: a request sidecar that hangs must not hold up the scrapes of the engine."""


def sidecar_watch(settings: SidecarSettings) -> SidecarWatch | None:
    """The watcher that the settings ask for; None if they ask for none.

    Raises:
        ValueError: a profile cannot be used; one line.
    """
    if not settings.drift:
        return None
    use, steps = None, None
    if settings.drift_profile is not None:
        from specwatch_detectors.profile import load_profile  # noqa: PLC0415 - only with a profile

        use = ProfileUse(load_profile(settings.drift_profile))
    if settings.payoff_profile is not None:
        from specwatch_detectors.payoff.profile_file import load_profile as load_steps  # noqa: PLC0415 - likewise

        steps = load_steps(settings.payoff_profile)
    url = settings.request_metrics
    return SidecarWatch(
        replace(MonitorSettings(), budget=Budget(interval_s=settings.interval_s)),
        calibrations=None if use is None else use.calibrations,
        remark=None if use is None else use.remark,
        classes=None if url is None else ClassCounts(_Page(url, settings), settings.speculation_method),
        steps=steps,
        store=None if settings.drift_state is None else FileStore(settings.drift_state),
    )


class _Page:
    """The families of a metrics page."""

    def __init__(self, url: str, settings: SidecarSettings) -> None:
        self._url = url
        self._timeout_s = min(settings.timeout_s, _LONGEST_S)
        self._tls = TlsTrust(settings.ca_file, insecure=settings.insecure)

    def __call__(self) -> Iterable[Metric]:
        try:
            got = fetch(self._url, timeout_s=self._timeout_s, token_file=None, tls=self._tls)
        except FetchError as error:
            raise OSError(error.message) from error
        try:
            return parse(got.body.decode("utf-8", errors="replace"), got.content_type).families
        except ExpositionError as error:
            raise ValueError(str(error)) from error
