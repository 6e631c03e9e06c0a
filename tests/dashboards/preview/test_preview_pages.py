"""Pages from a real Prometheus, looked at by a real Chromium."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dashboards.preview.demo_scene import PAGES_SHORTER, SCRAPE_S, playing
from dashboards.preview.page_geometry import geometry
from dashboards.short_windows import shortened
from engine.prometheus_process import prometheus_scraping
from specwatch_cli.dashboards import app
from specwatch_cli.errors import UserError
from specwatch_dashboards.build import build
from specwatch_dashboards.metric_check import panels_of
from specwatch_dashboards.preview.page_style import WIDTH_PX
from specwatch_dashboards.source import Source
from tools.make_pictures import chromium

SECONDS = 24.0


def files_of(folder: Path) -> dict[str, Path]:
    """The dashboards for a young Prometheus."""
    folder.mkdir()
    found = {}
    for uid, board in shortened(build(Source.SIDECAR), PAGES_SHORTER).items():
        found[uid] = folder / f"{uid}.json"
        found[uid].write_text(json.dumps(board))
    return found


def drawn(url: str, files: dict[str, Path], out: Path, *given: str) -> None:
    command = ["preview", "--prometheus", url, "--out", str(out), "--scrape-interval", f"{SCRAPE_S}s", *given]
    done = CliRunner().invoke(app, [*command, *map(str, files.values())])
    assert done.exit_code == 0, done.output or done.exception
    assert all(f"wrote {out / uid}.html" in done.output for uid in files)


def check_page(page: Path, panels: int) -> int:
    """It needs nothing from elsewhere, and no text lies over another; returns its height."""
    text = page.read_text()
    assert "for review without Grafana" in text
    assert "<script" not in text
    assert re.findall(r"\bsrc=|srcset|@import|url\(|<link", text) == []
    assert "default-src 'none'" in text
    found = geometry(chromium(), page)
    assert found["faults"] == []
    assert found["panels"] == panels
    assert found["width"] == WIDTH_PX
    height = found["height"]
    assert isinstance(height, int)
    return height


def number_of_panels(board: Path) -> int:
    return sum(1 for panel in panels_of(json.loads(board.read_text())) if panel["type"] != "row")


@pytest.mark.timeout(300)
def test_the_demonstration_is_drawn(tmp_path: Path) -> None:
    files, out, data = files_of(tmp_path / "boards"), tmp_path / "out", tmp_path / "data"
    data.mkdir()
    with playing(SECONDS, data) as scene:
        scene.play(SECONDS)
        since = f"{scene.elapsed_s:.0f}s"
        drawn(scene.url, files, out, "--since", since, "--picture", "--chromium", str(chromium()), "--look", "dark")
    for uid, board in files.items():
        page = out / f"{uid}.html"
        text = page.read_text()
        assert "Query refused" not in text
        assert 'id="dark" checked' in text
        assert "llama-3.3-70b" in text
        height = check_page(page, number_of_panels(board))
        picture = page.with_suffix(".png").read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 60_000
        width, tall = struct.unpack(">II", picture[16:24])
        assert width == WIDTH_PX
        assert height <= tall <= height + 100
    kinds = "".join((out / f"{uid}.html").read_text() for uid in files)
    for sign in ('class="line"', 'class="band"', 'class="heat', 'class="stat"', 'class="bar"', 'class="cells"'):
        assert sign in kinds


@pytest.mark.timeout(240)
def test_where_nothing_is_every_panel_says_so(tmp_path: Path) -> None:
    files, out = files_of(tmp_path / "boards"), tmp_path / "out"
    with prometheus_scraping({}, tmp_path) as server:
        drawn(server.url, files, out)
    for uid, board in files.items():
        page = out / f"{uid}.html"
        panels = [panel for panel in panels_of(json.loads(board.read_text())) if panel["type"] != "row"]
        check_page(page, len(panels))
        said = re.findall(r'class="nothing"><p>(.*?)</p>', page.read_text())
        wanted = [panel["fieldConfig"]["defaults"]["noValue"] for panel in panels if panel["type"] != "text"]
        assert sorted(said) == sorted(wanted)


def test_a_query_that_is_refused_is_said_on_its_panel(tmp_path: Path) -> None:
    place = {"x": 0, "y": 0, "w": 12, "h": 8}
    panel = {"type": "timeseries", "title": "T", "gridPos": place, "targets": [{"refId": "A", "expr": "sum("}]}
    file = tmp_path / "odd.json"
    file.write_text(json.dumps({"uid": "odd", "title": "Odd", "panels": [panel]}))
    with prometheus_scraping({}, tmp_path) as server:
        drawn(server.url, {"odd": file}, tmp_path / "out")
    assert "Query refused: 1:5: parse error: unclosed left parenthesis" in (tmp_path / "out/odd.html").read_text()


def test_a_time_range_that_cannot_be_shown(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text('{"uid": "one", "title": "One", "panels": [], "time": {"from": "now/d", "to": "now"}}')
    with prometheus_scraping({}, tmp_path) as server:
        given = ["preview", "--prometheus", server.url, "--out", str(tmp_path), str(file)]
        done = CliRunner().invoke(app, given)
        assert CliRunner().invoke(app, [*given, "--since", "1h"]).exit_code == 0
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == "the dashboard's time range begins at 'now/d': say --since"


@pytest.mark.parametrize(
    ("given", "said", "code"),
    [
        (["--prometheus", "x"], "--prometheus: it has no scheme", 2),
        (["--prometheus", "http://127.0.0.1:9", "--since", "soon"], "--since: 'soon' is not a duration", 2),
        (["--prometheus", "http://127.0.0.1:9", "--scrape-interval", "0s"], "must be longer than nothing", 2),
        (["--prometheus", "http://127.0.0.1:9", "--var", "model"], "--var 'model': it is NAME=VALUE", 2),
        (["--prometheus", "http://127.0.0.1:9"], "http://127.0.0.1:9/ cannot be reached", 1),
    ],
)
def test_a_wrong_input_is_one_line(tmp_path: Path, given: list[str], said: str, code: int) -> None:
    done = CliRunner().invoke(app, ["preview", "--out", str(tmp_path / "out"), *given])
    assert isinstance(done.exception, UserError)
    assert said in str(done.exception)
    assert done.exception.exit_code == code


def test_a_browser_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text('{"uid": "one", "title": "One", "panels": []}')
    with prometheus_scraping({}, tmp_path) as server:
        given = ["preview", "--prometheus", server.url, "--out", str(tmp_path), "--picture", "--chromium"]
        done = CliRunner().invoke(app, [*given, str(tmp_path / "nothing"), str(file)])
    assert isinstance(done.exception, UserError)
    assert "nothing: No such file or directory" in str(done.exception)
