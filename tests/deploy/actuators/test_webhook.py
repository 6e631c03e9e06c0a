"""The webhook against a receiver that checks what it is sent."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.actuators.webhook_receiver import SECRET, Receiver, receiving
from specwatch_deploy.actuators.json_call import caller
from specwatch_deploy.actuators.webhook import Times, Webhook, build
from specwatch_deploy.actuators.webhook_position import KeptPosition
from specwatch_deploy.actuators.webhook_signature import TAKEN_S, sign, verify
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError, Plan
from specwatch_detectors.fallback.level import Level
from specwatch_exporters.sidecar.endpoint import Endpoint

BOTH = (Level.DRAFT, Level.NGRAM)
ALL_NGRAM = {Level.NGRAM: 1.0}


@dataclass
class Scene:
    """A receiver, a lever that asks it where it is, and one that keeps what was answered."""

    receiver: Receiver
    folder: Path
    waits: list[float] = field(default_factory=list)

    def _times(self) -> Times:
        return Times(lambda: self.receiver.now, self.waits.append)

    def _lever(self, where: Endpoint | KeptPosition) -> Webhook:
        url = Endpoint.parse(self.receiver.url)
        return Webhook(url, where, BOTH, self.folder / "secret", caller(20.0), times=self._times())

    def asking(self) -> Webhook:
        return self._lever(Endpoint.parse(self.receiver.url))

    def keeping(self) -> Webhook:
        return self._lever(KeptPosition(self.folder / "state.json", Level.DRAFT, BOTH))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    (tmp_path / "secret").write_bytes(SECRET + b"\n")
    with receiving() as receiver:
        yield Scene(receiver, tmp_path)


@pytest.fixture(params=["asking", "keeping"])
def lever(request: pytest.FixtureRequest, scene: Scene) -> Webhook:
    made: Webhook = getattr(scene, request.param)()
    return made


def test_it_moves_and_goes_back(scene: Scene, lever: Webhook) -> None:
    told: Actuator = lever
    assert (told.levels, told.steps) == (BOTH, (0.05, 0.25, 1.0))
    assert lever.describe().shares == {Level.DRAFT: 1.0}
    plan = lever.plan({Level.DRAFT: 0.95, Level.NGRAM: 0.05})
    assert not lever.verify(plan).settled
    assert scene.receiver.moves == []
    lever.apply(plan)
    assert scene.receiver.shares == {"draft": 0.95, "ngram": 0.05}
    assert lever.verify(plan).settled
    lever.undo(plan)
    assert scene.receiver.moves[-1]["action"] == "undo"
    assert lever.describe().shares == {Level.DRAFT: 1.0}
    lever.undo(plan)
    assert len(scene.receiver.moves) == 2


def test_the_plan_is_what_is_sent(scene: Scene, lever: Webhook) -> None:
    plan = lever.plan(ALL_NGRAM)
    lever.apply(plan)
    (change,) = json.loads(json.dumps(plan.changes))
    assert scene.receiver.moves == [change["body"]]
    assert scene.receiver.keys == [change["idempotencyKey"]] == [plan.identity]
    assert SECRET.decode() not in repr(plan)


def test_a_movement_that_is_sent_twice_moves_once(scene: Scene, lever: Webhook) -> None:
    plan = lever.plan(ALL_NGRAM)
    assert lever.plan(ALL_NGRAM).identity == plan.identity
    lever.apply(plan)
    lever.apply(plan)
    assert (len(scene.receiver.keys), len(scene.receiver.moves)) == (2, 1)


def test_the_same_movement_later_is_another_one(scene: Scene, lever: Webhook) -> None:
    first = lever.plan(ALL_NGRAM)
    lever.apply(first)
    lever.apply(lever.plan({Level.DRAFT: 1.0}))
    again = lever.plan(ALL_NGRAM)
    lever.apply(again)
    assert again.identity != first.identity
    assert (len(scene.receiver.moves), scene.receiver.shares) == (3, {"ngram": 1.0})


def test_an_answer_that_was_lost_is_asked_for_again_under_the_same_key(scene: Scene, lever: Webhook) -> None:
    scene.receiver.loses_answers = 1
    lever.apply(lever.plan(ALL_NGRAM))
    assert (len(scene.receiver.keys), len(scene.receiver.moves)) == (2, 1)
    assert lever.describe().shares == ALL_NGRAM


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again_after_growing_waits(scene: Scene, lever: Webhook, status: int) -> None:
    plan = lever.plan(ALL_NGRAM)
    scene.receiver.answers = [(status, {}), (status, {})]
    lever.apply(plan)
    assert scene.waits == [0.5, 1.0]
    assert scene.receiver.shares == {"ngram": 1.0}


def test_every_try_is_signed_anew(scene: Scene) -> None:
    lever = scene.keeping()
    plan = lever.plan(ALL_NGRAM)
    scene.receiver.answers = [(503, {"Retry-After": "7"}), (503, {"Retry-After": "soon"})]
    lever._times = Times(lambda: scene.receiver.now, lambda seconds: setattr(scene.receiver, "now", 1e9 + seconds))
    lever.apply(plan)
    assert len(set(scene.receiver.signatures)) == 3


@pytest.mark.parametrize(("asked", "waits"), [("7", [7.0, 10.0]), ("99999", [10.0, 10.0]), ("x", [0.5, 1.0])])
def test_a_wait_that_is_asked_for_is_kept_within_bounds(scene: Scene, asked: str, waits: list[float]) -> None:
    lever = scene.keeping()
    plan = lever.plan(ALL_NGRAM)
    scene.receiver.answers = [(429, {"Retry-After": asked}), (429, {})]
    lever.apply(plan)
    assert scene.waits == waits


@pytest.mark.parametrize(
    ("status", "retry", "sent"), [(503, True, 3), (400, False, 1), (409, False, 1), (307, False, 1)]
)
def test_what_does_not_pass_is_said(scene: Scene, lever: Webhook, status: int, retry: bool, sent: int) -> None:
    plan = lever.plan(ALL_NGRAM)
    scene.receiver.answers = [(status, {"Location": scene.receiver.url})] * 5
    with pytest.raises(ActuatorError, match=f"answered {status}: later") as caught:
        lever.apply(plan)
    assert caught.value.retry is retry
    assert len(scene.receiver.answers) == 5 - sent
    scene.receiver.answers = []
    assert lever.describe().shares == {Level.DRAFT: 1.0}


def test_somebody_who_is_gone_may_come_back(scene: Scene) -> None:
    lever = scene.keeping()
    plan = lever.plan(ALL_NGRAM)
    scene.receiver.loses_answers = 99
    with pytest.raises(ActuatorError, match="does not answer") as caught:
        lever.apply(plan)
    assert caught.value.retry
    assert len(scene.waits) == 2


def test_another_secret_is_refused(scene: Scene, lever: Webhook) -> None:
    plan = lever.plan(ALL_NGRAM)
    (scene.folder / "secret").write_bytes(b"another secret of sixteen bytes")
    with pytest.raises(ActuatorError, match="answered 401: the signature is wrong") as caught:
        lever.apply(plan)
    assert not caught.value.retry
    assert scene.receiver.moves == []


def test_a_clock_that_is_wrong_is_refused(scene: Scene) -> None:
    lever = scene.keeping()
    plan = lever.plan(ALL_NGRAM)
    lever._times = Times(lambda: scene.receiver.now - TAKEN_S - 1.0, scene.waits.append)
    with pytest.raises(ActuatorError, match="401"):
        lever.apply(plan)


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), (b"short\n", "fewer than 16 bytes")])
def test_without_a_secret_nothing_is_sent(scene: Scene, content: bytes | None, message: str) -> None:
    lever = scene.keeping()
    plan = lever.plan(ALL_NGRAM)
    (scene.folder / "secret").unlink()
    if content is not None:
        (scene.folder / "secret").write_bytes(content)
    with pytest.raises(ActuatorError, match=message):
        lever.apply(plan)
    assert scene.receiver.signatures == []


def test_its_owner_may_say_more(scene: Scene) -> None:
    lever = scene.asking()
    plan = lever.plan(ALL_NGRAM)
    lever.apply(plan)
    assert not lever.health().known
    scene.receiver.told = {"settled": False, "foreign": "the night\nshift", "note": "two pods to go"}
    found = lever.verify(plan)
    assert (found.settled, found.foreign, found.note) == (False, "the nightshift", "two pods to go")
    scene.receiver.told = {"health": {"ok": False, "reason": "errors 3 %"}}
    health = lever.health()
    assert (health.ok, health.known, health.reason) == (False, True, "errors 3 %")


@pytest.mark.parametrize(
    "told",
    [
        {"shares": None},
        {"shares": {"draft": 0.5}},
        {"shares": {"other": 1.0}},
        {"shares": {"off": 1.0}},
        {"shares": {"draft": "all"}},
        {"shares": []},
    ],
)
def test_an_answer_without_shares_is_none(scene: Scene, told: dict[str, Any]) -> None:
    scene.receiver.told = told
    with pytest.raises(ActuatorError):
        scene.asking().describe()


def test_what_was_answered_outlives_the_controller(scene: Scene) -> None:
    first = scene.keeping()
    plan = first.plan(ALL_NGRAM)
    first.apply(plan)
    assert scene.keeping().verify(plan).settled
    (scene.folder / "state.json").write_text("{")
    with pytest.raises(ActuatorError, match="tells no shares"):
        scene.keeping().describe()


def test_a_crash_before_it_was_kept_moves_nothing_twice(scene: Scene) -> None:
    lever = scene.keeping()
    plan = lever.plan(ALL_NGRAM)
    lever.apply(plan)
    (scene.folder / "state.json").unlink()
    kept = Plan(plan.identity, plan.shares, plan.before, plan.changes, plan.text)
    scene.keeping().apply(kept)
    assert len(scene.receiver.moves) == 1
    assert scene.keeping().verify(kept).settled


@given(
    st.binary(min_size=16), st.binary(max_size=200), st.integers(0, 10**10), st.floats(-2 * TAKEN_S, 2 * TAKEN_S)
)
def test_only_what_was_signed_now_is_verified(secret: bytes, body: bytes, at: int, late: float) -> None:
    signature = sign(secret, at, body)
    assert verify(secret, str(at), signature, body, at + late) == (abs(at + late - at) <= TAKEN_S)
    assert not verify(secret, str(at + 1), signature, body, at)
    assert not verify(secret, str(at), signature, body + b"x", at)
    assert not verify(secret + b"x", str(at), signature, body, at)
    for odd in ("", "-1", "1.5", "٣", "9" * 20):
        assert not verify(secret, odd, signature, body, at)
    assert not verify(secret, str(at), "v1=\xe9", body, at)


def test_it_is_built_from_its_table(scene: Scene) -> None:
    scene.receiver.now = time.time()
    table = {
        "url": scene.receiver.url,
        "status_url": scene.receiver.url,
        "secret_file": str(scene.folder / "secret"),
    }
    lever = build(table, BOTH)
    lever.apply(lever.plan(ALL_NGRAM))
    assert scene.receiver.shares == {"ngram": 1.0}
    kept = {**table, "state_file": str(scene.folder / "state.json"), "start": "ngram", "steps": [1.0]}
    del kept["status_url"]
    other = build(kept, BOTH)
    assert (other.describe().level, other.steps) == (Level.NGRAM, (1.0,))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"url": None, "state_file": "x", "secret_file": "x"}, "url"),
        ({"url": "x", "state_file": "x", "secret_file": "x"}, "url: it has no scheme"),
        ({"url": "https://u:p@h", "state_file": "x", "secret_file": "x"}, "credentials do not belong"),
        ({"url": "https://h", "secret_file": "x"}, "give either status_url"),
        ({"url": "https://h", "status_url": "https://h", "state_file": "x", "secret_file": "x"}, "give either"),
        ({"url": "https://h", "state_file": "/nowhere/x", "secret_file": "x"}, "its directory does not exist"),
        ({"url": "https://h", "state_file": "x", "start": "off", "secret_file": "x"}, "start must be one of"),
        ({"url": "https://h", "state_file": "x"}, "secret_file is missing"),
        ({"url": "https://h", "state_file": "x", "secret_file": "/nowhere"}, "secret_file /nowhere cannot be read"),
        ({"url": "https://h", "state_file": "x", "secret_file": "x", "tries": 0}, "tries"),
    ],
)
def test_a_wrong_table_is_one_clear_line(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        build({key: value for key, value in table.items() if value is not None}, BOTH)
    assert "\n" not in str(caught.value)
    assert "u:p" not in str(caught.value)
