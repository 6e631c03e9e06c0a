from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from alerts.alert_stack import ALERTMANAGERS, AlertStack, Scope, Told, alert_stack

LLAMA: Scope = ("serving", "llama", "", "")
QWEN: Scope = ("serving", "qwen", "", "")
ELSEWHERE: Scope = ("staging", "llama", "", "")
NOWHERE: Scope = ("", "", "", "")
POD_A: Scope = ("serving", "llama", "llama-0", "10.0.0.1:9477")
POD_B: Scope = ("serving", "llama", "llama-1", "10.0.0.2:9477")
BARE_A: Scope = ("", "", "", "gpu-1:8000")
BARE_B: Scope = ("", "", "", "gpu-2:8000")


@pytest.fixture(params=ALERTMANAGERS)
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AlertStack]:
    with alert_stack(tmp_path, request.param) as running:
        yield running


def muted(stack: AlertStack, alert: str) -> set[tuple[str, bool]]:
    """Model or pod or instance of each alert of that name that Alertmanager has, and whether it is muted."""
    with urllib.request.urlopen(f"{stack.url}/api/v2/alerts", timeout=10) as answer:
        rows = json.load(answer)
    found = [row for row in rows if row["labels"]["alertname"] == alert]
    place = ("pod", "instance", "model", "namespace")
    return {
        (
            next((row["labels"][name] for name in place if name in row["labels"]), ""),
            row["status"]["state"] == "suppressed",
        )
        for row in found
    }


def of(stack: AlertStack, alert: str, scope: Scope | None = None) -> list[Told]:
    return [one for one in stack.told() if one.alert == alert and (scope is None or one.scope == scope)]


def test_a_fallback_mutes_latency_and_acceptance_of_its_own_model_until_it_is_over(stack: AlertStack) -> None:
    for scope in (LLAMA, NOWHERE):  # a fallback without labels must not mute what has none either
        stack.fire("SpecwatchFallbackActive", "info", scope)
    for scope in (LLAMA, QWEN, ELSEWHERE, NOWHERE):
        stack.fire("SpecwatchTokenLatencyBurn", "page", scope)
    stack.fire("SpecwatchDraftDriftedNotPaying", "page", LLAMA)
    stack.fire("SpecwatchTTFTBurn", "page", LLAMA)
    stack.fire("SpecwatchErrorBurn", "page", LLAMA)
    stack.until(
        lambda: (
            all(of(stack, "SpecwatchTokenLatencyBurn", scope) for scope in (QWEN, ELSEWHERE, NOWHERE))
            and {one.receiver for one in of(stack, "SpecwatchErrorBurn")} == {"slack", "pager"}
            and {one.receiver for one in of(stack, "SpecwatchTTFTBurn")} == {"slack", "pager"}
            and bool(of(stack, "SpecwatchFallbackActive", LLAMA))
        ),
        "what is not muted is told",
    )
    assert {one.receiver for one in of(stack, "SpecwatchFallbackActive")} == {"slack"}
    assert of(stack, "SpecwatchTokenLatencyBurn", LLAMA) == []
    assert of(stack, "SpecwatchDraftDriftedNotPaying") == []
    heard = {("llama", False), ("qwen", False), ("", False)}
    assert muted(stack, "SpecwatchTokenLatencyBurn") == {("llama", True), *heard}

    stack.fire("SpecwatchFallbackActive", "info", LLAMA, on=False)
    stack.until(lambda: len(of(stack, "SpecwatchTokenLatencyBurn", LLAMA)) == 2, "latency comes back")
    stack.until(lambda: len(of(stack, "SpecwatchDraftDriftedNotPaying")) == 2, "acceptance comes back")
    stack.until(
        lambda: "resolved" in {one.status for one in of(stack, "SpecwatchFallbackActive", LLAMA)}, "it is over"
    )
    assert {one.status for one in of(stack, "SpecwatchTokenLatencyBurn", LLAMA)} == {"firing"}
    told = stack.told()
    first = {scope: told.index(of(stack, "SpecwatchTokenLatencyBurn", scope)[0]) for scope in (LLAMA, QWEN)}
    assert max(told.index(of(stack, "SpecwatchFallbackActive", LLAMA)[0]), first[QWEN]) < first[LLAMA]


def test_a_collapse_is_one_page_and_what_follows_from_it_comes_when_it_is_over(stack: AlertStack) -> None:
    followers = {
        "SpecwatchDraftDriftedNotPaying": "page",
        "SpecwatchDraftDrifted": "ticket",
        "SpecwatchSpeculationSlower": "ticket",
    }
    stack.fire("SpecwatchAcceptanceCollapsed", "page", LLAMA)
    for name, severity in followers.items():
        for scope in (LLAMA, QWEN):
            stack.fire(name, severity, scope)
    stack.fire("SpecwatchQueueWaitBurn", "page", LLAMA)
    stack.until(
        lambda: (
            all(of(stack, name, QWEN) for name in followers)
            and len(of(stack, "SpecwatchAcceptanceCollapsed")) == 2
            and len(of(stack, "SpecwatchQueueWaitBurn")) == 2
        ),
        "the collapse, and other models",
    )
    assert [one for name in followers for one in of(stack, name, LLAMA)] == []
    stack.fire("SpecwatchAcceptanceCollapsed", "page", LLAMA, on=False)
    stack.until(lambda: all(of(stack, name, LLAMA) for name in followers), "what follows comes back")


def test_an_alert_of_a_severity_that_nobody_knows_rings(stack: AlertStack) -> None:
    stack.fire("SpecwatchErrorBurn", "sev1", LLAMA)
    stack.until(lambda: {one.receiver for one in of(stack, "SpecwatchErrorBurn")} == {"slack", "pager"}, "it rings")


def test_a_pod_that_is_not_scraped_is_silent_but_for_what_says_why(stack: AlertStack) -> None:
    stack.fire("SpecwatchScrapeFailing", "ticket", POD_A)
    stack.fire("SpecwatchScrapeFailing", "ticket", BARE_A)
    for scope in (POD_A, POD_B, BARE_A, BARE_B):
        stack.fire("SpecwatchKVPressure", "ticket", scope)
        stack.fire("SpecwatchEngineRestartLoop", "page", scope)
    stack.until(
        lambda: (
            {one.scope for one in of(stack, "SpecwatchKVPressure")} >= {POD_B, BARE_B}
            and {one.scope for one in of(stack, "SpecwatchEngineRestartLoop")} == {POD_A, POD_B, BARE_A, BARE_B}
            and {one.scope for one in of(stack, "SpecwatchScrapeFailing")} == {POD_A, BARE_A}
        ),
        "other pods, and what explains the scrape, are told",
    )
    assert {one.scope for one in of(stack, "SpecwatchKVPressure")} == {POD_B, BARE_B}
    assert muted(stack, "SpecwatchKVPressure") == {
        ("llama-0", True),
        ("llama-1", False),
        ("gpu-1:8000", True),
        ("gpu-2:8000", False),
    }
    for scope in (POD_A, BARE_A):
        stack.fire("SpecwatchScrapeFailing", "ticket", scope, on=False)
    stack.until(
        lambda: {one.scope for one in of(stack, "SpecwatchKVPressure")} == {POD_A, POD_B, BARE_A, BARE_B},
        "the pod is heard again",
    )


def test_a_page_mutes_the_ticket_of_the_same_alert_and_the_ticket_comes_when_the_page_is_over(
    stack: AlertStack,
) -> None:
    stack.fire("SpecwatchQueueWaitBurn", "page", LLAMA)
    for scope in (LLAMA, QWEN):
        stack.fire("SpecwatchQueueWaitBurn", "ticket", scope)
    stack.fire("SpecwatchErrorBurn", "ticket", LLAMA)

    def tickets() -> set[tuple[str, Scope]]:
        return {(one.alert, one.scope) for one in stack.told() if one.severity == "ticket"}

    others = {("SpecwatchQueueWaitBurn", QWEN), ("SpecwatchErrorBurn", LLAMA)}
    stack.until(lambda: tickets() >= others and len(of(stack, "SpecwatchQueueWaitBurn", LLAMA)) == 2, "all but one")
    assert tickets() == others
    assert {one.severity for one in of(stack, "SpecwatchQueueWaitBurn", LLAMA)} == {"page"}

    stack.fire("SpecwatchQueueWaitBurn", "page", LLAMA, on=False)
    stack.until(lambda: ("SpecwatchQueueWaitBurn", LLAMA) in tickets(), "the ticket comes")
    stack.until(
        lambda: "resolved" in {one.status for one in of(stack, "SpecwatchQueueWaitBurn", LLAMA)}, "the page is over"
    )
    assert [one.severity for one in of(stack, "SpecwatchQueueWaitBurn", LLAMA)][:2] == ["page", "page"]
    assert not [one for one in stack.told() if one.receiver == "pager" and one.severity != "page"]
