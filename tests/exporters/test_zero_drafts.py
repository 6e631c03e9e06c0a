"""Tokens and no drafts on a vLLM page: off, or configured and broken, as far as the page tells."""

from __future__ import annotations

import pytest

from exporters.page_text import codes, positions, read, sample, vllm

ZEROS = vllm(0, 0, 0, tokens=247913)
CREATED = sample("vllm:spec_decode_num_drafts_created", 1.76e9, engine="0")
RUST = "# TYPE vllm:spec_decode_num_drafts counter\n{}# EOF\n"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (ZEROS, "zero_drafts"),  # either frontend's
        (ZEROS + positions((0, 0), (1, 0)), "not_drafting"),  # the Rust frontend has positions once it has drafted
        (ZEROS + CREATED, "not_drafting"),  # the Rust frontend has no such series
    ],
)
def test_what_a_partial_page_tells_is_said(page: str, said: str) -> None:
    report = read(page)
    assert (report["models"][0]["state"], report["models"][0]["acceptance_rate"]) == ("off", None)
    assert {"zero_drafts", "not_drafting"} & codes(report) == {said}


def test_the_rust_frontend_s_zeros_are_off_without_a_word() -> None:
    page = RUST.format(vllm(0, 0, 0, tokens=9).replace(" 0\n", "\n", 0))
    report = read(page, content_type="application/openmetrics-text; version=1.0.0")
    assert (report["models"][0]["state"], codes(report)) == ("off", set())


@pytest.mark.parametrize("page", [vllm(0, 0, 0), vllm(5, 15, 0, tokens=9)])
def test_nothing_is_said_without_tokens_or_with_drafts(page: str) -> None:
    assert not {"zero_drafts", "not_drafting"} & codes(read(page))
