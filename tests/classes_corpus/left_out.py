"""What the classifier does on a source that it has never seen: train without it, judge on all of it."""

from __future__ import annotations

from collections.abc import Sequence

from specwatch_exporters.classes.evaluation import SourceResult, evaluate
from specwatch_exporters.classes.examples import Example
from specwatch_exporters.classes.hashed_linear import HashedLinearClassifier
from specwatch_exporters.classes.training import train


def left_out(examples: Sequence[Example], test_share: float, seed: int) -> list[SourceResult]:
    """One row per source, each from a model of its own that was trained without that source."""
    rows: list[SourceResult] = []
    for source in sorted({example.source or "" for example in examples}):
        rest = [example for example in examples if example.source != source]
        model = train(rest, test_share=test_share, seed=seed).model
        judged = [example for example in examples if example.source == source]
        rows += evaluate(HashedLinearClassifier(model), model.classes, judged).sources
    return rows
