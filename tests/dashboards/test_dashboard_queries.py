"""Every query of every dashboard on a real Prometheus, in the four states that a page can be opened in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from dashboards.asked import Answer, Asked, ask, asked_of, filled, seconds_for_days
from dashboards.pod_world import World, prometheus, wait_until
from engine.prometheus_process import Prometheus
from specwatch_dashboards.build import build
from specwatch_dashboards.metric_check import label_values
from specwatch_dashboards.preview.prometheus_api import PrometheusApi
from specwatch_dashboards.preview.time_span import Span
from specwatch_dashboards.source import Source

MOST_SERIES: Final = 20
PATIENCE_S: Final = 60.0
# The engine here proposes three tokens: no draft has a fourth position.
NO_SUCH_POSITION: Final = tuple(
    f"specwatch-draft: Kept if the one before was (conditional) {letter}" for letter in "DEFGH"
)
# Adds up over the time range, so it outlives what it adds up.
OVER_THE_RANGE: Final = frozenset(
    {
        "specwatch-fallback: Regret avoided in the time range, estimate A",
    }
)
# These look back longer, or are what the detectors last knew.
LOOKS_BACK: Final = {
    "specwatch-speculation: Speed-up by speculation A",
    "specwatch-speculation: Budget burn, 1 h A",
    "specwatch-capacity: $ per 1M output tokens A",
    "specwatch-capacity: Cost over budget A",
}
SERVED: Final = "specwatch:generation_tokens:rate5m"
Answers = Mapping[str, tuple[Asked, Answer]]


def answers(server: Prometheus, source: Source) -> Answers:
    every = [asked for dashboard in build(source).values() for asked in asked_of(dashboard)]
    return {asked.where: (asked, ask(server.url, seconds_for_days(asked.expr))) for asked in every}


def settled(server: Prometheus, source: Source, *checks: Callable[[Answers], None]) -> Answers:
    """Answers that pass the checks; a busy machine misses scrapes, and windows take their time to pass."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        seen = answers(server, source)
        try:
            for check in checks:
                check(seen)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        else:
            return seen


def variable_values(server: Prometheus, source: Source) -> dict[str, set[str]]:
    """What Prometheus offers for each variable, over a time as Grafana asks."""
    found, api, now = {}, PrometheusApi(server.url), time.time()
    for one in build(source)["specwatch-draft"]["templating"]["list"]:
        if one["type"] == "query":
            series, label = label_values(one["query"]["query"])
            found[one["name"]] = set(api.label_values(filled(series), label, Span(now - 60, now)))
    return found


def check_numbers(seen: Answers) -> None:
    """Nothing is ever NaN, and nothing is too much."""
    for where, (_, answer) in seen.items():
        assert answer.finite, where
        assert len(answer.values) <= MOST_SERIES, where


def check_all_is_there(seen: Answers) -> None:
    """Every panel shows something, and none says that there is no traffic."""
    empty = {where for where, (asked, answer) in seen.items() if not answer.values and not asked.idle}
    assert empty == set(NO_SUCH_POSITION)
    assert [where for where, (asked, answer) in seen.items() if answer.values and asked.idle] == []


def check_legends(seen: Answers) -> None:
    """Every label of a legend is in the answer."""
    for where, (asked, answer) in seen.items():
        for labels in answer.labels:
            # `cluster` is an external label, which a single Prometheus does not put into its own answers.
            assert asked.legend - {"cluster"} <= labels.keys(), (where, labels)


def check_idle(seen: Answers) -> None:
    """Lines and numbers say "No traffic"; quantiles of nothing are absent."""
    rows = seen.values()
    assert [asked.where for asked, answer in rows if asked.idle and answer.values != (0.0,)] == []
    telling = {asked.where: answer.values for asked, answer in rows if asked.tells_idle}
    assert len(telling) >= 10
    assert [where for where, values in telling.items() if values != (-1.0,) and where not in LOOKS_BACK] == []
    quantiles = [(asked, answer) for asked, answer in rows if "histogram_quantile" in asked.expr]
    assert [asked.where for asked, answer in quantiles if answer.values and not asked.tells_idle] == []


def check_gone(seen: Answers) -> None:
    """Nothing is left to show: every panel says "No data"."""
    assert {where for where, (_, answer) in seen.items() if answer.values} <= OVER_THE_RANGE


def check_variables(variables: dict[str, set[str]]) -> None:
    """They offer what is there."""
    classes = variables.pop("class")
    assert variables == {"cluster": set(), "namespace": {"llm"}, "model": {"m"}, "pod": {"pod-1", "pod-2"}}
    assert classes >= {"chat", "code", "math"}


def states_of(source: Source, folder: Path) -> tuple[dict[str, Answers], dict[str, set[str]]]:
    """All answers by state, checked, and the variables' values while all is well."""
    found: dict[str, Answers] = {}
    with ExitStack() as stack:
        world = World(stack, folder)
        server = stack.enter_context(prometheus(world, source, folder / "prometheus"))

        def has(expression: str) -> bool:
            return bool(server.query(expression))

        # A day ago is three seconds ago here, and the longest window is of twenty.
        wait_until(lambda: has("specwatch:request_ttft_bucket:rate5m offset 16s"), "no traffic was recorded")
        wait_until(lambda: has('specwatch:request_finished:rate5m{outcome="success"} > 0'), "no request ended")
        found["normal"] = settled(server, source, check_all_is_there, check_legends)
        variables = variable_values(server, source)
        world.lose("pod-2")
        wait_until(
            lambda: not has('specwatch:pod_requests_waiting:sum{pod="pod-2"}'), "the lost pod is still there"
        )
        found["one down"] = settled(server, source, check_all_is_there)
        world.rest()
        wait_until(lambda: has(f"sum({SERVED}) == 0"), "traffic did not end")
        found["idle"] = settled(server, source, check_idle)
        world.end()
        wait_until(lambda: not has(SERVED) and not has("specwatch_fallback_level"), "the engines are still there")
        found["all gone"] = settled(server, source, check_gone)
    return found, variables


@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", list(Source))
def test_every_query_in_the_four_states_of_a_cluster(source: Source, tmp_path: Path) -> None:
    seen, variables = states_of(source, tmp_path)
    for state in seen.values():
        assert len(state) > 200
        check_numbers(state)
    check_variables(variables)
