"""The table of the request sidecar's settings; it drives parsing, validation, `--help` and the documentation."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from specwatch_exporters.sidecar import setting_values
from specwatch_exporters.sidecar.options import LOG_LEVELS, Option

UPSTREAM_ACCEPTED: Final = (
    "host:port, http://host:port or https://host:port, with a path if the engine has one; several as NAME=ADDRESS"
)
NO_CLASSIFIER, SHIPPED_CLASSIFIER = "off", "shipped"
_SIZE: Final = re.compile(r"(\d{1,6})(KiB|MiB|GiB)", re.ASCII)
_UNITS: Final = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def size(text: str) -> int:
    """Bytes from `512KiB`, `64MiB` or `1GiB`."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError("it is not a size")
    count = int(found[1]) * _UNITS[found[2]]
    if not 1 << 10 <= count <= 4 << 30:
        raise ValueError("it is out of range")
    return count


def connections(text: str) -> int:
    """A number of connections."""
    number = setting_values.count(text)
    if not number:
        raise ValueError("no client could connect")
    return number


def certificates(text: str) -> Path:
    """A file of certificates in PEM form."""
    path = setting_values.readable_file(text)
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ValueError):  # an SSLError is an OSError
        raise ValueError("it holds no certificate in PEM form") from None
    return path


def log_level(text: str) -> str:
    """One of the log levels."""
    if text.lower() not in LOG_LEVELS:
        raise ValueError("it is not one of the choices")
    return text.lower()


OPTIONS: Final[tuple[Option, ...]] = (
    Option(
        "--upstream",
        "ADDRESS",
        str,
        UPSTREAM_ACCEPTED,
        "The engine that every request goes to. Given several times (in the variable with blanks between), each "
        "is a pool whose name is its method, as in `draft=http://127.0.0.1:8000`; the first gets every request "
        "until the weights are set.",
    ),
    Option(
        "--pools",
        "FILE",
        setting_values.readable_file,
        "a TOML file of [pool.NAME] tables with url, method and weight",
        "Pools with their weights, instead of --upstream.",
        shown_default="none",
    ),
    Option(
        "--pool-state",
        "FILE",
        setting_values.writable_file,
        "a file in a directory that can be written",
        "Keeps the pools' weights, so that a restarted sidecar goes on with them.",
        shown_default="none",
    ),
    Option(
        "--admin-token-file",
        "FILE",
        setting_values.readable_file,
        "a file that can be read",
        "Bearer token of those who may set the pools' weights; read again for every change. Without it nobody may.",
        shown_default="none",
    ),
    Option(
        "--pool-control",
        "",
        setting_values.flag,
        "true or false",
        "Take the pools' weights from other machines as well, with the token; otherwise from this one only.",
        "false",
    ),
    Option(
        "--listen",
        "ADDRESS",
        setting_values.listen,
        ":8080, 127.0.0.1:8080, [::1]:8080; port 0 takes a free one",
        "Where clients connect.",
        ":8080",
    ),
    Option(
        "--admin-listen",
        "ADDRESS",
        setting_values.listen,
        "as --listen, another port",
        "Where to serve /metrics, /healthz, /readyz and the status page.",
        ":9478",
    ),
    Option(
        "--request-usage",
        "",
        setting_values.flag,
        "true or false",
        "Ask the engine for usage in streams whose client did not, and take the extra event out again. Without "
        "it tokens and acceptance are unknown for such streams.",
        "false",
    ),
    Option(
        "--class-rules",
        "FILE",
        setting_values.readable_file,
        "a TOML file of [[rule]] tables",
        "Rules that give a request its traffic class by path, model, LoRA or API key hash.",
        shown_default="none",
    ),
    Option(
        "--classifier",
        "NAME",
        str,
        "off, shipped, or a file that `specwatch classes train` wrote",
        "What gives a class to a request that no header and no rule covers.",
        NO_CLASSIFIER,
    ),
    Option(
        "--speculation-method",
        "WORD",
        setting_values.word,
        "one word such as eagle3, p-eagle, ngram, draft_model, or off",
        "Method as the engine is configured, for the label `speculation`.",
        shown_default="unknown",
    ),
    Option(
        "--model",
        "NAME",
        setting_values.name,
        "up to 256 printable characters",
        "Model name for answers that carry none.",
        shown_default="unknown",
    ),
    Option(
        "--max-body",
        "SIZE",
        size,
        "a size from 1KiB to 4GiB, such as 64MiB",
        "Largest request body; a larger one is refused with status 413.",
        "64MiB",
    ),
    Option(
        "--max-connections",
        "NUMBER",
        connections,
        "a whole number from 1",
        "Most connections of clients at a time; further ones wait. Each may need another one to the engine.",
        shown_default="what the limit on open files has room for",
    ),
    Option(
        "--rewrite-host",
        "",
        setting_values.flag,
        "true or false",
        "Send the engine's own name as Host instead of the client's.",
        "false",
    ),
    Option(
        "--ca-file",
        "FILE",
        certificates,
        "a PEM file that can be read",
        "Authorities to trust over https.",
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
        "--drain",
        "DURATION",
        setting_values.duration,
        "a duration such as 30s or 5m",
        "How long answers under way may take to finish when the sidecar is stopped.",
        "30s",
    ),
    Option(
        "--log-level",
        "LEVEL",
        log_level,
        ", ".join(LOG_LEVELS),
        "What to log, to the standard error.",
        "info",
    ),
)
BY_FLAG: Final[Mapping[str, Option]] = {option.flag: option for option in OPTIONS}
