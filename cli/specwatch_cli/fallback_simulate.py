"""`specwatch fallback simulate`: a recording through the policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specwatch_cli.errors import UserError
from specwatch_cli.fallback_config_file import read_config

if TYPE_CHECKING:
    from specwatch_detectors.fallback.fallback_settings import FallbackSettings
    from specwatch_detectors.fallback.level import Level
    from specwatch_detectors.fallback.level_rule import LevelRule
    from specwatch_detectors.payoff.payoff import Bounds


def simulate_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Audit log, JSON lines of inputs, or what Prometheus's /api/v1/query_range answered for "
            "specwatch_payoff_speedup_ratio.",
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Model, levels, constants and estimates from here."),
    ] = None,
    level_label: Annotated[
        str, typer.Option(metavar="NAME", help="Label of a dump whose value is the level.")
    ] = "pool_level",
    output: Annotated[str, typer.Option("--format", metavar="text|json", help="How to print it.")] = "text",
) -> None:
    """Say what the controller would have done, and the capacity that would have saved against doing nothing.

    Exit status: 0, 1 when the file holds nothing to replay, 2 for wrong usage.
    """
    if output not in {"text", "json"}:
        raise UserError("--format is text or json", exit_code=2)
    from specwatch_detectors.fallback.fallback_replay import replay  # noqa: PLC0415 - not needed for --help
    from specwatch_detectors.fallback.recording import RecordingError, read_recording  # noqa: PLC0415 - likewise

    settings, rule, estimates, model = _known(config, level_label)
    try:
        recorded = read_recording(file, settings, rule, estimates, model)
    except RecordingError as error:
        raise UserError(str(error)) from error
    outcome = replay(recorded, settings)
    if output == "json":
        typer.echo(json.dumps(outcome.as_json(), indent=1))
        return
    from specwatch_cli.fallback_simulate_view import print_outcome  # noqa: PLC0415 - not for json

    print_outcome(outcome)


def _known(config: Path | None, label: str) -> tuple[FallbackSettings, LevelRule, Mapping[Level, Bounds], str]:
    from specwatch_detectors.fallback.fallback_settings import FallbackSettings  # noqa: PLC0415 - not for --help
    from specwatch_detectors.fallback.level_rule import LevelRule  # noqa: PLC0415 - likewise

    if config is None:
        return FallbackSettings(), LevelRule(label), {}, ""
    known = read_config(config)
    rule = LevelRule(label) if known.seen.rule.shared else known.seen.rule
    return known.policy, rule, known.seen.estimates, known.model
