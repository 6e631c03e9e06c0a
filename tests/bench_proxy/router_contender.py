"""vLLM's router (PyPI `vllm-router`): one worker behind it, any policy is then the same."""

from __future__ import annotations

from bench_proxy.child import Launch
from bench_proxy.contender import Contender, Place, free_port
from bench_proxy.pinned_venv import pinned_version, provide_venv

_NAME = "vllm-router"


def prepare() -> str:
    """Install it; return its version."""
    provide_venv(_NAME)
    return pinned_version(_NAME, "vllm-router")


def launch(place: Place) -> Launch:
    """Return its command line; its metrics go to a port of their own."""
    command = [str(provide_venv(_NAME) / "bin" / "vllm-router"), "--worker-urls", place.upstream]
    command += ["--host", "127.0.0.1", "--port", str(place.port), "--policy", "round_robin", "--log-level", "error"]
    command += ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port())]
    return Launch(command)


ROUTER = Contender("vllm-router", prepare, launch)
