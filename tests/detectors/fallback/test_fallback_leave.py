"""A person sends the traffic one level down: whatever pays, but within the limits that keep it safe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from detectors.fallback.controller_rig import QUICK, NewRig, at_rest
from specwatch_detectors.fallback.audit_words import story
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.operator_command import Order


def test_an_operator_leaves_a_level_that_pays_and_probes_bring_the_traffic_home(new_rig: NewRig) -> None:
    own = new_rig(steps=(0.5, 1.0))
    own.rounds(3)
    own.command(Order.LEAVE)
    view = own.until(at_rest(Level.NGRAM), most=10)
    assert view.memory is not None
    assert view.memory.moves["draft ngram operator"] == 1
    assert len(view.memory.policy.flips) == 1
    assert own.lever.calls == ["apply to 50 % draft, 50 % ngram", "apply to 100 % ngram"]
    assert own.entries("intent")[0]["command"] == "leave"
    assert own.entries("intent")[0]["words"] == "somebody asked for it"
    told = [line.text for line in story(own.entries())]
    assert told[-1] == "n-gram has all of the traffic, as ordered; 0 of 100 requests failed"
    own.until(at_rest(Level.DRAFT))


def test_a_second_order_goes_one_level_deeper_and_a_third_has_nowhere_to_go(new_rig: NewRig) -> None:
    own = new_rig(steps=(1.0,), settings=replace(QUICK, probe_first_s=3600.0))
    own.rounds(1)
    for identity, wanted in (("1", Level.NGRAM), ("2", Level.OFF)):
        own.command(Order.LEAVE, identity)
        own.until(at_rest(wanted), most=5)
    own.command(Order.LEAVE, "3")
    own.rounds(2)
    assert own.lever.calls == ["apply to 100 % ngram", "apply to 100 % off"]
    assert "there is no level behind" in own.entries("operator")[-1]["words"]


def test_orders_count_as_switches_of_the_day(new_rig: NewRig) -> None:
    settings = replace(QUICK, flips_per_day=2, probe_first_s=36_000.0, probe_most_s=36_000.0)
    own = new_rig(steps=(1.0,), settings=settings)
    own.rounds(1)
    own.command(Order.LEAVE, "1")
    own.until(at_rest(Level.NGRAM), most=5)
    own.command(Order.RETURN, "2")
    own.until(at_rest(Level.DRAFT), most=5)
    own.command(Order.LEAVE, "3")
    own.rounds(2)
    assert "2 switches were made in a day" in own.entries("operator")[-1]["words"]
    assert len(own.lever.calls) == 2


@pytest.mark.parametrize(
    ("world", "rules", "said"),
    [
        ({"gone": True}, {}, "old data"),
        ({"changes": {"rollout": True}}, {}, "pods are being replaced"),
        ({"changes": {"scaling": True}}, {}, "not ready"),
        ({}, {"acting": False}, "dry run"),
    ],
)
def test_an_order_to_leave_overrides_what_pays_and_no_safety(
    new_rig: NewRig, world: dict[str, Any], rules: dict[str, Any], said: str
) -> None:
    own = new_rig(**rules)
    own.rounds(1)
    for name, value in world.items():
        setattr(own.world, name, value)
    own.rounds(20)
    own.command(Order.LEAVE)
    own.rounds(3)
    (answer,) = own.entries("operator")
    assert answer["words"].startswith("not obeyed: ")
    assert said in answer["words"]
    assert answer["by"] == "somebody"
    assert own.lever.calls == []
