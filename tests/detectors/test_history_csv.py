from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from specwatch_detectors.history import HistoryError
from specwatch_detectors.history_csv import read_csv
from specwatch_detectors.history_file import read_history
from specwatch_detectors.reading import Change


def rows(text: str) -> list[str]:
    return text.strip().splitlines()


def test_rows_of_increases_become_intervals() -> None:
    found = read_csv(
        rows("""
# from the night shift
time,model,drafts,accepted_1,accepted_2
10,m,100,70,40
20,m,0,0,0
30,m,50,30,20
"""),
        "x.csv",
    )
    model = found.models["m"]
    assert found.interval_s == 10.0
    assert found.notes == ("from the night shift",)
    assert [(interval.at, interval.total.drafts, interval.total.accepted) for interval in model.intervals] == [
        (10.0, 100.0, (70.0, 40.0)),
        (20.0, 0.0, ()),
        (30.0, 50.0, (30.0, 20.0)),
    ]
    assert (model.depth, model.instances, model.classes()) == (2, 1, [])


def test_classes_add_up_to_the_total_unless_it_has_rows_of_its_own() -> None:
    head = "time,class,drafts,accepted_1\n"
    summed = read_csv(rows(head + "10,a,5,4\n10,b,7,2\n20,a,1,1"), "x.csv").models["model"]
    assert [interval.total.drafts for interval in summed.intervals] == [12.0, 1.0]
    own = read_csv(rows(head + "10,a,5,4\n10,,20,9\n20,a,1,1\n20,,8,3"), "x.csv").models["model"]
    assert [interval.total.drafts for interval in own.intervals] == [20.0, 8.0]
    assert own.classes() == ["a"]


def test_counters_are_increases_per_pod_with_restarts() -> None:
    text = "time,pod,drafts_total,accepted_1_total\n"
    text += "10,a,100,50\n20,a,150,80\n30,a,20,10\n40,a,60,30\n10,b,9,9\n20,b,19,14\n30,b,29,19\n40,b,39,24"
    model = read_csv(rows(text), "x.csv").models["model"]
    assert [interval.total.drafts for interval in model.intervals] == [60.0, 30.0, 50.0]
    assert [(change.at, change.change, change.words) for change in model.changes] == [
        (30.0, Change.RESTART, "restart: counters of a")
    ]
    assert model.instances == 2


def test_increases_over_a_long_silence_are_left_out() -> None:
    text = "time,drafts_total,accepted_total,k\n0,10,5,3\n10,20,9,3\n20,30,14,3\n1000,900,400,3\n1010,910,404,3"
    model = read_csv(rows(text), "x.csv").models["model"]
    assert [interval.total.drafts for interval in model.intervals] == [10.0, 10.0, 10.0]
    assert model.observed < 0.05
    assert model.depth == 3


def test_times_may_be_iso_and_intervals_coarser() -> None:
    text = (
        "time,drafts,accepted_1\n2026-03-02T00:00:10Z,10,5\n2026-03-02 00:00:20,10,6\n2026-03-02T01:00:30+01:00,1,1"
    )
    model = read_csv(rows(text), "x.csv", 30.0).models["model"]
    assert [(interval.at, interval.total.drafts) for interval in model.intervals] == [(1_772_409_630.0, 21.0)]


def test_a_changed_fact_is_a_change_and_side_by_side_is_one() -> None:
    text = "time,pod,drafts,accepted_1,version,target\n"
    for at in range(10, 100, 10):
        text += f"{at},a,5,4,{'2' if at > 30 else '1'},t\n{at},b,5,4,{'2' if at > 60 else '1'},t\n"
    (change,) = read_csv(rows(text), "x.csv").models["model"].changes
    assert (change.at, change.words, change.change) == (40.0, "version 1 → 2", Change.VERSION)


def test_a_version_that_comes_back_is_a_change_again() -> None:
    text = "time,drafts,accepted_1,version\n"
    text += "".join(f"{at},5,4,{'b' if 300 < at <= 1200 else 'a'}\n" for at in range(100, 2000, 100))
    changes = read_csv(rows(text), "x.csv").models["model"].changes
    assert [(change.at, change.now) for change in changes] == [(400.0, "b"), (1300.0, "a")]


def test_an_engine_that_adapts_its_depth_has_no_changes() -> None:
    text = "time,drafts,accepted_1,k\n"
    text += "".join(f"{at},5,4,{3 + at // 600 % 2}\n" for at in range(100, 5000, 100))
    assert read_csv(rows(text), "x.csv").models["model"].changes == ()


HEAD = "time,drafts,accepted_1,accepted_2\n10,10,5,4\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("drafts,accepted_1\n", "line 1: no column 'time'"),
        ("time,accepted_1\n", "line 1: no column 'drafts'"),
        ("time,drafts\n", "line 1: no column 'accepted_1'"),
        ("time,drafts,accepted_2\n", "line 1: no column 'accepted_1', but later positions"),
        ("time,drafts,drafts,accepted_1\n", "column 'drafts' appears twice"),
        ("time,drafts_total,accepted_1\n", "cannot be mixed"),
        ("time,drafts,accepted_1,colour\n", "unknown column 'colour'"),
        ("# a note\n\ntime,drafts\n", "line 3: no column 'accepted_1'"),
        (HEAD + "20,10,5\n", "line 3: 3 fields, but 4 columns"),
        (HEAD + "20,ten,5,4\n", "line 3: drafts is 'ten', not a number"),
        (HEAD + "20,10,-5,4\n", "line 3: accepted_1 is -5; counts are finite"),
        (HEAD + "20,10,nan,4\n", "line 3: accepted_1 is nan"),
        (HEAD + "20,,5,4\n", "line 3: no number of drafts"),
        (HEAD + "noon,10,5,4\n", "line 3: 'noon' is no time"),
        (HEAD + "1772409600000,10,5,4\n", "milliseconds?"),
        (HEAD + "20,1,1,1\n\n10,10,5,4\n", "line 5: the same time, model, class and pod as line 2"),
        (HEAD + "20,10,500,4\n", "line 3: more drafts accepted at a position than there were drafts"),
        ("# a note\n# another", "no data row, only notes or blank lines"),
        ("# specwatch\nA tool that watches drafts, and time.\nMore of it\n", "line 2: no CSV of draft counts"),
        ("time,drafts,accepted_1", "no data row after the columns in line 1"),
        (HEAD + "20,100,50,90\n", "line 3: accepted_2 is 90, more than accepted_1 (50)"),
        (HEAD + "20,1e301,5,4\n", "line 3: drafts is 1e301"),
        ("time,drafts,accepted\n10,100,250\n", "line 1: no column 'k' or 'draft_tokens'; without"),
        ("time,drafts,accepted,k\n10,100,250,\n", "line 2: no row of 'model' has a value of 'accepted_1', 'k' or"),
        (HEAD, "fewer than two points in time"),
        (HEAD.replace("10,10,5,4", "10,0,0,0\n20,0,0,0"), "no draft steps in it"),
        ("time,drafts,accepted_1,k\n10,1,1,x\n", "line 2: k is 'x'"),
        (
            "time,drafts,accepted,draft_tokens\n10,100,90,300\n20,100,900,300\n",
            "900 tokens accepted of 300 proposed",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, words: str) -> None:
    with pytest.raises(HistoryError) as refused:
        read_csv(rows(text) if text else [], "x.csv")
    assert str(refused.value).startswith("x.csv: ")
    assert words in str(refused.value)


def test_counters_read_while_they_grow_may_differ_a_little() -> None:
    model = read_csv(rows(HEAD + "20,100,50,52"), "x.csv").models["model"]
    assert model.intervals[1].total.accepted == (50.0, 50.0)


def test_finer_than_the_data_is_refused() -> None:
    with pytest.raises(HistoryError, match="cannot be cut into intervals of 5 s"):
        read_csv(rows(HEAD + "20,10,5,4"), "x.csv", 5.0)


def test_files_may_be_gzip_and_have_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + (HEAD + "20,10,5,4").encode()))
    assert read_history(path).models["model"].drafts == 20.0


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe\x00", "not UTF-8 text"), (b"\x1f\x8bxx", "gzip"), (b"{", "the JSON is cut or broken")],
)
def test_unreadable_files_say_why(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(HistoryError, match=words):
        read_history(path)
    with pytest.raises(HistoryError, match="No such file"):
        read_history(tmp_path / "missing")
