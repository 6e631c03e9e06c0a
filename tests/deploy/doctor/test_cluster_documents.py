"""A live cluster, here the API server of the tests, gives the same documents as its manifests do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.actuators.kube_samples import no_sleep
from deploy.actuators.kube_server import Fault, KubeServer, kube_server
from specwatch_deploy.actuators.kube_api import KubeApi
from specwatch_deploy.doctor.cluster import cluster_documents, open_cluster
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_owners import two_owners

REF = {"kind": "Deployment", "name": "llama"}


@pytest.fixture
def filled() -> Iterator[KubeServer]:
    with kube_server() as server:
        for space in ("serving", "other"):
            kind = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"}
            server.add(
                "scaledobjects",
                {**kind, "metadata": {"name": "llama", "namespace": space}, "spec": {"scaleTargetRef": REF}},
            )
        kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
        server.add(
            "horizontalpodautoscalers",
            {**kind, "metadata": {"name": "llama", "namespace": "serving"}, "spec": {"scaleTargetRef": REF}},
        )
        adapter = {"app.kubernetes.io/name": "prometheus-adapter"}
        for name, labels in (("adapter", adapter), ("unrelated", {})):
            server.add(
                "configmaps",
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": name, "namespace": "monitoring", "labels": labels},
                    "data": {"config.yaml": "externalRules: []"},
                },
            )
        yield server


def cluster(server: KubeServer) -> KubeApi:
    return KubeApi(server.api, sleep=no_sleep)


def test_everything_is_listed_and_nothing_else_is_done(filled: KubeServer) -> None:
    found = list(cluster_documents(cluster(filled)))
    assert [(one.kind, one.name) for one in found] == [
        ("ScaledObject", "other/llama"),
        ("ScaledObject", "serving/llama"),
        ("HorizontalPodAutoscaler", "serving/llama"),
        ("ConfigMap", "monitoring/adapter"),
        ("", ""),
    ]
    assert found[1].file == "cluster, ScaledObject serving/llama"
    assert found[-1].body == {"externalRules": []}
    assert found[-1].part == "ConfigMap monitoring/adapter, config.yaml"
    assert {call.verb for call in filled.calls} == {"list"}
    assert "secrets" not in {call.resource for call in filled.calls}


def test_findings_are_those_of_manifests(filled: KubeServer) -> None:
    (one,) = two_owners(Inputs(tuple(cluster_documents(cluster(filled)))))
    assert (one.code, str(one.place)) == ("scaler-two-owners", "cluster, HorizontalPodAutoscaler serving/llama")


def test_one_namespace(filled: KubeServer) -> None:
    found = list(cluster_documents(cluster(filled), "other"))
    assert [one.name for one in found] == ["other/llama"]


def test_a_kind_that_may_not_be_listed_is_told_and_the_rest_is_read(filled: KubeServer) -> None:
    filled.role = {"rules": [{"apiGroups": ["keda.sh"], "resources": ["scaledobjects"], "verbs": ["list"]}]}
    notes: list[str] = []
    found = list(cluster_documents(cluster(filled), note=notes.append))
    assert [one.kind for one in found] == ["ScaledObject", "ScaledObject"]
    assert notes
    assert all("cannot be listed" in note and "403" in note for note in notes)


def test_a_cluster_that_does_not_answer_is_one_line(filled: KubeServer) -> None:
    filled.faults.extend([Fault(503)] * 3)
    with pytest.raises(InputError, match="the cluster does not answer: GET /apis/keda"):
        list(cluster_documents(cluster(filled)))


def test_no_cluster_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(InputError, match="no cluster to talk to"):
        open_cluster("/nonexistent/kubeconfig")
