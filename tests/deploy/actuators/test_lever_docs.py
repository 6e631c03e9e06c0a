"""Every setting of a lever is in the docs, with its default where it is a number."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from specwatch_deploy.actuators import kube_levers, local, webhook
from specwatch_deploy.actuators.health_change import HealthLimits
from specwatch_deploy.actuators.lease import LeaseTimes
from specwatch_deploy.actuators.moved_health import KINDS
from specwatch_deploy.actuators.series_figures import ROWS

DOCS = Path(__file__).resolve().parents[3] / "docs"
KUBE = (DOCS / "fallback-kubernetes.md").read_text()
LOCAL = (DOCS / "fallback-local.md").read_text()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (KUBE, kube_levers.POOL_KEYS),
        (KUBE, kube_levers.SELECTOR_KEYS),
        (KUBE, kube_levers.ROLLOUT_KEYS),
        (KUBE, kube_levers.HEALTH_KEYS),
        (KUBE, kube_levers.CLUSTER_KEYS),
        (KUBE, kube_levers.LEADER_KEYS),
        (LOCAL, local.KEYS),
        (LOCAL, webhook.KEYS),
    ],
)
def test_every_setting_is_named(text: str, keys: tuple[str, ...]) -> None:
    ways = ("`{}`", "`{} =", "{} =", "[lever.{}]")
    missing = [key for key in keys if not any(way.format(key) in text for way in ways)]
    assert missing == []


@pytest.mark.parametrize("text", [KUBE, LOCAL])
def test_the_limits_of_health_have_their_defaults(text: str) -> None:
    rows = {
        line.split("|")[1].strip(" `"): line.split("|")[2].strip() for line in text.splitlines() if "| `" in line
    }
    for field in fields(HealthLimits):
        assert rows[f"health_{field.name}"] == f"{field.default:g}", field.name


def test_the_times_of_the_lease_have_their_defaults() -> None:
    times = LeaseTimes()
    for key in ("duration_s", "renew_deadline_s", "retry_s"):
        assert f"{key} = {getattr(times, key):g}" in KUBE


def test_the_series_that_are_read_are_named() -> None:
    for kind in KINDS:
        assert f"`{kind}`" in KUBE
    for rows in ROWS.values():
        assert f"`{rows.requests.name}`" in KUBE
        assert f"`{rows.latency.name}_bucket`" in KUBE
        for outcome in rows.failed | rows.silent:
            assert f"`{outcome}`" in KUBE
