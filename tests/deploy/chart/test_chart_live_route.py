"""An upgrade in the middle of a fallback: helm asks a cluster (here a small API) and keeps the weights it finds."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from alerts.loopback_site import serving
from deploy.chart.helm_chart import CHART, GATEWAY_API, NAMESPACE, ci
from tools.tool_paths import find_tool

PATH = f"/apis/{GATEWAY_API}/namespaces/{NAMESPACE}/httproutes/demo-specwatch"
GROUP = GATEWAY_API.partition("/")[0]
PAGES: dict[str, Any] = {
    "/version": {"major": "1", "minor": "33", "gitVersion": "v1.33.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [{"name": GROUP, "versions": [{"groupVersion": GATEWAY_API, "version": "v1"}]}],
    },
    f"/apis/{GATEWAY_API}": {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": GATEWAY_API,
        "resources": [{"name": "httproutes", "namespaced": True, "kind": "HTTPRoute", "verbs": ["get"]}],
    },
}


@contextmanager
def cluster(pages: dict[str, Any]) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            body = json.dumps(page or {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404})
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with serving(Handler) as address:
        yield int(address.rpartition(":")[2])


def kubeconfig(folder: Path, port: int) -> Path:
    file = folder / "config"
    known = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(yaml.safe_dump(known))
    return file


def only_the_route(folder: Path) -> Path:
    """The chart with no other objects, so that the small API need know no other kinds."""
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    for part in (CHART / "Chart.yaml", CHART / "values.yaml"):
        (chart / part.name).symlink_to(part)
    for part in (*(CHART / "templates").glob("_*.tpl"), CHART / "templates" / "route.yaml"):
        (chart / "templates" / part.name).symlink_to(part)
    return chart


def route(*backends: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": GATEWAY_API,
        "kind": "HTTPRoute",
        "metadata": {
            "name": "demo-specwatch",
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "demo", "meta.helm.sh/release-namespace": NAMESPACE},
        },
        "spec": {"rules": [{"backendRefs": list(backends)}]},
    }


@pytest.mark.parametrize(
    ("live", "weights"),
    [
        (None, {"draft": 1, "ngram": 0}),
        (
            route(
                {"name": "demo-specwatch-draft", "weight": 50},
                {"name": "demo-specwatch-ngram", "weight": 950},
                {"name": "somebody-elses", "weight": 7},
            ),
            {"draft": 50, "ngram": 950},
        ),
        (route({"name": "demo-specwatch-draft"}), {"draft": 1, "ngram": 0}),
        (route(), {"draft": 1, "ngram": 0}),
    ],
    ids=["none yet", "moved", "no weight", "no backends"],
)
def test_weights_in_the_cluster_stay(live: dict[str, Any] | None, weights: dict[str, int], tmp_path: Path) -> None:
    command = [str(find_tool("helm")), "template", "demo", str(only_the_route(tmp_path)), "--namespace", NAMESPACE]
    command += ["--values", str(ci("stack")), "--dry-run=server", "--disable-openapi-validation"]
    with cluster(PAGES | ({PATH: live} if live else {})) as port:
        environment = {"KUBECONFIG": str(kubeconfig(tmp_path, port)), "HOME": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    backends = yaml.safe_load(done.stdout)["spec"]["rules"][0]["backendRefs"]
    assert {one["name"].removeprefix("demo-specwatch-"): one["weight"] for one in backends} == weights
