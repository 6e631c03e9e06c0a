from __future__ import annotations

import base64
import gzip
import json
import os
import random
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from detectors.watch.config_map_server import ConfigMaps, config_map_server
from specwatch_detectors.watch.configmap_store import LEASE_KEY, STATE_KEY, ConfigMapStore
from specwatch_detectors.watch.file_store import FileStore
from specwatch_detectors.watch.lease import Kept, Lease, LeaseSight
from specwatch_detectors.watch.packed_state import MAX_BYTES, packed, unpacked
from specwatch_detectors.watch.store import HeldByAnotherError, Store, StoreError

STATE: dict[str, Any] = {"version": 1, "at": 5, "models": {"llama": {"rollout": {"pods": {"a": [1, 2]}}, "x": 0.1}}}
MINE, THEIRS = Lease("mine", 1000.0, 90.0), Lease("theirs", 1000.0, 90.0)
KEY = ("llm", "watch")


@pytest.fixture
def cluster() -> Iterator[tuple[ConfigMaps, client.CoreV1Api]]:
    with config_map_server() as found:
        yield found


@pytest.fixture(params=["file", "configmap"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two processes' stores of one thing."""
    if request.param == "file":
        yield FileStore(tmp_path / "state.json"), FileStore(tmp_path / "state.json")
        return
    with config_map_server() as (_, api):
        yield ConfigMapStore(*KEY, api), ConfigMapStore(*KEY, api)


# What every store does.


def test_there_is_nothing_at_first(stores: tuple[Store, Store]) -> None:
    assert stores[0].load() == Kept(None, Lease())


def test_what_was_saved_is_loaded(stores: tuple[Store, Store]) -> None:
    for number in range(3):
        stores[0].save({**STATE, "at": number}, MINE)
    assert stores[1].load() == Kept({**STATE, "at": 2}, MINE)


def test_somebody_elses_lease_keeps_it(stores: tuple[Store, Store]) -> None:
    mine, theirs = stores
    theirs.save(STATE, THEIRS)
    with pytest.raises(HeldByAnotherError, match="theirs") as caught:
        mine.save({**STATE, "at": 9}, Lease("mine", 1100.0))
    assert caught.value.lease == THEIRS
    assert mine.load() == Kept(STATE, THEIRS)


def test_somebody_else_who_took_over_is_noticed(stores: tuple[Store, Store]) -> None:
    mine, theirs = stores
    mine.save(STATE, MINE)
    theirs.save(STATE, Lease("theirs", MINE.renewed + 200.0))
    with pytest.raises(HeldByAnotherError):
        mine.save(STATE, Lease("mine", MINE.renewed + 201.0))


@pytest.mark.parametrize(
    ("lease", "over"),
    [(Lease("mine", 1181.0), None), (Lease("mine", 1010.0), THEIRS), (Lease("theirs", 1001.0), None)],
)
def test_a_lease_that_ended_was_seen_to_end_or_is_ones_own_does_not(
    stores: tuple[Store, Store], lease: Lease, over: Lease | None
) -> None:
    mine, theirs = stores
    theirs.save(STATE, THEIRS)
    mine.save(STATE, lease, over)
    assert mine.load().lease == lease


def test_a_lease_that_was_given_back_is_free(stores: tuple[Store, Store]) -> None:
    mine, theirs = stores
    theirs.save(STATE, THEIRS)
    theirs.save(STATE, Lease("", 1001.0), THEIRS)
    mine.save(STATE, Lease("mine", 1002.0))
    assert mine.load().lease.holder == "mine"


def test_of_many_that_start_at_once_one_watches(stores: tuple[Store, Store]) -> None:
    won: list[int] = []
    start = threading.Barrier(2)

    def take(number: int, store: Store) -> None:
        start.wait()
        try:
            store.save(STATE, Lease(f"watch-{number}", 1000.0))
        except HeldByAnotherError:
            return
        won.append(number)

    threads = [threading.Thread(target=take, args=(number, store)) for number, store in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert stores[0].load().lease.holder == f"watch-{won[0]}"


# The file.


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(tmp_path / "state.json")
    store.save(STATE, MINE)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        store.save({**STATE, "at": 9}, MINE)
    assert store.load().state == STATE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.json", "state.json.lock"]


def test_a_state_that_is_no_json_is_not_written(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "state.json")
    with pytest.raises(ValueError, match="JSON"):
        store.save({"x": float("nan")}, MINE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"state": 3}', "\x00\xff", '{"lease": {}}'])
def test_another_file_is_not_taken_for_a_state(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(StoreError, match="move it away"):
        FileStore(path).load()
    assert path.read_bytes() == text.encode("latin-1")


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        FileStore(tmp_path / "gone" / "state.json").save(STATE, MINE)


def test_the_file_is_its_owners(tmp_path: Path) -> None:
    FileStore(tmp_path / "state.json").save(STATE, MINE)
    assert stat.S_IMODE((tmp_path / "state.json").stat().st_mode) == 0o600


# The ConfigMap.


def test_other_keys_and_labels_stay(cluster: tuple[ConfigMaps, client.CoreV1Api]) -> None:
    kept, api = cluster
    kept.create("llm", {"metadata": {"name": "watch", "labels": {"team": "sre"}}, "data": {"note": "mine"}})
    ConfigMapStore(*KEY, api).save(STATE, MINE)
    assert kept.maps[KEY]["metadata"]["labels"] == {"team": "sre"}
    assert set(kept.maps[KEY]["data"]) == {"note", LEASE_KEY}
    assert json.loads(kept.maps[KEY]["data"][LEASE_KEY])["holder"] == "mine"


def test_a_write_in_between_is_noticed_and_tried_again(cluster: tuple[ConfigMaps, client.CoreV1Api]) -> None:
    kept, api = cluster
    store = ConfigMapStore(*KEY, api)
    store.save(STATE, MINE)
    kept.touch(KEY)
    store.save({**STATE, "at": 9}, MINE)
    assert store.load().state == {**STATE, "at": 9}
    assert "touched" in kept.maps[KEY]["metadata"]["labels"]


def test_somebody_who_writes_all_the_time_is_not_fought_for_ever(
    cluster: tuple[ConfigMaps, client.CoreV1Api],
) -> None:
    kept, api = cluster
    store = ConfigMapStore(*KEY, api)
    store.save(STATE, MINE)
    kept.before_write = lambda: kept.touch(KEY)
    with pytest.raises(StoreError, match="keeps writing"):
        store.save(STATE, MINE)


def test_a_map_that_was_deleted_is_made_again(cluster: tuple[ConfigMaps, client.CoreV1Api]) -> None:
    kept, api = cluster
    store = ConfigMapStore(*KEY, api)
    store.save(STATE, MINE)
    del kept.maps[KEY]
    store.save(STATE, MINE)
    assert store.load().state == STATE


@pytest.mark.parametrize(
    "refusal", [(403, 'configmaps "watch" is forbidden'), (500, "etcd is away"), (422, "invalid")]
)
def test_a_refusal_is_said_in_one_line(
    cluster: tuple[ConfigMaps, client.CoreV1Api], refusal: tuple[int, str]
) -> None:
    kept, api = cluster
    store = ConfigMapStore(*KEY, api)
    store.save(STATE, MINE)
    kept.refuse = refusal
    for act in (store.load, lambda: store.save(STATE, MINE)):
        with pytest.raises(StoreError, match=refusal[1]) as caught:
            act()
        assert str(caught.value) == f"ConfigMap llm/watch: {refusal[0]} {refusal[1]}"
    kept.refuse = None
    store.save(STATE, MINE)


def test_a_cluster_that_is_away_is_said() -> None:
    configuration = client.Configuration()
    configuration.host, configuration.retries = "http://127.0.0.1:1", False
    with pytest.raises(StoreError, match="ConfigMap llm/watch"):
        ConfigMapStore(*KEY, client.CoreV1Api(client.ApiClient(configuration))).load()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no gzip",
        gzip.compress(b"{", mtime=0),
        gzip.compress(b"[]", mtime=0),
        gzip.compress(b"{}", mtime=0)[:-9],
        b"\x1f\x8b",
    ],
)
def test_a_map_that_holds_something_else_is_said(cluster: tuple[ConfigMaps, client.CoreV1Api], body: bytes) -> None:
    kept, api = cluster
    kept.create("llm", {"metadata": {"name": "watch"}, "binaryData": {STATE_KEY: base64.b64encode(body).decode()}})
    with pytest.raises(StoreError, match="begin anew"):
        ConfigMapStore(*KEY, api).load()


def test_a_map_without_a_state_is_filled(cluster: tuple[ConfigMaps, client.CoreV1Api]) -> None:
    kept, api = cluster
    kept.create("llm", {"metadata": {"name": "watch"}, "data": {LEASE_KEY: "nonsense"}})
    store = ConfigMapStore(*KEY, api)
    assert store.load() == Kept(None, Lease())
    store.save(STATE, MINE)
    assert store.load() == Kept(STATE, MINE)


def large(models: int, pods: int) -> dict[str, Any]:
    rng = random.Random(3)
    lives = {
        name: {
            "rollout": {"pods": {rng.randbytes(8).hex(): [rng.random(), rng.random(), 5] for _ in range(pods)}},
            "monitor": [rng.random() for _ in range(20)],
        }
        for name in (f"model-{number}" for number in range(models))
    }
    return {"version": 1, "at": 5, "models": lives}


def test_a_thousand_pods_fit_whole() -> None:
    body, cut = packed(large(1, 1000))
    assert not cut
    assert len(body) < MAX_BYTES / 10


def test_what_does_not_fit_goes_without_its_pods_and_says_so(
    cluster: tuple[ConfigMaps, client.CoreV1Api], caplog: pytest.LogCaptureFixture
) -> None:
    state = large(2, 40_000)
    store = ConfigMapStore(*KEY, cluster[1])
    for _ in range(2):
        store.save(state, MINE)
    assert caplog.text.count("too large") == 1
    kept = store.load().state
    assert kept is not None
    assert kept["models"]["model-1"] == {"rollout": {"pods": {}}, "monitor": state["models"]["model-1"]["monitor"]}


def test_what_does_not_fit_even_so_is_refused_with_a_way_out() -> None:
    with pytest.raises(StoreError, match="keep it in a file"):
        packed(large(50, 0), limit=5000)


def test_packing_is_undone() -> None:
    assert unpacked(packed(STATE)[0]) == STATE


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(StoreError, match="no JSON object"):
        unpacked(gzip.compress(b" " * (65 << 20)))


# The lease.


@pytest.mark.parametrize(
    ("lease", "now", "expected"),
    [
        (THEIRS, 1000.0, True),
        (THEIRS, 1180.0, True),
        (THEIRS, 1180.1, False),
        (THEIRS, 500.0, True),  # their clock is ahead
        (MINE, 1000.0, False),
        (Lease(), 1000.0, False),
    ],
)
def test_a_lease_blocks_others_for_twice_its_duration(lease: Lease, now: float, expected: bool) -> None:
    assert lease.blocks("mine", now) is expected


def test_a_lease_that_is_not_renewed_is_seen_to_end_whatever_its_clock() -> None:
    sight, ahead = LeaseSight(), Lease("theirs", 9e9, 90.0)
    assert [sight.blocks(ahead, "mine", now) for now in (0.0, 60.0, 90.0, 91.0)] == [True, True, True, False]
    assert sight.blocks(Lease("theirs", 9e9 + 30, 90.0), "mine", 92.0)


@pytest.mark.parametrize(
    "body", [None, [], {}, {"holder": "x"}, {"holder": "x", "renewed": "y", "duration_s": 1}, 3]
)
def test_a_lease_that_cannot_be_read_is_nobodys(body: object) -> None:
    assert Lease.from_json(body) == Lease()
