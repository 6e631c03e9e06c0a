"""The table of the scrape sidecar's settings.

It drives parsing, validation, `--help` and the table in the documentation. No variable is named `SPECWATCH_PORT` or
`SPECWATCH_..._HOST`: Kubernetes sets those in every pod beside a Service called specwatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.engines.registry import ENGINES
from specwatch_exporters.sidecar import engine_address, setting_values

LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Option:
    """One setting.

    Attributes:
        flag: name on the command line; the variable and the field follow from it.
        value: placeholder for the value, or empty for a switch.
        parse: text to value; raises `ValueError` with a clause that says what is wrong.
        accepted: what is accepted, as error messages and help say it.
        help: what it does.
        default: as text, or None when there is none.
        shown_default: default for people, where it is not a text that could be given.
    """

    flag: str
    value: str
    parse: Callable[[str], Any]
    accepted: str
    help: str
    default: str | None = None
    shown_default: str = ""

    @property
    def field(self) -> str:
        """Key under which flags and settings carry it."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def default_text(self) -> str:
        """Default for people; empty if there is none."""
        return self.shown_default or self.default or ""

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"SPECWATCH_{self.field.upper()}"


def _choice(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError("it is not one of the choices")
        return text.lower()

    return parse


def _between(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = setting_values.count(text)
        if not low <= number <= high:
            raise ValueError("it is out of range")
        return number

    return parse


_DURATIONS = "a duration such as 500ms, 5s, 1m30s"

OPTIONS: tuple[Option, ...] = (
    Option(
        "--engine",
        "ADDRESS",
        str,
        engine_address.ACCEPTED,
        "The engine to scrape. Credentials in the URL are used and never shown.",
    ),
    Option(
        "--engine-kind",
        "KIND",
        _choice(*ENGINES),
        ", ".join(ENGINES),
        "Read the page as this engine's instead of recognising it.",
        shown_default="recognised",
    ),
    Option(
        "--listen",
        "ADDRESS",
        setting_values.listen,
        ":9477, 127.0.0.1:9477, [::1]:9477; port 0 takes a free one",
        "Where to serve /metrics, /healthz, /readyz and the status page.",
        ":9477",
    ),
    Option(
        "--interval",
        "DURATION",
        setting_values.duration,
        f"{_DURATIONS}, from 100ms to 10m",
        "Time between scrapes. Figures of the last minute are of the last two and a half intervals where that is "
        "longer.",
        "5s",
    ),
    Option(
        "--timeout",
        "DURATION",
        setting_values.duration,
        f"{_DURATIONS}, at most the interval",
        "When to give a scrape up. An answer that takes longer than the interval would delay the next scrape, and "
        "one that takes over 10 s describes another moment than it is counted for.",
        shown_default="the interval, at most 10s",
    ),
    Option(
        "--stale-after",
        "DURATION",
        setting_values.duration,
        f"{_DURATIONS}, at least twice the interval",
        "Age of the last good page from which the engine's series are withdrawn. Two lost scrapes are no outage.",
        shown_default="3 intervals, at least 15s",
    ),
    Option(
        "--speculation-method",
        "WORD",
        setting_values.word,
        "one word such as eagle3, p-eagle, ngram, draft_model, or off",
        "Method as the engine is configured; vLLM's page does not say it.",
        shown_default="as the engine says",
    ),
    Option(
        "--num-speculative-tokens",
        "K",
        _between(1, 128),
        "a whole number from 1 to 128",
        "Draft tokens per step as the engine is configured.",
        shown_default="as the engine says",
    ),
    Option(
        "--model",
        "NAME",
        setting_values.name,
        "up to 256 printable characters",
        "Model name for series that carry none.",
        shown_default="unknown",
    ),
    Option(
        "--max-models",
        "N",
        _between(1, 10_000),
        "a whole number from 1 to 10000",
        "Models kept per page; the rest is left out with a warning.",
        "100",
    ),
    Option(
        "--bearer-token-file",
        "FILE",
        setting_values.readable_file,
        "a file that can be read",
        "Token to send to the engine; read again at each scrape.",
        shown_default="none",
    ),
    Option(
        "--ca-file",
        "FILE",
        setting_values.readable_file,
        "a PEM file that can be read",
        "Authorities to trust over https; read again when it changes.",
        shown_default="the system's",
    ),
    Option(
        "--insecure",
        "",
        setting_values.flag,
        "true or false",
        "Trust any certificate of the engine.",
        "false",
    ),
    Option(
        "--drift",
        "",
        setting_values.flag,
        "true or false",
        "Judge whether the draft still fits its target.",
        "true",
    ),
    Option(
        "--drift-profile",
        "FILE",
        setting_values.readable_file,
        "a file that can be read",
        "Profile of `specwatch detect calibrate`: baselines whose false alarms were checked on history.",
        shown_default="learn while running",
    ),
    Option(
        "--drift-state",
        "FILE",
        setting_values.writable_file,
        "a file in a directory that can be written",
        "Keeps what the detectors know, so that a restarted sidecar goes on where it was.",
        shown_default="none",
    ),
    Option(
        "--payoff-profile",
        "PROFILE",
        str,
        "the name of a shipped step-time profile (docs/payoff.md), or a file",
        "Step times by which to judge whether speculation pays; needs the method (--speculation-method).",
        shown_default="none",
    ),
    Option(
        "--request-metrics",
        "URL",
        setting_values.page_url,
        "an http or https URL",
        "Metrics page of the request sidecar; its counts per class tell a change of mix from a worse draft.",
        shown_default="none",
    ),
    Option(
        "--log-level",
        "LEVEL",
        _choice(*LOG_LEVELS),
        ", ".join(LOG_LEVELS),
        "What to log, to the standard error.",
        "info",
    ),
)
BY_FLAG: Mapping[str, Option] = {option.flag: option for option in OPTIONS}
