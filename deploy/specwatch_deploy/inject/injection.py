"""Adds the sidecars to the engines of a file of manifests."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Any, Final

from specwatch_deploy.inject.engine_container import METHOD, Engine, find_engine
from specwatch_deploy.inject.inject_error import InjectError
from specwatch_deploy.inject.line_insertion import Insertion, list_insertion, with_insertions
from specwatch_deploy.inject.manifest import Workload, documents, workloads
from specwatch_deploy.inject.marked_lines import without_marked
from specwatch_deploy.inject.sidecar_containers import (
    CLIENT_PORT,
    NAMES,
    STATE,
    SidecarSettings,
    open_ports,
    sidecars,
    volumes,
)
from specwatch_detectors.payoff.profile_file import shipped_names

EXAMPLE_REGISTRY: Final = "registry.example.com/"
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,499}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a person said; None is for the injection to find out.

    Attributes:
        image: of specwatch.
        workload: name of the object whose pods get the sidecars.
        container: name of the engine's container.
        port: of the engine's page.
        method: of speculation.
        payoff_profile: name or file of a step-time profile.
        requests: whether the request sidecar is added too.

    Raises:
        InjectError: a sidecar with such a wish could not start, and a pod waits for its sidecars.
    """

    image: str
    workload: str | None = None
    container: str | None = None
    port: int | None = None
    method: str | None = None
    payoff_profile: str = ""
    requests: bool = False

    def __post_init__(self) -> None:
        if not _IMAGE.fullmatch(self.image):
            raise InjectError(
                f"--image {self.image!r} is no name of an image, such as registry.example.com/specwatch:1"
            )
        if self.method is not None and not METHOD.fullmatch(self.method):
            raise InjectError(f"--method {self.method!r} is not one word, such as eagle3, p-eagle, ngram or off")
        known = shipped_names()
        if self.payoff_profile and "/" not in self.payoff_profile and self.payoff_profile not in known:
            raise InjectError(
                f"--payoff-profile {self.payoff_profile!r}: give one of {', '.join(known)}, or the whole path of a "
                "file in the sidecar's container"
            )


@dataclass(frozen=True, slots=True)
class Injected:
    """The new text, and what was done, a line each."""

    text: str
    notes: tuple[str, ...]


def inject(text: str, wishes: Wishes) -> Injected:
    """Add the sidecars, or bring those that an earlier injection added up to date.

    Every other line stays as it is, and the result is read again and compared before it is given back.

    Raises:
        InjectError: it cannot be done; one line.
    """
    clean = without_marked(text)
    chosen = [(one, engine) for one in workloads(clean) if (engine := _wanted(one, wishes)) is not None]
    if not chosen:
        raise InjectError(_nothing_found(clean, wishes))
    expected = documents(clean)
    lines = clean.splitlines()
    insertions: list[Insertion] = []
    for workload, engine in chosen:
        settings = _settings(engine, wishes)
        _refuse_conflicts(workload, settings)
        insertions += [
            list_insertion(workload.node, "volumes", volumes(), lines),
            list_insertion(workload.node, "initContainers", sidecars(settings), lines),
        ]
        _expect(expected[workload.number], settings)
    result = with_insertions(clean, insertions)
    if documents(result) != expected:
        raise InjectError(
            "its layout (anchors, perhaps) takes no added lines; add the sidecar with deploy/kustomize"
        )
    notes = [line for one, engine in chosen for line in _notes(one, engine, wishes)]
    if wishes.image.startswith(EXAMPLE_REGISTRY):
        notes.append(
            f"the image {wishes.image} is the example's: it cannot be pulled, and an engine waits for its "
            "sidecars; say --image before you apply this"
        )
    return Injected(result, tuple(notes))


def _wanted(workload: Workload, wishes: Wishes) -> Engine | None:
    if wishes.workload is not None and workload.name != wishes.workload:
        return None
    try:
        return find_engine(workload.spec, wishes.container, wishes.port)
    except InjectError as error:
        raise InjectError(f"{workload.kind} {workload.name}: {error}") from error


def _settings(engine: Engine, wishes: Wishes) -> SidecarSettings:
    return SidecarSettings(
        image=wishes.image,
        engine_port=engine.port,
        method=engine.method if wishes.method is None else wishes.method,
        payoff_profile=wishes.payoff_profile,
        requests=wishes.requests,
    )


def _nothing_found(text: str, wishes: Wishes) -> str:
    known = ", ".join(f"{one.kind} {one.name}" for one in workloads(text))
    if not known:
        return "it has no Deployment, StatefulSet, DaemonSet, ReplicaSet or Pod"
    if wishes.container is not None:
        return f"no container is called {wishes.container}; there are {known}"
    if wishes.workload is not None:
        return f"nothing called {wishes.workload} has a container that looks like an engine; there are {known}"
    return f"no container looks like an engine (a GPU, or vllm, sglang, trtllm) in {known}; say --container"


def _refuse_conflicts(workload: Workload, settings: SidecarSettings) -> None:
    spec, where = workload.spec, f"{workload.kind} {workload.name}"
    others = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    taken = {one.get("name") for one in others} | {one.get("name") for one in spec.get("volumes") or []}
    for name in (*NAMES, STATE):
        if name in taken:
            raise InjectError(f"{where}: {name} is there already, without specwatch's comments; remove it first")
    used = {port.get("containerPort") for one in others for port in one.get("ports") or []} | {settings.engine_port}
    for port in open_ports(settings):
        if port in used:
            raise InjectError(
                f"{where}: port {port} is taken in this pod, and the sidecar needs it; give the engine another one"
            )


def _expect(document: dict[str, Any], settings: SidecarSettings) -> None:
    spec = document["spec"]
    spec = spec if "containers" in spec else spec["template"]["spec"]
    for key, items in (("initContainers", sidecars(settings)), ("volumes", volumes())):
        spec[key] = [*copy.deepcopy(items), *spec.get(key, [])]


def _notes(workload: Workload, engine: Engine, wishes: Wishes) -> list[str]:
    method = engine.method if wishes.method is None else wishes.method
    known = f"speculation: {method}" if method else "its arguments do not say how it speculates; --method does"
    where = f"{workload.kind} {workload.name}"
    notes = [f"{where}: sidecar beside container {engine.container}, port {engine.port} ({engine.why}); {known}"]
    if wishes.requests:
        notes.append(
            f"{where}: lead clients to port {CLIENT_PORT} of the pods (targetPort of "
            "their Service); requests that still come to the engine's own port are not seen"
        )
    return notes
