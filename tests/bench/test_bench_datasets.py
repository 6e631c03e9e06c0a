from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from specwatch_bench.bench_error import BenchError
from specwatch_bench.dataset_file import open_dataset
from specwatch_bench.matrix import DatasetSpec
from specwatch_bench.prompt import Prompt, request_body
from specwatch_exporters.demo.traffic_plan import Lengths

SHAREGPT = [
    {"conversations": [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]},
    {"conversations": [{"from": "gpt", "value": "I begin"}]},
    {"conversations": []},
]


def spec(path: Path, kind: str, **changes: Any) -> DatasetSpec:
    return DatasetSpec(name="d", traffic_class="chat", kind=kind, path=str(path), **changes)


def texts(path: Path, kind: str) -> set[object]:
    dataset, rng = open_dataset(spec(path, kind)), random.Random(1)
    return {dataset.draw(rng).content for _ in range(50)}


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("sharegpt", json.dumps(SHAREGPT), {"hello"}),
        ("mt-bench", '{"question_id": 81, "category": "math", "turns": ["one", "two"]}', {"one"}),
        (
            "gsm8k",
            '{"question": "how many", "answer": "#### 3"}\n\n{"question": "why", "answer": ""}',
            {"how many", "why"},
        ),
        ("humaneval", '{"task_id": "HumanEval/0", "prompt": "def f():", "entry_point": "f"}', {"def f():"}),
        ("jsonl", '{"prompt": "a", "class": "law"}', {"a"}),
    ],
)
def test_a_file_gives_its_prompts(tmp_path: Path, kind: str, text: str, expected: set[object]) -> None:
    path = tmp_path / "prompts"
    path.write_text(text)
    assert texts(path, kind) == expected
    path.write_bytes(gzip.compress(text.encode()))
    assert texts(path, kind) == expected


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("sharegpt", "{}", "is not a JSON list"),
        ("sharegpt", '[{"text": "x"}]', "entry 1 needs conversations"),
        ("sharegpt", "[]", "holds no prompt"),
        ("mt-bench", '{"turns": "x"}', "entry 1 needs turns"),
        ("gsm8k", '{"question": "a"}\n{"prompt": "b"}', "entry 2 needs question"),
        ("humaneval", '{"prompt": "a"}', "entry 1 needs task_id"),
        ("jsonl", "{", "line 1: not JSON"),
        ("jsonl", '{"prompt": "a", "max_tokens": "7"}', "max_tokens must be a whole number"),
        ("jsonl", '{"prompt": "a", "class": 7}', "class must be a text"),
        ("jsonl", "[1]", "entry 1 needs prompt"),
        ("jsonl", "", "holds no prompt"),
    ],
)
def test_a_file_of_another_form_is_one_line(tmp_path: Path, kind: str, text: str, words: str) -> None:
    path = tmp_path / "prompts"
    path.write_text(text)
    with pytest.raises(BenchError) as caught:
        open_dataset(spec(path, kind))
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("data", [b"\x1f\x8bbroken", b"\xff\xfe\xfd", None])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "prompts"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BenchError, match="data set d"):
        open_dataset(spec(path, "jsonl"))


def test_lines_carry_class_and_length_and_the_data_set_may_overrule_the_length(tmp_path: Path) -> None:
    path = tmp_path / "prompts"
    path.write_text('{"prompt": "a", "class": "law", "max_tokens": 7}')
    own = open_dataset(spec(path, "jsonl")).draw(random.Random(1))
    assert own == Prompt("a", "law", 7, exact=False)
    stated = open_dataset(spec(path, "jsonl", output=Lengths(9))).draw(random.Random(1))
    assert (stated.output_tokens, stated.exact) == (9, True)


@pytest.mark.parametrize("vocab", [None, 128])
def test_synthetic_prompts_have_the_stated_lengths_and_repeat_with_their_seed(vocab: int | None) -> None:
    made = DatasetSpec(
        name="s", traffic_class="code", prompt=Lengths(50, 0.5, 80), output=Lengths(20, 0.5, 40), vocab=vocab
    )
    draws = [[open_dataset(made).draw(random.Random(seed)) for seed in range(200)] for _ in range(2)]
    assert draws[0] == draws[1]
    sizes = [len(p.content.split() if isinstance(p.content, str) else p.content) for p in draws[0]]
    assert max(sizes) <= 80
    assert 40 < sorted(sizes)[100] < 60
    assert max(p.output_tokens for p in draws[0]) <= 40
    if vocab is not None:
        assert all(10 <= token < vocab for p in draws[0] for token in p.content if isinstance(token, int))


def test_a_body_asks_for_usage_on_every_chunk_and_an_extra_member_wins() -> None:
    prompt = Prompt((11, 12), "chat", 5, exact=True)
    body = request_body(prompt, "m", chat=True, extra={"temperature": 0.7})
    assert body["prompt"] == (11, 12)
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert (body["model"], body["ignore_eos"], body["temperature"]) == ("m", True, 0.7)
    chat = request_body(Prompt("hi", "chat", 5, exact=False), None, chat=True, extra={})
    assert chat["messages"] == [{"role": "user", "content": "hi"}]
    assert "model" not in chat
    assert "ignore_eos" not in chat
