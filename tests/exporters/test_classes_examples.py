from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.classes import examples
from specwatch_exporters.classes.examples import Example, ExamplesError, read_examples

GOOD = b'{"text": "def f():", "class": "code"}\n'
PROMPT = "tell nobody"


def written(folder: Path, content: bytes) -> Path:
    path = folder / "prompts.jsonl"
    path.write_bytes(content)
    return path


def test_fields_blank_lines_repeats_and_a_byte_order_mark(tmp_path: Path) -> None:
    content = (
        b"\xef\xbb\xbf" + GOOD + b"\n  \n" + GOOD + b'{"text": "def f():", "class": "chat", "more": [1]}\r\n'
        b'{"text": "x", "class": "math", "source": "s", "group": "g"}\n'
        b'{"text": "y", "class": "math", "source": null}'
    )
    read = read_examples(written(tmp_path, content))
    assert read.repeats == 1
    assert [example.line for example in read.examples] == [1, 5, 6, 7]
    assert read.examples == (
        Example("def f():", "code"),
        Example("def f():", "chat"),
        Example("x", "math", "s", "g"),
        Example("y", "math"),
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "not JSON (Expecting property name enclosed in double quotes at column 2); each line is"),
        (b'{"text": "a"} {"text": "b"}', "not JSON (Extra data"),
        (b"text,class", "not JSON"),
        (b"[" * 100_000, "not JSON that can be read"),
        (b'{"text": "\xff", "class": "code"}', "not UTF-8"),
        (b'["tell nobody", "code"]', "not a JSON object"),
        (b'{"class": "code"}', "'text' is missing; each line is an object such as"),
        (b'{"text": "tell nobody"}', "'class' is missing"),
        (b'{"text": 7, "class": "code"}', "'text' must be a string, not a number"),
        (b'{"text": null, "class": "code"}', "'text' must be a string, not null"),
        (b'{"text": ["tell nobody"], "class": "code"}', "'text' must be a string, not a list"),
        (b'{"text": {}, "class": "code"}', "'text' must be a string, not an object"),
        (b'{"text": "tell nobody", "class": true}', "'class' must be a string, not true or false"),
        (b'{"text": " \\n ", "class": "code"}', "'text' is blank"),
        (b'{"text": "tell nobody", "class": "Code"}', "'class' must be 1 to 32 of a-z"),
        (b'{"text": "tell nobody", "class": ""}', "'class' must be 1 to 32 of a-z"),
        (b'{"text": "tell nobody", "class": "code", "source": 4}', "'source' must be a string, not a number"),
    ],
)
def test_a_bad_line_is_named_and_never_quoted(line: bytes, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + b"\n" + line + b"\n" + GOOD)
    with pytest.raises(ExamplesError) as caught:
        read_examples(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:3: ")
    assert words in message
    assert PROMPT not in message
    assert "\n" not in message


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_is_said(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ExamplesError, match="no prompts in it"):
        read_examples(written(tmp_path, content))


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ExamplesError, match=r"none\.jsonl: cannot be read: No such file"):
        read_examples(tmp_path / "none.jsonl")


def test_limits_are_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, GOOD + GOOD.replace(b"f", b"g"))
    monkeypatch.setattr(examples, "MAX_EXAMPLES", 1)
    with pytest.raises(ExamplesError, match="more than 1 different prompts; take a sample"):
        read_examples(path)
    monkeypatch.setattr(examples, "MAX_LINE", 10)
    with pytest.raises(ExamplesError, match=":1: longer than 10 bytes"):
        read_examples(path)


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=20, unique=True))
def test_what_json_writes_is_read_back(texts: list[str]) -> None:
    lines = "".join(json.dumps({"text": text, "class": "chat"}) + "\n" for text in texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", lambda *_: _reader(lines.encode()))
        assert [example.text for example in read_examples(Path("any")).examples] == texts


def _reader(content: bytes) -> object:
    import io  # noqa: PLC0415 - only this test reads from memory

    return io.BytesIO(content)
