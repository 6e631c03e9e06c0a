"""The request sidecar as its users start it, on asyncio's event loop and on uvloop's."""

from __future__ import annotations

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from bench_proxy.child import Launch
from bench_proxy.contender import Contender, Place, free_port
from bench_proxy.pinned_venv import provide_venv
from engine.setup_vllm import site_packages

WITH_UVLOOP = "specwatch + uvloop"


def prepare() -> str:
    """Return its version; it is installed, because this runs in its environment."""
    return version("specwatch")


def launch(place: Place) -> Launch:
    """Return its command line; metrics go to a port of their own."""
    command = [str(Path(sys.executable).with_name("specwatch")), "proxy", "run", "--upstream", place.upstream]
    command += ["--listen", f"127.0.0.1:{place.port}", "--admin-listen", f"127.0.0.1:{free_port()}"]
    return Launch(command)


def launch_with_uvloop(place: Place) -> Launch:
    """The same where uvloop can be imported, lent from the load generator's environment."""
    return Launch(launch(place).command, {"PYTHONPATH": str(site_packages(provide_venv("load")))})


def specwatch_contenders() -> tuple[Contender, ...]:
    """As it is installed, and also with uvloop where that is not installed."""
    if find_spec("uvloop") is not None:
        return (Contender("specwatch", prepare, launch),)
    return (Contender("specwatch", prepare, launch), Contender(WITH_UVLOOP, prepare, launch_with_uvloop))
