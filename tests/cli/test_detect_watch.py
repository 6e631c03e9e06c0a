from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest
from typer.testing import CliRunner

from detectors.watch.config_map_server import config_map_server
from detectors.watch.prometheus_api import Api, prometheus_api
from detectors.watch.sample_store import FakePod, SampleStore, scrape_requests
from specwatch_cli.errors import UserError
from specwatch_cli.main import command_line
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.profile import ModelProfile, Profile, StreamProfile
from specwatch_detectors.watch.file_store import FileStore
from specwatch_detectors.watch.lease import Lease
from specwatch_detectors.watch.prometheus_address import TENANT_HEADER
from specwatch_detectors.watch.watch_flags import WatchFlags
from specwatch_detectors.watch.watch_settings import make_store
from specwatch_detectors.window import Window

PROGRAM = Path(sys.executable).with_name("specwatch")
DEADLINE_S = 60.0
FIRST_S = 560
Found = TypeVar("Found")


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """Ten minutes of two pods up to now, with a drop in the last third; one of them has classes."""
    store, now = SampleStore(), time.time()
    pods = [FakePod(store, name) for name in ("a", "b")]
    counts: dict[str, list[float]] = {"chat": [0.0] * 4, "code [x]": [0.0] * 4}
    for age in range(FIRST_S, -600, -10):  # and ten minutes more, for a watch that stays
        share = 0.8 if age > 200 else 0.4
        for row in counts.values():
            for cell, grown in enumerate((5000, 10_000, 5000 * share, 5000 * share**2)):
                row[cell] += round(grown)
        scrape_requests(store, {"instance": "proxy"}, now - age + 2, counts)
        for pod in pods:
            pod.work(5000, share)
            pod.scrape(now - age + 1)
    with prometheus_api(store) as found:
        yield found


def watch(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [PROGRAM, "detect", "watch", *arguments]
    environment = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1", **more}
    return subprocess.run(command, capture_output=True, check=False, text=True, env=environment)


def once(api: Api, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return watch("--prometheus", api.url, "--once", "--since", "9m", *arguments, **more)


def test_once_prints_a_table(api: Api) -> None:
    done = once(api)
    assert done.returncode == 0
    assert done.stderr == ""
    for words in ("llama", "drifted", "chat", "code [x]", "baseline", "acceptance has dropped"):
        assert words in done.stdout


def test_once_prints_json(api: Api) -> None:
    done = once(api, "--format", "json")
    (model,) = json.loads(done.stdout)["models"]
    assert (model["model"], model["state"], model["alarms"]) == ("llama", "drifted", 1)
    assert set(model["classes"]) == {"chat", "code [x]"}
    assert model["length"] < model["baseline_length"]


def test_once_and_again_goes_on_from_its_state(api: Api, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    for _ in range(2):
        done = once(api, "--state", state, "--format", "json")
        assert json.loads(done.stdout)["models"][0]["alarms"] == 1
    assert json.loads(state.read_text())["lease"]["holder"] == ""


def test_the_state_may_lie_in_a_config_map(api: Api, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with config_map_server() as (kept, client):
        server = client.api_client.configuration.host
        context = {"name": "c", "context": {"cluster": "k", "user": "u"}}
        body = {
            "current-context": "c",
            "clusters": [{"name": "k", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [context],
        }
        path.write_text(json.dumps(body))
        for _ in range(2):
            done = once(api, "--state", "configmap:llm/watch", "--format", "json", KUBECONFIG=str(path))
            assert json.loads(done.stdout)["models"][0]["alarms"] == 1
        assert set(kept.maps) == {("llm", "watch")}


def test_without_a_cluster_there_is_no_config_map(api: Api, tmp_path: Path) -> None:
    done = once(api, "--state", "configmap:llm/watch", KUBECONFIG=str(tmp_path / "gone"))
    assert done.returncode == 2
    assert "no cluster to keep the state in" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("form", "printed"), [("table", ""), ("json", '{"models": []}')])
def test_a_prometheus_without_counts_of_drafts_is_said_and_is_no_success(form: str, printed: str) -> None:
    with prometheus_api(SampleStore()) as empty:
        done = once(empty, "--format", form)
    assert done.returncode == 1
    assert "".join(done.stdout.split()) == "".join(printed.split())
    assert "no model has counts of drafts in that time" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_profile_is_used(api: Api, tmp_path: Path) -> None:
    counts = Window(1e6, (8e5, 6.4e5), (1e6, 8e5), 1.44e6)
    stream = StreamProfile(Baseline(counts), 3.0, "batch means", 13.0)
    profile = tmp_path / "profile.json"
    Profile(10.0, 1.0, 0.0, "a test", {"llama": ModelProfile(2, 0.0, 1.0, {"": stream})}).save(profile)
    (model,) = json.loads(once(api, "--profile", profile, "--format", "json").stdout)["models"]
    assert model["calibrated"] is True
    assert model["baseline_length"] == pytest.approx(2.44)


def test_a_profile_of_another_model_is_said(api: Api, tmp_path: Path) -> None:
    stream = StreamProfile(Baseline.of_mean(1.44, 2, 1e6), 3.0, "batch means", 13.0)
    profile = tmp_path / "profile.json"
    Profile(10.0, 1.0, 0.0, "a test", {"qwen": ModelProfile(2, 0.0, 1.0, {"": stream})}).save(profile)
    done = once(api, "--profile", profile, "--format", "json")
    assert json.loads(done.stdout)["models"][0]["calibrated"] is False
    assert "the drift profile is of qwen, not of llama, whose baseline is learned here\n" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--interval", "0s"], "--interval 0s"),
        (["--interval", "1.5s"], "--interval 1.5s: it must be whole seconds"),
        (["--interval", "10"], "no unit"),
        (["--interval", "6m"], "5m at most"),
        (["--delay", "x"], "--delay x: it is not a duration"),
        (["--pages", "0"], "--pages 0"),
        (["--pages", "nan"], "--pages nan"),
        (["--header", "no colon"], "--header no colon: write NAME: VALUE"),
        (["--header", "A: b\nC: d"], "write NAME: VALUE"),
        (["--token-file", "gone"], "--token-file gone: it cannot be read"),
        (["--ca-file", "gone"], "--ca-file gone"),
        (["--profile", "gone"], "gone"),
        (["--format", "xml"], "--format"),
        (["--log-level", "loud"], "--log-level"),
        (["--state", "configmap:nowhere"], "write configmap:NAMESPACE/NAME"),
        (["--prometheus", "ftp://x"], "--prometheus ftp://x"),
    ],
)
def test_a_wrong_flag_is_one_line_and_status_2(api: Api, arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(command_line(), ["detect", "watch", "--prometheus", api.url, "--once", *arguments])
    assert isinstance(done.exception, UserError)
    assert done.exception.exit_code == 2
    assert words in str(done.exception)


def test_no_prometheus_is_one_line_and_status_1() -> None:
    done = watch("--prometheus", "http://127.0.0.1:1", "--once")
    assert done.returncode == 1
    assert re.fullmatch(r"specwatch: no answer from Prometheus: .*Connection refused\n", done.stderr)


def test_another_file_is_not_overwritten(api: Api, tmp_path: Path) -> None:
    other = tmp_path / "notes.json"
    other.write_text('{"my": "notes"}')
    done = once(api, "--state", other)
    assert done.returncode == 2
    assert "holds no state of a watch" in done.stderr
    assert other.read_text() == '{"my": "notes"}'


def test_a_state_of_another_version_is_not_overwritten(api: Api, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    FileStore(path).save({"version": 7, "at": 1, "models": {}}, Lease())
    before = path.read_text()
    done = once(api, "--state", path)
    assert done.returncode == 2
    assert "version 7" in done.stderr
    assert path.read_text() == before


def test_while_somebody_else_watches_once_says_so(api: Api, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    FileStore(path).save({"version": 1, "at": None, "models": {}}, Lease("other/1", time.time()))
    done = once(api, "--state", path)
    assert done.returncode == 1
    assert "other/1 watches this fleet" in done.stderr


# The watch that stays.


@contextmanager
def running(api: Api, log: Path, *arguments: str | Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A watch at work, and the address of what it serves."""
    fixed = ("--prometheus", api.url, "--listen", "127.0.0.1:0", "--since", "9m")
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [PROGRAM, "detect", "watch", *fixed, *arguments], stdout=sink, stderr=subprocess.STDOUT
        )
    try:
        found = until(lambda: re.search(r"serving on port (\d+)", log.read_text()), log)
        yield process, f"http://127.0.0.1:{found.group(1)}"
    finally:
        process.kill()
        process.wait()


def until(look: Callable[[], Found | None], log: Path) -> Found:
    end = time.monotonic() + DEADLINE_S
    while not (found := look()):
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
    return found


def get(url: str) -> str | None:
    with suppress(urllib.error.URLError), urllib.request.urlopen(url, timeout=10) as answer:
        text: str = answer.read().decode()
        return text
    return None


def test_it_serves_metrics_logs_the_alarm_and_stops_cleanly(api: Api, tmp_path: Path) -> None:
    log, state = tmp_path / "log", tmp_path / "state.json"
    with running(api, log, "--state", state) as (process, url):
        until(lambda: get(f"{url}/readyz"), log)
        drifted = 'specwatch_drift_state{model="llama",state="drifted",traffic_class=""} 1.0'
        until(lambda: drifted in (get(f"{url}/metrics") or ""), log)
        assert json.loads(get(f"{url}/status.json") or "")["models"][0]["model"] == "llama"
        second = tmp_path / "second"
        with running(api, second, "--state", state) as (_, other):
            until(lambda: "this one stands by" in second.read_text(), second)
            assert "specwatch_drift_state{" not in (get(f"{other}/metrics") or "")
            assert get(f"{other}/readyz") is None
        process.send_signal(signal.SIGUSR1)
        until(lambda: "llama: the present acceptance is the new normal" in log.read_text(), log)
        assert drifted not in (get(f"{url}/metrics") or "")
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    text = log.read_text()
    assert text.count(" WARNING specwatch.watch llama: ") == 1
    assert "Traceback" not in text
    assert json.loads(state.read_text())["lease"]["holder"] == ""


def test_a_port_that_is_taken_is_one_line(api: Api, tmp_path: Path) -> None:
    with running(api, tmp_path / "log") as (_, url):
        done = watch("--prometheus", api.url, "--listen", url.removeprefix("http://"))
    assert done.returncode == 1
    assert "cannot listen on" in done.stderr


# Flags.


def test_flags_make_settings(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("x")
    flags = WatchFlags(
        "https://mimir.example.com/prometheus",
        header=["X-One: 1"],
        tenant="team",
        token_file=token,
        pod_label=["pod"],
        replica_label=["replica"],
        interval="15s",
    )
    settings = flags.settings()
    assert settings.address.headers == {"X-One": "1", TENANT_HEADER: "team"}
    assert settings.labels.pod == {"pod"}
    assert settings.labels.replica == {"replica"}
    assert settings.monitor.budget.interval_s == 15.0


def test_credentials_in_the_address_are_not_shown() -> None:
    settings = WatchFlags("http://user:secret@prometheus.example.com").settings()
    assert "secret" not in settings.address.shown


def test_insecure_and_an_authority_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one of the two"):
        WatchFlags("http://x.example.com", ca_file=tmp_path, insecure=True).settings()


@pytest.mark.parametrize("where", ["configmap:", "configmap:a", "configmap:a/", "configmap:/b", "configmap:a/b/c"])
def test_a_config_map_needs_a_namespace_and_a_name(where: str) -> None:
    with pytest.raises(ValueError, match="NAMESPACE/NAME"):
        make_store(where)
