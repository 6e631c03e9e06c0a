"""`specwatch bench capacity`: what fits on a GPU beside a model's weights."""

from __future__ import annotations

from typing import Annotated

import typer

from specwatch_cli.errors import UserError


def capacity_command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A config.json, a folder with one, or the name of a shipped shape."),
    ],
    quantisation: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="bf16, fp8, awq or mxfp4. Default: what the configuration says."),
    ] = None,
    draft: Annotated[
        str | None, typer.Option(metavar="MODEL", help="An EAGLE-3 head beside it, named in the same ways.")
    ] = None,
    context: Annotated[int, typer.Option(min=1, metavar="TOKENS", help="Prompt and answer of one request.")] = 4096,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Requests that are to run at once.")] = 32,
    utilisation: Annotated[
        float, typer.Option(metavar="SHARE", help="Of the GPU's memory that the engine may take.")
    ] = 0.92,
    gpus: Annotated[int, typer.Option(min=1, metavar="N", help="That share the weights (tensor parallel).")] = 1,
    fp8_kv: Annotated[bool, typer.Option("--fp8-kv", help="Keep the KV cache in FP8.")] = False,
    batched_tokens: Annotated[int, typer.Option(min=1, metavar="TOKENS", help="Most tokens of one step.")] = 8192,
) -> None:
    """Print weights, draft, overhead, KV cache and headroom on H100 80 GB, H200 141 GB and B200, as Markdown.

    Exit status: 0, or 2 when the model cannot be read or a wish makes no sense for it.
    """
    from specwatch_bench.bench_error import BenchError  # noqa: PLC0415 - numpy, not for --help
    from specwatch_bench.capacity_plan import Wish  # noqa: PLC0415 - likewise
    from specwatch_bench.capacity_shape import read_shape  # noqa: PLC0415 - likewise
    from specwatch_bench.capacity_tables import capacity_blocks  # noqa: PLC0415 - likewise
    from specwatch_bench.report_markdown import blocks_text  # noqa: PLC0415 - likewise

    try:
        wish = Wish(
            quantisation=quantisation,
            kv_bytes=1.0 if fp8_kv else 2.0,
            draft=None if draft is None else read_shape(draft),
            gpus=gpus,
            utilisation=utilisation,
            batched_tokens=batched_tokens,
            context=context,
            concurrency=concurrency,
        )
        blocks = tuple(capacity_blocks(read_shape(model), wish))
    except BenchError as error:
        raise UserError(str(error), exit_code=2) from error
    typer.echo(blocks_text(blocks))
