from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.raw_server import answer, raw_server
from specwatch_exporters.page import Declared
from specwatch_exporters.sidecar.fetch import Fetched, fetch
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError
from specwatch_exporters.sidecar.version_probe import UNKNOWN, EngineFacts, probe, sglang_facts

BASE = "http://engine.example.com:8000"
# Shape of SGLang 0.5.17's answer with EAGLE-3, captured from a running server.
SGLANG = {
    "model_path": "llama-8b-shape",
    "served_model_name": "llama-8b-shape",
    "api_key": "s3cret",
    "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "llama-8b-eagle3-shape",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "speculative_adaptive": False,
    "internal_states": [{"avg_spec_accept_length": 2.69}],
    "version": "0.5.17",
}


class Engine:
    """Answers from a table; what is not in it is a 404. Keeps what it was asked."""

    def __init__(self, pages: Mapping[str, object]) -> None:
        self._pages = pages
        self.asked: list[str] = []

    def __call__(self, url: str) -> Fetched:
        path = url.removeprefix(BASE)
        self.asked.append(path)
        page = self._pages.get(path, FetchError(Cause.STATUS, "answered 404", 404))
        if isinstance(page, FetchError):
            raise page
        body = page if isinstance(page, bytes) else json.dumps(page).encode()
        return Fetched(200, "application/json", body, 0.01)


@pytest.mark.parametrize("kind", ["vllm", "vllm-v0", "trtllm"])
def test_engines_that_tell_their_version(kind: str) -> None:
    engine = Engine({"/version": {"version": "0.25.1"}})
    assert probe(BASE, kind, engine) == EngineFacts(version="0.25.1")
    assert engine.asked == ["/version"]


@pytest.mark.parametrize(
    ("path", "asked"),
    [("/server_info", ["/server_info"]), ("/get_server_info", ["/server_info", "/get_server_info"])],
)
def test_sglang_under_its_new_and_old_path(path: str, asked: list[str]) -> None:
    engine = Engine({path: SGLANG})
    facts = probe(BASE, "sglang", engine)
    assert facts == EngineFacts(
        version="0.5.17",
        declared=Declared.CONFIGURED,
        method="eagle3",
        speculative_tokens=3,
        depth=3,
        draft_model="llama-8b-eagle3-shape",
        served_model="llama-8b-shape",
        adaptive=False,
    )
    assert "s3cret" not in repr(facts)
    assert engine.asked == asked


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"speculative_num_draft_tokens": 64, "speculative_num_steps": 6}, (63, 6)),
        ({"speculative_num_draft_tokens": None}, (3, 3)),
        ({"speculative_num_draft_tokens": 12, "speculative_num_steps": None}, (11, None)),
        ({"speculative_num_draft_tokens": "4", "speculative_num_steps": True}, (None, None)),
        ({"speculative_num_draft_tokens": 10**9, "speculative_num_steps": -1}, (None, None)),
    ],
)
def test_sglang_counts_the_root_among_its_draft_tokens(
    changes: dict[str, object], expected: tuple[int | None, int | None]
) -> None:
    facts = sglang_facts({**SGLANG, **changes})
    assert (facts.speculative_tokens, facts.depth) == expected


@pytest.mark.parametrize(
    ("info", "declared"),
    [
        ({"version": "0.5.17", "speculative_algorithm": None}, Declared.OFF),
        ({"version": "0.4.3"}, Declared.UNKNOWN),
        ({"version": "0.4.3", "speculative_algorithm": 7}, Declared.UNKNOWN),
    ],
)
def test_sglang_without_speculation(info: dict[str, object], declared: Declared) -> None:
    facts = sglang_facts(info)
    assert facts == EngineFacts(version=str(info["version"]), declared=declared)


@pytest.mark.parametrize("kind", [None, "", "dynamo-frontend", "other"])
def test_engines_without_an_endpoint_are_not_asked(kind: str | None) -> None:
    engine = Engine({})
    assert probe(BASE, kind, engine) == UNKNOWN
    assert engine.asked == []


@pytest.mark.parametrize("kind", ["vllm", "trtllm", "sglang"])
@pytest.mark.parametrize(
    "page",
    [
        FetchError(Cause.TIMEOUT, "timed out"),
        FetchError(Cause.STATUS, "answered 401", 401),
        b"",
        b"[1]",
        b"not json",
        b"[" * 100_000,
        b'"' + b"x" * 3_000_000 + b'"',
        {"version": None},
        {"version": "x" * 1000},
        {"version": "1.0\n\x1b[31m"},
    ],
    ids=lambda page: repr(page)[:20],
)
def test_a_bad_answer_is_unknown_and_never_an_error(kind: str, page: object) -> None:
    engine = Engine({"/version": page, "/server_info": page, "/get_server_info": page})
    assert probe(BASE, kind, engine) == UNKNOWN
    assert len(engine.asked) <= 2


def test_an_engine_that_is_down_is_asked_once() -> None:
    engine = Engine({"/server_info": FetchError(Cause.REFUSED, "no connection")})
    assert probe(BASE, "sglang", engine) == UNKNOWN
    assert engine.asked == ["/server_info"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(SGLANG, JSON)))
def test_whatever_sglang_says_the_facts_are_clean(info: dict[str, object]) -> None:
    facts = sglang_facts(info)
    for text in (facts.version, facts.method, facts.draft_model, facts.served_model):
        assert text is None or (text.isprintable() and 0 < len(text) <= 200)
    for count in (facts.speculative_tokens, facts.depth):
        assert count is None or 0 <= count <= 1024


def test_over_a_real_connection() -> None:
    with raw_server(answer(b'{"version":"0.33.0"}', "Content-Type: application/json")) as server:
        base = server.url.removesuffix("/metrics")
        facts = probe(base, "vllm", lambda url: fetch(url, timeout_s=10))
        assert server.requests[0].startswith(b"GET /version HTTP/1.1\r\n")
    assert facts.version == "0.33.0"
