"""A Kubernetes API with two ready pools."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.actuators.kube_samples import fill
from deploy.actuators.kube_server import KubeServer, kube_server


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    """Filled by `fill`; the levers' fields are ours already."""
    with kube_server() as server:
        fill(server)
        yield server
