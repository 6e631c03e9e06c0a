"""How well a classifier does on labelled prompts: accuracy, precision, recall, confusion, per source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.classes.classifier import Classifier
from specwatch_exporters.classes.examples import Example


@dataclass(frozen=True, slots=True)
class ClassResult:
    """Figures of one class; 0/0 is None.

    Attributes:
        name: the class.
        examples: prompts that are of this class.
        predicted: prompts that were given this class.
        correct: prompts that are both.
    """

    name: str
    examples: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float | None:
        """Part of what was given this class that is of it."""
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float | None:
        """Part of what is of this class that was given it."""
        return ratio(self.correct, self.examples)


@dataclass(frozen=True, slots=True)
class SourceResult:
    """Prompts of one class from one source, and how many of them were given their class."""

    source: str
    name: str
    examples: int
    correct: int

    @property
    def recall(self) -> float | None:
        """Part that was given its class."""
        return ratio(self.correct, self.examples)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result over a set of prompts.

    Attributes:
        classes: names, in the model's order.
        confusion: (true class, given class) to number of prompts; absent is 0.
        sources: one row per source and class, for the prompts that name a source.
    """

    classes: tuple[str, ...]
    confusion: Mapping[tuple[str, str], int]
    sources: tuple[SourceResult, ...] = ()

    @property
    def examples(self) -> int:
        """Prompts in all."""
        return sum(self.confusion.values())

    @property
    def accuracy(self) -> float | None:
        """Part of all prompts that were given their class."""
        return ratio(sum(self.confusion.get((name, name), 0) for name in self.classes), self.examples)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean recall of the classes that have prompts: what accuracy would be if each had as many."""
        recalls = [result.recall for result in self.per_class if result.recall is not None]
        return ratio(sum(recalls), len(recalls))

    @property
    def per_class(self) -> tuple[ClassResult, ...]:
        """Figures of each class, in order."""
        return tuple(
            ClassResult(
                name,
                examples=sum(self.confusion.get((name, given), 0) for given in self.classes),
                predicted=sum(self.confusion.get((true, name), 0) for true in self.classes),
                correct=self.confusion.get((name, name), 0),
            )
            for name in self.classes
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; unknown ratios are null."""
        return {
            "examples": self.examples,
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "classes": {
                result.name: {
                    "examples": result.examples,
                    "precision": result.precision,
                    "recall": result.recall,
                    "given": {given: self.confusion.get((result.name, given), 0) for given in self.classes},
                }
                for result in self.per_class
            },
            "sources": [
                {
                    "source": row.source,
                    "class": row.name,
                    "examples": row.examples,
                    "recall": row.recall,
                }
                for row in self.sources
            ],
        }


def evaluate(classifier: Classifier, classes: Sequence[str], examples: Iterable[Example]) -> Evaluation:
    """Classify labelled prompts and count.

    Args:
        classifier: what is judged.
        classes: every class that it can give.
        examples: prompts whose class is one of these.

    Raises:
        ValueError: an example has another class; the message is one clause that names it.
    """
    known = frozenset(classes)
    confusion: Counter[tuple[str, str]] = Counter()
    by_source: Counter[tuple[str, str]] = Counter()
    correct: Counter[tuple[str, str]] = Counter()
    for example in examples:
        if example.name not in known:
            raise ValueError(f"class '{example.name}' is none of the model's: {', '.join(classes)}")
        given = classifier.classify(example.text)
        confusion[example.name, given] += 1
        if example.source is not None:
            by_source[example.source, example.name] += 1
            correct[example.source, example.name] += given == example.name
    rows = (SourceResult(*key, by_source[key], correct[key]) for key in sorted(by_source))
    return Evaluation(tuple(classes), confusion, tuple(rows))


def ratio(part: float, whole: float) -> float | None:
    """Part over whole; None when there is no whole."""
    return part / whole if whole else None
