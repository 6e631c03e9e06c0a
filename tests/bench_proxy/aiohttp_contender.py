"""A bare pass-through on aiohttp and uvloop, in LiteLLM's environment, which has both; only where asked for."""

from __future__ import annotations

from pathlib import Path

from bench_proxy.child import Launch
from bench_proxy.contender import Contender, Place
from bench_proxy.pinned_venv import pinned_version, provide_venv

_ENVIRONMENT = "litellm"


def prepare() -> str:
    """Install it; return aiohttp's version."""
    provide_venv(_ENVIRONMENT)
    return pinned_version(_ENVIRONMENT, "aiohttp")


def launch(place: Place) -> Launch:
    """Return its command line."""
    script = Path(__file__).with_name("aiohttp_proxy.py")
    python = provide_venv(_ENVIRONMENT) / "bin" / "python"
    return Launch([str(python), str(script), str(place.port), place.upstream])


AIOHTTP = Contender("aiohttp", prepare, launch)
