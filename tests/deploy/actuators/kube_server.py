"""A Kubernetes API on loopback, as strict about versions, field managers and rights as the real one."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes import client

from deploy.actuators.kube_controllers import KubeControllers
from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_objects import Key, KubeObjects, RefusedError

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
GROUPS = {
    "": {"services", "pods", "configmaps"},
    "apps": {"deployments"},
    "discovery.k8s.io": {"endpointslices"},
    "gateway.networking.k8s.io": {"httproutes"},
    "coordination.k8s.io": {"leases"},
    "keda.sh": {"scaledobjects"},
    "autoscaling": {"horizontalpodautoscalers"},
}


@dataclass(frozen=True)
class Call:
    """One request, as authorisation sees it, and how it went."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    subresource: str
    status: int
    body: Any = None


@dataclass(frozen=True)
class Fault:
    """An answer instead of the real one.

    Attributes:
        status: of the answer.
        retry_after: seconds that it asks to wait, or None.
        after: the request is carried out first, and only its answer is lost.
        verbs: that it waits for; empty for any.
        text: of the answer; a Status if empty.
        release: the answer is held back until this is set.
    """

    status: int
    retry_after: int | None = None
    after: bool = False
    verbs: tuple[str, ...] = ()
    text: str = ""
    release: threading.Event | None = None


@dataclass
class KubeServer:
    """The API from inside.

    Attributes:
        objects: what is kept.
        controllers: what works on it.
        calls: every request, in order.
        faults: each is used up by one request.
        before_write: called once before the next write, as somebody who writes in between.
        role: the only thing that is allowed, if it is given.
        url: where it listens.
        authorizations: headers of that name that came with requests.
        lock: around every request.
    """

    objects: KubeObjects = field(default_factory=KubeObjects)
    controllers: KubeControllers = field(init=False)
    calls: list[Call] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    before_write: Callable[[], None] | None = None
    role: Json | None = None
    url: str = ""
    authorizations: set[str] = field(default_factory=set)
    api: client.ApiClient = field(init=False)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.controllers = KubeControllers(self.objects)
        self.objects.now = lambda: _time(self.controllers.time_s)

    def add(self, plural: str, body: Json, manager: str = "kubectl-client-side-apply") -> None:
        """Somebody creates an object."""
        self.objects.create((plural, body["metadata"]["namespace"], body["metadata"]["name"]), body, manager)

    def advance(self, seconds: int) -> None:
        with self.lock:
            self.controllers.advance(seconds)

    @property
    def writes(self) -> list[Call]:
        """Writes that went through."""
        return [call for call in self.calls if call.verb not in {"get", "list"} and call.status < 300]

    def answer(self, method: str, path: str, query: dict[str, str], kind: str, body: Any) -> tuple[int, Any]:
        """One request, after authorisation."""
        group, namespace, plural, name, sub = place(path)
        if plural not in GROUPS.get(group, set()) or sub:
            raise RefusedError(404, "the server could not find the requested resource", "NotFound")
        key = (plural, namespace, name)
        if method == "GET" and not name:
            wanted = dict(part.split("=", 1) for part in query.get("labelSelector", "").split(",") if part)
            found = self.objects.select(plural, namespace, wanted)
            return 200, {"kind": "List", "apiVersion": "v1", "items": found}
        if method == "GET":
            return 200, self.objects.get(key)
        return self._write(method, key, query, kind, body)

    def _write(self, method: str, key: Key, query: dict[str, str], kind: str, body: Any) -> tuple[int, Any]:
        if self.before_write is not None:
            act, self.before_write = self.before_write, None
            act()
        manager = query.get("fieldManager", "")
        if method == "POST":
            return 201, self.objects.create((*key[:2], body["metadata"]["name"]), body, manager or "unknown")
        if method == "PUT":
            return 200, self.objects.replace(key, body, manager or "unknown")
        if method == "PATCH" and kind == "application/apply-patch+yaml":
            return 200, self.objects.apply(key, body, manager, force=query.get("force") == "true")
        raise RefusedError(415, f"{method} with {kind} is not supported here", "UnsupportedMediaType")

    def authorise(self, verb: str, path: str) -> None:
        """Refuse what the Role does not allow, by the rules of Kubernetes' RBAC."""
        group, _, plural, name, _ = place(path)
        allowed = self.role is None or any(
            group in rule["apiGroups"]
            and plural in rule["resources"]
            and verb in rule["verbs"]
            and (not rule.get("resourceNames") or name in rule["resourceNames"])
            for rule in self.role["rules"]
        )
        if not allowed:
            raise RefusedError(403, f'{plural} "{name}" is forbidden: cannot {verb}', "Forbidden")


def _time(seconds: float) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(path: str) -> tuple[str, str, str, str, str]:
    """Group, namespace, plural, name and subresource of a path."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[:1] != ["namespaces"]:
        return group, "", rest[0], "", ""  # of all namespaces
    _, namespace, plural, name, sub = (*rest, "", "", "", "", "")[:5]
    return group, namespace, plural, name, sub


class _Handler(BaseHTTPRequestHandler):
    kube: KubeServer

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def _serve(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        group, namespace, plural, name, sub = place(url.path)
        verb = VERBS.get(self.command) or ("get" if name else "list")
        with self.kube.lock:
            self.kube.authorizations.add(self.headers.get("Authorization", ""))
            fault = self._fault(verb)
            if fault is None or fault.after:
                status, answer = self._carried_out(verb, url.path, query, body)
            else:
                status, answer = fault.status, None
            self.kube.calls.append(Call(verb, group, plural, namespace, name, sub, status, body))
        if fault is not None and fault.release is not None:
            fault.release.wait()
        self._send(status if fault is None else fault.status, answer, fault)

    def _fault(self, verb: str) -> Fault | None:
        faults = self.kube.faults
        if faults and (not faults[0].verbs or verb in faults[0].verbs):
            return faults.popleft()
        return None

    def _carried_out(self, verb: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        try:
            self.kube.authorise(verb, path)
            return self.kube.answer(self.command, path, query, self.headers.get("Content-Type", ""), body)
        except RefusedError as refused:
            return refused.code, refused.body

    def _send(self, status: int, answer: Any, fault: Fault | None) -> None:
        said = {"kind": "Status", "status": "Failure", "message": "asked to fail", "code": status}
        text = (fault.text if fault and fault.text else json.dumps(said if fault else answer)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if fault and fault.retry_after is not None:
            self.send_header("Retry-After", str(fault.retry_after))
        self.end_headers()
        self.wfile.write(text)

    def handle(self) -> None:
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            """The client has stopped waiting."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def kube_server() -> Iterator[KubeServer]:
    """Run the API; `api` is a client of it."""
    kube = KubeServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"kube": kube}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    kube.url = f"http://127.0.0.1:{server.server_port}"
    settings = client.Configuration()
    settings.host = kube.url
    settings.retries = False
    kube.api = client.ApiClient(settings)
    try:
        yield kube
    finally:
        kube.api.rest_client.pool_manager.clear()
        server.shutdown()
        thread.join()
        server.server_close()
