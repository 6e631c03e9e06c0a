"""`specwatch scale simulate`: a trace of arrivals under specwatch's demand and the ways of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specwatch_cli.detect_values import duration
from specwatch_cli.errors import UserError

if TYPE_CHECKING:
    from specwatch_deploy.scale.simulation.comparison import Comparison
    from specwatch_deploy.scale.simulation.contenders import SimulationSettings
    from specwatch_deploy.scale.simulation.traffic import Trace

_SHIPPED = "step x3, ramp, spike, daily cycle, drift, Prometheus outage, pod crash loop"


def simulate_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"A shipped trace: {_SHIPPED}.")] = "step x3",
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A recorded trace instead: CSV (columns: docs/scaling.md).")
    ] = None,
    slots: Annotated[int, typer.Option(metavar="N", help="Requests that one pod runs at once.")] = 32,
    start_up: Annotated[
        str, typer.Option(metavar="DURATION", help="From asking for a pod to its first request.")
    ] = "60s",
    least: Annotated[int, typer.Option("--min", metavar="N", help="Fewest replicas.")] = 2,
    most: Annotated[int, typer.Option("--max", metavar="N", help="Most replicas.")] = 16,
    wait_slo: Annotated[str, typer.Option(metavar="DURATION", help="Objective for the queue wait.")] = "1s",
    target_use: Annotated[float, typer.Option(metavar="SHARE", help="Of the slots, for specwatch.")] = 0.9,
    profile: Annotated[
        str, typer.Option(metavar="PROFILE", help="Step times: a shipped profile or a file (docs/payoff.md).")
    ] = "llama-70b-fp8-h200",
    method: Annotated[str, typer.Option(metavar="NAME", help="Drafter in the profile.")] = "eagle3",
    seed: Annotated[int, typer.Option(metavar="N", help="Of the arrivals.")] = 1,
    sweep: Annotated[bool, typer.Option("--sweep", help="Try all settings of the others.")] = False,
    picture: Annotated[Path | None, typer.Option(metavar="OUT.png", help="Draw it (matplotlib).")] = None,
    output: Annotated[str, typer.Option("--format", metavar="text|json", help="How to print it.")] = "text",
) -> None:
    """Simulate vLLM pods under an autoscaler: replicas, cost and queue waits, beside plans that know every arrival.

    Everything is simulated; the step times are measured (see the profile). Takes a fraction of a minute.

    Exit status: 0, 1 when the trace cannot be used, 2 for wrong usage.
    """
    if output not in {"text", "json"}:
        raise UserError("--format is text or json", exit_code=2)
    from specwatch_deploy.scale.simulation.comparison import compare  # noqa: PLC0415 - not needed for --help

    settings = _settings(profile, method, (slots, least, most, seed), (start_up, wait_slo, target_use))
    found = compare(_trace(name, trace), settings, sweep=sweep)
    if output == "json":
        from specwatch_deploy.scale.simulation.comparison_words import as_json  # noqa: PLC0415 - likewise

        typer.echo(json.dumps(as_json(found, settings), indent=1))
    else:
        from specwatch_cli.scale_simulate_view import print_comparison  # noqa: PLC0415 - likewise

        print_comparison(found, settings)
    if picture is not None:
        _draw(found, picture)


def _settings(
    profile: str, method: str, counts: tuple[int, int, int, int], rest: tuple[str, str, float]
) -> SimulationSettings:
    from specwatch_deploy.scale.hpa import Bounds  # noqa: PLC0415 - not needed for --help
    from specwatch_deploy.scale.scale_settings import ScaleError  # noqa: PLC0415 - likewise
    from specwatch_deploy.scale.simulation.contenders import SimulationSettings  # noqa: PLC0415 - likewise
    from specwatch_deploy.scale.simulation.engine_speed import EngineSpeed  # noqa: PLC0415 - likewise

    slots, least, most, seed = counts
    start_up, wait_slo, target_use = rest
    if not 1 <= least <= most <= 200:
        raise UserError(f"replicas must be 1 <= --min <= --max <= 200, not {least} to {most}", exit_code=2)
    if not 1 <= slots <= 1024:
        raise UserError(f"--slots must be 1 to 1024, not {slots}", exit_code=2)
    try:
        settings = SimulationSettings(
            speed=EngineSpeed.of_profile(slots, profile, method),
            start_s=round(duration("--start-up", start_up)),
            bounds=Bounds(least, most),
            wait_slo_s=duration("--wait-slo", wait_slo),
            target_use=target_use,
            seed=seed,
        )
        settings.demand()
    except ScaleError as error:
        raise UserError(str(error), exit_code=2) from error
    return settings


def _trace(name: str, file: Path | None) -> Trace:
    from specwatch_deploy.scale.scale_settings import ScaleError  # noqa: PLC0415 - not needed for --help
    from specwatch_deploy.scale.simulation.trace_file import read_trace  # noqa: PLC0415 - likewise
    from specwatch_deploy.scale.simulation.traces import trace_named  # noqa: PLC0415 - likewise

    if file is not None:
        try:
            return read_trace(file)
        except ScaleError as error:
            raise UserError(str(error)) from error
    found = trace_named(name)
    if found is None:
        raise UserError(f"no trace {name!r}; one of: {_SHIPPED}", exit_code=2)
    return found


def _draw(found: Comparison, path: Path) -> None:
    try:
        from specwatch_deploy.scale.simulation.scale_picture import draw  # noqa: PLC0415 - matplotlib is an extra
    except ImportError as error:
        raise UserError("--picture needs matplotlib; install the extra: pip install '.[detect]'") from error
    try:
        draw(found, path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
        raise UserError(f"{path}: cannot be drawn: {reason}") from error
    typer.echo(f"drew {path}", err=True)
