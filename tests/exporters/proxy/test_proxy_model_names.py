"""Which model a request without an answer counts for."""

from __future__ import annotations

import json

import pytest

from exporters.proxy.proxy_rig import CHAT, LIMITS, ask, before, eventually, read_request, request, values
from exporters.raw_server import Visit

CUT = "specwatch_request_finished_total"


def cut_models(requests: list[dict[str, str]], names: list[str], flags: dict[str, str]) -> list[str]:
    """Models of the requests that got no answer; the engine answers with the names in turn, then dies each time."""
    left = list(names)

    def script(visit: Visit) -> None:
        read_request(visit)
        if not left:
            return
        body = json.dumps({"model": left.pop(0), "choices": [{"index": 0, "finish_reason": "stop"}]}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        visit.send(head.encode(), body)

    with before(script, LIMITS, **flags) as (_, running):
        for _ in names:
            ask(running.port, request(CHAT, b"{}"))
        for body in requests:
            ask(running.port, request(CHAT, json.dumps(body).encode()))
        ended = len(names) + len(requests)
        eventually(lambda: sum(values(running, CUT).values()) == ended)
        return [
            dict(labels)["model"]
            for labels, count in values(running, CUT).items()
            if count and dict(labels)["outcome"] == "error"
        ]


@pytest.mark.parametrize(
    ("names", "asked", "flags", "counted"),
    [
        ([], {}, {}, "unknown"),
        (["llama"], {}, {}, "llama"),
        (["llama"], {"model": "llama"}, {}, "llama"),
        (["llama"], {"model": "invented"}, {}, "unknown"),
        (["llama", "adapter"], {}, {}, "unknown"),
        (["llama", "adapter"], {"model": "adapter"}, {}, "adapter"),
        (["llama"], {}, {"model": "stated"}, "stated"),
    ],
)
def test_a_request_without_an_answer(
    names: list[str], asked: dict[str, str], flags: dict[str, str], counted: str
) -> None:
    assert cut_models([asked], names, flags) == [counted]
