"""What the client does when the API is slow, busy, broken, or no Kubernetes API at all."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from deploy.actuators.kube_samples import NAMESPACE, cluster, pools
from deploy.actuators.kube_server import Fault, KubeServer
from specwatch_deploy.actuators import kube_api
from specwatch_deploy.actuators.cluster import HTTP_ROUTES, ConflictError, MissingError, OwnedError
from specwatch_deploy.actuators.kube_api import KubeApi, connect
from specwatch_detectors.fallback.actuator import ActuatorError
from specwatch_detectors.fallback.level import Level

HALF = {Level.DRAFT: 0.5, Level.NGRAM: 0.5}


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_passing_fault_is_sat_out_as_long_as_it_asks(kube: KubeServer, status: int) -> None:
    waited: list[float] = []
    api = cluster(kube, sleep=waited.append)
    kube.faults.extend([Fault(status, retry_after=7), Fault(status)])
    assert api.get(HTTP_ROUTES, NAMESPACE, "llama")["kind"] == "HTTPRoute"
    assert waited == [7.0, 0.4]


def test_a_fault_that_stays_is_an_error_to_try_again(kube: KubeServer) -> None:
    kube.faults.extend([Fault(503)] * 3)
    with pytest.raises(ActuatorError, match="httproutes/llama: 503 asked to fail") as error:
        cluster(kube).get(HTTP_ROUTES, NAMESPACE, "llama")
    assert error.value.retry


def test_a_long_retry_after_is_left_to_the_caller(kube: KubeServer) -> None:
    waited: list[float] = []
    kube.faults.append(Fault(429, retry_after=120))
    with pytest.raises(ActuatorError, match="429 asked to fail; it asks to wait 120 s") as error:
        cluster(kube, sleep=waited.append).get(HTTP_ROUTES, NAMESPACE, "llama")
    assert (error.value.retry, waited) == (True, [])


@pytest.mark.parametrize("status", [429, 500, 504])
def test_a_write_whose_answer_was_lost_is_made_once(kube: KubeServer, status: int) -> None:
    kube.faults.append(Fault(status, after=True, verbs=("patch",)))
    lever = pools(kube)
    lever.apply(lever.plan(HALF))
    assert lever.describe().shares == HALF
    assert [call.status for call in kube.calls if call.verb == "patch"] == [200, 409]


@pytest.mark.timeout(20)
def test_a_hanging_server_is_left_after_the_time_out(kube: KubeServer) -> None:
    release = threading.Event()
    kube.faults.append(Fault(200, release=release))
    try:
        with pytest.raises(ActuatorError, match="timed out") as error:
            cluster(kube, timeout_s=0.1, tries=1).get(HTTP_ROUTES, NAMESPACE, "llama")
    finally:
        release.set()
    assert error.value.retry


def test_a_server_that_is_gone(kube: KubeServer) -> None:
    kube.api.configuration.host = "http://127.0.0.1:1"
    with pytest.raises(ActuatorError, match="GET /apis/gateway") as error:
        cluster(kube).get(HTTP_ROUTES, NAMESPACE, "llama")
    assert error.value.retry


@pytest.mark.parametrize(
    ("fault", "said", "retry"),
    [
        (Fault(200, text="<html>"), "is this a Kubernetes API", True),
        (Fault(200, text="[1]"), "is this a Kubernetes API", True),
        (Fault(401), "401 asked to fail", False),
        (Fault(422, text="not\n json"), "422 not json", False),
        (Fault(302), "302", False),
    ],
)
def test_other_answers(kube: KubeServer, fault: Fault, said: str, *, retry: bool) -> None:
    kube.faults.append(fault)
    with pytest.raises(ActuatorError, match=said) as error:
        cluster(kube).get(HTTP_ROUTES, NAMESPACE, "llama")
    assert error.value.retry is retry
    assert len(kube.calls) == 1


def test_missing_and_existing(kube: KubeServer) -> None:
    api = cluster(kube)
    with pytest.raises(MissingError, match="404"):
        api.get(HTTP_ROUTES, NAMESPACE, "other")
    with pytest.raises(ConflictError, match="already exists"):
        api.create(HTTP_ROUTES, kube.objects.get(("httproutes", NAMESPACE, "llama")))


def test_the_server_refuses_what_is_not_forced(kube: KubeServer) -> None:
    kube.objects.edit(("httproutes", NAMESPACE, "llama"), lambda found: found["spec"].update(rules=[]), "argocd")
    found = kube.objects.get(("httproutes", NAMESPACE, "llama"))
    meta = {"name": "llama", "namespace": NAMESPACE}
    body = {"apiVersion": found["apiVersion"], "kind": "HTTPRoute", "metadata": meta, "spec": {"rules": [{}]}}
    with pytest.raises(OwnedError, match="409 Apply failed with 1 conflicts") as error:
        cluster(kube).apply(HTTP_ROUTES, body, force=False)
    assert not error.value.retry
    assert cluster(kube).apply(HTTP_ROUTES, body, force=True)["spec"]["rules"] == [{}]


def test_no_write_without_leave(kube: KubeServer) -> None:
    allowed = [True, False]

    def leave() -> None:
        if not allowed.pop(0):
            raise ActuatorError("not the leader any more", retry=False)

    lever = pools(kube)
    plan = lever.plan(HALF)
    kube.faults.append(Fault(503, verbs=("patch",)))
    object.__setattr__(lever._object, "_cluster", cluster(kube, before_write=leave))
    with pytest.raises(ActuatorError, match="not the leader any more"):
        lever.apply(plan)
    assert (allowed, kube.writes) == ([], [])


def test_without_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(ActuatorError, match="no cluster to talk to") as error:
        connect(str(tmp_path / "none"))
    assert not error.value.retry


def test_a_kubeconfig(kube: KubeServer, tmp_path: Path) -> None:
    text = f"""
apiVersion: v1
kind: Config
current-context: one
clusters: [{{name: c, cluster: {{server: "{kube.url}"}}}}]
users: [{{name: u, user: {{token: a-token}}}}]
contexts: [{{name: one, context: {{cluster: c, user: u}}}}]
"""
    (tmp_path / "config").write_text(text)
    api = connect(str(tmp_path / "config"), "one")
    kube.faults.append(Fault(429, retry_after=0))
    with pytest.raises(ActuatorError, match="429"):
        KubeApi(api, tries=1).get(HTTP_ROUTES, NAMESPACE, "llama")
    assert len(kube.calls) == 1, "nothing below tries again by itself"
    assert KubeApi(api).get(HTTP_ROUTES, NAMESPACE, "llama")["metadata"]["name"] == "llama"
    api.rest_client.pool_manager.clear()
    assert "Bearer a-token" in kube.authorizations


def test_the_client_library_is_imported_by_one_module() -> None:
    """So that nothing but its extra needs it, and a fake of `Cluster` does for the rest."""
    folder = Path(kube_api.__file__).parent
    importing = [
        file.name
        for file in folder.glob("*.py")
        if re.search(r"^\s*(from|import) kubernetes", file.read_text(), re.MULTILINE)
    ]
    assert importing == ["kube_api.py"]
