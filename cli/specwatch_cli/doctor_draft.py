"""`specwatch doctor draft`: whether a draft fits its target, before anything is deployed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.doctor_forms import FailOn, Form
from specwatch_cli.errors import UserError
from specwatch_deploy.doctor.severity import Severity


def draft_command(
    draft: Annotated[Path, typer.Argument(metavar="DRAFT_DIR", help="Folder of the draft.", show_default=False)],
    target: Annotated[Path, typer.Option(metavar="TARGET_DIR", help="Folder of the target.", show_default=False)],
    args: Annotated[
        str,
        typer.Option(
            metavar="ARGUMENTS",
            help="What vLLM or SGLang is started with, as one text; or vLLM's --speculative-config alone.",
            show_default=False,
        ),
    ] = "",
    target_name: Annotated[
        str, typer.Option(metavar="NAME", help="The target's name, org/model, if its folder does not tell.")
    ] = "",
    form: Annotated[Form, typer.Option("--format", help="How to print.")] = Form.TABLE,
    show: Annotated[Severity, typer.Option(help="The least severity that the table lists.")] = Severity.INFO,
    fail_on: Annotated[FailOn, typer.Option(help="From which severity on the exit status is 1.")] = FailOn.WARNING,
) -> None:
    """Hold a draft's configuration, tokenizer and tensor names against its target and the engine's arguments.

    Knows Speculators' form, SpecForge's, plain EAGLE, EAGLE-3, P-EAGLE, DFlash, DSpark and Medusa heads, MTP layers
    and small draft models. Only headers of safetensors files are read: no GPU, no network, no weights in memory.

    Exit status: 0 it fits, 1 findings from --fail-on on, 2 a folder or argument that cannot be used.
    """
    from specwatch_cli.doctor_draft_view import print_facts  # noqa: PLC0415 - not needed for --help
    from specwatch_cli.doctor_view import give  # noqa: PLC0415
    from specwatch_deploy.doctor.draft.draft_examination import examine_draft, read_pair  # noqa: PLC0415
    from specwatch_deploy.doctor.draft.json_file import DraftError  # noqa: PLC0415

    try:
        pair = read_pair(draft, target, args, target_name)
        findings = examine_draft(pair)
    except DraftError as error:
        raise UserError(str(error), exit_code=2) from error
    if form is Form.TABLE:
        print_facts(pair)
    give(findings, form, show, fail_on)
