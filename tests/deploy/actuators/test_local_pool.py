"""The local pool against a request sidecar as it runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deploy.actuators.ticking import Ticking
from exporters.proxy.pool_rig import TOKEN, admin, chat_answer, pools, set_weights, shares
from exporters.proxy.proxy_rig import CHAT, ask, eventually, request, sample
from exporters.raw_server import Script, raw_server
from specwatch_deploy.actuators.health_change import HealthLimits
from specwatch_deploy.actuators.json_call import caller
from specwatch_deploy.actuators.local import LocalPool, build
from specwatch_deploy.actuators.pool_admin import OvertakenError, PoolAdmin
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError, Plan
from specwatch_detectors.fallback.level import Level
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.sidecar.endpoint import Endpoint

BOTH = (Level.DRAFT, Level.NGRAM)
CLOSED = "draft=127.0.0.1:1 ngram=127.0.0.1:2"
REQUESTS = 12
ASKED = json.dumps({"model": "m", "messages": []}).encode()


def lever(running: RequestSidecar, token: Path, clock: Ticking | None = None, **settings: Any) -> LocalPool:
    url = Endpoint.parse(f"http://127.0.0.1:{running.admin_port}")
    own = PoolAdmin(url, caller(20.0), token, "specwatch fallback")
    names = {level: level.value for level in BOTH}
    limits = HealthLimits(requests=REQUESTS, p99_ratio=1e6)  # answers of a busy machine are no measure
    return LocalPool(own, names, limits=limits, clock=clock or Ticking(), **settings)


@contextmanager
def served(tmp_path: Path, draft: Script, ngram: Script) -> Iterator[tuple[RequestSidecar, LocalPool]]:
    with raw_server(draft) as first, raw_server(ngram) as second:
        upstream = f"draft=127.0.0.1:{first.port} ngram=127.0.0.1:{second.port}"
        with pools(upstream, tmp_path / "token") as running:
            yield running, lever(running, tmp_path / "token")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RequestSidecar]:
    with pools(CLOSED, tmp_path / "token") as sidecar:
        yield sidecar


@pytest.fixture
def local(running: RequestSidecar, tmp_path: Path) -> LocalPool:
    return lever(running, tmp_path / "token")


def chats(running: RequestSidecar, count: int) -> None:
    """So many requests, all of them counted when this returns."""
    name = "specwatch_request_pool_requests_total"
    wanted = sample(running, name) + count
    for _ in range(count):
        ask(running.port, request(CHAT, ASKED))
    eventually(lambda: sample(running, name) == wanted)


def test_it_is_an_actuator(local: LocalPool) -> None:
    told: Actuator = local
    assert told.levels == BOTH
    assert told.steps == (0.05, 0.25, 1.0)


def test_it_moves_and_goes_back(running: RequestSidecar, local: LocalPool) -> None:
    assert local.describe().shares == {Level.DRAFT: 1.0}
    plan = local.plan({Level.DRAFT: 0.95, Level.NGRAM: 0.05})
    assert shares(running)["draft"] == 1.0
    assert not local.verify(plan).settled
    local.apply(plan)
    assert shares(running) == {"draft": 0.95, "ngram": 0.05}
    assert local.verify(plan).settled
    assert local.describe().foreign == ""
    whole = local.plan({Level.NGRAM: 1.0})
    local.apply(whole)
    local.undo(plan)
    assert local.describe().shares == {Level.DRAFT: 1.0}


def test_the_plan_is_the_exact_call_and_goes_through_json(running: RequestSidecar, local: LocalPool) -> None:
    plan = local.plan({Level.NGRAM: 1.0})
    (call,) = json.loads(json.dumps(plan.changes))
    headers = {"Authorization": f"Bearer {TOKEN}", "If-Match": f'"{call["ifMatch"]}"'}
    assert admin(running, call["method"], call["body"], headers).status == 200
    assert shares(running) == {"draft": 0.0, "ngram": 1.0}
    assert "100 % draft to 100 % ngram" in plan.text
    assert TOKEN not in repr(plan)


def test_a_plan_applied_twice_moves_once(running: RequestSidecar, local: LocalPool) -> None:
    plan = local.plan({Level.NGRAM: 1.0})
    again = local.plan({Level.NGRAM: 1.0})
    assert plan.identity == again.identity
    assert plan.identity != local.plan({Level.DRAFT: 0.5, Level.NGRAM: 0.5}).identity
    local.apply(plan)
    version = admin(running).headers["etag"]
    local.apply(plan)
    local.undo(Plan(plan.identity, plan.before, plan.shares, (), ""))
    assert admin(running).headers["etag"] == version


def test_a_restarted_sidecar_does_not_spoil_a_plan(tmp_path: Path) -> None:
    with pools(CLOSED, tmp_path / "token") as running:
        plan = lever(running, tmp_path / "token").plan({Level.NGRAM: 1.0})
    with pools(CLOSED, tmp_path / "token") as running:
        local = lever(running, tmp_path / "token")
        local.apply(plan)
        assert local.verify(plan).settled


def test_what_somebody_else_has_set_is_not_overwritten(running: RequestSidecar, local: LocalPool) -> None:
    plan = local.plan({Level.NGRAM: 1.0})
    set_weights(running, {"draft": 1, "ngram": 1}, by="somebody")
    with pytest.raises(ActuatorError, match="somebody has set 50 % draft, 50 % ngram") as caught:
        local.apply(plan)
    assert not caught.value.retry
    assert local.verify(plan).foreign == "somebody"
    with pytest.raises(ActuatorError, match="force = true"):
        local.apply(local.plan({Level.NGRAM: 1.0}))
    assert shares(running)["draft"] == 0.5


def test_it_takes_over_if_it_is_told_to(running: RequestSidecar, tmp_path: Path) -> None:
    set_weights(running, {"draft": 1, "ngram": 1}, by="somebody")
    local = lever(running, tmp_path / "token", force=True)
    local.apply(local.plan({Level.NGRAM: 1.0}))
    assert local.describe().foreign == ""


def test_a_change_between_look_and_set_is_seen(running: RequestSidecar, tmp_path: Path) -> None:
    own = PoolAdmin(
        Endpoint.parse(f"http://127.0.0.1:{running.admin_port}"), caller(20.0), tmp_path / "token", "me"
    )
    version = own.read().version
    set_weights(running, {"draft": 1, "ngram": 1})
    with pytest.raises(OvertakenError, match="meanwhile") as caught:
        own.write({"ngram": 1.0}, version)
    assert caught.value.retry


def test_a_draining_pool_is_said(tmp_path: Path) -> None:
    def hangs(visit: Any) -> None:
        visit.read_head()
        visit.hang()

    with served(tmp_path, hangs, chat_answer("b")) as (running, local):
        thread = threading.Thread(target=ask, args=(running.port, request("/x", b"y")))
        thread.start()
        eventually(lambda: sample(running, "specwatch_request_pool_in_flight", pool="draft") == 1)
        local.apply(local.plan({Level.NGRAM: 1.0}))
        assert local.describe().note == "requests still under way at draft: 1"
        running.stop()
        thread.join()


@pytest.mark.parametrize(
    ("ngram", "ok", "words"),
    [
        (chat_answer("b"), True, "errors 0.00% (0.00% before)"),
        (chat_answer("b", status=500), False, "errors 100.00% (0.00% before)"),
    ],
)
def test_what_gained_traffic_is_held_against_the_traffic_before(
    tmp_path: Path, ngram: Script, ok: bool, words: str
) -> None:
    with served(tmp_path, chat_answer("a"), ngram) as (running, local):
        local.describe()
        chats(running, 2 * REQUESTS)
        local.apply(local.plan({Level.NGRAM: 1.0}))
        assert not local.health().known
        chats(running, REQUESTS)
        health = local.health()
        assert (health.known, health.ok, words in health.reason) == (True, ok, True), health


def test_a_pool_that_cannot_be_reached_is_no_healthy_one(tmp_path: Path) -> None:
    with raw_server(chat_answer("a")) as first:
        upstream = f"draft=127.0.0.1:{first.port} ngram=127.0.0.1:1"
        with pools(upstream, tmp_path / "token") as running:
            local = lever(running, tmp_path / "token")
            local.describe()
            chats(running, 2 * REQUESTS)
            local.apply(local.plan({Level.DRAFT: 0.5, Level.NGRAM: 0.5}))
            chats(running, 3 * REQUESTS)
            health = local.health()
            assert (health.known, health.ok) == (True, False), health
            assert "n-gram cannot be reached" in health.reason
            assert "could not be measured" in health.reason
            assert "errors" not in health.reason


def test_without_a_movement_of_its_own_nothing_is_compared(local: LocalPool) -> None:
    health = local.health()
    assert (health.ok, health.known) == (False, False)


def test_whoever_lacks_the_token_is_told_so(running: RequestSidecar, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("other")
    refused = lever(running, other)
    with pytest.raises(ActuatorError, match="answered 401: the bearer token is missing or wrong") as caught:
        refused.apply(refused.plan({Level.NGRAM: 1.0}))
    assert not caught.value.retry
    other.unlink()
    with pytest.raises(ActuatorError, match="other cannot be read"):
        refused.apply(refused.plan({Level.NGRAM: 1.0}))


def test_a_sidecar_that_is_gone_may_come_back(tmp_path: Path) -> None:
    with pools(CLOSED, tmp_path / "token") as running:
        local = lever(running, tmp_path / "token")
    with pytest.raises(ActuatorError, match="does not answer") as caught:
        local.describe()
    assert caught.value.retry


def test_a_sidecar_without_pools_says_so(tmp_path: Path) -> None:
    with pools("127.0.0.1:1") as running, pytest.raises(ActuatorError, match="has no pools"):
        lever(running, tmp_path / "token").describe()


def test_a_pool_that_belongs_to_no_level_must_have_no_traffic(tmp_path: Path) -> None:
    with pools(f"{CLOSED} canary=127.0.0.1:3", tmp_path / "token") as running:
        local = lever(running, tmp_path / "token")
        assert local.describe().shares == {Level.DRAFT: 1.0}
        set_weights(running, {"canary": 1, "draft": 1})
        with pytest.raises(ActuatorError, match="pool canary has traffic and belongs to no level"):
            local.describe()


@pytest.mark.parametrize("wanted", [{Level.NGRAM: 0.5}, {Level.OFF: 1.0}, {Level.DRAFT: 1.5, Level.NGRAM: -0.5}])
def test_shares_that_are_none_are_refused(local: LocalPool, wanted: Mapping[Level, float]) -> None:
    with pytest.raises(ActuatorError):
        local.plan(wanted)


def test_it_is_built_from_its_table(running: RequestSidecar, tmp_path: Path) -> None:
    table = {
        "url": f"http://127.0.0.1:{running.admin_port}",
        "token_file": str(tmp_path / "token"),
        "pools": {"draft": "draft", "off": "ngram"},
        "steps": [0.5, 1],
        "setter": "controller 7",
    }
    local = build(table, (Level.DRAFT, Level.OFF))
    local.apply(local.plan({Level.OFF: 1.0}))
    assert admin(running).body["by"] == "controller 7"
    assert (shares(running)["ngram"], local.steps) == (1.0, (0.5, 1.0))


def test_without_a_token_it_says_that_it_cannot_move(running: RequestSidecar) -> None:
    local = build({"url": f"http://127.0.0.1:{running.admin_port}"}, BOTH)
    assert local.describe().note == "no token_file is given: weights cannot be set"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "url: is missing"),
        ({"url": "x"}, "url: it has no scheme"),
        ({"url": "http://h:1", "pool": 1}, "has no setting pool"),
        ({"url": "http://h:1", "pools": {"draft": "a"}}, "one entry for each level"),
        ({"url": "http://h:1", "steps": [1, 0.5]}, "steps must grow"),
        ({"url": "http://h:1", "health_requests": 0}, "health_requests"),
        ({"url": "http://h:1", "token_file": "/nowhere"}, "token_file /nowhere cannot be read: No such file"),
        ({"url": "http://h:1", "ca_file": "/nowhere.pem"}, "no certificates"),
    ],
)
def test_a_wrong_table_is_one_clear_line(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        build(table, BOTH)
    assert "\n" not in str(caught.value)
