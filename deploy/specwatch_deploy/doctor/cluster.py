"""Objects of a live cluster as documents: lists only, nothing is written, and no Secret is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from specwatch_deploy.actuators.cluster import Cluster, MissingError, Resource
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.documents import opened
from specwatch_deploy.doctor.input_error import InputError
from specwatch_detectors.fallback.actuator import ActuatorError


@dataclass(frozen=True, slots=True)
class _Everywhere(Resource):
    """A kind whose objects are listed over all namespaces."""

    def path(self, namespace: str, name: str = "") -> str:
        """Path of all objects; a namespace, if there is one, narrows it."""
        if namespace:
            return Resource.path(self, namespace, name)
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        return f"{root}/{self.plural}"


@dataclass(frozen=True, slots=True)
class Listed:
    """What is listed.

    Attributes:
        resource: kind.
        labels: that the objects must have.
    """

    resource: Resource
    labels: tuple[tuple[str, str], ...] = ()


LISTED: Final = (
    Listed(_Everywhere("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject")),
    Listed(_Everywhere("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")),
    Listed(_Everywhere("autoscaling.aibrix.ai", "v1alpha1", "podautoscalers", "PodAutoscaler")),
    Listed(_Everywhere("workload.serving.volcano.sh", "v1alpha1", "autoscalingpolicies", "AutoscalingPolicy")),
    Listed(_Everywhere("serving.kserve.io", "v1beta1", "inferenceservices", "InferenceService")),
    Listed(_Everywhere("monitoring.coreos.com", "v1", "prometheusrules", "PrometheusRule")),
    Listed(_Everywhere("monitoring.coreos.com", "v1", "podmonitors", "PodMonitor")),
    Listed(_Everywhere("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor")),
    Listed(_Everywhere("apps", "v1", "daemonsets", "DaemonSet")),
    Listed(_Everywhere("", "v1", "configmaps", "ConfigMap"), (("grafana_dashboard", "1"),)),
    Listed(_Everywhere("", "v1", "configmaps", "ConfigMap"), (("app.kubernetes.io/name", "prometheus-adapter"),)),
)
"""Dashboards and the adapter's configuration are found by the labels that their charts set."""


def open_cluster(kubeconfig: str = "", context: str = "") -> Cluster:
    """The API of the cluster that this runs in, or of a kubeconfig.

    Args:
        kubeconfig: path; empty for the pod's own account, or the user's kubeconfig.
        context: of the kubeconfig; empty for its present one.

    Raises:
        InputError: there is no cluster to talk to, or its client is not installed.
    """
    try:
        from specwatch_deploy.actuators.kube_api import KubeApi, connect  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed: pip install '.[kube]'") from error
    try:
        return KubeApi(connect(kubeconfig, context))
    except ActuatorError as error:
        raise InputError(str(error)) from error


def cluster_documents(
    cluster: Cluster, namespace: str = "", note: Callable[[str], None] = lambda _: None
) -> Iterator[Document]:
    """All that the doctor reads in a cluster.

    Args:
        cluster: its API.
        namespace: the only one to look into; empty for all.
        note: told of each kind that may not be listed; kinds that the cluster does not have are left out silently.

    Raises:
        InputError: the API does not answer.
    """
    for wanted in LISTED:
        try:
            items = cluster.labelled(wanted.resource, namespace, dict(wanted.labels))
        except MissingError:
            continue
        except ActuatorError as error:
            if error.retry:
                raise InputError(f"the cluster does not answer: {error}") from error
            note(f"{wanted.resource.plural} cannot be listed: {error}")
            continue
        for item in items:
            body = {"apiVersion": wanted.resource.api_version, "kind": wanted.resource.kind, **item}
            for document in opened(Document("cluster", body)):
                name = f"cluster, {document.kind or wanted.resource.kind} {document.name}".rstrip()
                yield document if document.part else _named(document, name)


def _named(document: Document, name: str) -> Document:
    return Document(name, document.body, document.node, document.text, document.before, document.part)
