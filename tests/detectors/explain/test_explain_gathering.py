from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from detectors.explain.simulated_chain import CHAT, CODE, served, times
from specwatch_detectors.explain.evidence import Course, Dimension
from specwatch_detectors.explain.gathering import gather, series_of
from specwatch_detectors.explain.onset import course, find_onset
from specwatch_detectors.explain.record_log import read_records
from specwatch_detectors.explain.window_log import read_log
from specwatch_detectors.explain.window_row import LogError, moment
from specwatch_detectors.window import Window, window

HEADER = (
    "time,class,pod,drafts,accepted_1,accepted_2,draft_tokens,uptime_s,running,step_seconds,spec_num_steps,canary\n"
)


def series(ratio: Callable[[int], float], seed: int = 1, length: int = 60) -> list[Window]:
    rng = np.random.default_rng(seed)
    return [served(rng, times(CODE, ratio(index)), 4_000) for index in range(length)]


@pytest.mark.parametrize("at", [10, 30, 50])
def test_the_onset_of_a_step_is_found(at: int) -> None:
    found = find_onset(series(lambda index: 1.0 if index < at else 0.93), 6.0)
    assert found is not None
    assert abs(found.index - at) <= 1


def test_without_positions_the_mean_tells_the_onset() -> None:
    windows = [window(4_000.0, accepted_tokens=8_000.0 if index < 20 else 7_000.0) for index in range(40)]
    found = find_onset(windows, 6.0)
    assert found is not None
    assert found.index == 20


@pytest.mark.parametrize("ratio", [lambda _: 1.0, lambda index: 0.9 if index < 30 else 1.0])
def test_no_fall_has_no_onset(ratio: Callable[[int], float]) -> None:
    assert find_onset(series(ratio), 6.0) is None


@pytest.mark.parametrize("windows", [[], [Window()], [Window()] * 5, [window(1e9, [5e8])]])
def test_nothing_has_no_onset_and_no_course(windows: Sequence[Window]) -> None:
    assert find_onset(windows, 2.0) is None
    assert course(windows, 2.0) is None


def test_step_and_ramp_are_told_apart() -> None:
    step = course(series(lambda index: 1.0 if index < 30 else 0.9, length=80), 6.0)
    ramp = course(series(lambda index: 1.0 - 0.002 * max(0, index - 20), length=80), 6.0)
    assert step is not None
    assert step[0] is Course.STEP
    assert abs(step[1] - 30) <= 1
    assert ramp is not None
    assert ramp[0] is Course.RAMP
    assert abs(ramp[1] - 20) <= 6
    assert course(series(lambda _: 1.0), 6.0) is None


def csv_file(folder: Path, fallen: float = 0.9) -> Path:
    rng = np.random.default_rng(3)
    lines = [HEADER]
    for index in range(40):
        for name, q in (("code", CODE[:2]), ("chat", CHAT[:2])):
            got = served(rng, times(q, 1.0 if index < 20 else fallen), 3_000)
            first, second = got.accepted
            lines.append(f"{index * 10},{name},p1,{got.drafts},{first},{second},6000,{index * 10},8,0.02,2,\n")
        lines.append(f"{index * 10},,p1,400,300,200,800,{index * 10},8,0.02,2,1\n")
    path = folder / "windows.csv"
    path.write_text("".join(lines))
    return path


def test_a_csv_becomes_evidence_split_at_the_onset(tmp_path: Path) -> None:
    log = read_log(csv_file(tmp_path))
    evidence = gather(log)
    assert evidence.onset == 190.0
    assert evidence.interval_s == 10.0
    assert evidence.total.before.drafts == evidence.total.after.drafts == 120_000.0
    assert set(evidence.groups) == {Dimension.CLASS, Dimension.POD}
    assert set(evidence.groups[Dimension.CLASS]) == {"chat", "code"}
    assert evidence.events == ()
    assert evidence.canary is not None
    assert evidence.canary.before.drafts == 8_000.0
    assert evidence.uptimes == {"p1": 390.0}
    assert list(evidence.step_cost or ()) == pytest.approx([0.02, 0.02])
    assert list(evidence.depth or ()) == pytest.approx([2.0, 2.0])
    assert evidence.speculating is True
    assert evidence.course is Course.STEP
    assert evidence.batch_correlation is None


def test_a_given_time_splits_instead(tmp_path: Path) -> None:
    evidence = gather(read_log(csv_file(tmp_path)), at=95.0, design=4.0)
    assert evidence.onset == 95.0
    assert evidence.design == 4.0
    assert evidence.total.before.drafts == 60_000.0
    for time, words in ((-5.0, "before"), (1e9, "after")):
        with pytest.raises(LogError, match=f"no windows {words} that time"):
            gather(read_log(csv_file(tmp_path)), at=time)


def test_a_steady_file_asks_for_the_time(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no clear fall"):
        gather(read_log(csv_file(tmp_path, fallen=1.0)))


def test_json_brings_events_and_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "windows.json"
    rows = [
        {"time": "2026-11-01T00:00:10Z", "drafts": 100, "accepted": [80, 60], "adapter": ""},
        {"time": "2026-11-01T00:00:00", "drafts": 50, "accepted_tokens": 70, "adapter": "sql"},
    ]
    body = {
        "windows": rows,
        "events": [{"time": "2026-11-01T00:00:05Z", "kind": "version", "was": "0.31.0", "now": "0.32.0"}],
        "engine": "vllm",
        "method": "ngram",
        "adaptive": False,
    }
    path.write_text(json.dumps(body))
    log = read_log(path)
    assert [row.time for row in log.rows] == sorted(row.time for row in log.rows)
    assert [row.groups[Dimension.ADAPTER] for row in log.rows] == ["sql", "none"]
    assert log.events is not None
    assert log.events[0].now == "0.32.0"
    assert (log.engine, log.method, log.adaptive) == ("vllm", "ngram", False)
    assert series_of(log.rows).windows[0].accepted_tokens == 70.0
    path.write_text(json.dumps(rows))
    assert read_log(path).events is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no windows in it"),
        ("[]", "no windows in it"),
        ("{", "not JSON"),
        ("{}", "no windows; windows come as CSV"),
        ("[3]", "row 1: not an object"),
        ('[{"time": 1}]', "row 1: drafts is missing"),
        ('[{"time": 1, "drafts": 5}]', "row 1: accepted tokens are missing"),
        ('[{"drafts": 5, "accepted": [1]}]', "row 1: time is missing"),
        ('[{"time": "noon", "drafts": 5, "accepted": [1]}]', "row 1: time is neither"),
        ('[{"time": 1, "drafts": "many", "accepted": [1]}]', "row 1: drafts is no number"),
        ('[{"time": 1, "drafts": 5, "accepted": "x"}]', "row 1: accepted is no number"),
        (f'[{{"time": 1, "drafts": 5, "accepted": {[1] * 65}}}]', "row 1: accepted has more than 64 positions"),
        ("time,model,drafts,accepted\n1,a,2,1\n1,b,2,1\n", "several models: a, b; choose one"),
        ('[{"time": 1, "drafts": -5, "accepted": [1]}]', "row 1: counts of an interval are not negative"),
        ('[{"time": 1, "drafts": 1e999, "accepted": [1]}]', "row 1: drafts is not finite"),
        ('{"windows": [], "events": []}', "no windows in it"),
        (
            '{"windows": [{"time": 1, "drafts": 5, "accepted": [1]}], "events": [{"time": 1, "kind": "rain"}]}',
            "event kind 'rain'",
        ),
        ('{"windows": [{"time": 1, "drafts": 5, "accepted": [1]}], "events": [4]}', "an event is an object"),
        ("time,drafts\n1,2\n", "line 2: accepted tokens are missing"),
        ("# a note\ntime,drafts,accepted_1\n\n1,x,2\n", "line 4: drafts is no number"),
        ("time,drafts,accepted_1,accepted_2\n1,9,8,7\n2,9,8\n", "line 3: 3 fields, but 4 columns"),
        ("time,drafts,accepted_1\n1,9,8,7\n", "line 2: 4 fields, but 3 columns"),
    ],
)
def test_a_wrong_file_is_refused_with_the_row(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "windows.json"
    path.write_text(text)
    with pytest.raises(LogError, match=message) as refused:
        read_log(path)
    assert str(refused.value).startswith(str(path))


def test_a_missing_or_binary_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="cannot be read"):
        read_log(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LogError, match="not UTF-8"):
        read_log(tmp_path / "b.csv")


def test_changes_in_the_rows_are_events(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text(
        "# a note\n"
        "time,model,class,pod,target,method,k,drafts,accepted,uptime_s\n"
        "10,m,chat,a,v1,eagle3,3,100,150,900\n"
        "10,m,code,a,v1,eagle3,3,100,150,900\n"
        "20,m,chat,a,v2,eagle3,3,100,150,10\n"
        "20,m,code,a,v2,eagle3,3,100,150,10\n"
        "30,m,chat,b,v2,eagle3,4.0,100,150,5\n"
        "30,m,chat,a,v2,eagle3,4,100,150,20\n"
    )
    log = read_log(path, "m")
    assert [(event.kind.value, event.time, event.was, event.now) for event in log.events or ()] == [
        ("target", 10.0, "v1", "v2"),
        ("restart", 10.0, "", ""),
        ("depth", 20.0, "3", "4"),
    ]
    assert log.method == "eagle3"
    assert log.rows[0].measures["draft_tokens"] == 300.0
    with pytest.raises(LogError, match="no windows of model x"):
        read_log(path, "x")


def test_a_row_without_class_beside_classes_is_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "windows.csv"
    lines = ["time,class,drafts,accepted"]
    for time in (10, 20):
        lines += [f"{time},,300,400", f"{time},chat,100,100", f"{time},code,150,250"]
    path.write_text("\n".join(lines))
    evidence = gather(read_log(path), at=10.0)
    assert evidence.total.before.drafts == 300.0
    assert {name: pair.after.drafts for name, pair in evidence.groups[Dimension.CLASS].items()} == {
        "chat": 100.0,
        "code": 150.0,
    }


def test_times_without_a_zone_are_utc() -> None:
    assert moment("2026-01-01T00:00:00") == moment("2026-01-01T01:00:00+01:00") == 1767225600.0
    assert moment("12.5") == moment(12.5) == 12.5


def test_records_are_split_at_the_onset(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    rows = [{"time": 1, "class": "chat", "request": 7}, {"time": 9, "prompt_tokens": 30, "odd": [1]}]
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    assert read_records(path, 5.0) == ([{"class": "chat", "request": 7}], [{"prompt_tokens": 30}])
    for text, message in (("{", "line 1: not JSON"), ("4", "line 1: not an object"), ("{}", "line 1: time is")):
        path.write_text(text)
        with pytest.raises(LogError, match=message):
            read_records(path, 5.0)
    with pytest.raises(LogError, match="cannot be read"):
        read_records(tmp_path / "none", 5.0)
