"""Whose counters the dashboards stand on."""

from __future__ import annotations

from enum import StrEnum


class Source(StrEnum):
    """Which series feed the recording rules.

    `sidecar`: the scrape sidecar beside each engine. `engine`: the engines' own pages, no scrape sidecar; what only
    the sidecar says is left out; what request sidecar, fleet watch and fallback controller say stays.
    """

    SIDECAR = "sidecar"
    ENGINE = "engine"
