"""`python -m specwatch_exporters.replay`: run the replay engine until it is interrupted."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys

from specwatch_exporters.replay.engine import ReplayEngine
from specwatch_exporters.replay.profiles import SHAPES
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings


def parser() -> argparse.ArgumentParser:
    """The command line."""
    methods = sorted({method for shape in SHAPES.values() for method in shape.methods})
    arguments = argparse.ArgumentParser(prog="python -m specwatch_exporters.replay", description=__doc__)
    arguments.add_argument("--host", default="127.0.0.1")
    arguments.add_argument("--port", type=_port, default=8000, help="0 for any free port (default: 8000)")
    arguments.add_argument("--profile", choices=list(SHAPES), default="llama-70b-fp8")
    arguments.add_argument("--method", choices=methods, default="eagle3")
    arguments.add_argument("--model", help="model name; the profile's by default")
    arguments.add_argument("--slots", type=int, default=32, help="requests that run at once (default: 32)")
    arguments.add_argument("--num-speculative-tokens", type=int, metavar="K", help="the profile's by default")
    arguments.add_argument("--speed", type=float, default=1.0, help="times faster than measured (default: 1)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--max-model-len", type=int, default=4096)
    arguments.add_argument(
        "--per-request-spec-decode-metrics", choices=[item.value for item in PerRequest], default="none"
    )
    arguments.add_argument("--enable-per-request-metrics", action="store_true")
    return arguments


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"no port from 0 to 65535: {text!r}")
    return int(text)


def settings_from(arguments: argparse.Namespace) -> ReplaySettings:
    """Settings of a parsed command line.

    Raises:
        ValueError: when they do not fit together.
    """
    return ReplaySettings(
        profile=arguments.profile,
        method=arguments.method,
        model=arguments.model,
        slots=arguments.slots,
        num_speculative_tokens=arguments.num_speculative_tokens,
        speed=arguments.speed,
        seed=arguments.seed,
        max_model_len=arguments.max_model_len,
        per_request=PerRequest(arguments.per_request_spec_decode_metrics),
        timings=arguments.enable_per_request_metrics,
    )


async def serve(settings: ReplaySettings, host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with ReplayEngine(settings, host=host, port=port) as engine:
        sys.stdout.write(f"replay engine ({settings.profile}, {settings.method}) on {engine.url}\n")
        sys.stdout.flush()
        await ended.wait()


def main(argv: list[str] | None = None) -> int:
    """Entry point; 2 for wrong usage, 1 when the port is taken."""
    arguments = parser().parse_args(argv)
    try:
        settings = settings_from(arguments)
    except ValueError as error:
        sys.stderr.write(f"replay: {error}\n")
        return 2
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve(settings, arguments.host, arguments.port))
    except OSError as error:
        sys.stderr.write(f"replay: cannot listen on {arguments.host}:{arguments.port}: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
