"""Who may set the weights of the pools, and that two who do cannot overwrite each other unseen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.proxy.pool_rig import TOKEN, admin, pools, set_weights, shares
from exporters.proxy.proxy_rig import ask
from specwatch_exporters.proxy.http_head import Route
from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.pool_ledger import PoolLedger
from specwatch_exporters.proxy.pool_weights import PoolWeights
from specwatch_exporters.proxy.pools_site import PoolsPage
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.upstreams import named
from specwatch_exporters.sidecar.site import Change

UPSTREAM = "draft=127.0.0.1:1 ngram=127.0.0.1:2"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RequestSidecar]:
    with pools(UPSTREAM, tmp_path / "token") as sidecar:
        yield sidecar


def test_a_change_is_answered_with_the_next_version(running: RequestSidecar) -> None:
    first = admin(running)
    changed = set_weights(running, {"ngram": 3, "draft": 1}, by="somebody")
    assert (changed.status, changed.body["by"]) == (200, "somebody")
    assert changed.headers["etag"] != first.headers["etag"]
    assert admin(running).headers["etag"] == changed.headers["etag"]
    assert shares(running) == {"draft": 0.25, "ngram": 0.75}


def test_the_second_of_two_who_looked_at_the_same_is_told_so(running: RequestSidecar) -> None:
    headers = {**BEARER, "If-Match": admin(running).headers["etag"]}
    assert admin(running, "PUT", {"weights": {"ngram": 1}}, headers).status == 200
    late = admin(running, "PUT", {"weights": {"draft": 1}}, headers)
    assert late.status == 412
    assert "meanwhile" in late.body["error"]
    assert shares(running)["ngram"] == 1.0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer other"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": "Bearer \xe9"}, 401),
        (BEARER, 428),
        ({**BEARER, "If-Match": '"other"'}, 412),
    ],
)
def test_a_change_needs_the_token_and_a_version(
    running: RequestSidecar, headers: dict[str, str], status: int
) -> None:
    reply = admin(running, "PUT", {"weights": {"ngram": 1}}, headers)
    assert reply.status == status
    assert TOKEN not in json.dumps(reply.body)
    assert shares(running)["draft"] == 1.0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "accepted"),
        ([], "accepted"),
        ({"weights": {"ngram": 1}, "more": 1}, "accepted"),
        ({"weights": []}, "an object"),
        ({"weights": {}}, "no pool would have a weight"),
        ({"weights": {"draft": 0}}, "no pool would have a weight"),
        ({"weights": {"other": 1}}, "there is no pool 'other'"),
        ({"weights": {"ngram": -1}}, "a weight must be"),
        ({"weights": {"ngram": True}}, "a weight must be"),
        ({"weights": {"ngram": "1"}}, "a weight must be"),
        (b'{"weights": {"ngram": NaN}}', "a weight must be"),
        (b'{"weights": {"ngram": 1e999}}', "a weight must be"),
    ],
)
def test_what_are_no_weights_changes_nothing(running: RequestSidecar, body: object, message: str) -> None:
    headers = {**BEARER, "If-Match": admin(running).headers["etag"]}
    reply = admin(running, "PUT", body, headers)
    assert (reply.status, message in reply.body["error"]) == (400, True), reply.body
    assert admin(running).headers["etag"] == headers["If-Match"]


def test_without_a_token_file_nobody_may(tmp_path: Path) -> None:
    with pools(UPSTREAM) as running:
        reply = admin(running, "PUT", {"weights": {"ngram": 1}}, BEARER)
        assert (reply.status, "--admin-token-file" in reply.body["error"]) == (403, True)
    (tmp_path / "empty").write_text("\n")
    with pools(UPSTREAM, admin_token_file=str(tmp_path / "empty")) as running:
        assert admin(running, "PUT", {"weights": {"ngram": 1}}, {"Authorization": "Bearer "}).status == 401


def test_the_token_is_read_for_every_change(running: RequestSidecar, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("another")
    assert set_weights(running, {"ngram": 1}).status == 401
    (tmp_path / "token").unlink()
    assert set_weights(running, {"ngram": 1}).status == 403


@pytest.mark.parametrize(
    ("peer", "anywhere", "status"),
    [
        ("127.0.0.1", False, 200),
        ("::1", False, 200),
        ("::ffff:127.0.0.1", False, 200),
        ("192.0.2.7", False, 403),
        ("fe80::1%eth0", False, 403),
        ("", False, 403),
        ("192.0.2.7", True, 200),
    ],
)
def test_other_machines_may_only_if_they_are_let(tmp_path: Path, peer: str, anywhere: bool, status: int) -> None:
    (tmp_path / "token").write_text(TOKEN)
    upstreams, weights = named(UPSTREAM.split()), PoolWeights(["draft", "ngram"], [1.0, 0.0])
    lanes = [Lane(pool.name, pool.name, Route(), PoolLedger()) for pool in upstreams]
    page = PoolsPage(upstreams, lanes, weights, tmp_path / "token", anywhere=anywhere)
    headers = {"authorization": f"Bearer {TOKEN}", "if-match": f'"{weights.now.version}"'}
    assert page.put(Change(headers, b'{"weights": {"ngram": 1}}', peer)).status == status


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"PUT /pools HTTP/1.1\r\nHost: x\r\n\r\n", b"411"),
        (b"PUT /pools HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n", b"413"),
        (b"PUT /pools HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n", b"413"),
        (b"PUT /pools HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", b"411"),
        (b"PUT /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", b"405"),
        (b"POST /pools HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", b"405"),
    ],
)
def test_a_change_that_is_no_change(running: RequestSidecar, head: bytes, status: bytes) -> None:
    assert ask(running.admin_port, head).startswith(b"HTTP/1.1 " + status)


def test_weights_outlive_the_sidecar_where_they_are_kept(tmp_path: Path) -> None:
    state = {"pool_state": str(tmp_path / "weights.json")}
    with pools(UPSTREAM, tmp_path / "token", **state) as running:
        version = set_weights(running, {"ngram": 1}, by="somebody").headers["etag"]
    with pools(UPSTREAM, tmp_path / "token", **state) as running:
        assert shares(running) == {"draft": 0.0, "ngram": 1.0}
        assert admin(running).body["by"] == "somebody"
        assert admin(running).headers["etag"] != version
    with pools("draft=127.0.0.1:1 off=127.0.0.1:2", tmp_path / "token", **state) as running:
        assert shares(running) == {"draft": 1.0, "off": 0.0}


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"weights": 3}', '{"weights": {"draft": 0, "ngram": 0}}'])
def test_a_damaged_file_of_weights_is_passed_over(tmp_path: Path, kept: str) -> None:
    (tmp_path / "weights.json").write_text(kept)
    with pools(UPSTREAM, tmp_path / "token", pool_state=str(tmp_path / "weights.json")) as running:
        assert shares(running)["draft"] == 1.0


def test_weights_that_cannot_be_kept_are_not_set(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with pools(UPSTREAM, tmp_path / "token", pool_state=str(folder / "weights.json")) as running:
        folder.rmdir()
        assert set_weights(running, {"ngram": 1}).status == 500
        assert shares(running)["draft"] == 1.0


def test_who_sets_weights_is_printable(running: RequestSidecar) -> None:
    assert set_weights(running, {"ngram": 1}, by="a\nb" + "c" * 200).body["by"] == "ab" + "c" * 78
    assert set_weights(running, {"ngram": 1}).body["by"] == "somebody who gave no name"
