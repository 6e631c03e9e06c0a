"""`specwatch dashboards deliver`: dashboards as files and objects that a Grafana loads itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.dashboards_chosen import Files, Sources, chosen
from specwatch_cli.errors import UserError
from specwatch_dashboards.delivery_order import DeliveryOrder, Form
from specwatch_dashboards.source import Source

_DEFAULT = DeliveryOrder()


def deliver_command(
    form: Annotated[
        Form,
        typer.Option(
            "--as",
            help="configmap: for the sidecar of Grafana's Helm chart. grafanadashboard: for the Grafana operator. "
            "provisioning: files for Grafana itself.",
        ),
    ],
    files: Files = None,
    # Not the folder of `build`: kubectl would take its JSON files for objects.
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write into; it is made if need be.")] = Path(
        "specwatch-delivery"
    ),
    source: Sources = Source.SIDECAR,
    folder: Annotated[str, typer.Option(metavar="NAME", help="Title of the folder in Grafana.")] = _DEFAULT.folder,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Of the objects. Default: left to kubectl.")
    ] = _DEFAULT.namespace,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Label of ConfigMaps. Default: grafana_dashboard=1."),
    ] = None,
    instance: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Label of the operator's Grafanas. Default: dashboards=grafana."),
    ] = None,
    path: Annotated[
        str, typer.Option(metavar="DIR", help="Where Grafana finds the provisioned files.")
    ] = _DEFAULT.path,
) -> None:
    """Write the dashboards in a form that a Grafana loads by itself.

    Exit status: 0, 1 when a file cannot be used, 2 for wrong usage or without the extra `dashboards`.
    """
    from specwatch_dashboards.delivery import DeliveryError, deliver  # noqa: PLC0415 - brings a YAML library

    order = DeliveryOrder(
        folder,
        namespace,
        _labels("--label", label or []) or _DEFAULT.labels,
        _labels("--instance", instance or []) or _DEFAULT.instances,
        path,
    )
    try:
        paths = deliver(chosen(files, source), out, form, order)
    except DeliveryError as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(f"cannot write {error.filename or out}: {error.strerror}") from error
    for one in paths:
        typer.echo(f"wrote {one}")


def _labels(option: str, texts: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UserError(f"{option} {text!r}: it is NAME=VALUE", exit_code=2)
        found[name] = value
    return found
