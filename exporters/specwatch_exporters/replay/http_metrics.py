"""`http_*` families that vLLM's page has from prometheus-fastapi-instrumentator."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, Summary

FINE_BUCKETS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0),
    *(2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 7.5, 10.0, 30.0, 60.0),
)
UNCOUNTED = frozenset({"/metrics", "/health", "/load", "/ping", "/version", "/server_info"})


class HttpMetrics:
    """Requests by handler, status class and method, with sizes and durations."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "http_requests",
            "Requests by method, status and handler.",
            ("method", "status", "handler"),
            registry=registry,
        )
        self._request_size = Summary(
            "http_request_size_bytes", "Content length of requests.", ("handler",), registry=registry
        )
        self._response_size = Summary(
            "http_response_size_bytes", "Content length of responses.", ("handler",), registry=registry
        )
        self._fine = Histogram(
            "http_request_duration_highr_seconds",
            "Duration of all requests.",
            buckets=FINE_BUCKETS,
            registry=registry,
        )
        self._coarse = Histogram(
            "http_request_duration_seconds",
            "Duration by handler.",
            ("method", "handler"),
            buckets=(0.1, 0.5, 1.0),
            registry=registry,
        )

    def note(self, method: str, handler: str, status: int, seconds: float, sizes: tuple[int, int]) -> None:
        """Count one request.

        Args:
            method: HTTP method.
            handler: route, or `none` when there is no such route.
            status: response status; counted by its class, such as `2xx`.
            seconds: from request to the last byte of the response.
            sizes: content length of request and response, 0 when not declared.
        """
        if handler in UNCOUNTED:
            return
        self._requests.labels(method, f"{status // 100}xx", handler).inc()
        self._request_size.labels(handler).observe(sizes[0])
        self._response_size.labels(handler).observe(sizes[1])
        self._fine.observe(seconds)
        self._coarse.labels(method, handler).observe(seconds)
