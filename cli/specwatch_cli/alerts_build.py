"""`specwatch alerts build`: the rules as a file for Prometheus or for its operator."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError


class Source(StrEnum):
    """Whose series the rules read."""

    SIDECAR = "sidecar"
    ENGINE = "engine"


class Engine(StrEnum):
    """Which engine serves."""

    VLLM = "vllm"
    SGLANG = "sglang"


class Format(StrEnum):
    """What to write."""

    RULES = "rules"
    PROMETHEUSRULE = "prometheusrule"


def build_command(
    source: Annotated[
        Source, typer.Option(help="sidecar: specwatch's series; engine: the engine's own, where no sidecar runs.")
    ] = Source.SIDECAR,
    engine: Annotated[
        Engine, typer.Option(help="The engine, also behind a sidecar: bucket edges are its own.")
    ] = Engine.VLLM,
    form: Annotated[
        Format, typer.Option("--format", help="A rule file of Prometheus, or a PrometheusRule for its operator.")
    ] = Format.RULES,
    values: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your values, as TOML: targets, models, links, labels.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here instead of to standard output.")
    ] = None,
) -> None:
    """Print recording and alerting rules that load on Prometheus 2.42 to 3.x."""
    # The sidecar starts through the same command line: rules are loaded only to build them.
    from specwatch_alerts.origin import Origin  # noqa: PLC0415
    from specwatch_alerts.rule_build import build  # noqa: PLC0415
    from specwatch_alerts.rule_files import prometheus_rule, rule_file  # noqa: PLC0415
    from specwatch_alerts.values import ValuesError, load_values  # noqa: PLC0415

    origin = Origin.SIDECAR if source is Source.SIDECAR else Origin(engine.value)
    arguments = f"--source {source.value} --engine {engine.value} --format {form.value}"
    try:
        known = load_values(values)
        groups = build(known, origin, engine.value)
    except ValuesError as error:
        raise UserError(str(error), exit_code=2) from error
    if known.example_links:
        unset = " and ".join(known.example_links)
        typer.echo(f"note: links in the alerts lead to example.com; set {unset} in --values", err=True)
    text = rule_file(groups, arguments) if form is Format.RULES else prometheus_rule(groups, known, arguments)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
    count = sum(len(group["rules"]) for group in groups["groups"])
    typer.echo(f"{out}: {count} rules in {len(groups['groups'])} groups", err=True)
