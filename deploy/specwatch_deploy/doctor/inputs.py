"""Everything that one examination looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.engine import Engine
from specwatch_deploy.doctor.query import Query

Sample = tuple[Mapping[str, str], float]
"""Labels and value of a series at one time."""


class PrometheusError(ValueError):
    """Prometheus gives no answer to a query; one line."""


class Prometheus(Protocol):
    """What is asked of a Prometheus."""

    def instant(self, query: str) -> list[Sample]:
        """Values now, those that are no number left out.

        Raises:
            PrometheusError: there is no answer.
        """

    def range(self, query: str, days: float) -> list[tuple[Mapping[str, str], list[tuple[float, float]]]]:
        """Series with their times and values over the last days.

        Raises:
            PrometheusError: there is no answer.
        """


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is examined.

    Attributes:
        documents: dashboards, rule files, manifests, configurations.
        queries: all PromQL in them, and what was given by itself.
        engines: what is known of the engines that are watched; never empty (see `engine.newest`).
        prometheus: a running one, or None.
        scrape_s: scrape interval of the series in seconds.
        reach: whether addresses in configurations may be connected to.
    """

    documents: tuple[Document, ...] = ()
    queries: tuple[Query, ...] = ()
    engines: tuple[Engine, ...] = ()
    prometheus: Prometheus | None = None
    scrape_s: float = 15.0
    reach: bool = False

    def of_kind(self, *kinds: str) -> Iterator[Document]:
        """Kubernetes objects of these kinds."""
        return (one for one in self.documents if one.kind in kinds)
