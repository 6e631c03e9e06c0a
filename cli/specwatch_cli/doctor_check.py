"""`specwatch doctor`: dashboards, rules and manifests against the engines that they watch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.detect_values import duration
from specwatch_cli.doctor_forms import FailOn, Form
from specwatch_cli.errors import UserError
from specwatch_deploy.doctor.severity import Severity


def check_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE|FOLDER|-]...",
            help="Dashboards, rule files, Kubernetes manifests, Alertmanager's configuration, saved pages of "
            "engines; - for standard input, such as what helm template prints.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            help="An engine that is watched: URL, saved page (with @VERSION if it is known), or only a version: "
            "vllm@0.33.0, sglang@0.5.23. May be repeated. Default: the newest versions that are known.",
        ),
    ] = None,
    from_package: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Take vLLM's metrics from an installed package: .../site-packages/vllm."
        ),
    ] = None,
    query: Annotated[list[str] | None, typer.Option(metavar="PROMQL", help="A query to look at.")] = None,
    prometheus: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Ask it which series there are, and what alerts did for a week."),
    ] = None,
    prometheus_token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with a bearer token for it.")
    ] = None,
    grafana: Annotated[str | None, typer.Option(metavar="URL", help="Look at all of its dashboards.")] = None,
    grafana_token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the token of a service account, Viewer or more.")
    ] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Look at the objects of the cluster of the kubeconfig.")
    ] = False,
    context: Annotated[str, typer.Option(metavar="NAME", help="Context of the kubeconfig.")] = "",
    namespace: Annotated[str, typer.Option(metavar="NAME", help="The only namespace to look into.")] = "",
    scrape_interval: Annotated[str, typer.Option(metavar="DURATION", help="Of the engines' series.")] = "15s",
    reach: Annotated[
        bool, typer.Option("--reach", help="Connect to the receivers that Alertmanager's configuration names.")
    ] = False,
    skip_unknown: Annotated[
        bool,
        typer.Option(
            "--skip-unknown",
            help="Leave out named files that cannot be read or hold nothing known, as in folders: for pre-commit "
            "and patterns.",
        ),
    ] = False,
    form: Annotated[Form, typer.Option("--format", help="How to print.")] = Form.TABLE,
    show: Annotated[Severity, typer.Option(help="The least severity that the table lists.")] = Severity.WARNING,
    fail_on: Annotated[FailOn, typer.Option(help="From which severity on the exit status is 1.")] = FailOn.WARNING,
) -> None:
    """Find series that do not exist, labels that match nothing, sums that count twice, alerts that never fire.

    Every query is held against the metrics of the engines' versions. What only a running Prometheus can tell is
    told with --prometheus. `specwatch doctor explain CODE` says what a code means, `specwatch doctor draft` looks
    at a draft and its target.

    Exit status: 0 clean, 1 findings from --fail-on on, 2 an input that cannot be used.
    """
    if not (files or query or grafana or cluster):
        raise UserError(
            "name something to look at: files, folders, -, --query, --grafana or --cluster", exit_code=2
        )
    from specwatch_cli.doctor_view import give  # noqa: PLC0415 - not needed for --help

    try:
        from specwatch_deploy.doctor import run  # noqa: PLC0415 - takes the extra `rules`
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: pip install '.[rules]'", exit_code=2) from error
    wanted = run.Wanted(
        files=tuple(files or ()),
        engines=tuple(engine or ()),
        package=from_package,
        queries=tuple(query or ()),
        prometheus=prometheus,
        prometheus_token=prometheus_token_file,
        grafana=grafana,
        grafana_token=grafana_token_file,
        cluster=cluster,
        context=context,
        namespace=namespace,
        scrape_s=duration("--scrape-interval", scrape_interval),
        reach=reach,
        skip_unknown=skip_unknown,
    )
    try:
        outcome = run.run(wanted, lambda note: print(f"specwatch: {note}", file=sys.stderr))  # noqa: T201
    except run.InputError as error:
        raise UserError(str(error), exit_code=2) from error
    give(outcome.findings, form, show, fail_on, outcome.head)
