from __future__ import annotations

import copy
import logging
import math
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.classes.classifier import Classifier
from specwatch_exporters.classes.features import buckets_of
from specwatch_exporters.classes.hashed_linear import DEFAULT_MODEL, HashedLinearClassifier
from specwatch_exporters.classes.model import Model

PAGE = Path(__file__).parents[2] / "docs/traffic-classes.md"
SIZE = 256
MODEL = Model(
    classes=("code", "math", "other"),
    buckets=SIZE,
    scale=0.125,
    intercepts=(0.25, 0.0, -0.25),
    weights=(bytes(range(256)), bytes(reversed(range(256))), bytes([128]) * 256),
    fallback="other",
)
SHIPPED = HashedLinearClassifier.default()


@given(st.text(max_size=200))
def test_scores_are_the_stated_formula(text: str) -> None:
    found = buckets_of(text, SIZE)
    expected = [
        intercept + MODEL.scale * sum(row[bucket] - 128 for bucket in found) / math.sqrt(len(found))
        for intercept, row in zip(MODEL.intercepts, MODEL.weights, strict=True)
        if found
    ]
    assert HashedLinearClassifier(MODEL).scores(text) == pytest.approx(tuple(expected))


@given(st.text(st.characters(), max_size=500))
def test_any_text_gets_one_of_the_classes(text: str) -> None:
    assert SHIPPED.classify(text) in SHIPPED.classes


def test_a_blank_prompt_gets_the_fallback() -> None:
    assert HashedLinearClassifier(MODEL).classify(" \t ") == "other"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Write a Python function that returns the n-th Fibonacci number.", "code"),
        ("def is_even(n: int) -> bool:\n    '''Return True if n is even.'''\n", "code"),
        ("SELECT id, name FROM users WHERE age > 30 ORDER BY name;", "code"),
        ("How do I fix TypeError: 'int' object is not iterable?", "code"),
        ("Solve for x: 3x^2 - 12x + 9 = 0", "math"),
        ("Tom has 12 apples and gives a third of them to his sister. How many apples are left?", "math"),
        ("Prove that $\\sqrt{2}$ is irrational.", "math"),
        ("What is the capital of Norway?", "chat"),
        ("Write a birthday poem for my mother.", "chat"),
        ("I had a fight with my best friend and I feel terrible. What should I do?", "chat"),
        ("2026-03-01T10:00:01Z ERROR [worker-1] request finished in 3 ms\n" * 9, "other"),
        (
            "Summarize the following text:\n\nThe council approved the plan on Monday. Residents had objected.",
            "other",
        ),
        ("Настройки были сохранены. Проверьте имя пользователя.", "other"),
    ],
)
def test_the_shipped_model_knows_clear_prompts(text: str, name: str) -> None:
    assert SHIPPED.classify(text) == name


def test_the_shipped_model_is_small_and_has_the_stated_classes() -> None:
    assert DEFAULT_MODEL.stat().st_size <= 256 << 10
    assert SHIPPED.classes == ("chat", "code", "math", "other")


def test_the_page_shows_the_figures_of_the_shipped_model() -> None:
    held_out: dict[str, Any] = SHIPPED.model.training["held_out"]
    table = PAGE.read_text().split("<!-- begin: held-out -->")[1].split("<!-- end: held-out -->")[0]
    assert f"Accuracy {held_out['accuracy']:.1%} of {held_out['examples']:,} prompts" in table
    for name, recall in held_out["recall"].items():
        assert re.search(rf"^\| {name} \| [\d,]+ \| \S+ \| {recall:.1%} \|", table, re.MULTILINE)


def test_threads_may_share_a_classifier() -> None:
    texts = [f"{word} {number}" * 50 for word in ("solve x =", "def f(): return", "hello") for number in range(20)]
    alone = [SHIPPED.scores(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(SHIPPED.scores, texts)) == alone


def test_a_prompt_of_10_mib_is_read_in_windows_only() -> None:
    piece = "the committee met in the old town hall. "
    huge = piece * ((10 << 20) // len(piece))
    assert len(buckets_of(huge, SIZE)) <= len(buckets_of(piece * 80, SIZE)) + 4
    assert SHIPPED.classify(huge) == SHIPPED.classify(piece * 80)


def test_nothing_of_a_prompt_is_kept_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    before = copy.deepcopy(vars(SHIPPED))
    SHIPPED.classify("my password is hunter2")
    assert vars(SHIPPED) == before
    assert caplog.records == []


def test_it_is_what_the_sidecar_asks_for() -> None:
    classifier: Classifier = SHIPPED
    assert isinstance(classifier.classify("hello"), str)


def test_classifying_loads_no_heavy_library() -> None:
    program = (
        "import sys; from specwatch_exporters.classes.hashed_linear import HashedLinearClassifier;"
        "HashedLinearClassifier.default().classify('hello');"
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'pandas', 'pickle') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
