"""Folders and lists in which most files are none of the doctor's: they do not keep it from the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.doctor.doctor_run import alert
from specwatch_deploy.doctor.documents import documents
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.run import Wanted, run

# What stands beside dashboards and rules in public repositories.
READABLE = {
    "Chart.yaml": "apiVersion: v2\nname: stack\nversion: 0.1.0\n",
    "compose.yaml": "services:\n  web: {image: 'nginx:1'}\n",
    "datasource.yaml": "apiVersion: 1\ndatasources:\n- {name: Prometheus, type: prometheus}\n",
    "empty.yaml": "",
    "package.json": '{"name": "web", "scripts": {"build": "vite build"}}',
    "prometheus.yml": "global: {scrape_interval: 10s}\nscrape_configs:\n- job_name: vllm\n",
    "rules_test.yml": "rule_files: [rules.yml]\ntests:\n- interval: 1m\n  promql_expr_test:\n  - {expr: vllm_x}\n",
    "stack.yaml": "Resources:\n  Logs:\n    Properties: {Name: !Sub '${Stack}-logs', Arn: !GetAtt Logs.Arn}\n",
    "workflow.yml": "on: push\njobs:\n  test: {runs-on: ubuntu-latest, steps: [{run: pytest}]}\n",
}
UNREADABLE = {
    "scaler.yaml": "{{- if .Values.on }}\nkind: ScaledObject\n{{- end }}\n",
    "tsconfig.json": '{\n  // a comment\n  "strict": true\n}',
}
RULES = alert("vllm:gpu_cache_usage_perc > 0.9")


def written(folder: Path, *files: dict[str, str]) -> list[str]:
    for name, body in (pair for group in files for pair in group.items()):
        (folder / name).write_text(body)
    return sorted(str(one) for one in folder.iterdir())


def test_a_folder_is_read_for_what_is_known(tmp_path: Path) -> None:
    written(tmp_path, READABLE, UNREADABLE, RULES)
    notes: list[str] = []
    found = run(Wanted(files=(str(tmp_path),)), notes.append).findings
    assert [one.code for one in found] == ["metric-renamed"]
    assert len(notes) == len(UNREADABLE)


def test_a_list_with_files_in_which_nothing_is_known(tmp_path: Path) -> None:
    notes: list[str] = []
    found = run(Wanted(files=tuple(written(tmp_path, READABLE, RULES))), notes.append).findings
    assert [one.code for one in found] == ["metric-renamed"]
    assert len(notes) == len(READABLE)


def test_a_named_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    names = written(tmp_path, UNREADABLE, RULES)
    with pytest.raises(InputError, match=r"scaler\.yaml is no YAML: line 1"):
        run(Wanted(files=tuple(names)), print)


def test_a_list_that_nobody_chose(tmp_path: Path) -> None:
    """pre-commit names the files of a commit, whatever they are."""
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    names = written(tmp_path, READABLE, UNREADABLE, RULES)
    notes: list[str] = []
    found = run(Wanted(files=tuple(names), skip_unknown=True), notes.append).findings
    assert [one.code for one in found] == ["metric-renamed"]
    assert len(notes) == 11
    assert notes[-1] == "left out: 2 more files that cannot be read or hold nothing known"


@pytest.mark.parametrize("name", [*READABLE, *UNREADABLE])
def test_nothing_to_do_is_no_failure_if_nobody_chose_the_file(tmp_path: Path, name: str) -> None:
    (only,) = written(tmp_path, {name: (READABLE | UNREADABLE)[name]})
    notes: list[str] = []
    outcome = run(Wanted(files=(only,), skip_unknown=True), notes.append)
    assert outcome.findings == []
    assert len(notes) == 1
    with pytest.raises(InputError):
        run(Wanted(files=(only,)), notes.append)


def test_tags_of_other_programs_are_plain_values() -> None:
    tagged = "a: !reference [.base, script]\nb: !vault secret\nc: !Fn {x: 1}\nd: !!python/name:os.system\n"
    (one,) = documents(tagged, "t.yaml")
    assert one.body == {"a": [".base", "script"], "b": "secret", "c": {"x": 1}, "d": ""}
