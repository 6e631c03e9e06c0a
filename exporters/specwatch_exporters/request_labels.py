"""Labels of request metrics: batch buckets, names that are safe, and how many of them there may be.

A client chooses its class and, through LoRA names, its model. Here is what keeps that from growing without end.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable
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

    A model that keeps its name has places for class `other` set aside, one per batch bucket, so that a class can
    always be given up before the model.

    Attributes:
        classes: traffic classes, `other` included: by default those of the largest classifier, `default`, `other`.
        models: models that keep their names whatever came before them; more do while there are few other
            combinations. A second method of speculation of a model takes a place of its own.
        sets: series of the histograms with a class of their own: combinations of model, class, batch and
            speculation; by default every class of one model at every batch size.
        groups: series of the counters with a class of their own: combinations of model, class and speculation.
    """

    classes: int = MAX_CLASSES + 2
    models: int = 8
    sets: int = (MAX_CLASSES + 1) * len(BATCH_LABELS)
    groups: int = 40


class SetLabels(NamedTuple):
    """Label values of the histograms, in the catalogue's order."""

    model: str
    traffic_class: str
    batch: str
    speculation: str


class GroupLabels(NamedTuple):
    """Label values of the counters of drafts, in the catalogue's order."""

    model: str
    traffic_class: str
    speculation: str


class PairLabels(NamedTuple):
    """Label values of the other counters, in the catalogue's order."""

    model: str
    traffic_class: str


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

    One decision per model and one per model and class hold for histograms and counters alike, so their sums agree;
    only a class that has its place can still lack one at a further batch size.

    Args:
        limits: see `RequestLimits`.
        reserved: classes that have a place from the start, such as those that rules name.

    Raises:
        ValueError: there are more reserved classes than places.
    """

    def __init__(self, limits: RequestLimits, reserved: Iterable[str] = ()) -> None:
        self._limits = limits
        self._classes = {OTHER}
        self._methods: dict[str, set[str]] = {}
        self._places = 0
        self._sets = _Room(limits.sets, limits.models, len(BATCH_LABELS))
        self._groups = _Room(limits.groups, limits.models, 1)
        self._pairs = _Room(limits.groups, limits.models, 1)
        for name in reserved:
            if self.admit_class(name) is None:
                raise ValueError(f"no place for the class {name!r}: {limits.classes} at most, {OTHER!r} included")

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
        model, traffic_class, batch, speculation = labels
        if not self._named(model, speculation):
            return SetLabels(OTHER, OTHER, batch, UNKNOWN)
        kept = self._classed(model, traffic_class) and self._sets.admit(labels, self._places)
        return labels if kept else labels._replace(traffic_class=OTHER)

    def admit_group(self, labels: GroupLabels) -> GroupLabels:
        """Likewise for counters that tell the speculation."""
        model, traffic_class, speculation = labels
        if not self._named(model, speculation):
            return GroupLabels(OTHER, OTHER, UNKNOWN)
        kept = self._classed(model, traffic_class) and self._groups.admit(labels, self._places)
        return labels if kept else labels._replace(traffic_class=OTHER)

    def admit_pair(self, labels: PairLabels) -> PairLabels:
        """Likewise for counters that do not."""
        model, traffic_class = labels
        if not self._named(model):
            return PairLabels(OTHER, OTHER)
        return labels if self._classed(model, traffic_class) else PairLabels(model, OTHER)

    def _named(self, model: str, method: str | None = None) -> bool:
        """Whether the model keeps its name, with this method of speculation; its first one shares its place."""
        methods = self._methods.get(model)
        if methods is not None and (method is None or method in methods):
            return True
        if methods is None or methods:
            if not all(room.has_place(self._places) for room in (self._sets, self._groups, self._pairs)):
                return False
            self._places += 1
        self._methods.setdefault(model, set()).update(() if method is None else (method,))
        return True

    def _classed(self, model: str, traffic_class: str) -> bool:
        """Whether a class of a model with a place keeps its name; `other` has none to keep."""
        return traffic_class != OTHER and self._pairs.admit((model, traffic_class), self._places)


class _Room:
    """Combinations with a class of their own, beside what every place of a model sets aside for `other`.

    Args:
        limit: combinations.
        models: places that there is room for beside all of them; one more is for the model `other`.
        per_place: what a place sets aside.
    """

    def __init__(self, limit: int, models: int, per_place: int) -> None:
        self._limit = limit
        self._per_place = per_place
        self._total = limit + (models + 1) * per_place
        self._admitted: set[Hashable] = set()

    def has_place(self, places: int) -> bool:
        """Whether there is room for one more than so many places."""
        return len(self._admitted) + (places + 2) * self._per_place <= self._total

    def admit(self, labels: Hashable, places: int) -> bool:
        """Whether a combination is admitted, beside so many places."""
        if labels in self._admitted:
            return True
        most = min(self._limit, self._total - (places + 1) * self._per_place)
        if len(self._admitted) >= most:
            return False
        self._admitted.add(labels)
        return True
