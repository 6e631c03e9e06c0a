"""llama.cpp's log: requests one by one, and its drafters' totals."""

from __future__ import annotations

import pytest

from specwatch_exporters.logs.read import read_log
from specwatch_exporters.report import Report, State

# The form of ggml-org/llama.cpp#24536 with its counts.
REQUEST = (
    "0.06.896.015 I slot print_timing: id  1 | task 0 | draft acceptance = 0.64479 (  167 accepted /   259 "
    "generated), mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)"
)
TOTAL = (
    "0.06.896.057 I statistics     draft-eagle3: #calls(b,g,a) =    1     87     87, #gen drafts =     87, #acc "
    "drafts =    70, #gen tokens =    259, #acc tokens =   167, #mean acc len = 2.92, #acc rate/pos = (0.805, "
    "0.632, 0.483), dur(b,g,a) = 0.005, 325.555, 0.114 ms"
)
NOTHING = "I statistics     ngram-mod: #calls(b,g,a) = 1 9 0, #gen drafts = 0, #acc drafts = 0, #gen tokens = 0, "
OLD = "draft acceptance rate = 0.23026 (   70 accepted /   304 generated)"


def log(*lines: str) -> Report:
    found = read_log("\n".join(lines))
    assert found is not None
    return found


@pytest.mark.parametrize("lines", [(REQUEST,), (REQUEST, TOTAL), (TOTAL,), (TOTAL, f"{NOTHING}#acc tokens = 0, ")])
def test_counts_and_positions_are_exact_whichever_line_there_is(lines: tuple[str, ...]) -> None:
    report = log("srv  update_slots: all slots are idle", *lines)
    (model,) = report.models
    assert (report.engine, model.state) == ("llama.cpp", State.ACTIVE)
    assert (model.tally.drafts, model.tally.draft_tokens, model.tally.accepted_tokens) == (87, 259, 167)
    assert model.mean_acceptance_length == pytest.approx(1 + 167 / 87)
    assert model.tally.per_position == pytest.approx((0.805, 0.632, 0.483), abs=0.0005)
    assert model.method == ("draft-eagle3" if TOTAL in lines else None)
    assert [one.code for one in report.notices] == ([] if REQUEST in lines else ["drafter_totals"])


def test_the_last_totals_of_each_drafter_count() -> None:
    other = TOTAL.replace("draft-eagle3", "ngram-mod").replace("87", "10").replace("259", "40").replace("167", "5")
    (model,) = log(TOTAL.replace("259", "100").replace("167", "90"), TOTAL, other).models
    assert (model.tally.drafts, model.tally.draft_tokens, model.tally.accepted_tokens) == (97, 299, 172)
    assert model.method == "draft-eagle3 + ngram-mod"


def test_the_line_of_older_servers_has_no_draft_steps() -> None:
    report = log("slot print_timing: id  0 | task 0 |", OLD, REQUEST)
    (model,) = report.models
    assert (model.tally.drafts, model.tally.draft_tokens, model.tally.accepted_tokens) == (None, 563, 237)
    assert model.mean_acceptance_length is None
    assert [window.tally.acceptance_rate for window in report.windows] == pytest.approx([70 / 304, 167 / 259])


def test_a_short_mean_length_reads_the_same() -> None:
    (model,) = log("draft acceptance = 0.76049 (  308 accepted /   405 generated), mean len =  2.52").models
    assert model.mean_acceptance_length == pytest.approx(2.52, abs=0.005)


@pytest.mark.parametrize("cut", [OLD[:40], TOTAL[:120]])
def test_a_cut_line_is_left_out_and_told(cut: str) -> None:
    report = log(cut)
    assert (report.models[0].state, report.models[0].tally.draft_tokens) == (State.UNKNOWN, None)
    assert [one.code for one in report.notices] == ["line_partial"]


def test_more_accepted_than_drafted_is_refused() -> None:
    report = log(OLD.replace("70 accepted", "700 accepted"))
    assert report.models[0].tally.acceptance_rate is None
    assert "inconsistent_counts" in {one.code for one in report.notices}


def test_nothing_drafted_is_idle() -> None:
    assert log(f"{NOTHING}#acc tokens = 0, dur").models[0].state is State.IDLE
