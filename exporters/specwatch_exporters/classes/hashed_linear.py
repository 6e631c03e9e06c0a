"""The classifier that specwatch ships: hashed features, one linear score per class, plain Python."""

from __future__ import annotations

import math
from operator import itemgetter
from pathlib import Path

from specwatch_exporters.classes.features import buckets_of
from specwatch_exporters.classes.model import ZERO, Model
from specwatch_exporters.classes.model_file import read_model

DEFAULT_MODEL = Path(__file__).with_name("default_model.bin")
"""The model that comes with specwatch: code, math, chat, other (docs/traffic-classes.md)."""


class HashedLinearClassifier:
    """Classifies with a trained model; nothing in it changes after construction, so threads may share it.

    The sums are whole numbers: every machine gives a text the same class.

    Args:
        model: from training or from a file.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    @classmethod
    def load(cls, path: Path) -> HashedLinearClassifier:
        """Read a model file.

        Raises:
            ModelFileError: it cannot be read or is not a sound model; the message is one line.
        """
        return cls(read_model(path))

    @classmethod
    def default(cls) -> HashedLinearClassifier:
        """Read the model that comes with specwatch."""
        return cls.load(DEFAULT_MODEL)

    @property
    def classes(self) -> tuple[str, ...]:
        """Every name that `classify` can return."""
        return self.model.classes

    def classify(self, text: str) -> str:
        """Return the class of a prompt; of one without any features (blanks only), the model's fallback."""
        scores = self.scores(text)
        if not scores:
            return self.model.fallback
        return self.model.classes[scores.index(max(scores))]

    def scores(self, text: str) -> tuple[float, ...]:
        """Return one score per class, in the order of `classes`; empty for a prompt without features."""
        model = self.model
        found = buckets_of(text, model.buckets)
        if not found:
            return ()
        # One bucket twice leaves the mean as it is; itemgetter gives a tuple only for two and more.
        keys = (*found, *found) if len(found) == 1 else tuple(found)
        pick = itemgetter(*keys)
        unit = model.scale * math.sqrt(len(found)) / len(keys)
        offset = ZERO * len(keys)
        return tuple(
            intercept + unit * (sum(pick(row)) - offset)
            for intercept, row in zip(model.intercepts, model.weights, strict=True)
        )
