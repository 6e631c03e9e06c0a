"""Training: scikit-learn fits the linear model, the held-out part judges what will be written.

scikit-learn, numpy and scipy are in the `detect` extra and are imported here, when training starts.
"""

from __future__ import annotations

import importlib
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.classes.class_name import MAX_CLASSES, OTHER
from specwatch_exporters.classes.evaluation import Evaluation, evaluate
from specwatch_exporters.classes.examples import Example, disputes
from specwatch_exporters.classes.features import buckets_of
from specwatch_exporters.classes.hashed_linear import HashedLinearClassifier
from specwatch_exporters.classes.model import MAX_BUCKETS, MIN_BUCKETS, ZERO, Model
from specwatch_exporters.classes.split import split

BUCKETS = 1 << 15
REGULARISATION = 10.0
"""scikit-learn's `C`; on the shipped model's corpus, 3 to 100 give results within one point of each other."""
INSTALL = "pip install '.[detect]'"
_NAMED_DISPUTES = 3
_MAX_ITERATIONS = 1000


class TrainingError(ValueError):
    """Training is not possible; the message is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and what it does on prompts that it was not trained on.

    Attributes:
        model: what a file would hold.
        held_out: result of this very model, after rounding to 8 bits, on the held-out part.
    """

    model: Model
    held_out: Evaluation


def train(examples: Sequence[Example], *, test_share: float, seed: int, buckets: int = BUCKETS) -> Trained:
    """Fit a model to a part of the examples and judge it on the rest.

    Args:
        examples: labelled prompts, each text and class once.
        test_share: part held out, above 0 and at most 0.5.
        seed: chooses the split; fitting has no randomness.
        buckets: a power of two; the file has this many bytes per class.

    Raises:
        TrainingError: scikit-learn is missing, a setting is out of range, there are too many classes, or a prompt
            has two.
        SplitError: a class has too few examples.
    """
    if not 0 < test_share <= 0.5:
        raise TrainingError(f"the test share is {test_share:g}; it must be above 0 and at most 0.5")
    counts = Counter(example.name for example in examples)
    if len(counts) > MAX_CLASSES:
        raise TrainingError(f"{len(counts)} classes; a model may have {MAX_CLASSES} at most: merge some")
    if not MIN_BUCKETS <= buckets <= MAX_BUCKETS or buckets & (buckets - 1):
        raise TrainingError(f"{buckets} buckets; it must be a power of two from {MIN_BUCKETS} to {MAX_BUCKETS}")
    _refuse_disputes(disputes(examples))
    linear_model = _library("sklearn.linear_model")
    parts = split(examples, test_share, seed)
    classes = tuple(sorted(counts))
    matrix = _matrix((example.text for example in parts.train), buckets)
    if matrix.nnz == 0:
        raise TrainingError("no prompt has any word, digit or sign in it")
    estimator = linear_model.LogisticRegression(C=REGULARISATION, class_weight="balanced", max_iter=_MAX_ITERATIONS)
    estimator.fit(matrix, [classes.index(example.name) for example in parts.train])
    model = _model(classes, counts, *_rows(estimator))
    held_out = evaluate(HashedLinearClassifier(model), classes, parts.test)
    facts = {
        "examples": dict(sorted(counts.items())),
        "held_out": {
            "examples": held_out.examples,
            "accuracy": held_out.accuracy,
            "recall": {result.name: result.recall for result in held_out.per_class},
        },
        "seed": seed,
        "test_share": test_share,
    }
    return Trained(_model(classes, counts, *_rows(estimator), training=facts), held_out)


def _refuse_disputes(found: Sequence[tuple[Example, Example]]) -> None:
    """A prompt cannot belong to two classes: say where such prompts stand, and never what they say."""
    if not found:
        return
    places = ", ".join(
        f"lines {one.line} and {other.line} ({one.name}, {other.name})" for one, other in found[:_NAMED_DISPUTES]
    )
    subject = "1 prompt has" if len(found) == 1 else f"{len(found):,} prompts have"
    some = ", among them" if len(found) > _NAMED_DISPUTES else ""
    raise TrainingError(f"{subject} two classes{some}: {places}; keep one class for each")


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise TrainingError(
            f"training needs scikit-learn; install it, in specwatch's folder, with: {INSTALL}"
        ) from error


def _matrix(texts: Iterable[str], buckets: int) -> Any:
    """A sparse matrix with one row per text: 1 / sqrt(n) in each of its n buckets, as `Model` scores them."""
    columns, ends, values = array("i"), array("q", [0]), array("d")
    for text in texts:
        found = sorted(buckets_of(text, buckets))
        columns.extend(found)
        values.extend([1 / math.sqrt(len(found) or 1)] * len(found))
        ends.append(len(columns))
    sparse = _library("scipy.sparse")
    return sparse.csr_matrix((values, columns, ends), shape=(len(ends) - 1, buckets))


def _rows(estimator: Any) -> tuple[list[Any], list[float]]:
    """Weights and intercepts per class; two classes share one row in scikit-learn, with opposite signs."""
    rows, intercepts = list(estimator.coef_), [float(value) for value in estimator.intercept_]
    if len(rows) == 1:
        return [-rows[0] / 2, rows[0] / 2], [-intercepts[0] / 2, intercepts[0] / 2]
    return rows, intercepts


def _model(
    classes: tuple[str, ...],
    counts: Counter[str],
    rows: list[Any],
    intercepts: list[float],
    training: dict[str, Any] | None = None,
) -> Model:
    """Round weights to 8 bits: 127 steps each way up to the largest of them."""
    largest = max(float(abs(row).max()) for row in rows)
    scale = float(f"{max(largest, 1e-6) / 127:.6g}")
    weights = tuple(
        bytes(ZERO + max(-127, min(127, step)) for step in (row / scale).round().astype(int).tolist())
        for row in rows
    )
    return Model(
        classes=classes,
        buckets=len(weights[0]),
        scale=scale,
        intercepts=tuple(float(f"{value:.6g}") for value in intercepts),
        weights=weights,
        fallback=OTHER if OTHER in classes else max(classes, key=lambda name: counts[name]),
        training=training or {},
    )
