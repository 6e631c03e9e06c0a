"""Shares as whole weights."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_deploy.actuators.route_weights import RouteRule, split
from specwatch_detectors.fallback.actuator import ActuatorError
from specwatch_detectors.fallback.level import Level

SERVICES = {Level.DRAFT: "a", Level.NGRAM: "b:80"}


def route(*refs: dict[str, object]) -> dict[str, object]:
    return {"spec": {"rules": [{"backendRefs": list(refs)}]}}


@given(st.lists(st.integers(0, 10_000), min_size=4, max_size=4).filter(any), st.integers(100, 100_000))
def test_weights_add_up_and_are_off_by_less_than_one(parts: list[int], total: int) -> None:
    shares = {level: part / sum(parts) for level, part in zip(Level, parts, strict=True)}
    weights = split(shares, total)
    assert sum(weights.values()) == total
    assert all(abs(weights[level] - share * total) < 1.0 + 1e-6 for level, share in shares.items())
    assert all(weights[level] == 0 for level, share in shares.items() if share == 0.0)


@pytest.mark.parametrize(
    ("refs", "shares"),
    [
        (({"name": "a"}, {"name": "b", "port": 80}), {Level.DRAFT: 0.5, Level.NGRAM: 0.5}),
        (({"name": "a", "weight": 3}, {"name": "b", "port": 80}), {Level.DRAFT: 0.75, Level.NGRAM: 0.25}),
        (
            ({"name": "a", "weight": 1}, {"name": "b", "port": 80, "weight": 0}, {"name": "b", "port": 81}),
            {Level.DRAFT: 1.0, Level.NGRAM: 0.0},
        ),
    ],
)
def test_shares(refs: tuple[dict[str, object], ...], shares: dict[Level, float]) -> None:
    assert RouteRule(route(*refs), SERVICES).shares == shares


@pytest.mark.parametrize(
    "refs",
    [
        ({"name": "a"},),
        ({"name": "a"}, {"name": "b", "port": 81}),
        ({"name": "a"}, {"name": "b", "port": 80, "namespace": "elsewhere"}),
        ({"name": "a"}, {"name": "b", "port": 80, "kind": "InferencePool", "group": "inference.networking.k8s.io"}),
        ({"name": "a"}, {"name": "a"}, {"name": "b", "port": 80}),
    ],
)
def test_backends_that_are_not_there(refs: tuple[dict[str, object], ...]) -> None:
    with pytest.raises(ActuatorError, match="no rules with each of a, b:80 once"):
        RouteRule(route(*refs), SERVICES)


def test_a_sum_that_cannot_be_split_beside_others() -> None:
    rule = RouteRule(route({"name": "a"}, {"name": "b", "port": 80}, {"name": "c"}), SERVICES)
    with pytest.raises(ActuatorError, match="add up to 2: give them at least 100"):
        _ = rule.total


def test_a_named_rule() -> None:
    rules = [{"name": "x", "backendRefs": [{"name": "a"}, {"name": "b", "port": 80}]}]
    found = {"spec": {"rules": [*rules, {**rules[0], "name": "y"}]}}
    assert RouteRule(found, SERVICES, "y").with_weights({Level.DRAFT: 7})[1]["backendRefs"][0]["weight"] == 7
    with pytest.raises(ActuatorError, match="rule z with each"):
        RouteRule(found, SERVICES, "z")
