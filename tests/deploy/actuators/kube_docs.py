"""The generated parts of docs/fallback-kubernetes.md: `python -m deploy.actuators.kube_docs` writes them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from deploy.actuators.kube_samples import fill, pools, rollout, selector
from deploy.actuators.kube_server import KubeServer, kube_server
from specwatch_deploy.actuators.kube_role import roles
from specwatch_detectors.fallback.fallback_config import config_of
from specwatch_detectors.fallback.level import Level

PAGE = Path(__file__).parents[3] / "docs" / "fallback-kubernetes.md"
PART = re.compile(r"(<!-- begin: (?P<name>[a-z-]+) -->\n).*?(<!-- end: (?P=name) -->)", re.DOTALL)
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
VERSION = re.compile(r'resourceVersion: "\d+"')


def tables(text: str) -> dict[str, dict[str, Any]]:
    """The page's configurations, by kind of lever; the leader's under `leader`."""
    found: dict[str, dict[str, Any]] = {}
    for block in TOML.findall(text):
        body = tomllib.loads(block)
        found |= {"leader": body["leader"]} if "leader" in body else {body["lever"]["kind"]: body["lever"]}
    return found


def configuration(kind: str, found: dict[str, dict[str, Any]]) -> Any:
    """A whole configuration around one lever of the page, with the page's leader."""
    lever = found[kind]
    levels = lever.get("services") or lever.get("values") or lever["arguments"]
    rest = {"model": "llama", "audit_log": "audit.jsonl", "source": {"prometheus": "http://127.0.0.1:9090"}}
    return config_of({**rest, "levels": list(levels), "lever": lever, "leader": found["leader"]})


def parts(text: str, kube: KubeServer) -> dict[str, str]:
    """What belongs into each part."""
    plans = {
        "route-patch": pools(kube).plan({Level.DRAFT: 0.95, Level.NGRAM: 0.05}),
        "selector-patch": selector(kube).plan({Level.NGRAM: 1.0}),
        "rollout-patch": rollout(kube).plan({Level.NGRAM: 1.0}),
    }
    shown = {name: VERSION.sub('resourceVersion: "8431"', plan.text) for name, plan in plans.items()}
    shown["role"] = roles(configuration("pools", tables(text)))
    return {name: f"```yaml\n{block}```\n" for name, block in shown.items()}


def rendered(text: str, kube: KubeServer) -> str:
    """The page with every part made anew."""
    made = parts(text, kube)
    return PART.sub(lambda found: found.group(1) + made[found.group("name")] + found.group(3), text)


if __name__ == "__main__":
    with kube_server() as server:
        fill(server)
        PAGE.write_text(rendered(PAGE.read_text(), server))
