"""Kinds of traffic: how well a draft fits each, how much requests differ, how long they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

CAP_TOKENS: Final = 2048
"""No answer is longer."""

DEPTH: Final = 3
"""Draft tokens per draft."""


@dataclass(frozen=True)
class TrafficClass:
    """One class of requests; numbers in the range of public traces (EAGLE drafts of three tokens).

    Attributes:
        name: of the class.
        q: conditional acceptance of the typical request, by position.
        spread: standard deviation of requests' log-odds around it.
        tokens: median length of an answer, in tokens.
        tail: standard deviation of the log of the length; the upper 3 % follow a Pareto tail.
        clumping: variance within a request over that of independent drafts (drafts of one request hang together).
        share: of all requests over the day.
        peak: hour of the day at which its share is largest.
        swing: amplitude of the log of its share over the day.
    """

    name: str
    q: tuple[float, float, float]
    spread: float
    tokens: float
    tail: float
    clumping: float
    share: float
    peak: float
    swing: float


MATH: Final = TrafficClass("math", (0.685, 0.647, 0.640), 0.13, 140.0, 0.5, 1.1, 0.25, 22.0, 0.3)
CODE: Final = TrafficClass("code", (0.620, 0.640, 0.680), 0.55, 220.0, 0.9, 1.4, 0.25, 14.0, 0.5)
CHAT: Final = TrafficClass("chat", (0.655, 0.640, 0.645), 0.47, 300.0, 1.0, 1.3, 0.30, 18.0, 0.3)
SUMMARY: Final = TrafficClass("summary", (0.630, 0.630, 0.640), 0.20, 160.0, 0.6, 1.1, 0.20, 9.0, 0.3)

ALIKE: Final = (MATH, CODE, CHAT, SUMMARY)
"""Classes that accept about alike, as measured with EAGLE drafts: mean lengths of 2.2 to 2.4."""

APART: Final = (
    replace(MATH, q=(0.82, 0.80, 0.79)),
    replace(CODE, q=(0.78, 0.76, 0.76)),
    replace(CHAT, q=(0.60, 0.56, 0.55)),
    replace(SUMMARY, q=(0.50, 0.47, 0.47)),
)
"""Classes that accept differently, as published for other drafts: mean lengths of 1.9 to 3."""
