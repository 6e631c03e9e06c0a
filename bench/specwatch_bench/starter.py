"""How each kind of engine is started: its command, variables and the address that says it is ready."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from specwatch_bench.matrix import EngineSpec

HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A start, worked out.

    Attributes:
        command: what to run.
        environment: variables on top of our own.
        health: path that answers 200 once the engine serves.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    health: str = "/health"


class Starter(Protocol):
    """Knows one kind of engine."""

    def launch(self, spec: EngineSpec, port: int, rates: Sequence[float] | None, python: str) -> Launch:
        """Work out a start.

        Args:
            spec: the engine.
            port: free port on loopback.
            rates: synthetic acceptance per position, or None.
            python: interpreter that has the engine installed.

        Raises:
            ValueError: the engine cannot do what is asked; one line.
        """
        ...


class VllmStarter:
    """`vllm serve`; acceptance by `rejection_sample_method: synthetic` (0.20 and newer, GPU only)."""

    def launch(self, spec: EngineSpec, port: int, rates: Sequence[float] | None, python: str) -> Launch:
        """See `Starter.launch`."""
        command = [python, "-m", "vllm.entrypoints.cli.main", "serve", spec.model, "--host", HOST]
        command += ["--port", str(port)]
        if spec.served_name is not None:
            command += ["--served-model-name", spec.served_name]
        command += spec.arguments
        config: dict[str, Any] = dict(spec.speculative or {})
        if rates is not None:
            config |= {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": list(rates)}
        if config:
            command += ["--speculative-config", json.dumps(config)]
        environment = {"VLLM_NO_USAGE_STATS": "1", **spec.environment}
        return Launch(command=tuple(command), environment=environment)


class SglangStarter:
    """SGLang's server; acceptance by `SGLANG_SIMULATE_ACC_LEN`, a mean length and not a rate per position."""

    def launch(self, spec: EngineSpec, port: int, rates: Sequence[float] | None, python: str) -> Launch:
        """See `Starter.launch`."""
        command = [python, "-m", "sglang.launch_server", "--model-path", spec.model, "--host", HOST]
        command += ["--port", str(port), "--enable-metrics"]
        if spec.served_name is not None:
            command += ["--served-model-name", spec.served_name]
        if spec.speculative is not None:
            raise ValueError("SGLang takes its --speculative-* arguments in arguments, not in speculative")
        simulated = {} if rates is None else {"SGLANG_SIMULATE_ACC_LEN": f"{1.0 + sum(rates):.4f}"}
        environment = {**simulated, **spec.environment}
        return Launch(command=(*command, *spec.arguments), environment=environment)


class TrtllmStarter:
    """`trtllm-serve`; speculation stands in the options file that `arguments` name."""

    def launch(self, spec: EngineSpec, port: int, rates: Sequence[float] | None, python: str) -> Launch:  # noqa: ARG002 - one interface
        """See `Starter.launch`."""
        if rates is not None or spec.speculative is not None:
            raise ValueError("TensorRT-LLM takes speculation and acceptance from its own options file")
        command = ("trtllm-serve", "serve", spec.model, "--host", HOST, "--port", str(port), *spec.arguments)
        return Launch(command=command, environment=spec.environment)


class ReplayStarter:
    """The replay engine: measured step times without a GPU, for trying things out."""

    def launch(self, spec: EngineSpec, port: int, rates: Sequence[float] | None, python: str) -> Launch:  # noqa: ARG002 - one interface
        """See `Starter.launch`; it runs under our own interpreter."""
        if rates is not None:
            raise ValueError("the replay engine has an acceptance of its own for each class")
        command = [sys.executable, "-m", "specwatch_exporters.replay", "--host", HOST, "--port", str(port)]
        if spec.served_name is not None:
            command += ["--model", spec.served_name]
        return Launch(command=(*command, *spec.arguments), environment=spec.environment)


STARTERS: Final[Mapping[str, Starter]] = {
    "replay": ReplayStarter(),
    "sglang": SglangStarter(),
    "trtllm": TrtllmStarter(),
    "vllm": VllmStarter(),
}
