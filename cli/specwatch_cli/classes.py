"""`specwatch classes`: train and judge the classifier that gives prompts their traffic class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from specwatch_cli.errors import UserError
from specwatch_exporters.classes.evaluation import Evaluation, evaluate
from specwatch_exporters.classes.examples import ExampleFile, ExamplesError, read_examples
from specwatch_exporters.classes.hashed_linear import DEFAULT_MODEL, HashedLinearClassifier
from specwatch_exporters.classes.model_file import ModelFileError, write_model
from specwatch_exporters.classes.split import SplitError
from specwatch_exporters.classes.training import BUCKETS, TrainingError, train

app = typer.Typer(no_args_is_help=True, help="Traffic classes of prompts: train a classifier and judge it.")

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE.jsonl",
        help="Labelled prompts: one JSON object per line with text and class, and source and group where known.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object; unknown numbers are null.")]
MODEL_HELP = "A file that `classes train` wrote; `default` is the model that comes with specwatch."


@app.command("train")
def train_command(
    file: FileArgument,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="Where to write the model.")] = Path(
        "traffic-classes.bin"
    ),
    test_share: Annotated[
        float, typer.Option(metavar="SHARE", help="Part of each class held out to judge the model; at most 0.5.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(metavar="N", help="Another number gives another split.")] = 0,
    buckets: Annotated[
        int, typer.Option(metavar="N", help="Hash buckets, a power of two: bytes of the file per class.")
    ] = BUCKETS,
    as_json: JsonOption = False,
) -> None:
    """Train a model on labelled prompts, report what it does on held-out ones, and write one file.

    Needs scikit-learn: pip install '.[detect]'. The sidecar that loads the file does not.
    """
    read = _read(file)
    try:
        trained = train(read.examples, test_share=test_share, seed=seed, buckets=buckets)
        size = write_model(trained.model, out)
    except (TrainingError, SplitError) as error:
        raise UserError(f"{file}: {error}") from error
    except ModelFileError as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror or error}") from error
    facts = {"model": str(out), "bytes": size, "repeats": read.repeats, "held_out": trained.held_out.to_json()}
    _show(trained.held_out, f"{file}, held-out {test_share:.0%}", facts, as_json=as_json)
    if not as_json:
        repeated = f"; {read.repeats:,} repeated lines were left out" if read.repeats else ""
        typer.echo(f"wrote {out} ({size:,} bytes){repeated}")


@app.command("eval")
def eval_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    file: FileArgument,
    as_json: JsonOption = False,
) -> None:
    """Judge a model on labelled prompts; on prompts that it was trained on the figures mean nothing."""
    classifier = _load(model)
    read = _read(file)
    try:
        result = evaluate(classifier, classifier.classes, read.examples)
    except ValueError as error:
        raise UserError(f"{file}: {error}") from error
    facts = {"model": model, "repeats": read.repeats, "result": result.to_json()}
    _show(result, f"{model} on {file}", facts, as_json=as_json)


@app.command("show")
def show_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)] = "default",
    as_json: JsonOption = False,
) -> None:
    """Say what a model file holds: classes, size, and what its training reported."""
    held = _load(model).model
    if as_json:
        facts = {
            "classes": held.classes,
            "buckets": held.buckets,
            "fallback": held.fallback,
            "training": dict(held.training),
        }
        typer.echo(json.dumps(facts, indent=1, allow_nan=False))
    else:
        from specwatch_cli.classes_view import print_model  # noqa: PLC0415 - brings rich, for this command only

        print_model(held, model)


def _load(model: str) -> HashedLinearClassifier:
    try:
        return HashedLinearClassifier.load(DEFAULT_MODEL if model == "default" else Path(model))
    except ModelFileError as error:
        raise UserError(str(error)) from error


def _read(file: Path) -> ExampleFile:
    try:
        return read_examples(file)
    except ExamplesError as error:
        raise UserError(str(error)) from error


def _show(result: Evaluation, title: str, facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(facts, indent=1, allow_nan=False))
    else:
        from specwatch_cli.classes_view import print_evaluation  # noqa: PLC0415 - brings rich, for this command only

        print_evaluation(result, title)
