"""Dashboards into a Grafana: a server of the tests' own that speaks that part of its API."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dashboards.grafana_server import TOKEN, GrafanaServer, grafana_serving
from specwatch_alerts.slack.secret_file import SecretFile
from specwatch_cli.dashboards import app
from specwatch_cli.errors import UserError
from specwatch_dashboards.build import build
from specwatch_dashboards.push import PushOrder, push
from specwatch_dashboards.push_api import GrafanaApi, PushError
from specwatch_dashboards.source import Source

LOAD = ("POST", "/api/dashboards/db")


@pytest.fixture
def grafana() -> Iterator[GrafanaServer]:
    with grafana_serving() as server:
        yield server


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    return path


def pushed(server: GrafanaServer, token: Path, timeout_s: float = 20.0, **order: Any) -> list[str]:
    api = GrafanaApi(server.url, SecretFile(token, "the token's file"), timeout_s)
    return list(push(build(Source.SIDECAR), api, PushOrder("specwatch 1", **order)))


def refused(server: GrafanaServer, token: Path, **order: Any) -> str:
    with pytest.raises(PushError) as caught:
        pushed(server, token, **order)
    assert "\n" not in str(caught.value)
    assert TOKEN not in str(caught.value)
    return str(caught.value)


def current(server: GrafanaServer, uid: str) -> Any:
    variables = server.dashboards[uid]["dashboard"]["templating"]["list"]
    return next(one for one in variables if one["name"] == "datasource")["current"]


def test_all_are_loaded_into_a_folder_that_is_made(grafana: GrafanaServer, token: Path) -> None:
    lines = pushed(grafana, token, folder="Team LLM")
    assert lines[0] == "made the folder 'Team LLM'"
    assert lines[1] == f"loaded specwatch-speculation, version 1: {grafana.url}/d/specwatch-speculation"
    assert list(grafana.folders.values()) == ["Team LLM"]
    assert set(grafana.dashboards) == set(build(Source.SIDECAR))
    for uid, found in grafana.dashboards.items():
        made = {key: value for key, value in build(Source.SIDECAR)[uid].items() if key != "version"}
        assert {**found["dashboard"], "id": None, "version": 1} == {**made, "id": None, "version": 1}
        assert found["meta"] == {"folderUid": "folder-0", "message": "specwatch 1"}


def test_a_folder_that_is_there_is_used_even_on_a_later_page(grafana: GrafanaServer, token: Path) -> None:
    grafana.folders.update({f"f-{at}": f"Folder {at}" for at in range(1200)})
    assert pushed(grafana, token, folder="Folder 1100")[0] == "folder 'Folder 1100' is there"
    assert {one["meta"]["folderUid"] for one in grafana.dashboards.values()} == {"f-1100"}
    assert ("POST", "/api/folders") not in grafana.asked


def test_two_folders_of_one_name_are_not_guessed_between(grafana: GrafanaServer, token: Path) -> None:
    grafana.folders.update({"a": "Team", "b": "Team"})
    assert "2 folders called 'Team'" in refused(grafana, token, folder="Team")


def test_no_folder_is_the_top(grafana: GrafanaServer, token: Path) -> None:
    pushed(grafana, token)
    assert {one["meta"]["folderUid"] for one in grafana.dashboards.values()} == {""}


def test_pages_begin_with_the_data_source(grafana: GrafanaServer, token: Path) -> None:
    pushed(grafana, token, datasource="prom-1")
    chosen = {"selected": True, "text": "Main Prometheus", "value": "prom-1"}
    assert all(current(grafana, uid) == chosen for uid in grafana.dashboards)


def test_a_token_that_may_not_read_data_sources_still_loads(grafana: GrafanaServer, token: Path) -> None:
    grafana.answers["GET", "/api/datasources/uid/prom-9"] = (403, {"message": "no"})
    pushed(grafana, token, datasource="prom-9")
    assert current(grafana, "specwatch-draft")["value"] == "prom-9"


@pytest.mark.parametrize(
    ("uid", "said"), [("loki-1", "of the type 'loki'"), ("nobody", "no data source with the uid 'nobody'")]
)
def test_a_data_source_that_cannot_be_used(grafana: GrafanaServer, token: Path, uid: str, said: str) -> None:
    assert said in refused(grafana, token, datasource=uid)
    assert LOAD not in grafana.asked


def test_what_is_there_is_replaced_only_when_told(grafana: GrafanaServer, token: Path) -> None:
    pushed(grafana, token)
    assert refused(grafana, token) == "specwatch-speculation: it is there already; --overwrite replaces it"
    assert "version 2" in pushed(grafana, token, overwrite=True)[0]
    assert "already" in refused(grafana, token)


def test_a_dry_run_changes_nothing(grafana: GrafanaServer, token: Path) -> None:
    lines = pushed(grafana, token, folder="Team", dry_run=True)
    assert lines[:2] == [
        "would make the folder 'Team'",
        "would load specwatch-speculation, which is new there",
    ]
    assert {method for method, _ in grafana.asked} == {"GET"}
    pushed(grafana, token)
    grafana.asked.clear()
    assert "would not load specwatch-draft: version 1 is there" in "\n".join(pushed(grafana, token, dry_run=True))
    assert "would replace specwatch-draft, version 1" in pushed(grafana, token, dry_run=True, overwrite=True)
    grafana.dashboards["specwatch-draft"]["meta"]["provisioned"] = True
    assert "could not load specwatch-draft" in "\n".join(pushed(grafana, token, dry_run=True, overwrite=True))
    assert {method for method, _ in grafana.asked} == {"GET"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"message": "Invalid API key"}), "answers 401: it does not accept the token (Invalid API key)"),
        ((403, {"message": "no permission"}), "answers 403: the token may not do this (no permission)"),
        ((412, {"message": "x", "status": "name-exists"}), "another dashboard in that folder has its title"),
        ((412, {"message": "of a plugin", "status": "plugin-dashboard"}), "(of a plugin)"),
        ((400, {"message": "Cannot save provisioned dashboard"}), "(Cannot save provisioned dashboard)"),
        ((413, "<html>"), "answers 413: it is too large"),
        ((302, ""), "give the address that it redirects to"),
        (
            (500, {"message": "two\nlines\x1b[31m"}),
            "answers 500: it is out of order; try again later (twolines[31m)",
        ),
        ((503, "upstream"), "answers 503: it is out of order"),
        ((200, "<html>"), "is not a Grafana"),
    ],
)
def test_every_refusal_is_one_line(grafana: GrafanaServer, token: Path, answer: Any, said: str) -> None:
    grafana.answers[LOAD] = answer
    assert said in refused(grafana, token)


def test_silence_ends(grafana: GrafanaServer, token: Path) -> None:
    grafana.silent.add("/api/dashboards/db")
    with pytest.raises(PushError, match=r"did not answer within 0\.3 s"):
        pushed(grafana, token, timeout_s=0.3)


def test_nobody_listens(token: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    api = GrafanaApi(f"http://127.0.0.1:{port}", SecretFile(token, "the token's file"))
    with pytest.raises(PushError, match="cannot be reached: Connection refused"):
        list(push(build(Source.SIDECAR), api, PushOrder("m")))


def test_the_command(grafana: GrafanaServer, token: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"uid": "mine", "title": "Mine", "panels": []}))
    given = ["push", "--grafana", grafana.url, "--token-file", str(token), str(mine)]
    done = CliRunner().invoke(app, given)
    assert done.output == f"made the folder 'specwatch'\nloaded mine, version 1: {grafana.url}/d/mine\n"
    again = CliRunner().invoke(app, given)
    assert isinstance(again.exception, UserError)
    assert str(again.exception) == "mine: it is there already; --overwrite replaces it"
    assert again.exception.exit_code == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("", "must hold one word"), ("two words", "must hold one word"), ("x\u00e9", "holds")],
)
def test_a_file_without_a_token(grafana: GrafanaServer, tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "none"
    if content is not None:
        path.write_text(content)
    done = CliRunner().invoke(app, ["push", "--grafana", grafana.url, "--token-file", str(path)])
    assert isinstance(done.exception, UserError)
    assert said in str(done.exception)
    assert grafana.asked == []


def test_an_address_that_is_none(token: Path) -> None:
    done = CliRunner().invoke(app, ["push", "--grafana", "ftp://x:secret@y", "--token-file", str(token)])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == "--grafana: its scheme is 'ftp'"
