"""What the request sidecar counts of answers that tell draft tokens outside an engine's own record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporters.proxy.proxy_rig import CHAT, ask, before, body_of, eventually, read_request, request, sample
from exporters.raw_server import Script, Visit
from specwatch_exporters.proxy.run import RequestSidecar

DRAFTED = "specwatch_request_draft_tokens_total"
SPECULATION = {
    "spec_verify_ct": 50,
    "spec_num_correct_drafts": 91,
    "spec_num_proposed_drafts": 150,
    "spec_correct_drafts_histogram": [9, 10, 12, 19],
}


def answers(body: object) -> Script:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"

    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(head.encode(), data)

    return script


def finished(running: RequestSidecar) -> bool:
    return sample(running, "specwatch_request_finished_total") == 1


def test_the_answers_of_a_list_are_added() -> None:
    # SGLang's /generate with n = 2, not streamed.
    meta = {"completion_tokens": 141, "prompt_tokens": 7, "finish_reason": {"type": "stop"}, **SPECULATION}
    with before(answers([{"text": "a", "meta_info": meta}] * 2)) as (_, running):
        ask(running.port, request("/generate", b'{"text": "x", "sampling_params": {"n": 2}}'))
        eventually(lambda: finished(running))
        assert sample(running, "specwatch_request_drafts_total") == 100
        assert sample(running, DRAFTED) == 300
        assert sample(running, "specwatch_request_accepted_tokens_total") == 182
        assert sample(running, "specwatch_request_output_tokens_total") == 282


@pytest.mark.parametrize(
    ("wish", "drafted"),
    [({}, 150), ({"prediction": None}, 150), ({"prediction": {"type": "content", "content": "x"}}, None)],
)
def test_prediction_tokens_are_a_drafters_unless_the_request_brought_its_own_guess(
    wish: dict[str, Any], drafted: float | None
) -> None:
    details = {"accepted_prediction_tokens": 91, "rejected_prediction_tokens": 59}
    usage = {"prompt_tokens": 9, "completion_tokens": 141, "completion_tokens_details": details}
    body = {"model": "m", "choices": [{"index": 0, "finish_reason": "stop"}], "usage": usage}
    with before(answers(body)) as (_, running):
        assert json.loads(body_of(ask(running.port, request(CHAT, json.dumps(wish).encode())))) == body
        eventually(lambda: finished(running))
        assert (sample(running, DRAFTED) or None) == drafted
        assert sample(running, "specwatch_request_acceptance_ratio_count") == (0 if drafted is None else 1)
