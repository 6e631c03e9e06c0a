from __future__ import annotations

import json
import re
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from specwatch_alerts import definition
from specwatch_alerts.promql import parse
from specwatch_alerts.promql_tree import Binary, Node, Number, selectors, walk
from specwatch_cli.errors import UserError
from specwatch_cli.main import command_line
from specwatch_dashboards.build import build, file_text, write
from specwatch_dashboards.grafana.time_series import IDLE_NAME
from specwatch_dashboards.metric_check import panels_of, parsable, queries_of
from specwatch_dashboards.pages.speculation_now import SEVERITIES
from specwatch_dashboards.source import Source

ROOT = Path(__file__).resolve().parents[2]
SOURCES = list(Source)
UIDS = [f"specwatch-{name}" for name in ("speculation", "latency", "draft", "fallback", "capacity")]
DASHBOARDS = {source: build(source) for source in SOURCES}
EVERY = [(source, uid) for source in SOURCES for uid in UIDS]
VARIABLES = ["datasource", "cluster", "namespace", "model", "pod", "class"]
EVENTS = ["Deploys", "Restarts", "Drift alarms", "Fallback transitions", "Scale events"]
DRAWN = ("bargauge", "heatmap", "stat", "state-timeline", "table", "timeseries")


def drawn(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in panels_of(dashboard) if panel["type"] in DRAWN]


@pytest.mark.parametrize("source", SOURCES)
def test_the_committed_files_are_what_the_code_builds(source: Source) -> None:
    folder = ROOT / "dashboards/json" / source
    texts = {f"{uid}.json": file_text(body) for uid, body in DASHBOARDS[source].items()}
    advice = f"run: specwatch dashboards build --source {source} --out dashboards/json/{source}"
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == texts, advice


def test_building_twice_gives_the_same() -> None:
    assert build(Source.SIDECAR) == DASHBOARDS[Source.SIDECAR]


@pytest.mark.parametrize("source", SOURCES)
def test_there_are_five(source: Source) -> None:
    assert list(DASHBOARDS[source]) == UIDS
    assert all(body["uid"] == uid and body["schemaVersion"] == 39 for uid, body in DASHBOARDS[source].items())


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_every_panel_says_what_it_is_and_what_good_looks_like(source: Source, uid: str) -> None:
    for panel in drawn(DASHBOARDS[source][uid]):
        assert panel["title"]
        assert "Good:" in panel["description"], panel["title"]
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"], panel["title"]
        assert defaults["noValue"], panel["title"]
        assert all(target["legendFormat"] != "__auto" for target in panel["targets"]) or panel["type"] == "table"


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_panels_lie_beside_each_other(source: Source, uid: str) -> None:
    panels = list(panels_of(DASHBOARDS[source][uid]))
    ids = [panel["id"] for panel in panels]
    assert len(set(ids)) == len(ids)
    places = [panel["gridPos"] for panel in panels]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    # Those of a closed row take no room: they are placed as if it were open, below its heading.
    for one, other in combinations(DASHBOARDS[source][uid]["panels"], 2):
        a, b = one["gridPos"], other["gridPos"]
        apart = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        assert apart or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"], (one["title"], other["title"])


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_a_row_that_is_open_hides_no_panels(source: Source, uid: str) -> None:
    for panel in DASHBOARDS[source][uid]["panels"]:
        if panel["type"] == "row":
            assert bool(panel["panels"]) == panel["collapsed"]


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_links_keep_variables_and_time_and_lead_to_the_set(source: Source, uid: str) -> None:
    dashboard = DASHBOARDS[source][uid]
    (link,) = dashboard["links"]
    assert link["includeVars"]
    assert link["keepTime"]
    assert link["tags"] == dashboard["tags"]
    for panel in drawn(dashboard):
        for one in panel["links"]:
            found = re.fullmatch(r"/d/([\w-]+)\?\$\{__url_time_range\}&\$\{__all_variables\}", one["url"])
            assert found is not None, one["url"]
            assert found.group(1) in UIDS
            assert found.group(1) != uid


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_variables_and_events(source: Source, uid: str) -> None:
    dashboard = DASHBOARDS[source][uid]
    names = [one["name"] for one in dashboard["templating"]["list"]]
    assert names[:6] == VARIABLES
    assert [one["name"] for one in dashboard["annotations"]["list"][1:]] == EVENTS
    used = {found for _, query in queries_of(dashboard) for found in re.findall(r"\$(\w+)", query)}
    assert used <= {*names, "__rate_interval", "__range"}


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_states_and_limits_are_texts_not_only_colours(source: Source, uid: str) -> None:
    for panel in drawn(DASHBOARDS[source][uid]):
        defaults = panel["fieldConfig"]["defaults"]
        if panel["type"] == "state-timeline":
            assert defaults["mappings"][0]["options"], panel["title"]
            assert panel["options"]["showValue"] == "auto"
        if panel["type"] == "timeseries":
            assert defaults["custom"]["thresholdsStyle"]["mode"] == "off", "limits are lines with a name"


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_panels_of_numbers_show_few_models(source: Source, uid: str) -> None:
    for panel in drawn(DASHBOARDS[source][uid]):
        if panel["type"] == "stat":
            (target,) = panel["targets"]
            by_model = "{{model}}" in target["legendFormat"]
            assert not by_model or re.match(r"(top|bottom)k\(4, ", target["expr"]), panel["title"]


def test_the_alerts_severities_are_those_of_the_alerts() -> None:
    assert [one.text for one in SEVERITIES] == list(definition.SEVERITIES), "the worst first"
    assert [one.value for one in SEVERITIES] == sorted((one.value for one in SEVERITIES), reverse=True)


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_no_query_adds_up_ratios_or_averages_quantiles(source: Source, uid: str) -> None:
    for where, query in queries_of(DASHBOARDS[source][uid]):
        assert not re.search(r"avg\w* ?(by \([^)]*\) ?)?\(histogram_quantile", query), where
        for aggregated in re.findall(r"histogram_quantile\([^,]+, sum by \(([^)]*)\)", query):
            assert re.search(r"\ble\b", aggregated), where
        assert "vector(0)" not in query, where


def guarded(below: Node) -> bool:
    """More than 0 by a comparison, or by the values file, which refuses 0."""
    if isinstance(below, Binary):
        return below.operator == ">" and below.right == Number(0)
    return {one.name for one in selectors(below)} <= {"specwatch:slo_budget:ratio", "specwatch:cost_budget:usd"}


@pytest.mark.parametrize(("source", "uid"), EVERY)
def test_what_a_division_divides_by_is_never_zero(source: Source, uid: str) -> None:
    for where, query in queries_of(DASHBOARDS[source][uid]):
        for node, _ in walk(parse(parsable(query))):
            if isinstance(node, Binary) and node.operator == "/":
                assert guarded(node.right), (where, query)


def test_lines_over_time_say_when_there_is_no_traffic() -> None:
    panels = [panel for body in DASHBOARDS[Source.SIDECAR].values() for panel in drawn(body)]
    quantiles = [
        panel
        for panel in panels
        if panel["type"] == "timeseries" and any("histogram_quantile" in one["expr"] for one in panel["targets"])
    ]
    silent = [
        panel["title"]
        for panel in quantiles
        if not any(target["legendFormat"] == IDLE_NAME for target in panel["targets"])
    ]
    assert silent == ["Time per token, p50 and p95"], "pools have no engine to ask"


def test_the_command_writes_the_files(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "boards"
    done = CliRunner().invoke(command_line(), ["dashboards", "build", "--out", str(out), "--source", "engine"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [f"wrote {out / f'{uid}.json'}" for uid in UIDS]
    assert json.loads((out / "specwatch-draft.json").read_text()) == DASHBOARDS[Source.ENGINE]["specwatch-draft"]


def test_other_files_in_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}")
    write(tmp_path, Source.SIDECAR)
    assert (tmp_path / "mine.json").read_text() == "{}"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(command_line(), ["dashboards", "build", "--out", str(tmp_path / "file" / "boards")])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == f"cannot write {tmp_path / 'file' / 'boards'}: Not a directory"


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "specwatch_dashboards.build", None)
    done = CliRunner().invoke(command_line(), ["dashboards", "build", "--out", str(tmp_path)])
    assert isinstance(done.exception, UserError)
    assert "pip install '.[dashboards]'" in str(done.exception)
    assert done.exception.exit_code == 2
