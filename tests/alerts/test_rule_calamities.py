"""What must not fire anything: idle engines, restarts, next to no traffic, NaN, and labels that are missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from alerts.promtool_run import PROMTOOLS, check
from alerts.rule_case import Case
from alerts.rule_world import World, healthy
from specwatch_alerts.origin import Origin

COUNTER: Final = re.compile(r".*_(total|bucket|count)$")
RUNNING: Final = re.compile(r"(?:requests_running|running_reqs)$")
GROWING: Final = re.compile(r"0\+(\d+)")


def _counters(world: World, change: Callable[[int], str]) -> World:
    return {
        key: change(int(found[1])) if COUNTER.match(key[0]) and (found := GROWING.fullmatch(values)) else values
        for key, values in world.items()
    }


def idle(world: World) -> World:
    stopped = _counters(world, lambda step: f"{step * 600}")
    return {key: "0" if RUNNING.search(key[0]) else values for key, values in stopped.items()}


def low_volume(world: World) -> World:
    return _counters(world, lambda step: f"0+{step / 5000:g}")


def restart(world: World) -> World:
    return _counters(world, lambda step: f"0+{step}x70 0+{step}x60")


def nan(world: World) -> World:
    return {key: values if COUNTER.match(key[0]) else "NaN" for key, values in world.items()}


def without(*names: str) -> Callable[[World], World]:
    def change(world: World) -> World:
        return {
            (name, tuple((label, value) for label, value in labels if label not in names)): values
            for (name, labels), values in world.items()
        }

    return change


CALAMITIES: Final = {
    "idle": idle,
    "low volume": low_volume,
    "restart": restart,
    "NaN": nan,
    "no namespace": without("namespace", "exported_namespace"),
    "no pod": without("pod"),
    "no model": without("model", "model_name"),
}


@pytest.mark.parametrize("promtool", PROMTOOLS)
@pytest.mark.parametrize("name", CALAMITIES)
def test_nothing_fires(name: str, promtool: str, tmp_path: Path) -> None:
    cases = [Case(name, origin, "2h", CALAMITIES[name](healthy(origin)), {}) for origin in Origin]
    check(promtool, name, cases, tmp_path)
