from __future__ import annotations

import pytest

from specwatch_exporters.classes.evaluation import evaluate
from specwatch_exporters.classes.examples import Example


class FirstWord:
    """Takes the first word of a prompt for its class."""

    def classify(self, text: str) -> str:
        return text.split(maxsplit=1)[0]


CLASSES = ("chat", "code", "math")
EXAMPLES = [
    Example("code a", "code", "x"),
    Example("code b", "code", "y"),
    Example("chat c", "code", "y"),
    Example("chat d", "chat"),
]


def test_figures_worked_out_by_hand() -> None:
    result = evaluate(FirstWord(), CLASSES, EXAMPLES)
    assert result.to_json() == {
        "examples": 4,
        "accuracy": 0.75,
        "balanced_accuracy": pytest.approx((2 / 3 + 1) / 2),
        "classes": {
            "chat": {"examples": 1, "precision": 0.5, "recall": 1.0, "given": {"chat": 1, "code": 0, "math": 0}},
            "code": {"examples": 3, "precision": 1.0, "recall": 2 / 3, "given": {"chat": 1, "code": 2, "math": 0}},
            "math": {"examples": 0, "precision": None, "recall": None, "given": {"chat": 0, "code": 0, "math": 0}},
        },
        "sources": [
            {"source": "x", "class": "code", "examples": 1, "recall": 1.0},
            {"source": "y", "class": "code", "examples": 2, "recall": 0.5},
        ],
    }


def test_nothing_to_judge_is_unknown_not_zero() -> None:
    result = evaluate(FirstWord(), CLASSES, [])
    assert (result.accuracy, result.balanced_accuracy) == (None, None)


def test_a_class_that_the_model_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match="class 'legal' is none of the model's: chat, code, math"):
        evaluate(FirstWord(), CLASSES, [Example("code", "legal")])
