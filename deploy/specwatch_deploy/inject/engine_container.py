"""Which container of a pod is the engine, on which port it serves, and with which method it speculates."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specwatch_deploy.inject.inject_error import InjectError

_ENGINES: Final = re.compile(r"vllm|sglang|trtllm|tensorrt", re.IGNORECASE)
_PORT: Final = re.compile(r"--port[ =]+(\d{1,5})\b")
METHOD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}")
"""A method that the sidecar takes."""

_PORTS: Final = {"sglang": 30000}
_USUAL_PORT: Final = 8000


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine's container.

    Attributes:
        container: its name.
        port: of its page.
        why: where the port is from.
        method: of speculation, or nothing where its arguments do not say.
    """

    container: str
    port: int
    why: str
    method: str


def find_engine(spec: Mapping[str, Any], container: str | None, port: int | None) -> Engine | None:
    """The engine among the containers of a pod; None if none looks like one.

    Args:
        spec: of the pod.
        container: name of the engine's container, if it is known.
        port: of the engine's page, if it is known.

    Raises:
        InjectError: there are several.
    """
    known = [one for one in spec.get("containers") or [] if isinstance(one, Mapping)]
    found = [one for one in known if (_looks_like_one(one) if container is None else one.get("name") == container)]
    if len(found) > 1:
        names = ", ".join(str(one.get("name")) for one in found)
        raise InjectError(f"several containers look like an engine: {names}; say which with --container")
    return _engine(found[0], port) if found else None


def _looks_like_one(container: Mapping[str, Any]) -> bool:
    resources = container.get("resources") or {}
    amounts = [key for part in ("limits", "requests") for key in resources.get(part) or {}]
    return any(str(key).endswith("/gpu") for key in amounts) or bool(_ENGINES.search(_words(container)))


def _engine(container: Mapping[str, Any], port: int | None) -> Engine:
    number, why = (port, "--port") if port is not None else _port(container)
    return Engine(
        str(container.get("name")), number, why, _method(_arguments(container)) or _method(_in_shell(container))
    )


def _port(container: Mapping[str, Any]) -> tuple[int, str]:
    if said := _PORT.search(" ".join(_arguments(container))):
        return int(said[1]), "its arguments"
    ports = [one for one in container.get("ports") or [] if isinstance(one.get("containerPort"), int)]
    for one in sorted(ports, key=lambda one: one.get("name") not in {"http", "api"}):
        return one["containerPort"], "its ports"
    for engine, number in _PORTS.items():
        if engine in _words(container).lower():
            return number, f"{engine}'s default"
    return _USUAL_PORT, "the usual one"


def _method(arguments: Sequence[str]) -> str:
    """Method that vLLM is told; P-EAGLE is EAGLE with drafts in parallel (vLLM 0.32, `parallel_drafting`)."""
    for position, argument in enumerate(arguments):
        flag, _, value = argument.partition("=")
        if flag not in {"--speculative-config", "--speculative_config", "-sc"}:
            continue
        try:
            told = json.loads(value or arguments[position + 1])
        except (ValueError, IndexError):
            return ""
        if not isinstance(told, dict) or not METHOD.fullmatch(str(told.get("method", ""))):
            return ""
        method = str(told["method"])
        return "p-eagle" if told.get("parallel_drafting") and method.startswith("eagle") else method
    return ""


def _arguments(container: Mapping[str, Any]) -> list[str]:
    return [str(word) for part in ("command", "args") for word in container.get(part) or []]


def _in_shell(container: Mapping[str, Any]) -> list[str]:
    """Words of a script that a shell runs, as `sh -c` does; none where its quotes do not end."""
    try:
        return [word for part in _arguments(container) for word in shlex.split(part.replace("\\\n", " "))]
    except ValueError:
        return []


def _words(container: Mapping[str, Any]) -> str:
    return " ".join([str(container.get("image", "")), *_arguments(container)])
