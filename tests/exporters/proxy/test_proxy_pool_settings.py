"""Pools from flags and files, and the order in which weights choose them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.proxy.pool_weights import Weights
from specwatch_exporters.proxy.settings import ProxySettings, load
from specwatch_exporters.proxy.weighted_choice import WeightedChoice
from specwatch_exporters.sidecar.settings import SettingsError

TWO = "draft=http://127.0.0.1:8000 ngram=http://127.0.0.1:8001"


def told(settings: ProxySettings) -> list[tuple[str, int, str | None, float]]:
    return [(pool.name, pool.endpoint.port, pool.method, pool.weight) for pool in settings.pools]


def test_several_upstreams_are_pools_whose_name_is_their_method() -> None:
    settings = load({"upstream": TWO}, {})
    assert told(settings) == [("draft", 8000, "draft", 1.0), ("ngram", 8001, "ngram", 0.0)]
    assert settings.upstream.port == 8000
    assert settings.display == "draft http://127.0.0.1:8000/, ngram http://127.0.0.1:8001/"


def test_the_variable_holds_several_too() -> None:
    assert told(load({}, {"SPECWATCH_UPSTREAM": TWO})) == told(load({"upstream": TWO}, {}))


@pytest.mark.parametrize("text", ["127.0.0.1:8000", "http://127.0.0.1:8000/a=b"])
def test_an_only_upstream_without_a_name_has_no_pools(text: str) -> None:
    assert load({"upstream": text}, {}).pools == ()


def test_a_file_says_method_and_weight(tmp_path: Path) -> None:
    path = tmp_path / "pools.toml"
    path.write_text(
        '[pool.draft]\nurl = "127.0.0.1:1"\nmethod = "EAGLE3"\nweight = 3\n'
        '[pool.ngram]\nurl = "127.0.0.1:2"\n[pool.off]\nurl = "127.0.0.1:3"\nweight = 1.5\n'
    )
    assert told(load({"pools": str(path)}, {})) == [
        ("draft", 1, "eagle3", 3.0),
        ("ngram", 2, "ngram", 0.0),
        ("off", 3, "off", 1.5),
    ]
    path.write_text('[pool.a]\nurl = "127.0.0.1:1"\n[pool.b]\nurl = "127.0.0.1:2"\n')
    assert [weight for *_, weight in told(load({"pools": str(path)}, {}))] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"upstream": "a=127.0.0.1:1 127.0.0.1:2"}, "'127.0.0.1:2' has no name"),
        ({"upstream": "a=127.0.0.1:1 http://u:s3cret@h:2"}, "has no name"),
        ({"upstream": "a=127.0.0.1:1 b=http://u:s3cret@h:2"}, "credentials belong"),
        ({"upstream": "a=127.0.0.1:1 a=127.0.0.1:2"}, "two pools are called a"),
        ({"upstream": "a=127.0.0.1:1 ä=127.0.0.1:2"}, "one word each"),
        ({"upstream": "a=127.0.0.1:1 b=127.0.0.1"}, "it has no port"),
        ({"upstream": " ".join(f"p{n}=127.0.0.1:{n}" for n in range(1, 18))}, "17 pools; there is room for 16"),
        ({"upstream": TWO, "speculation_method": "eagle3"}, "a method per pool"),
        ({"upstream": TWO, "insecure": True}, "is not https"),
        ({"upstream": TWO, "listen": "127.0.0.1:8001"}, "is the same address"),
        ({"upstream": "127.0.0.1:1", "pool_control": True}, "has no pools"),
    ],
)
def test_a_wrong_pool_is_one_clear_line(flags: dict[str, str | bool], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        load(flags, {})
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "pools.toml: "),
        ("[pool]", "accepted: one or more"),
        ("[other.a]\nurl = 'x'", "accepted: one or more"),
        ("[pool]\na = 3", "it is no table"),
        ("[pool.a]\nurl = 3", "url and method must be strings"),
        ("[pool.a]\nmethod = 'x'", "url must be given"),
        ("[pool.a]\nurl = '127.0.0.1:1'\nwait = 1", "there is no setting wait"),
        ("[pool.a]\nurl = '127.0.0.1:1'\nweight = -1", "a weight must be"),
        ("[pool.a]\nurl = '127.0.0.1:1'\nweight = 0", "no pool has a weight"),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pools.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        load({"pools": str(path)}, {})
    assert "\n" not in str(caught.value)


def test_pools_come_from_one_place(tmp_path: Path) -> None:
    path = tmp_path / "pools.toml"
    path.write_text("[pool.a]\nurl = '127.0.0.1:1'")
    with pytest.raises(SettingsError, match="is given as well"):
        load({"pools": str(path), "upstream": TWO}, {})


WEIGHTS = st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any)


@given(WEIGHTS, st.integers(1, 400))
def test_every_pool_gets_its_share_up_to_one_request_per_other_pool(weights: list[int], requests: int) -> None:
    choice, now = WeightedChoice(), Weights(tuple(map(float, weights)), "v", "x")
    seen = Counter(choice.next(now) for _ in range(requests))
    assert None not in seen
    for pool, weight in enumerate(weights):
        assert abs(seen[pool] - requests * weight / sum(weights)) <= max(1, len(weights) - 1)
        assert weight or not seen[pool]


@given(WEIGHTS, st.sets(st.integers(0, 5)))
def test_a_pool_that_is_left_out_is_never_chosen(weights: list[int], left_out: set[int]) -> None:
    choice, now = WeightedChoice(), Weights(tuple(map(float, weights)), "v", "x")
    seen = {choice.next(now, lambda pool: pool not in left_out) for _ in range(50)}
    usable = {pool for pool, weight in enumerate(weights) if weight and pool not in left_out}
    assert seen <= usable if usable else seen == {None}


def test_new_weights_begin_anew() -> None:
    choice = WeightedChoice()
    first, second = Weights((1.0, 1.0), "1", "x"), Weights((1.0, 3.0), "2", "x")
    assert [choice.next(first) for _ in range(3)] == [0, 1, 0]
    assert [choice.next(second) for _ in range(4)] == [1, 0, 1, 1]
