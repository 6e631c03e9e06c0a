from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner, Result

from specwatch_cli.classes import app
from specwatch_cli.errors import UserError

WORDS = {"code": "def return import class", "math": "solve prove sum prime"}


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    rng = Random(4)
    rows = [
        {"text": " ".join(rng.choices(words.split(), k=9)) + f" n{number}", "class": name, "source": "made-up"}
        for name, words in WORDS.items()
        for number in range(30)
    ]
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    return path


def specwatch(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_train_reports_writes_and_can_be_judged_and_shown(prompts: Path, tmp_path: Path) -> None:
    model = tmp_path / "own.bin"
    trained = specwatch("train", prompts, "--out", model)
    assert trained.exit_code == 0
    assert "accuracy 100.0% of 12 prompts" in trained.output
    assert "1 repeated lines were left out" in trained.output
    judged = specwatch("eval", model, prompts)
    assert "accuracy 100.0% of 60 prompts" in judged.output
    assert "made-up" in judged.output
    shown = specwatch("show", model)
    assert "2 classes, 32,768 buckets" in shown.output
    assert "held-out accuracy 100.0%" in shown.output


def test_json_has_the_same_figures(prompts: Path, tmp_path: Path) -> None:
    model = tmp_path / "own.bin"
    trained = json.loads(specwatch("train", prompts, "--out", model, "--json", "--test-share", "0.5").stdout)
    assert trained["bytes"] == model.stat().st_size
    assert (trained["repeats"], trained["held_out"]["examples"], trained["held_out"]["accuracy"]) == (1, 30, 1.0)
    judged = json.loads(specwatch("eval", model, prompts, "--json").stdout)
    assert judged["result"]["classes"]["code"]["given"] == {"code": 30, "math": 0}
    shown = json.loads(specwatch("show", model, "--json").stdout)
    assert shown["classes"] == ["code", "math"]
    assert shown["training"]["held_out"]["accuracy"] == 1.0


def test_the_shipped_model_is_shown_and_judged_by_name(tmp_path: Path) -> None:
    assert "4 classes" in specwatch("show").output
    path = tmp_path / "one.jsonl"
    path.write_text('{"text": "Write a Python function that adds two numbers.", "class": "code"}')
    assert "accuracy 100.0% of 1 prompts" in specwatch("eval", "default", path).output


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        ('{"text": "a", "class": "code"}\n{"text": 3}\n', [], "prompts.jsonl:2: 'text' must be a string"),
        ('{"text": "a", "class": "code"}\n', [], "only one class in it"),
        (None, ["--test-share", "0.9"], "the test share is 0.9"),
        (None, ["--buckets", "77"], "77 buckets"),
        (None, ["--out", "{folder}/no/such/m.bin"], "cannot be written: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(
    content: str | None, arguments: list[str], words: str, prompts: Path, tmp_path: Path
) -> None:
    if content is not None:
        prompts.write_text(content)
    given = [argument.format(folder=tmp_path) for argument in arguments]
    result = specwatch("train", prompts, "--out", tmp_path / "m.bin", *given)
    assert isinstance(result.exception, UserError)
    assert words in str(result.exception)
    assert list(tmp_path.iterdir()) == [prompts]


@pytest.mark.parametrize(
    ("model", "words"), [("none.bin", "cannot be read"), ("prompts.jsonl", "not a traffic class model")]
)
def test_an_unusable_model_is_one_line(model: str, words: str, prompts: Path) -> None:
    result = specwatch("eval", prompts.with_name(model), prompts)
    assert isinstance(result.exception, UserError)
    assert words in str(result.exception)


def test_a_class_that_the_model_lacks_is_one_line(prompts: Path) -> None:
    prompts.write_text('{"text": "a", "class": "legal"}')
    result = specwatch("eval", "default", prompts)
    assert "class 'legal' is none of the model's: chat, code, math, other" in str(result.exception)
