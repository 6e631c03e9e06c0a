"""Queries and names of series as people send them: without a dashboard, a rule file or a page around them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.doctor.doctor_run import CASES
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.documents import documents
from specwatch_deploy.doctor.engine_source import engine_of
from specwatch_deploy.doctor.examination import examine
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.gathering import gather, inputs_of
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.query_list import query_lines
from specwatch_deploy.doctor.registry import EXTRACTORS
from specwatch_deploy.doctor.series_list import as_page

OLD = "sum(vllm:gpu_cache_usage_perc)"
RULE = f"- alert: KV\n  expr: {OLD} > 0.9\n  for: 5m\n"
LISTS = {
    "names.json": json.dumps({"q1": OLD, "q2": "up"}),
    "around.yaml": f"queries:\n- name: kv\n  expr: {OLD}\n",
    "list.json": json.dumps([OLD]),
    "rows.json": json.dumps([{"title": "kv", "query": OLD}]),
    "lines.promql": f"# dashboards\n{OLD}\n\nsum(vllm:num_requests_running)\n",
    "panel.json": json.dumps({"title": "KV", "targets": [{"expr": OLD, "refId": "A"}]}),
    "panels.json": json.dumps([{"title": "KV", "targets": [{"expr": OLD}]}]),
    "untitled.json": json.dumps({"panels": [{"targets": [{"expr": OLD}]}]}),
    "excerpt.yml": RULE,
    "values.yaml": "additionalPrometheusRulesMap:\n  vllm:\n    groups:\n    - name: g\n      rules:\n      "
    + RULE.replace("\n", "\n      ").rstrip()
    + "\n",
    "grafana.yaml": "apiVersion: 1\ngroups:\n- name: g\n  rules:\n  - title: KV\n    data:\n"
    f"    - refId: A\n      model: {{expr: '{OLD}'}}\n",
}
SETTINGS = (
    "image: vllm/vllm-openai:v0.25.1\nname: vllm_server\n",
    "a: sglang_worker\n",
    "- vllm_server\n- vllm_client\n",
    "just words\nvllm:num_requests_running and so on\n",
)


def found(path: Path, *engines: str) -> list[Finding]:
    return examine(inputs_of(gather([str(path)], engines)))


@pytest.mark.parametrize("name", LISTS)
def test_a_renamed_metric_is_found_in_every_form(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(LISTS[name])
    told = [one for one in found(path) if one.code == "metric-renamed"]
    assert [one.mended.removesuffix(" > 0.9") for one in told] == ["sum(vllm:kv_cache_usage_perc)"]


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_are_no_queries(text: str) -> None:
    assert [query for one in documents(text, "a.yaml") for extract in EXTRACTORS for query in extract(one)] == []


def test_a_bare_name_among_queries_is_one_too(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(json.dumps({"a": OLD, "b": "trtllm_acceptance_share"}))
    assert "metric-unknown" in [one.code for one in found(path)]


@pytest.mark.parametrize("text", [*SETTINGS[:2], '{"status": "ok"}', "[1, 2]"])
def test_a_file_that_nothing_is_known_of_is_not_clean(text: str, tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match="no list of queries"):
        gather([str(path)])


def test_a_file_that_nothing_is_known_of_is_named_beside_others(tmp_path: Path) -> None:
    known, strange = tmp_path / "rules.yml", tmp_path / "settings.yaml"
    known.write_text(RULE)
    strange.write_text(SETTINGS[0])
    assert [str(strange) in one for one in gather([str(known), str(strange)]).skipped] == [True]
    assert gather([str(tmp_path)]).skipped == []


NAMES = {
    "lines": "vllm:kv_cache_usage_perc\nvllm:num_requests_running\n",
    "values of a label": json.dumps({"status": "success", "data": ["up", "vllm:kv_cache_usage_perc"]}),
    "series": json.dumps(
        {"status": "success", "data": [{"__name__": "vllm:kv_cache_usage_perc", "model_name": 'a"b', "pod": "p"}]}
    ),
    "an answer": json.dumps(
        {
            "status": "success",
            "data": {
                "resultType": "vector",
                "result": [{"metric": {"__name__": "vllm:kv_cache_usage_perc"}, "value": [1, "0.4"]}],
            },
        }
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_series_stand_for_a_page(name: str, tmp_path: Path) -> None:
    path = tmp_path / "series"
    path.write_text(NAMES[name])
    engine = engine_of(str(path))
    assert engine.name == "vllm"
    assert "vllm:kv_cache_usage_perc" in (engine.page or {})


def test_names_of_no_engine_are_no_page() -> None:
    assert as_page("up\nnode_load1\n") == ""
    assert as_page('{"status":"success","data":["up"]}') == ""
    assert as_page('{"status":"error"}') == as_page("{") == as_page("# TYPE a gauge\na 1\n") == ""


def test_the_reported_names_are_read_and_show_what_is_gone() -> None:
    case = CASES / "44-vllm-dashboard-no-data-after-upgrade"
    told = [one.code for one in found(case / "dashboard.json", str(case / "current_metric_names.txt"))]
    assert sorted(told) == sorted(
        [*["metric-renamed"] * 2, *["metric-removed"] * 2, *["metric-replaced"] * 2, "ratio-summed"]
        + [
            code
            for code in told
            if code not in {"metric-renamed", "metric-removed", "metric-replaced", "ratio-summed"}
        ]
    )
    assert not [code for code in told if code.startswith("label-")]


def test_the_reported_queries_are_read_from_their_file() -> None:
    case = CASES / "41-colon-underscore-and-total"
    told = {one.place.part: one.mended for one in found(case / "queries.json", str(case / "series.txt"))}
    assert told == {
        "q2": "sum(vllm:num_requests_waiting)",
        "q3": "rate(vllm:prompt_tokens_total[1m])",
        "q5": "rate(sglang:e2e_request_latency_seconds_count[1m])",
    }


def test_a_list_document_has_no_kind() -> None:
    (one,) = documents('["vllm:x"]', "a.json")
    assert isinstance(one, Document)
    assert (one.kind, one.name, one.line(0)) == ("", "", 1)


def test_a_list_may_have_queries_of_other_exporters(tmp_path: Path) -> None:
    lines = (
        "# of a fleet",
        "avg(DCGM_FI_DEV_GPU_UTIL)",
        'sum(rate(vllm:request_success_total{namespace="$namespace"}[$interval]))',
        "avg(vllm:gpu_cache_usage_perc)",
    )
    (tmp_path / "fleet.promql").write_text("\n".join(lines))
    assert [one.code for one in found(tmp_path / "fleet.promql", "vllm@0.33.0")] == ["metric-renamed"]
    assert query_lines("avg(DCGM_FI_DEV_GPU_UTIL)") == {}
    assert query_lines("vllm:num_requests_running\nhow many run") == {}


PERSES = """apiVersion: perses.dev/v1alpha1
kind: PersesDashboard
metadata: {name: gpu}
spec:
  panels:
    kv:
      kind: Panel
      spec:
        display: {name: KV cache}
        queries:
        - kind: TimeSeriesQuery
          spec:
            plugin:
              kind: PrometheusTimeSeriesQuery
              spec: {query: "avg(vllm:gpu_cache_usage_perc)"}
        - {kind: TimeSeriesQuery, spec: {plugin: {kind: LokiQuery, spec: {query: "vllm:x"}}}}
"""


def test_a_perses_dashboard_is_read(tmp_path: Path) -> None:
    (tmp_path / "perses.yaml").write_text(PERSES)
    (one,) = found(tmp_path / "perses.yaml", "vllm@0.33.0")
    assert (one.code, one.place.line, one.place.part) == ("metric-renamed", 15, "KV cache")
    own = PERSES.replace("apiVersion: perses.dev/v1alpha1\n", "").replace("PersesDashboard", "Dashboard")
    (tmp_path / "perses.yaml").write_text(own)
    assert [one.code for one in found(tmp_path / "perses.yaml", "vllm@0.33.0")] == ["metric-renamed"]
