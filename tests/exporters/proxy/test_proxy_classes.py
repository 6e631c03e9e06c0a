from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporters.proxy.proxy_rig import CHAT, LIMITS, ask, eventually, read_request, request, sample, values
from exporters.raw_server import Visit, raw_server
from specwatch_exporters.classes.classifier import Classifier
from specwatch_exporters.proxy.api_paths import Api
from specwatch_exporters.proxy.class_rules import Rule, RulesError, Traits, key_digest, load_rules
from specwatch_exporters.proxy.request_reading import RequestFacts
from specwatch_exporters.proxy.request_reading import read_request as read_body
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load

KEY = hashlib.sha256(b"k1").hexdigest()
RULES = f"""
[[rule]]
class = "batch"
path = "/v1/completions"

[[rule]]
class = "team-a"
api_key_sha256 = "{KEY}"

[[rule]]
class = "coder"
model = "coder-*"

[[rule]]
class = "adapter"
lora = "sql-?"
path = "/generate"
"""


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize(
    ("traits", "expected"),
    [
        (Traits("/v1/completions", "coder-7b"), "batch"),
        (Traits(CHAT, "coder-7b", key_digest=KEY), "team-a"),
        (Traits(CHAT, "coder-7b"), "coder"),
        (Traits("/generate", lora="sql-1"), "adapter"),
        (Traits(CHAT, lora="sql-1"), None),
        (Traits("/generate", lora="sql-12"), None),
        (Traits(CHAT, None), None),
    ],
)
def test_the_first_rule_that_fits_wins(rules_file: Path, traits: Traits, expected: str | None) -> None:
    found = next((rule.traffic_class for rule in load_rules(rules_file) if rule.fits(traits)), None)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "accepted: one or more"),
        ("x = 1", "accepted: one or more"),
        ("[[rule]]", "rule 1: class must be"),
        ('[[rule]]\nclass = "a"', "rule 1: it has no condition"),
        ('[[rule]]\nclass = "A B"\npath = "/x"', "rule 1: class must be"),
        ('[[rule]]\nclass = "a"\npath = "/x"\n[[rule]]\nclass = "a"\nheader = "x"', "rule 2: 'header' is unknown"),
        ('[[rule]]\nclass = "a"\npath = 1', "rule 1: path must be a string"),
        ('[[rule]]\nclass = "a"\npath = ""', "rule 1: path must be a string"),
        ('[[rule]]\nclass = "a"\napi_key_sha256 = "xyz"', "64 hexadecimal digits"),
        ("rule = [1]", "rule 1: accepted: a table"),
        ("[[rule", "Expected"),
    ],
)
def test_a_wrong_rule_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(RulesError, match=problem) as caught:
        load_rules(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("authorization", "api_key", "expected"),
    [
        (b"Bearer k1", None, KEY),
        (b"bearer  k1 ", None, KEY),
        (None, b"k1", KEY),
        (b"Bearer other", b"k1", KEY),
        (b"k1", None, KEY),
        (None, None, None),
        (b"Bearer ", None, None),
    ],
)
def test_keys_are_compared_by_their_hash(
    authorization: bytes | None, api_key: bytes | None, expected: str | None
) -> None:
    assert key_digest(authorization, api_key) == expected


@pytest.mark.parametrize(
    ("api", "fields", "text"),
    [
        (Api.COMPLETIONS, {"prompt": "a"}, "a"),
        (Api.COMPLETIONS, {"prompt": ["a", "b"]}, "a\nb"),
        (Api.COMPLETIONS, {"prompt": [1, 2]}, ""),
        (Api.CHAT, {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}, "u"),
        (
            Api.CHAT,
            {
                "messages": [
                    {"role": "user", "content": "old"},
                    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
                    {"role": "assistant", "content": "no"},
                ]
            },
            "a",
        ),
        (Api.CHAT, {"messages": "odd"}, ""),
        (Api.CHAT, {"messages": [1, {"role": "user"}]}, ""),
        (Api.RESPONSES, {"input": "a"}, "a"),
        (Api.RESPONSES, {"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]}, "a"),
        (Api.MESSAGES, {"messages": [{"role": "user", "content": "a"}]}, "a"),
        (Api.GENERATE, {"text": "a"}, "a"),
    ],
)
def test_the_users_last_words_are_what_is_classified(api: Api, fields: dict[str, Any], text: str) -> None:
    facts = read_body(api, json.dumps(fields).encode())
    assert facts is not None
    assert facts.text == text
    assert text == "" or repr(text) not in repr(facts), "the prompt would be printed"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"model": "m", "stream": true, "n": 3}', RequestFacts("m", None, stream=True, choices=3)),
        (b'{"model": 1, "stream": "true", "n": -1}', RequestFacts()),
        (b'{"lora_path": "l", "sampling_params": {"n": 2}}', RequestFacts(None, "l", choices=2)),
        (b'{"n": 100000}', RequestFacts(choices=128)),
    ],
)
def test_what_a_request_says(body: bytes, expected: RequestFacts) -> None:
    assert read_body(Api.CHAT, body) == expected


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"1", b"[" * 100_000, b"\xff"])
def test_what_is_no_object_says_nothing(body: bytes) -> None:
    assert read_body(Api.CHAT, body) is None


class Fake(Classifier):
    """Gives every prompt its first word; raises for `raise`; may be held."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.go_on.set()
        self.threads: set[str] = set()

    def classify(self, text: str) -> str:
        self.threads.add(threading.current_thread().name)
        self.go_on.wait(20)
        if text.startswith("raise"):
            raise ValueError(text)
        return text.partition(" ")[0]


def answered(visit: Visit) -> None:
    read_request(visit)
    body = b'{"model": "m", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}'
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    visit.send(head % len(body), body)


def run(upstream: int, rules: tuple[Rule, ...] = (), classifier: Classifier | None = None) -> RequestSidecar:
    given = {"upstream": f"127.0.0.1:{upstream}", "listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}
    settings = load({**given, "drain": "1ms"}, {})
    return RequestSidecar(replace(settings, rules=rules, classifier=classifier), LIMITS)


def send(running: RequestSidecar, prompt: str, **headers: str) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": prompt}], "model": "m"}).encode()
    assert ask(running.port, request(CHAT, body, headers=headers)).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("prompt", "headers", "expected"),
    [
        ("math 1+1", {"x-specwatch-class": "From Header", "x-api-key": "k1"}, "from-header"),
        ("math 1+1", {"x-specwatch-class": "!!", "x-api-key": "k1"}, "team-a"),
        ("math 1+1", {"x-api-key": "k1"}, "team-a"),
        ("math 1+1", {}, "math"),
        ("", {}, "default"),
        ("raise", {}, "default"),
    ],
)
def test_header_then_rule_then_classifier_then_default(prompt: str, headers: dict[str, str], expected: str) -> None:
    rules = (Rule("team-a", key_digest=KEY),)
    with raw_server(answered) as engine, run(engine.port, rules, Fake()) as running:
        send(running, prompt, **headers)
        finished = "specwatch_request_finished_total"
        eventually(lambda: sample(running, finished, outcome="success") == 1)
        assert sample(running, finished, traffic_class=expected) == 1


def test_a_class_that_comes_late_loses_nothing() -> None:
    classifier = Fake()
    classifier.go_on.clear()
    with raw_server(answered) as engine, run(engine.port, classifier=classifier) as running:
        for _ in range(3):
            send(running, "late")
        assert values(running, "specwatch_request_finished_total") == {}
        classifier.go_on.set()
        eventually(lambda: sample(running, "specwatch_request_finished_total", traffic_class="late") == 3)
        assert sample(running, "specwatch_request_e2e_latency_seconds_count", traffic_class="late") == 3
        assert sample(running, "specwatch_request_in_flight") == 0
    assert all(name.startswith("specwatch-classes") for name in classifier.threads)


def test_a_busy_classifier_is_passed_over() -> None:
    classifier = Fake()
    classifier.go_on.clear()
    with raw_server(answered) as engine, run(engine.port, classifier=classifier) as running:
        for _ in range(70):
            send(running, "busy")
        assert sample(running, "specwatch_request_finished_total", traffic_class="default") == 6
        assert sample(running, "specwatch_request_unread_total", reason="classifier_busy") == 6
        classifier.go_on.set()
        eventually(lambda: sample(running, "specwatch_request_finished_total", traffic_class="busy") == 64)
