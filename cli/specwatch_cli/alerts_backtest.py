"""`specwatch alerts backtest`: how often the rules would have fired."""

from __future__ import annotations

import re
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specwatch_cli.alerts_build import Engine, Source
from specwatch_cli.detect_values import duration
from specwatch_cli.errors import UserError

if TYPE_CHECKING:
    from specwatch_alerts.backtest import Backtest
    from specwatch_alerts.backtest_rules import RuleSet
    from specwatch_alerts.backtest_source import RangeSource

_DAY_S = 86_400


class Form(StrEnum):
    """How to print the result."""

    TABLE = "table"
    JSON = "json"


def backtest_command(
    prometheus: Annotated[
        str,
        typer.Option(
            metavar="URL", help="API, without /api/v1: Prometheus, Thanos, Mimir, ...", show_default=False
        ),
    ],
    days: Annotated[float, typer.Option(metavar="N", help="How far back to look, up to now.")] = 30.0,
    rules: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rule file or PrometheusRule to run instead of specwatch's own."),
    ] = None,
    values: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Values that specwatch's own rules are built with.")
    ] = None,
    source: Annotated[
        Source, typer.Option(help="sidecar: specwatch's series; engine: the engine's own, where no sidecar runs.")
    ] = Source.SIDECAR,
    engine: Annotated[
        Engine, typer.Option(help="The engine, also behind a sidecar: bucket edges are its own.")
    ] = Engine.VLLM,
    alert: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this alert; may repeat.", show_default=False)
    ] = None,
    step: Annotated[
        str, typer.Option(metavar="DURATION", help="Time between evaluations; shorter is more exact and slower.")
    ] = "1m",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with a bearer token for Prometheus.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Label sets to show per rule.")] = 3,
    form: Annotated[Form, typer.Option("--format", help="How to print it.")] = Form.TABLE,
) -> None:
    """Say how often each rule would have fired in the past, for how long, and for whom; and what cannot be told.

    Each rule's expression is evaluated over the days, and `for` and `keep_firing_for` are applied. Nothing is sent.

    Exit status: 0, 1 when Prometheus does not answer or has none of the series, 2 for wrong usage.
    """
    seconds = duration("--step", step)
    if seconds != int(seconds):
        raise UserError(f"--step {step}: whole seconds, please", exit_code=2)
    if not 0.0 < days <= 3650.0:
        raise UserError(f"--days {days:g}: more than 0 and at most 3650", exit_code=2)
    chosen = _only(_own_rules(values, source, engine) if rules is None else _rules_of(rules), alert)
    end = int(time.time())
    _print(
        _run(chosen, _source(prometheus, token_file), (end - round(days * _DAY_S), end, int(seconds))), form, top
    )


def _own_rules(values: Path | None, source: Source, engine: Engine) -> RuleSet:
    # The sidecar starts through the same command line: rules are loaded only where they are needed.
    from specwatch_alerts.backtest_rules import rule_set  # noqa: PLC0415
    from specwatch_alerts.origin import Origin  # noqa: PLC0415
    from specwatch_alerts.rule_build import build  # noqa: PLC0415
    from specwatch_alerts.values import ValuesError, load_values  # noqa: PLC0415

    origin = Origin.SIDECAR if source is Source.SIDECAR else Origin(engine.value)
    try:
        return rule_set(build(load_values(values), origin, engine.value))
    except ValuesError as error:
        raise UserError(str(error), exit_code=2) from error


def _rules_of(path: Path) -> RuleSet:
    from specwatch_alerts.backtest_rules import BacktestError, read_rules  # noqa: PLC0415 - as above

    try:
        return read_rules(path)
    except BacktestError as error:
        raise UserError(str(error), exit_code=2) from error


def _only(rules: RuleSet, names: list[str] | None) -> RuleSet:
    from specwatch_alerts.backtest_rules import RuleSet  # noqa: PLC0415 - as above

    if not names:
        return rules
    unknown = sorted(set(names) - {rule.name for rule in rules.alerts})
    if unknown:
        raise UserError(f"no alert {', '.join(unknown)} among the rules", exit_code=2)
    return RuleSet(tuple(rule for rule in rules.alerts if rule.name in names), rules.recordings)


def _source(url: str, token_file: Path | None) -> RangeSource:
    from specwatch_alerts.backtest_source import RangeSource  # noqa: PLC0415 - as above
    from specwatch_detectors.history_live import connect  # noqa: PLC0415 - likewise

    if not re.match(r"https?://[^/]", url):
        raise UserError(f"--prometheus {url!r}: write it as http://host:port", exit_code=2)
    try:
        headers = {} if token_file is None else {"Authorization": f"Bearer {token_file.read_text().strip()}"}
        return RangeSource(connect(url, headers))
    except OSError as error:
        raise UserError(f"{token_file}: {error.strerror or error}", exit_code=2) from error
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: pip install '.[detect]'", exit_code=2) from error


def _run(rules: RuleSet, source: RangeSource, span: tuple[int, int, int]) -> Backtest:
    from specwatch_alerts.backtest_rules import BacktestError  # noqa: PLC0415 - as above

    try:
        from specwatch_alerts.backtest import Span, backtest  # noqa: PLC0415 - needs an extra

        return backtest(rules, source, Span(*span), lambda words: typer.echo(f"asking: {words}", err=True))
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: pip install '.[rules]'", exit_code=2) from error
    except BacktestError as error:
        raise UserError(str(error)) from error


def _print(result: Backtest, form: Form, top: int) -> None:
    from specwatch_cli.alerts_backtest_view import backtest_json, print_backtest  # noqa: PLC0415 - for a result only

    if form is Form.JSON:
        typer.echo(backtest_json(result))
    else:
        print_backtest(result, top)
