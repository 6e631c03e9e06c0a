"""The status page as HTML and as JSON, of every sample."""

from __future__ import annotations

import dataclasses
import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest

from exporters.html_document import THIN, Document
from exporters.status_samples import GOOD, HOSTILE, SAMPLES, active
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.notices import Notice
from specwatch_exporters.report import State
from specwatch_exporters.sidecar.fetch_error import REMEDIES
from specwatch_exporters.sidecar.status import Status, render_json
from specwatch_exporters.sidecar.status_model import GLYPHS
from specwatch_exporters.sidecar.status_page import CONTENT_SECURITY_POLICY, render_page
from specwatch_exporters.sidecar.status_text import plain


def document(status: Status) -> Document:
    return Document(render_page(status).decode())


def text_of(name: str) -> str:
    return document(SAMPLES[name]).text


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_is_well_formed_and_loads_nothing(name: str) -> None:
    page = document(SAMPLES[name])
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "iframe", "object", "embed", "form", "base"}
    for tag, attrs in page.elements:
        assert not [attr for attr in attrs if attr.startswith("on") or attr in {"src", "style", "srcset"}], tag
        if "href" in attrs:
            assert attrs["href"].startswith(("data:image/svg+xml,", "#", "metrics", "status.json", "readyz"))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert len(page.all("script")) == 1
    assert len(page.all("style")) == 1
    assert len(page.all("main")) == 1


@pytest.mark.parametrize("name", SAMPLES)
def test_no_number_is_printed_that_is_none(name: str) -> None:
    for word in re.findall(r"\w+", text_of(name).lower()):
        assert word not in {"nan", "inf", "none", "true", "false"}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_state_is_a_word_and_a_sign_and_a_colour(name: str) -> None:
    status = SAMPLES[name]
    page = document(status)
    states = {State.STALE} if status.scrape.stale else {model.report.state for model in status.models}
    for state in states if status.models else ():
        assert page.all("span", state.value)
        assert f"{GLYPHS[state]} {state.value}" in page.text


def test_the_policy_allows_exactly_this_style_and_this_script() -> None:
    page = document(SAMPLES["active"])
    for kind in ("style", "script"):
        digest = b64encode(sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY


def test_style_and_script_name_no_other_place() -> None:
    page = document(SAMPLES["active"])
    for text in page.raw.values():
        assert "//" not in re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
        assert "@import" not in text
        assert "url(" not in text
    assert "prefers-color-scheme: dark" in page.raw["style"]
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in render_page(SAMPLES["active"]).decode()


# What is on it.


def test_an_active_model() -> None:
    text = text_of("active")
    for words in (
        "vLLM 0.25.1",
        "http://127.0.0.1:8000/metrics",
        "Read 1.2 s ago",
        "took 12.3 ms, 57.8 KiB",
        "A draft step yields 2.71 tokens on average",
        "Acceptance rate 57.0 %",
        "Method eagle3 Draft tokens K 3",
        "Tokens per step, all steps 2.66",
        "9 points below last week at position 2",
        "Running 31 Waiting 4 Queue wait, mean 184 ms KV cache in use 64.3 %",
        "First token 91.2 ms 83.0 ms 241 ms",
        "Per token 10.4 ms 10.1 ms 24.8 ms",
        "End to end 2.41 s 2.02 s 9.31 s",
        "2.11 to 2.88",
    ):
        assert words in text
    assert "unknown" not in text.partition("What the words mean")[0]


def test_the_chart_says_in_words_what_it_shows() -> None:
    chart = document(SAMPLES["active"]).all("svg", "positions")[0]
    assert chart["role"] == "img"
    label_ = chart["aria-label"].replace(THIN, " ")
    assert "position 1: 55.0 %, conditional 70.4 %, last week 62.0 %" in label_


@pytest.mark.parametrize("name", ["off", "idle", "unknown"])
def test_what_is_unknown_is_a_dash_and_a_word_and_never_nought(name: str) -> None:
    page = document(SAMPLES[name])
    assert "Acceptance \N{EM DASH} unknown" in page.text
    assert "Method \N{EM DASH} unknown" in page.text
    assert page.all("svg", "positions") == []
    assert "acceptance length 0" not in page.text


def test_an_engine_that_is_idle_has_no_latencies() -> None:
    assert "Latency over the last minute: \N{EM DASH} unknown , nothing was measured." in text_of("idle")


def test_a_failed_scrape_says_why_and_what_to_do_and_keeps_fresh_figures() -> None:
    text = text_of("failing")
    assert "timeout The last scrape failed" in text
    assert "connected, and no answer came (limit 5 s)" in text
    assert "The figures below are 7.3 s old; they are withdrawn at 15 s." in text
    assert REMEDIES["timeout"] in text
    assert "2.71" in text


def test_a_stale_engine_shows_no_figure_that_is_frozen() -> None:
    page = document(SAMPLES["stale"])
    assert "refused The engine cannot be read" in page.text
    assert "The last good page is 4 min old." in page.text
    assert REMEDIES["refused"] in page.text
    assert page.all("table") == []
    assert page.all("svg", "positions") == []
    assert "2.71" not in page.text.partition("Last 10 minutes")[0]
    many = dataclasses.replace(SAMPLES["stale"], models=SAMPLES["several"].models)
    assert "57.0 %" not in document(many).text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("starting", "Waiting for the first page"),
        ("never", "no_engine The engine cannot be read"),
        ("never", "No page was understood since this sidecar started."),
    ],
)
def test_before_the_first_page(name: str, said: str) -> None:
    assert said in text_of(name)
    assert "names no model" not in text_of(name)


def test_a_page_without_models() -> None:
    assert "The engine's page names no model." in document(dataclasses.replace(SAMPLES["active"], models=())).text


def test_several_models_get_a_table_that_leads_to_each() -> None:
    page = document(SAMPLES["several"])
    targets = [attrs["href"] for attrs in page.all("a") if attrs["href"].startswith("#m")]
    ids = [attrs["id"] for attrs in page.all("section") if attrs.get("id", "").startswith("m")]
    assert targets == [f"#{id_}" for id_ in ids] == ["#m0", "#m1", "#m2", "#m3"]


def test_many_models_and_warnings_are_bounded() -> None:
    models = tuple(active(f"model-{index}") for index in range(10_000))
    notices = tuple(Notice("label_clash", f"message {index}") for index in range(10_000))
    html = render_page(dataclasses.replace(SAMPLES["active"], models=models, notices=notices))
    assert len(html) < 400_000
    text = Document(html.decode()).text
    assert "The first 24 of 10000 models; status.json has all." in text
    assert "9980 more are in status.json." in text


# Hostile texts.


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_only_text(text: str) -> None:
    page = document(SAMPLES["hostile"])
    assert len(page.all("script")) == 1
    assert plain(text, 40) in "".join(page.words) or plain(text, 80) in "".join(page.words)


@pytest.mark.parametrize("name", SAMPLES)
def test_json_is_strict_and_complete(name: str) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    body = json.loads(render_json(SAMPLES[name]), parse_constant=refuse)
    parts = {"specwatch_version", "state", "scrape", "engine", "models", "warnings", "history", "drift"}
    assert set(body) == parts
    assert body["state"] == SAMPLES[name].state.value
    assert len(body["models"]) == len(SAMPLES[name].models)


def test_json_holds_what_the_page_shows() -> None:
    body = json.loads(render_json(SAMPLES["active"]))
    model = body["models"][0]
    assert model["mean_acceptance_length"] == pytest.approx(2.7106, abs=1e-3)
    assert model["per_position"] == pytest.approx([0.7818, 0.5504, 0.3784], abs=1e-3)
    assert (model["tokens_per_step"], model["baseline"]) == (2.66, [0.8, 0.62, 0.47])
    assert body["scrape"]["age_s"] == 1.2
    assert body["history"][45] == {"age_s": 370.0, "length": None, "waiting": pytest.approx(0.0)}
    assert json.loads(render_json(SAMPLES["starting"]))["scrape"]["cause"] is None


# One state for all.


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ((), State.UNKNOWN),
        ((State.IDLE, State.ACTIVE, State.OFF), State.ACTIVE),
        ((State.IDLE, State.OFF), State.OFF),
        ((State.UNKNOWN, State.IDLE), State.IDLE),
    ],
)
def test_the_liveliest_state_stands_for_all(states: tuple[State, ...], expected: State) -> None:
    models = tuple(active(state.value, state=state, tally=Tally()) for state in states)
    status = dataclasses.replace(SAMPLES["active"], models=models)
    assert status.state is expected
    old = dataclasses.replace(GOOD, age_s=15.1)
    assert dataclasses.replace(status, scrape=old).state is State.STALE
