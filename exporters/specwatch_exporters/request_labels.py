"""Labels of request metrics: batch buckets, names that are safe, and how many of them there may be.

A client chooses its class and, through LoRA names, its model. Here is what keeps that from growing without end.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, NamedTuple

from specwatch_exporters.classes.class_name import MAX_CLASSES, OTHER

UNKNOWN: Final = "unknown"
BATCH_EDGES: Final = (1, 2, 4, 8, 16, 32, 64, 128)
BATCH_LABELS: Final = (*map(str, BATCH_EDGES), "+")
MAX_CLASS_LENGTH: Final = 32
MAX_MODEL_LENGTH: Final = 128
_ODD: Final = re.compile(r"[^a-z0-9_.-]+")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f]+")


class RequestLimits(NamedTuple):
    """How many labels request metrics may have.

    Attributes:
        classes: traffic classes, `other` included.
        sets: combinations of model, class, batch and speculation: series of the histograms.
        groups: combinations of model, class and speculation: series of the counters.
    """

    classes: int = MAX_CLASSES
    sets: int = 128
    groups: int = 48


class SetLabels(NamedTuple):
    """Label values of the histograms, in the catalogue's order."""

    model: str
    traffic_class: str
    batch: str
    speculation: str


class GroupLabels(NamedTuple):
    """Label values of the counters, in the catalogue's order."""

    model: str
    traffic_class: str
    speculation: str


def batch_label(size: float) -> str:
    """The upper edge of the bucket that a batch size falls into; `+` above 128, and 1 for less than one."""
    return BATCH_LABELS[bisect_left(BATCH_EDGES, round(size))]


def class_label(name: str) -> str:
    """A class name as a label: lower case, other characters than letters, digits and `_.-` become `-`.

    Returns:
        At most 32 characters; empty if nothing is left.
    """
    return _ODD.sub("-", name.strip().lower()).lstrip("-_.")[:MAX_CLASS_LENGTH].rstrip("-")


def model_label(name: str | None) -> str:
    """A model name as a label: what UTF-8 can hold, printable, at most 128 characters, `unknown` for none."""
    whole = (name or "").encode("utf-8", errors="replace").decode()
    return _UNPRINTABLE.sub(" ", whole).strip()[:MAX_MODEL_LENGTH] or UNKNOWN


class LabelBook:
    """Admits labels in order of arrival up to the limits; what comes later becomes `other`.

    Args:
        limits: see `RequestLimits`.
        reserved: classes that have a place from the start, such as those that rules name.
    """

    def __init__(self, limits: RequestLimits, reserved: Iterable[str] = ()) -> None:
        self._limits = limits
        self._classes = {OTHER}
        self._sets: set[SetLabels] = set()
        self._groups: set[GroupLabels] = set()
        for name in reserved:
            self.admit_class(name)

    @property
    def classes(self) -> frozenset[str]:
        """Classes admitted so far."""
        return frozenset(self._classes)

    def admit_class(self, name: str) -> str | None:
        """The class's label, or None if there is no place left for it; an empty name is `other`."""
        label = class_label(name) or OTHER
        if label not in self._classes:
            if len(self._classes) >= self._limits.classes:
                return None
            self._classes.add(label)
        return label

    def admit_set(self, labels: SetLabels) -> SetLabels:
        """The labels, or those in their place: first the class is given up, then everything but the batch."""
        if labels in self._sets or self._room(self._sets, self._limits.sets):
            self._sets.add(labels)
            return labels
        folded = labels._replace(traffic_class=OTHER)
        return folded if folded in self._sets else SetLabels(OTHER, OTHER, labels.batch, UNKNOWN)

    def admit_group(self, labels: GroupLabels) -> GroupLabels:
        """Likewise for the counters' labels."""
        if labels in self._groups or self._room(self._groups, self._limits.groups):
            self._groups.add(labels)
            return labels
        folded = labels._replace(traffic_class=OTHER)
        return folded if folded in self._groups else GroupLabels(OTHER, OTHER, UNKNOWN)

    @staticmethod
    def _room(admitted: set[SetLabels] | set[GroupLabels], limit: int) -> bool:
        return len(admitted) < limit
