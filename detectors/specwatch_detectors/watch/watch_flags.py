"""Settings of the fleet watch out of the texts of a command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from specwatch_detectors.watch.pod_labels import REPLICA_LABELS, PodLabels
from specwatch_detectors.watch.prometheus_address import TENANT_HEADER, PrometheusAddress
from specwatch_detectors.watch.rounds import Grid
from specwatch_detectors.watch.watch_settings import WatchSettings
from specwatch_exporters.sidecar import setting_values

MAX_INTERVAL_S: Final = 300
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class WatchFlags:
    """What was given, as texts; `WatchSettings` and `PrometheusAddress` say what each means."""

    prometheus: str
    state: str | None = None
    profile: Path | None = None
    match: str = ""
    pod_label: Sequence[str] | None = None
    replica_label: Sequence[str] | None = None
    interval: str = "10s"
    delay: str = "10s"
    since: str = "1h"
    stale_after: str = "5m"
    pages: float = 1.0
    header: Sequence[str] | None = None
    tenant: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    insecure: bool = False
    timeout: str = "30s"

    def settings(self) -> WatchSettings:
        """Validated settings.

        Raises:
            ValueError: the first flag that is wrong, in one line.
        """
        if not 0.0 < self.pages <= 1e6:
            raise ValueError(f"--pages {self.pages:g}: it must be positive")
        return WatchSettings(
            grid=self._grid(),
            labels=PodLabels.of(self.pod_label or (), self.replica_label or REPLICA_LABELS),
            pages=self.pages,
            stale_after_s=_read("--stale-after", self.stale_after, _duration),
            profile=self.profile,
            state=self.state,
            address=self._address(),
        )

    def _grid(self) -> Grid:
        interval = _read("--interval", self.interval, _duration)
        if interval != int(interval) or interval > MAX_INTERVAL_S:
            raise ValueError(f"--interval {self.interval}: it must be whole seconds, 5m at most")
        delay, since = _read("--delay", self.delay, _duration), _read("--since", self.since, _duration)
        return Grid(int(interval), delay, int(since))

    def _address(self) -> PrometheusAddress:
        url = _read("--prometheus", self.prometheus, setting_values.page_url)
        if self.insecure and self.ca_file is not None:
            raise ValueError("--ca-file: --insecure would not use it; give one of the two")
        headers = dict(_read("--header", text, _header) for text in self.header or ())
        if self.tenant is not None:
            headers[TENANT_HEADER] = self.tenant
        return PrometheusAddress(
            url,
            headers,
            token_file=_file("--token-file", self.token_file),
            ca_file=_file("--ca-file", self.ca_file),
            insecure=self.insecure,
            timeout_s=_read("--timeout", self.timeout, _duration),
            matchers=self.match,
        )


def flags_of(values: Mapping[str, Any]) -> WatchFlags:
    """The flags among the arguments of a command."""
    return WatchFlags(**{name: values[name] for name in WatchFlags.__slots__})


def _read(flag: str, text: str, parse: Callable[[str], Value]) -> Value:
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"{flag} {text}: {error}") from None


def _duration(text: str) -> float:
    seconds = setting_values.duration(text)
    if not seconds >= 1.0:
        raise ValueError("it must be 1s or more")
    return seconds


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not text.isprintable():
        raise ValueError("write NAME: VALUE")
    return name.strip(), value.strip()


def _file(flag: str, path: Path | None) -> Path | None:
    return None if path is None else _read(flag, str(path), setting_values.readable_file)
