"""Settings of the scrape sidecar, from flags and environment, validated before anything starts.

A flag wins over its variable. A variable that is empty counts as not set, as a chart's template leaves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specwatch_exporters.sidecar.endpoint import Endpoint, redact
from specwatch_exporters.sidecar.engine_address import ACCEPTED, EngineAddress
from specwatch_exporters.sidecar.options import BY_FLAG, OPTIONS, Option
from specwatch_exporters.sidecar.setting_values import Listen

MIN_INTERVAL_S, MAX_INTERVAL_S = 0.1, 600.0
MAX_DEFAULT_TIMEOUT_S = 10.0
MIN_DEFAULT_STALE_S = 15.0
OFF = "off"
_ADDRESSES = frozenset({"--engine", "--upstream", "--request-metrics"})


class SettingsError(ValueError):
    """A setting is wrong; the message names the flag or variable, what is wrong, and what is accepted."""


@dataclass(frozen=True, slots=True)
class SidecarSettings:
    """Validated settings.

    Attributes:
        engine: addresses of the engine.
        engine_kind: reader to use, or None to recognise the page.
        listen: where to serve.
        interval_s: time between scrapes.
        timeout_s: for one scrape, at most the interval.
        stale_after_s: age of the last good page from which the engine's series are withdrawn.
        speculation_method: as declared by the operator (`off` included), or None.
        num_speculative_tokens: K as declared, or None.
        model: name for series without a model label, or None.
        drift: whether the detectors run.
        drift_profile: calibrated profile, or None.
        drift_state: where their state is kept, or None.
        payoff_profile: name or file of step times, or None.
        request_metrics: page with the counts per traffic class, or None.
    """

    engine: EngineAddress
    engine_kind: str | None
    listen: Listen
    interval_s: float
    timeout_s: float
    stale_after_s: float
    speculation_method: str | None
    num_speculative_tokens: int | None
    model: str | None
    max_models: int
    bearer_token_file: Path | None
    ca_file: Path | None
    insecure: bool
    drift: bool
    drift_profile: Path | None
    drift_state: Path | None
    payoff_profile: str | None
    request_metrics: str | None
    log_level: str


def load(flags: Mapping[str, str | bool | None], environ: Mapping[str, str]) -> SidecarSettings:
    """Build settings from flags by field name and from the environment.

    Args:
        flags: text per field of `OPTIONS`; None is not given; a switch may be a bool.
        environ: the environment.

    Raises:
        SettingsError: the first setting that is wrong.
    """
    given = {option.field: given_text(option, flags, environ) for option in OPTIONS}
    values = {option.field: parsed(option, *given[option.field]) for option in OPTIONS}
    source = {option.field: given[option.field][0] for option in OPTIONS}
    text = values.pop("engine")
    if text is None:
        raise SettingsError(f"--engine (or SPECWATCH_ENGINE) is missing; accepted: {ACCEPTED}")
    try:
        engine = EngineAddress.parse(text, values["engine_kind"])
    except ValueError as error:
        raise wrong(BY_FLAG["--engine"], source["engine"], text, str(error)) from None
    _complete_times(values, source)
    _check_pairs(values, source, engine)
    times = {f"{field}_s": values.pop(field) for field in ("interval", "timeout", "stale_after")}
    return SidecarSettings(engine=engine, **times, **values)


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Variables that look like settings and are none; Kubernetes sets some beside a Service called specwatch."""
    known = {option.variable for option in OPTIONS}
    return sorted(
        name
        for name in environ
        if name.startswith("SPECWATCH_") and name not in known and "_SERVICE_" not in name and "_PORT" not in name
    )


def given_text(
    option: Option, flags: Mapping[str, str | bool | None], environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """Where the value comes from, and its text."""
    chosen = flags.get(option.field)
    if isinstance(chosen, bool):
        chosen = "true" if chosen else None
    if chosen is not None:
        return option.flag, chosen
    if environ.get(option.variable, "").strip():
        return option.variable, environ[option.variable]
    return option.flag, option.default


def parsed(option: Option, source: str, text: str | None) -> Any:
    """The value of a text; None for none.

    Raises:
        SettingsError: it is not accepted.
    """
    if text is None:
        return None
    stripped = text.strip()
    if not stripped:
        raise wrong(option, source, text, "it is empty")
    try:
        return option.parse(stripped)
    except ValueError as error:
        raise wrong(option, source, text, str(error)) from None


def wrong(option: Option, source: str, text: str, problem: str) -> SettingsError:
    """The error for a value: where it came from, the value without credentials, what is wrong with it."""
    shown = redact(text) if option.flag in _ADDRESSES else text
    shown = ascii(shown if len(shown) <= 80 else f"{shown[:77]}...")
    return SettingsError(f"{source} {shown}: {problem}; accepted: {option.accepted}")


def _complete_times(values: dict[str, Any], source: Mapping[str, str]) -> None:
    """Fill the defaults that follow from the interval, and check all three times against each other."""
    interval = values["interval"]
    if not MIN_INTERVAL_S <= interval <= MAX_INTERVAL_S:
        raise _out_of_range("--interval", source, f"{interval:g}s is out of range")
    if values["timeout"] is None:
        values["timeout"] = min(interval, MAX_DEFAULT_TIMEOUT_S)
    if not 0 < values["timeout"] <= interval:
        problem = f"{values['timeout']:g}s does not fit the interval of {interval:g}s"
        raise _out_of_range("--timeout", source, problem)
    if values["stale_after"] is None:
        values["stale_after"] = max(3 * interval, MIN_DEFAULT_STALE_S)
    if values["stale_after"] < 2 * interval:
        problem = f"{values['stale_after']:g}s does not fit the interval of {interval:g}s"
        raise _out_of_range("--stale-after", source, problem)


def _out_of_range(flag: str, source: Mapping[str, str], problem: str) -> SettingsError:
    option = BY_FLAG[flag]
    return SettingsError(f"{source[option.field]}: {problem}; accepted: {option.accepted}")


def _check_pairs(values: Mapping[str, Any], source: Mapping[str, str], engine: EngineAddress) -> None:
    """Refuse pairs of settings of which one would silently win."""
    if values["speculation_method"] == OFF and values["num_speculative_tokens"] is not None:
        raise _pair(source, "num_speculative_tokens", "speculation_method", "is off")
    if values["insecure"] and values["ca_file"] is not None:
        raise _pair(source, "insecure", "ca_file", "would not be used")
    if values["bearer_token_file"] is not None and Endpoint.parse(engine.metrics_url).userinfo is not None:
        raise _pair(source, "bearer_token_file", "engine", "carries credentials as well")


def _pair(source: Mapping[str, str], field: str, other: str, problem: str) -> SettingsError:
    return SettingsError(f"{source[field]}: {source[other]} {problem}; accepted: one of the two")
