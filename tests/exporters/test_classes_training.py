from __future__ import annotations

import importlib
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.classes.evaluation import evaluate
from specwatch_exporters.classes.examples import Example, disputes
from specwatch_exporters.classes.features import buckets_of
from specwatch_exporters.classes.hashed_linear import HashedLinearClassifier
from specwatch_exporters.classes.model_file import encode_model, read_model, write_model
from specwatch_exporters.classes.split import SplitError, split
from specwatch_exporters.classes.training import REGULARISATION, TrainingError, train

BUCKETS = 1 << 10
WORDS = {
    "chat": "hello friend story weather feel holiday recipe advice",
    "code": "def return import class self lambda print while",
    "math": "solve prove integral triangle sum equation prime root",
}
COMMON = "the a of and please is to in"


def corpus(names: tuple[str, ...] = ("chat", "code", "math"), count: int = 60) -> list[Example]:
    rng = Random(5)
    return [
        Example(
            " ".join(rng.choices(f"{WORDS[name]} {COMMON}".split(), k=rng.randint(4, 30))) + f" {name}{number}",
            name,
        )
        for name in names
        for number in range(count)
    ]


@pytest.mark.parametrize("names", [("chat", "code"), ("chat", "code", "math")])
def test_scores_are_those_of_scikit_learn_but_for_rounding(names: tuple[str, ...]) -> None:
    examples = corpus(names)
    trained = train(examples, test_share=0.25, seed=3, buckets=BUCKETS)
    parts = split(examples, 0.25, 3)
    fitted = _scikit_learn(parts.train, names)
    classifier = HashedLinearClassifier(trained.model)
    step = trained.model.scale / 2
    for example in parts.test:
        dense = _dense(example.text)
        expected = list(fitted.decision_function([dense])[0]) if len(names) > 2 else _two(fitted, dense)
        slack = step * math.sqrt(len(buckets_of(example.text, BUCKETS))) + 1e-4
        assert classifier.scores(example.text) == pytest.approx(expected, abs=slack)


def test_the_held_out_result_is_that_of_the_file(tmp_path: Path) -> None:
    examples = corpus()
    trained = train(examples, test_share=0.2, seed=1, buckets=BUCKETS)
    write_model(trained.model, tmp_path / "m.bin")
    read = read_model(tmp_path / "m.bin")
    assert read == trained.model
    again = evaluate(HashedLinearClassifier(read), read.classes, split(examples, 0.2, 1).test)
    assert again == trained.held_out
    assert (again.examples, again.accuracy) == (36, 1.0)
    assert read.training["examples"] == {"chat": 60, "code": 60, "math": 60}
    assert read.training["held_out"]["accuracy"] == 1.0


def test_the_same_data_gives_the_same_bytes_whatever_its_order() -> None:
    examples = corpus()
    shuffled = examples.copy()
    Random(9).shuffle(shuffled)
    models = [train(given, test_share=0.2, seed=0, buckets=BUCKETS).model for given in (examples, shuffled)]
    assert encode_model(models[0]) == encode_model(models[1])


def test_a_rare_class_is_not_drowned() -> None:
    rare = [example for example in corpus() if example.name != "math" or example.text[-1] in "02468"]
    many = rare + [Example(example.text + " more", "chat") for example in rare if example.name == "chat"]
    result = train(many, test_share=0.2, seed=0, buckets=BUCKETS).held_out
    assert all(row.recall == 1.0 for row in result.per_class)


@pytest.mark.parametrize(
    ("other", "fallback"), [("other", "other"), ("zebra", "code")], ids=["other", "the largest class"]
)
def test_a_blank_prompt_gets_other_or_the_largest_class(other: str, fallback: str) -> None:
    examples = [
        Example(example.text, other if example.name == "math" else example.name)
        for example in corpus()
        if example.name == "code" or not example.text.endswith("9")
    ]
    model = train(examples, test_share=0.2, seed=0, buckets=BUCKETS).model
    assert HashedLinearClassifier(model).classify("  ") == fallback


@pytest.mark.parametrize(
    ("share", "buckets", "words"),
    [
        (0.0, BUCKETS, "the test share is 0; it must be above 0 and at most 0.5"),
        (0.6, BUCKETS, "the test share is 0.6"),
        (math.nan, BUCKETS, "the test share is nan"),
        (0.2, 1000, "1000 buckets; it must be a power of two from 256 to 1048576"),
        (0.2, 128, "128 buckets"),
    ],
)
def test_settings_out_of_range_are_refused(share: float, buckets: int, words: str) -> None:
    with pytest.raises(TrainingError, match=words):
        train(corpus(), test_share=share, seed=0, buckets=buckets)


def test_what_cannot_be_learned_is_refused() -> None:
    with pytest.raises(TrainingError, match="13 classes; a model may have 12 at most"):
        train([Example(f"{n} {k}", f"c{n}") for n in range(13) for k in range(20)], test_share=0.2, seed=0)
    blanks = [Example("\x00" * (n + 1), "ab"[n % 2]) for n in range(40)]
    with pytest.raises(TrainingError, match="no prompt has any word"):
        train(blanks, test_share=0.2, seed=0)
    with pytest.raises(SplitError, match="class 'math' has 5"):
        train([*corpus(("chat", "code")), *corpus(("math",), 5)], test_share=0.2, seed=0)


def labelled(*pairs: tuple[str, str]) -> list[Example]:
    return [*corpus(), *(Example(text, name, line=at) for at, (text, name) in enumerate(pairs, start=1))]


NINE = [str(number) for number in range(9)]


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (
            [("tell nobody", "code"), ("tell nobody", "chat")],
            "1 prompt has two classes: lines 1 and 2 (code, chat)",
        ),
        (
            [("a", "chat"), ("b", "chat"), ("a", "code"), ("b", "math"), ("b", "code")],
            "2 prompts have two classes: lines 1 and 3 (chat, code), lines 2 and 4 (chat, math)",
        ),
        (
            [*((text, "chat") for text in NINE), *((text, "code") for text in NINE)],
            "9 prompts have two classes, among them: "
            + ", ".join(f"lines {at} and {at + 9} (chat, code)" for at in (1, 2, 3)),
        ),
    ],
)
def test_one_prompt_under_two_classes_is_named_and_never_quoted(pairs: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(TrainingError) as caught:
        train(labelled(*pairs), test_share=0.2, seed=0, buckets=BUCKETS)
    assert str(caught.value) == f"{words}; keep one class for each"


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["x", "y"]))))
def test_only_a_prompt_with_two_classes_is_disputed(pairs: list[tuple[str, str]]) -> None:
    disputed = len({text for text, _ in pairs}) < len(set(pairs))
    assert bool(disputes(labelled(*pairs))) == disputed


def test_without_scikit_learn_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(TrainingError, match=r"training needs scikit-learn; .* pip install '\.\[detect\]'"):
        train(corpus(), test_share=0.2, seed=0)


def _scikit_learn(examples: tuple[Example, ...], names: tuple[str, ...]) -> Any:
    """The same fit from dense rows, without any of the code under test but the buckets."""
    linear_model = importlib.import_module("sklearn.linear_model")
    estimator = linear_model.LogisticRegression(C=REGULARISATION, class_weight="balanced", max_iter=1000)
    return estimator.fit([_dense(example.text) for example in examples], [names.index(e.name) for e in examples])


def _dense(text: str) -> list[float]:
    found = buckets_of(text, BUCKETS)
    return [1 / math.sqrt(len(found)) if bucket in found else 0.0 for bucket in range(BUCKETS)]


def _two(fitted: Any, dense: list[float]) -> list[float]:
    margin = float(fitted.decision_function([dense])[0])
    return [-margin / 2, margin / 2]
