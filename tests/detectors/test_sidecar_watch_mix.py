"""Mixes that change while baselines are learned from scratch: a healthy draft never pages, a bad one does."""

from __future__ import annotations

import random

import pytest

from detectors.class_traffic import ClassTraffic, Q

SHIFTED = {"code": 0.1, "chat": 0.9}
WITH_NEW = {"code": 0.3, "chat": 0.3, "agent": 0.4}
HOURS = [0.5, 1.0, 3.0]


def lived(hours: float = 1.0, seed: int = 1, lag: int = 0) -> ClassTraffic:
    """A sidecar that has learned from that many hours of an even mix."""
    traffic = ClassTraffic(seed, lag=lag)
    traffic.run(60.0 * hours)
    assert traffic.paged_at is None
    return traffic


def paged_after(traffic: ClassTraffic, minutes: float) -> float:
    """Seconds from now to the page."""
    began = traffic.now
    traffic.run(minutes)
    assert traffic.paged_at is not None
    return traffic.paged_at - began


@pytest.mark.parametrize("hours", HOURS)
@pytest.mark.parametrize("shares", [SHIFTED, {"chat": 1.0}, WITH_NEW], ids=["shifted", "vanished", "new class"])
def test_a_changed_mix_is_named_and_pages_nobody_however_young_the_baselines(
    hours: float, shares: dict[str, float]
) -> None:
    traffic = lived(hours, seed=round(10 * hours))
    traffic.shares = shares
    one = traffic.run(60)
    assert (one.state, one.alarms, one.cause) == ("watch", 0, "the mix of traffic has changed")
    assert "has a class" not in one.headline
    assert ("agent 40% not judged, too young" in one.headline) == ("agent" in shares)


@pytest.mark.parametrize("lag", [1, 3, 6])
def test_classes_that_report_late_make_no_page(lag: int) -> None:
    traffic = lived(lag=lag)
    traffic.shares = SHIFTED
    one = traffic.run(40)
    assert (one.state, one.alarms, one.cause) == ("watch", 0, "the mix of traffic has changed")


def test_classes_that_get_other_names_are_no_drift_nor_is_the_mix_that_changes_then() -> None:
    traffic = lived()
    traffic.names = {"code": "programs", "chat": "talk"}
    assert traffic.run(30).alarms == 0
    traffic.shares = SHIFTED
    one = traffic.run(60)
    assert (one.state, one.alarms, one.cause) == ("watch", 0, "the mix of traffic has changed")


def test_traffic_of_a_new_class_alone_says_nothing_about_the_draft() -> None:
    traffic = lived()
    traffic.shares = {"agent": 1.0}
    one = traffic.run(90)
    assert (one.state, one.alarms, one.cause) == ("watch", 0, "")
    assert "the classes do not tell yet" in one.headline or "too young to tell" in one.headline


def test_a_new_client_among_what_has_no_place_of_its_own_is_no_drift_of_other() -> None:
    names = [name for name in Q if name.startswith("c") and name[1:].isdecimal()]
    traffic = ClassTraffic(3)
    traffic.shares = {**dict.fromkeys(names[:12], 0.07), "other": 0.16}
    traffic.run(60)
    traffic.shares = {**dict.fromkeys(names[:12], 0.05), "other": 0.1, "agent": 0.3}
    traffic.names = {"agent": "other"}
    one = traffic.run(60)
    assert (one.state, one.alarms, one.cause) == ("watch", 0, "the mix of traffic has changed")
    traffic.factor = 0.85
    assert paged_after(traffic, 30) <= 300.0


@pytest.mark.parametrize("hours", HOURS)
def test_restarts_and_deploys_in_a_changed_mix_are_no_drift(hours: float) -> None:
    traffic = lived(hours, seed=7)
    traffic.shares = SHIFTED
    traffic.run(18)
    traffic.run(40, restarted=True)
    traffic.version = "2"
    traffic.shares = WITH_NEW
    traffic.run(20, restarted=True)
    traffic.restart_sidecar()
    one = traffic.run(30)
    assert (one.state, one.alarms, one.cause) == ("watch", 0, "the mix of traffic has changed")


def test_an_outage_of_the_class_page_is_said_and_is_no_drift_for_a_while() -> None:
    traffic = lived()
    traffic.readable, traffic.shares = False, SHIFTED
    one = traffic.run(12)
    assert (one.state, one.alarms) == ("cannot_tell", 0)
    assert "counts of classes have been unreadable for 12 min" in one.headline
    assert "has a class" not in one.headline
    traffic.readable = True
    one = traffic.run(15)
    assert (one.state, one.alarms, one.cause) == ("watch", 0, "the mix of traffic has changed")


def test_an_outage_of_the_class_page_that_lasts_leaves_the_judgement_to_all_traffic() -> None:
    traffic = lived()
    traffic.readable = False
    assert traffic.run(20).state == "ok"
    traffic.factor = 0.85
    assert paged_after(traffic, 10) <= 300.0
    assert "counts of classes have been unreadable for" in traffic.judgement.headline


def test_a_page_after_a_long_outage_of_the_class_page_ends_once_the_classes_tell() -> None:
    traffic = lived()
    traffic.readable, traffic.shares = False, SHIFTED
    one = traffic.run(20)
    assert (one.state, one.alarms) == ("drifted", 1)
    assert "a change of mix cannot be told from drift" in one.headline
    traffic.readable = True
    one = traffic.run(15)
    assert (one.state, one.alarms, one.cause) == ("watch", 1, "the mix of traffic has changed")


def test_a_mix_that_is_known_to_have_changed_stays_so_in_an_outage_of_the_class_page() -> None:
    traffic = lived()
    traffic.shares = SHIFTED
    traffic.run(30)
    traffic.readable = False
    one = traffic.run(40)
    assert (one.state, one.alarms, one.cause) == ("watch", 0, "the mix of traffic has changed")
    assert "nothing new of classes for 40 min" in one.headline


def test_clients_that_stop_to_name_their_class_leave_the_judgement_to_all_traffic_with_its_true_share() -> None:
    traffic = lived()
    traffic.names = {"chat": ""}
    assert traffic.run(30).state == "ok"
    traffic.factor = 0.85
    traffic.run(30)
    assert traffic.judgement.state == "drifted"
    assert traffic.judgement.alarms == 1


@pytest.mark.parametrize("hours", HOURS)
@pytest.mark.parametrize("shares", [{"code": 0.5, "chat": 0.5}, SHIFTED, WITH_NEW], ids=["same", "shifted", "new"])
def test_a_bad_draft_is_found_in_minutes_whatever_the_mix_does(hours: float, shares: dict[str, float]) -> None:
    traffic = lived(hours, seed=5)
    traffic.shares, traffic.factor = shares, 0.85
    assert paged_after(traffic, 30) <= 300.0
    assert traffic.judgement.alarms == 1


def test_a_draft_that_breaks_after_the_mix_has_changed_is_found() -> None:
    traffic = lived()
    traffic.shares = WITH_NEW
    traffic.run(30)
    traffic.factor = 0.85
    assert paged_after(traffic, 30) <= 300.0
    assert traffic.judgement.since_s == pytest.approx(1800.0, abs=120.0)  # not the half hour before, of the mix


@pytest.mark.parametrize("lag", [3, 6])
def test_a_bad_draft_is_found_though_classes_report_late_and_the_mix_moves(lag: int) -> None:
    traffic = lived(lag=lag)
    traffic.shares, traffic.factor = SHIFTED, 0.9
    assert paged_after(traffic, 30) <= 600.0


def test_a_bad_draft_is_found_in_many_small_young_classes_together() -> None:
    names = [name for name in Q if name.startswith("c") and name[1:].isdecimal()][:12]
    traffic = ClassTraffic(3)
    traffic.shares = dict.fromkeys(names, 1.0 / 12.0)
    traffic.run(30)
    traffic.factor = 0.9
    assert paged_after(traffic, 30) <= 300.0
    assert "within classes, whatever their mix" in traffic.judgement.headline


@pytest.mark.parametrize("restarted", [True, False], ids=["redeployed", "by itself"])
@pytest.mark.parametrize("wandering", [0.0, 0.9], ids=["steady mix", "wandering mix"])
def test_a_draft_that_is_good_again_is_ok_once_its_classes_are_and_no_change_of_mix(
    wandering: float, *, restarted: bool
) -> None:
    """The total spreads wider than its classes, by their mix, and would take longer to say so."""
    traffic, dice = ClassTraffic(1), random.Random(1)
    for _ in range(120):
        code = 0.5 + wandering * (dice.random() - 0.5)
        traffic.shares = {"code": code, "chat": 1.0 - code}
        traffic.run(1)
    traffic.shares, traffic.factor = {"code": 0.5, "chat": 0.5}, 0.3
    assert traffic.run(5, restarted=restarted).state == "drifted"
    traffic.factor = 1.0
    after = [traffic.run(1.0 / 6.0, restarted=restarted and not scrape) for scrape in range(90)]
    assert {one.cause for one in after if one.state != "drifted"} == {""}, after
    assert "mix" not in " ".join(one.headline for one in after)
    assert [one.state for one in after].index("ok") <= 24
    assert (after[-1].state, after[-1].alarms) == ("ok", 1)


@pytest.mark.parametrize("restarted", [True, False], ids=["redeployed", "by itself"])
def test_a_mix_that_changed_with_the_draft_is_named_once_the_draft_is_good_again(*, restarted: bool) -> None:
    traffic = lived()
    traffic.shares, traffic.factor = SHIFTED, 0.5
    assert traffic.run(10).state == "drifted"
    traffic.factor = 1.0
    traffic.states.clear()
    one = traffic.run(30, restarted=restarted)
    assert (one.state, one.alarms, one.cause) == ("watch", 1, "the mix of traffic has changed")
    traffic.shares = {"code": 0.5, "chat": 0.5}
    assert traffic.run(30).state == "ok"


def test_a_draft_that_stays_bad_for_a_class_that_sends_nothing_now_is_not_over() -> None:
    traffic = lived()
    traffic.factor = 0.6
    assert traffic.run(10).state == "drifted"
    traffic.shares = {"chat": 1.0}
    traffic.run(2)
    traffic.factor = 1.0
    traffic.run(10)
    traffic.states.clear()
    one = traffic.run(60)
    assert "ok" not in traffic.states
    assert one.alarms == 1


@pytest.mark.parametrize("minutes", [3, 20])
def test_a_bad_deploy_after_the_mix_has_changed_began_with_the_deploy(minutes: float) -> None:
    traffic = lived()
    traffic.shares = SHIFTED
    assert traffic.run(minutes).cause == "the mix of traffic has changed"
    traffic.factor = 0.7
    one = traffic.run(6, restarted=True)
    assert (one.state, one.cause) == ("drifted", "the draft no longer matches the target after a deploy")
    assert one.since_s == pytest.approx(360.0, abs=30.0)
    assert not any("after the fall began" in line for line in one.details)
