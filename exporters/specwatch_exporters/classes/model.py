"""A trained linear model: one row of 8-bit weights per class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specwatch_exporters.classes.class_name import MAX_CLASSES, RULE, is_class_name

ZERO = 128
"""The byte that stands for the weight 0."""
MIN_BUCKETS, MAX_BUCKETS = 1 << 8, 1 << 20
MAX_WEIGHT = 1e6


@dataclass(frozen=True, slots=True)
class Model:
    """Weights and what is needed to use them.

    The score of class c for a text in n buckets is
    `intercepts[c] + scale * sum(weights[c][b] - 128 for b in buckets) / sqrt(n)`; the largest wins.

    Attributes:
        classes: names, each once.
        buckets: buckets per class, a power of two.
        scale: weight of one step of a byte.
        intercepts: one per class.
        weights: one row of `buckets` bytes per class; 128 is zero.
        fallback: class of a text that has no features.
        training: what the trainer says about the data and the held-out result; plain JSON values.

    Raises:
        ValueError: the parts do not fit together; the message is one clause.
    """

    classes: tuple[str, ...]
    buckets: int
    scale: float
    intercepts: tuple[float, ...]
    weights: tuple[bytes, ...]
    fallback: str
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 2 <= len(self.classes) <= MAX_CLASSES or len(set(self.classes)) != len(self.classes):
            raise ValueError(f"it must have 2 to {MAX_CLASSES} classes, each once")
        for name in self.classes:
            if not is_class_name(name):
                raise ValueError(f"a class name must be {RULE}")
        if self.fallback not in self.classes:
            raise ValueError("its fallback is none of its classes")
        if not MIN_BUCKETS <= self.buckets <= MAX_BUCKETS or self.buckets & (self.buckets - 1):
            raise ValueError(f"its buckets must be a power of two from {MIN_BUCKETS} to {MAX_BUCKETS}")
        if len(self.intercepts) != len(self.classes) or len(self.weights) != len(self.classes):
            raise ValueError("it must have one intercept and one row of weights per class")
        if any(len(row) != self.buckets for row in self.weights):
            raise ValueError("a row must have one weight per bucket")
        if not all(abs(value) <= MAX_WEIGHT for value in (self.scale, *self.intercepts)) or self.scale <= 0:
            raise ValueError(f"its scale and intercepts must be at most {MAX_WEIGHT:g}, and the scale above 0")
