from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.slack.slack_rig import T0, alert, body
from specwatch_alerts.slack.payload import PayloadError, Status, parse


def changed(**more: Any) -> bytes:
    return json.dumps({**json.loads(body(alert())), **more}).encode()


def with_alert(**more: Any) -> bytes:
    return changed(alerts=[{**alert(), **more}])


def test_a_delivery_is_read_and_unknown_keys_are_passed_over() -> None:
    found = parse(changed(notification_reason="repeat", later={"deep": [1]}, truncatedAlerts=3))
    assert (found.receiver, found.truncated, found.group_labels) == ("slack", 3, {"model": "llama"})
    (one,) = found.alerts
    assert (one.status, one.starts_at, one.ends_at) == (Status.FIRING, T0, None)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2023-11-14T22:13:20Z", T0),
        ("2023-11-14T22:13:20.123456789Z", T0 + 0.123456),
        ("2023-11-14T23:13:20+01:00", T0),
    ],
)
def test_times_as_go_writes_them(written: str, seconds: float) -> None:
    assert parse(with_alert(startsAt=written)).alerts[0].starts_at == seconds


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b"", "not JSON"),
        (b"[]", "no JSON object"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (changed(version="3"), "version is '3'"),
        (changed(version=4), "version is 4"),
        (changed(version=None), "version is None"),
        (changed(alerts=[]), "no list with alerts"),
        (changed(alerts={}), "no list with alerts"),
        (changed(alerts=[1]), r"alerts\[0\] is no object"),
        (changed(groupKey=""), "groupKey"),
        (changed(groupKey=7), "groupKey"),
        (changed(groupLabels=[]), "groupLabels"),
        (changed(commonLabels={"a": 1}), "commonLabels"),
        (with_alert(status="maybe"), "firing or resolved"),
        (with_alert(startsAt="yesterday"), "startsAt"),
        (with_alert(startsAt="2023-11-14T22:13:20"), "startsAt"),
        (with_alert(startsAt=""), "no startsAt"),
        (with_alert(labels=None, annotations=3), "annotations"),
    ],
)
def test_what_is_no_delivery_is_refused_in_one_line(bad: bytes, words: str) -> None:
    with pytest.raises(PayloadError, match=words) as refusal:
        parse(bad)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 250


def test_lone_surrogates_and_missing_fingerprints_do_no_harm() -> None:
    found = parse(with_alert(labels={"pod": "\ud800x"}, fingerprint="", status="resolved", endsAt=""))
    assert found.alerts[0].labels == {"pod": "?x"}
    assert found.alerts[0].fingerprint
    found.alerts[0].labels["pod"].encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["groupKey", "alerts", "groupLabels", "receiver", "truncatedAlerts", "externalURL"]), JSON)
def test_whatever_stands_in_a_field_is_read_or_refused(name: str, value: Any) -> None:
    with suppress(PayloadError):
        assert parse(changed(**{name: value})).alerts
