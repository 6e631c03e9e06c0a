"""Where the engine is: whatever a person may paste, made into the URL of its metrics page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from specwatch_exporters.sidecar.endpoint import Endpoint

ACCEPTED = "host:port, http://host:port, or the full URL of the metrics page"
DEFAULT_PATHS = {"trtllm": "/prometheus/metrics"}
_METRICS_PATHS = ("/prometheus/metrics", "/metrics")


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """The engine's addresses.

    Attributes:
        metrics_url: what to scrape; may carry credentials, so it is never printed.
        base_url: what its other endpoints hang on, without a slash at the end; may carry credentials.
        display: `metrics_url` for people, without credentials and query.
    """

    metrics_url: str = field(repr=False)
    base_url: str = field(repr=False)
    display: str

    @classmethod
    def parse(cls, text: str, kind: str | None = None) -> Self:
        """Make sense of an address.

        Args:
            text: host:port, a base URL (an OpenAI client's, ending in /v1, will do), or the page's full URL.
            kind: engine kind if it is known; TensorRT-LLM's page has another path.

        Raises:
            ValueError: one clause that says what is wrong; it does not repeat credentials.
        """
        url = _with_scheme(text.strip())
        endpoint = Endpoint.parse(url)
        origin, path = _origin(url), endpoint.path.rstrip("/")
        if path.endswith("metrics"):
            base = next((path.removesuffix(known) for known in _METRICS_PATHS if path.endswith(known)), "")
            full = endpoint.target
        elif endpoint.query:
            raise ValueError("it has a ?query and does not end in /metrics")
        else:
            base = path.removesuffix("/v1")
            full = base + DEFAULT_PATHS.get(kind or "", "/metrics")
        return cls(f"{origin}{full}", f"{origin}{base}", Endpoint.parse(f"{origin}{full}").display)


def _with_scheme(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    if "://" in text:
        return text
    if text.startswith("/"):
        raise ValueError("it is a path, not an address")
    host, _, rest = text.partition("/")
    bare = host.rpartition("@")[2]
    if bare.count(":") > 1 and not bare.startswith("["):
        raise ValueError("an IPv6 address belongs in brackets: [::1]:8000")
    if not bare.rpartition(":")[2].isdigit():
        raise ValueError("it has no port")
    return f"http://{host}/{rest}"


def _origin(url: str) -> str:
    """Scheme and authority as given, credentials included."""
    scheme, _, rest = url.partition("://")
    end = min((index for mark in "/?#" if (index := rest.find(mark)) >= 0), default=len(rest))
    return f"{scheme.lower()}://{rest[:end]}"
