from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import typer

from alerts.runbook_page import HEADINGS, RunbookPage, split_commands
from alerts.troubled_page import TroubledPage, served_text
from engine.prometheus_process import Prometheus, prometheus_scraping
from specwatch_alerts.backtest_expression import metrics_of
from specwatch_alerts.definition import load_definitions
from specwatch_alerts.lint import EXPECTED
from specwatch_alerts.metric_facts import facts_of
from specwatch_alerts.origin import Origin
from specwatch_alerts.runbook_files import runbook_names
from specwatch_cli.main import command_line
from specwatch_exporters.engines import sglang, vllm_v1

ORIGINS = {one.name: one.origins for one in load_definitions()}
ALERTS = tuple(ORIGINS)
PAGES = [RunbookPage(name) for name in ALERTS]
DEADLINE_S = 60.0
MOST_LINES = 100
UPSTREAM = {
    "keda_scaler_metrics_value": "KEDA 2.20",
    "kube_pod_container_status_restarts_total": "kube-state-metrics 2.16",
    "aggregator_unavailable_apiservice": "kube-apiserver: its aggregation layer",
}
"""Series of others that runbooks ask for and no rule does."""
PROGRAMS = {"specwatch", "kubectl", "curl", "grep", "sed", "tr"}
of_each = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def known(name: str) -> bool:
    prefixes = (*vllm_v1.PREFIXES, *sglang.PREFIXES)
    return name in {*UPSTREAM, *EXPECTED} or facts_of(name) is not None or name.startswith(prefixes)


def test_each_alert_has_a_runbook_and_each_runbook_an_alert() -> None:
    assert set(runbook_names()) == set(ALERTS)


@of_each
def test_it_has_all_sections_on_one_page(page: RunbookPage) -> None:
    assert page.text.startswith(f"# {page.name}\n")
    assert tuple(page.sections) == HEADINGS
    assert all(len(text.split()) >= 8 for text in page.sections.values())
    assert len(page.text.splitlines()) <= MOST_LINES
    assert max(map(len, page.prose.splitlines())) <= 160


@of_each
def test_it_is_confirmed_by_two_queries_that_parse_and_whose_series_are_known(page: RunbookPage) -> None:
    assert 2 <= len(page.queries) <= 6
    assert page.fenced("promql", page.sections["Confirm"]) == page.fenced("promql")
    for query in page.fenced("promql"):
        promql_parser.parse(query)
        assert metrics_of(query)
        assert {name for name in metrics_of(query) if not known(name)} == set()


@of_each
def test_who_runs_no_sidecar_can_confirm_what_is_offered_to_them(page: RunbookPage) -> None:
    ours = [query for query in page.queries if any(name.startswith("specwatch_") for name in metrics_of(query))]
    bare = {Origin.VLLM, Origin.SGLANG} & set(ORIGINS[page.name]) if ours else set()
    assert set(page.engine_queries) == bare
    for origin, queries in page.engine_queries.items():
        assert len(ours) <= len(queries) <= 2
        for query in queries:
            engines = {name for name in metrics_of(query) if ":" in name}
            assert all(name.startswith(f"{origin.value}:") for name in engines)


@of_each
def test_metrics_and_alerts_that_the_prose_names_exist(page: RunbookPage) -> None:
    names = re.findall(r"\b(?:specwatch_(?!fallback\.)[a-z_]+|(?:kube|keda)_[a-z_]+|DCGM_FI_[A-Z_]+)", page.prose)
    assert [name for name in names if not known(name)] == []
    others = set(re.findall(r"\bSpecwatch[A-Z]\w*", page.prose))
    assert others <= set(ALERTS)


@of_each
def test_causes_are_numbered_and_there_is_something_to_type(page: RunbookPage) -> None:
    causes = re.findall(r"^(\d+)\. ", page.sections["Likely causes"], re.MULTILINE)
    assert causes == [str(number) for number in range(1, len(causes) + 1)]
    assert len(causes) >= 3
    steps = re.findall(r"^(\d+)\. ", page.sections["What to do"], re.MULTILINE)
    assert steps == [str(number) for number in range(1, len(steps) + 1)]
    assert list(page.commands())


def test_no_two_runbooks_share_a_paragraph() -> None:
    seen: dict[str, str] = {}
    for page in PAGES:
        for part in re.split(r"\n\s*\n", page.prose):
            text = " ".join(part.split())
            if len(text) > 60:
                assert seen.setdefault(text, page.name) == page.name, text


def accepts(words: list[str], *, whole: bool) -> None:
    """Fail unless `specwatch` has this command with these options; whole: and nothing that it needs is left out."""
    command: Any = typer.main.get_command(command_line())
    context = command.make_context("specwatch", list(words[1:]), resilient_parsing=True)
    rest = list(words[1:])
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, rest)
        assert command is not None, words
        context = context.__class__(command, parent=context, info_name=name)
        if not rest and hasattr(command, "resolve_command"):
            return
    options = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= options, words
    if whole:
        command.make_context(words[-1], rest, parent=context.parent)


@of_each
def test_commands_exist_with_their_options(page: RunbookPage) -> None:
    for words in page.commands():
        program = words[0].partition("=")[0]
        assert program in PROGRAMS or "=$(" in words[0], words
        inside = [number for number, word in enumerate(words) if word == "specwatch" and words[number - 1] == "--"]
        if program == "specwatch" or inside:
            accepts(words[max([0, *inside]) :], whole=True)
    for words in page.mentioned():
        accepts(words, whole=False)


@pytest.mark.parametrize(
    "line",
    [
        "specwatch fallback stop",
        "specwatch detect watch --prometheus http://x --sinc 6h --once",
        "specwatch inspect",
    ],
)
def test_a_command_that_does_not_exist_would_be_seen(line: str) -> None:
    (words,) = split_commands(line)
    with pytest.raises(Exception, match=r"stop|sinc|SOURCE|Missing"):
        accepts(words, whole=True)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A Prometheus that scrapes a fleet where everything goes wrong."""
    folder: Path = tmp_path_factory.mktemp("fleet")
    with served_text(TroubledPage()) as address:
        targets = {"specwatch-fallback": address, "specwatch-gone": "127.0.0.1:1"}
        with prometheus_scraping(targets, folder) as prometheus:
            yield prometheus


def test_each_query_runs_and_finds_the_trouble(fleet: Prometheus) -> None:
    # Yesterday is not there: a comparison with it is made with now.
    found = {page.name: [re.sub(r" offset 1d\b", "", one) for one in page.fenced("promql")] for page in PAGES}
    waiting = {(name, number): query for name, queries in found.items() for number, query in enumerate(queries)}
    end = time.monotonic() + DEADLINE_S
    while waiting and time.monotonic() < end:
        waiting = {key: query for key, query in waiting.items() if not fleet.query(query)}
        time.sleep(0.5 if waiting else 0.0)
    assert waiting == {}
