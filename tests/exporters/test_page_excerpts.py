"""Pages as reports quote them; the counts are those of vllm-project/vllm#48892, the wrappings ours."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.page_text import codes, read
from specwatch_exporters.inspection import Content, InspectionError, inspect

LABELS = '{engine="0", model_name="m"}'
COUNTS = {"drafts": 26407, "draft_tokens": 26407, "accepted_tokens": 22021}
LINES = [f"vllm:spec_decode_num_{name}_total{LABELS} {value}.0" for name, value in COUNTS.items()]
PAGE = "\n".join(["# TYPE vllm:spec_decode_num_drafts_total counter", *LINES])


def between(separator: str, behind: str = "") -> str:
    return "\n".join(line.replace("} ", "}" + separator) + behind for line in LINES)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"```\n{PAGE}\n```", False),
        ("\n".join("    " + line for line in PAGE.splitlines()), False),
        ("\n".join("> " + line for line in PAGE.splitlines()), False),
        ("\n".join(f"- `{line}`" for line in LINES), False),
        (f"$ curl -s localhost:8000/metrics | grep spec_decode\n{PAGE}", True),
        (PAGE.replace("26407.0\nvllm", "26407.0\n...\nvllm", 1), True),
        (f"{PAGE}\nvllm:spec_decode_num_accepted_tokens_per_pos_total{{engine='0',mod\n", True),
        ("\n".join(f"{number}:{line}" for number, line in enumerate(LINES, start=7)), False),
        (between(" | "), False),
        (between("\t"), False),
        (between(" => ", " @[1756736900.5]"), False),
        (
            "| series | value |\n|---|---|\n" + "\n".join("| " + line for line in between(" | ", " |").split("\n")),
            True,
        ),
    ],
    ids=[
        "fence",
        "indent",
        "quote",
        "list",
        "prompt",
        "dots",
        "cut",
        "grep",
        "table",
        "tab",
        "promtool",
        "markdown",
    ],
)
def test_a_quoted_page_is_read_and_says_what_it_left_out(text: str, *, left: bool) -> None:
    report = read(text + "\n")
    (model,) = report["models"]
    assert {name: model[name] for name in COUNTS} == COUNTS
    assert model["acceptance_rate"] == pytest.approx(0.8339, abs=1e-4)
    assert ("malformed_page" in codes(report)) == left


def test_a_page_that_a_windows_shell_saved_is_read() -> None:
    report = inspect(Content("page", f"{PAGE}\r\n".encode("utf-16"))).to_json()
    assert report["models"][0]["drafts"] == 26407


def test_a_page_saved_with_its_headers_is_read() -> None:
    headers = "HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 10:00:00 GMT\r\ncontent-length: 1234\r\n\r\n"
    assert read(headers + PAGE + "\n# EOF\n")["models"][0]["drafts"] == 26407


def test_what_a_server_sends_must_be_a_page() -> None:
    with pytest.raises(InspectionError, match="line 1"):
        read(f"$ oops\n{PAGE}\n", content_type="text/plain; version=0.0.4")


def test_a_text_without_an_engines_series_is_still_refused() -> None:
    with pytest.raises(InspectionError, match="neither a metrics page"):
        read("notes\n    python_gc_objects_collected_total 3\n")


@given(st.text(max_size=60))
def test_no_line_around_a_page_costs_its_numbers(line: str) -> None:
    if "vllm" not in line:
        clean = " ".join(line.split()).replace("\x00", "")
        assert read(f"    {LINES[0]}\n;{clean}\n    {LINES[1]}\n")["models"][0]["drafts"] == 26407


def answer(result: list[dict[str, object]], kind: str = "vector") -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}})


def test_what_prometheus_answers_is_a_page_of_the_latest_values() -> None:
    pods = ("a", "b")
    result: list[dict[str, object]] = [
        {
            "metric": {"__name__": f"vllm:spec_decode_num_{name}_total", "model_name": 'a "b"', "pod": pod},
            "value": [1756736900.1, str(value)],
        }
        for name, value in COUNTS.items()
        for pod in pods
    ]
    (model,) = read(answer(result))["models"]
    assert (model["model"], model["engines"], model["drafts"]) == ('a "b"', 2, 2 * 26407)
    assert model["acceptance_rate"] == pytest.approx(0.8339, abs=1e-4)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (answer([]), "no series"),
        (answer([{"metric": {"model_name": "m"}, "value": [1, "0.3"]}]), "no metric names"),
        (answer([{"metric": {"__name__": "vllm:x"}, "values": [[1, "1"]]}], "matrix"), "detect replay"),
        ('{"status": "error", "error": "bad_data"}', "bad_data"),
    ],
)
def test_other_answers_are_refused_in_one_line(body: str, words: str) -> None:
    with pytest.raises(InspectionError, match=words):
        read(body)


DUMPED = """\
Prompt: 'Hello', Generated text: ' there'
vllm:num_requests_running (gauge) = 0.0
vllm:spec_decode_num_drafts (counter) = 4816
vllm:spec_decode_num_draft_tokens (counter) = 33712
vllm:spec_decode_num_accepted_tokens (counter) = 12208
vllm:spec_decode_num_accepted_tokens_per_pos (vector) = [3467, 2552, 1926]
vllm:cache_config_info (gauge) = 1.0
vllm:time_to_first_token_seconds (histogram)
    sum = 3.1
    count = 80
    0.001 = 0
    0.25 = 80
    +Inf = 80
"""


@pytest.mark.parametrize("before", ["", "    ", "> "])
def test_metrics_that_vllm_s_offline_example_prints_are_a_page(before: str) -> None:
    (model,) = read("".join(f"{before}{line}\n" for line in DUMPED.splitlines()))["models"]
    assert (model["drafts"], model["draft_tokens"], model["accepted_tokens"]) == (4816, 33712, 12208)
    assert model["per_position"] == pytest.approx([3467 / 4816, 2552 / 4816, 1926 / 4816])
    assert model["latency"]["time_to_first_token_seconds"]["mean"] == pytest.approx(3.1 / 80)


def test_engines_that_share_a_dumped_name_are_summed() -> None:
    (model,) = read(DUMPED + DUMPED)["models"]
    assert (model["engines"], model["drafts"]) == (2, 9632)
