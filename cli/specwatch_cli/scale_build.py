"""`specwatch scale build`: rules and objects for a scaled workload."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from specwatch_alerts.origin import Origin
from specwatch_cli.detect_values import duration, whole_file
from specwatch_cli.errors import UserError
from specwatch_deploy.scale.scale_settings import DemandSettings, ScaleError
from specwatch_deploy.scale.scaler_settings import Scaler, ScalerSettings

_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)=([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def build_command(
    workload: Annotated[
        str, typer.Argument(metavar="WORKLOAD", help="Name of the Deployment.", show_default=False)
    ],
    namespace: Annotated[str, typer.Option(metavar="NAME", help="Where it is.", show_default=False)],
    model: Annotated[str, typer.Option(metavar="NAME", help="As on the engine's page.", show_default=False)],
    slots: Annotated[
        int,
        typer.Option(metavar="N", help="Requests that one pod runs at once (--max-num-seqs).", show_default=False),
    ],
    least: Annotated[int, typer.Option("--min", metavar="N", help="Fewest replicas.")] = 2,
    most: Annotated[int, typer.Option("--max", metavar="N", help="Most replicas.")] = 8,
    source: Annotated[Origin, typer.Option(help="Series to compute from.")] = Origin.SIDECAR,
    scaler: Annotated[Scaler, typer.Option(help="KEDA, or prometheus-adapter with an HPA.")] = Scaler.KEDA,
    prometheus: Annotated[
        str, typer.Option(metavar="URL", help="Where KEDA asks.")
    ] = "http://prometheus-operated.monitoring.svc:9090",
    start_up: Annotated[
        str, typer.Option(metavar="DURATION", help="From asking for a pod to its first request.")
    ] = "3m",
    wait_slo: Annotated[str, typer.Option(metavar="DURATION", help="Objective for the queue wait.")] = "1s",
    target_use: Annotated[float, typer.Option(metavar="SHARE", help="Of the slots that is to be used.")] = 0.9,
    drain: Annotated[str, typer.Option(metavar="DURATION", help="In which a backlog is to be gone.")] = "1m",
    kv_limit: Annotated[float, typer.Option(metavar="SHARE", help="Of the KV cache that may be used.")] = 0.9,
    scrape: Annotated[str, typer.Option(metavar="DURATION", help="Prometheus's scrape interval.")] = "15s",
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="Deployment, StatefulSet or LeaderWorkerSet.")
    ] = "Deployment",
    fallback: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Replicas to have at least while KEDA cannot read the demand; default: --min."
        ),
    ] = None,
    rule_label: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Label that Prometheus selects its rules by; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write files here instead of printing them.")
    ] = None,
) -> None:
    """Print recording rules that say how many replicas the load takes, and the objects that follow them.

    Exit status: 0, 2 for wrong usage.
    """
    scrape_s = duration("--scrape", scrape)
    try:
        demand = DemandSettings(
            namespace=namespace,
            model=model,
            slots=slots,
            target_use=target_use,
            drain_s=duration("--drain", drain),
            wait_slo_s=duration("--wait-slo", wait_slo),
            kv_limit=kv_limit,
            start_up_s=_whole("--start-up", start_up),
            scrape_s=_whole("--scrape", scrape),
            rate_s=max(120, round(8 * scrape_s)),
            service_s=max(300, round(8 * scrape_s)),
            now_s=max(60, round(4 * scrape_s)),
        )
        chosen = ScalerSettings(
            workload=workload,
            kind=kind,
            least=least,
            most=most,
            fallback=fallback,
            scaler=scaler,
            prometheus=prometheus,
        )
    except ScaleError as error:
        raise UserError(str(error), exit_code=2) from error
    from specwatch_deploy.scale.scale_build import build, files_of_others  # noqa: PLC0415 - yaml; a sidecar needs none

    files = build(demand, chosen, source, _labels(rule_label or ["release=kube-prometheus-stack"]))
    _give(files, out, scaler, files_of_others(scaler))


def _give(files: dict[str, str], folder: Path | None, scaler: Scaler, others: frozenset[str]) -> None:
    if folder is None:
        if scaler is Scaler.ADAPTER:
            raise UserError(
                "--scaler adapter also makes values for the adapter's chart, no object to apply; give --out FOLDER",
                exit_code=2,
            )
        typer.echo("---\n".join(files.values()), nl=False)
        return
    if not folder.is_dir():
        raise UserError(f"--out {folder}: there is no such folder", exit_code=2)
    if there := sorted(name for name in others if (folder / name).exists()):
        raise UserError(
            f"--out {folder}: {there[0]} is of the other scaler, and a workload has one; remove it first",
            exit_code=2,
        )
    for name, text in files.items():
        with whole_file(folder / name) as file:
            file.write(text)
        typer.echo(f"wrote {folder / name}")


def _whole(flag: str, text: str) -> int:
    seconds = duration(flag, text)
    if seconds != int(seconds):
        raise UserError(f"{flag} {text!r}: it must be whole seconds", exit_code=2)
    return int(seconds)


def _labels(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        match = _LABEL.fullmatch(pair)
        if match is None:
            raise UserError(f"--rule-label {pair!r} is not KEY=VALUE of a Kubernetes label", exit_code=2)
        found[match[1]] = match[3] or ""
    return found
