"""Why a fetch failed: a closed set of causes, fit for a Prometheus label."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """Cause of a failed fetch. Values are label values: they stay as they are."""

    REFUSED = "refused"
    DNS = "dns"
    TIMEOUT = "timeout"
    TLS = "tls"
    PROTOCOL = "protocol"
    STATUS = "status"
    REDIRECT = "redirect"
    HTML = "html"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    TOO_LARGE = "too_large"
    BAD_GZIP = "bad_gzip"
    SETTINGS = "settings"


class FetchError(Exception):
    """A page could not be fetched.

    Attributes:
        cause: one of the closed set.
        message: one line for people: what happened, at which address, without credentials.
        status: HTTP status where there was one that mattered, else None.
    """

    def __init__(self, cause: Cause, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.message = message
        self.status = status


REMEDIES: dict[str, str] = {
    Cause.REFUSED: "Check that the engine runs and listens on this port. A model that is still loading does not "
    "listen yet; minutes are normal.",
    Cause.DNS: "Check the host name in the engine's address. In a pod, the engine beside the sidecar is 127.0.0.1.",
    Cause.TIMEOUT: "The engine is overloaded or hung, or a firewall swallows the packets. Ask its /health; look at "
    "its log and its GPU. If it is merely slow, give a longer timeout.",
    Cause.TLS: "Check https against http, and give the certificate authority's file that signed the certificate.",
    Cause.PROTOCOL: "Something else than an HTTP server is behind this port, or it hangs up. Check the port.",
    Cause.STATUS: "Read the status: 404 is a wrong path or metrics that are not enabled, 401 and 403 want a token, "
    "5xx is in the engine's log.",
    Cause.REDIRECT: "Redirects are not followed. Give the address that the redirect names, if it is the engine's.",
    Cause.HTML: "A proxy, a login page or a web interface answers. Give the engine's own port.",
    Cause.EMPTY: "The page has no content: statistics may be disabled (vLLM: --disable-log-stats).",
    Cause.TRUNCATED: "The engine or a proxy broke off. If it repeats, look for restarts and for a proxy's timeout.",
    Cause.TOO_LARGE: "The page is over the limit: too many label values, or not a metrics page.",
    Cause.BAD_GZIP: "The compressed answer is damaged; look for a proxy that compresses or cuts.",
    Cause.SETTINGS: "Correct the setting that the message names.",
    "malformed": "The answer is not a metrics page. Open the address in a browser and look at what answers.",
    "no_engine": "A page came, and it is no engine's: it may be a gateway's, or the engine's statistics are off "
    "(vLLM: --disable-log-stats, SGLang: --enable-metrics is missing).",
    "internal": "This is a fault of specwatch, not of the engine. The sidecar's log has the details.",
}
"""What to do, per outcome of a scrape: the causes above, and what reading the page may add. For the status page."""
