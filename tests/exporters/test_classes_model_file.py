from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.classes import model_file
from specwatch_exporters.classes.model import Model
from specwatch_exporters.classes.model_file import (
    MAX_HEADER,
    ModelFileError,
    decode_model,
    encode_model,
    read_model,
    write_model,
)

SIZE = 256


def model(**changes: Any) -> Model:
    facts: dict[str, Any] = {
        "classes": ("code", "other"),
        "buckets": SIZE,
        "scale": 0.25,
        "intercepts": (0.5, -0.5),
        "weights": (bytes(range(256)), bytes(reversed(range(256)))),
        "fallback": "other",
        "training": {"seed": 3},
    }
    return Model(**(facts | changes))


def signed(content: bytes) -> bytes:
    return content + hashlib.sha256(content).digest()


def with_header(**changes: Any) -> bytes:
    first, header, weights = encode_model(model())[:-32].split(b"\n", 2)
    line = json.dumps({name: value for name, value in (json.loads(header) | changes).items() if value != "gone"})
    return signed(b"\n".join([first, line.encode(), weights]))


NAMES = st.lists(st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,8}", fullmatch=True), min_size=2, max_size=12, unique=True)


@given(NAMES, st.floats(1e-6, 1e6), st.data())
def test_a_model_survives_its_file(names: list[str], scale: float, data: st.DataObject) -> None:
    made = Model(
        classes=tuple(names),
        buckets=SIZE,
        scale=scale,
        intercepts=tuple(data.draw(st.floats(-1e6, 1e6)) for _ in names),
        weights=tuple(data.draw(st.binary(min_size=SIZE, max_size=SIZE)) for _ in names),
        fallback=names[0],
        training={"note": "é", "n": None},
    )
    assert decode_model(encode_model(made)) == made


CONTENT = encode_model(model())


@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_any_changed_byte_is_found(place: int, change: int) -> None:
    damaged = bytearray(CONTENT)
    damaged[place] ^= change
    with pytest.raises(ValueError, match="train"):
        decode_model(bytes(damaged))


@given(st.integers(0, len(CONTENT) - 1))
def test_any_cut_is_found(length: int) -> None:
    with pytest.raises(ValueError, match="train"):
        decode_model(CONTENT[:length])


@given(st.binary(max_size=400))
def test_foreign_bytes_are_refused(content: bytes) -> None:
    for start in (b"", b"specwatch-classes 1\n"):
        with pytest.raises(ValueError, match="train"):
            decode_model(start + content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a traffic class model"),
        (b"\x80\x04\x95pickle", "not a traffic class model"),
        (b"specwatch-classes 2\n{}\n", "model format 2; this specwatch reads 1"),
        (b"specwatch-classes 1\n" + b"x" * (MAX_HEADER + 9), "its header has no end"),
        (signed(b"specwatch-classes 1\n{]\n"), "its header is not JSON"),
        (signed(b"specwatch-classes 1\n" + b"[" * 60_000 + b"\n"), "its header is not JSON"),
        (signed(b"specwatch-classes 1\n[]\n"), "its header lacks a field"),
        (with_header(training="gone"), "its header lacks a field"),
        (with_header(features=99), "other feature rules"),
        (with_header(buckets="256"), "wrong type"),
        (with_header(buckets=True), "wrong type"),
        (with_header(buckets=10**30), "wrong type"),
        (with_header(classes=[1, 2]), "wrong type"),
        (with_header(intercepts=["a", 1]), "wrong type"),
        (with_header(scale=10**400), "wrong type"),
        (with_header(buckets=128), "longer than it should be"),
        (with_header(buckets=512), "cut short"),
        (with_header(scale=math.nan), "scale and intercepts"),
        (with_header(scale=-1), "scale and intercepts"),
        (with_header(intercepts=[0.0, math.inf]), "scale and intercepts"),
        (with_header(intercepts=[0.0]), "one intercept"),
        (with_header(fallback="chat"), "fallback"),
        (with_header(classes=["code", "code"]), "each once"),
        (with_header(classes=["code", 'a"b']), "class name"),
        (CONTENT + b"x", "longer than it should be"),
        (CONTENT[:-1], "cut short"),
    ],
)
def test_what_is_wrong_is_said(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        read_model(tmp_path / "none.bin")
    with pytest.raises(ModelFileError, match="cannot be read: Is a directory"):
        read_model(tmp_path)


def test_a_file_over_the_limit_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.bin"
    write_model(model(), path)
    monkeypatch.setattr(model_file, "MAX_FILE", 100)
    with pytest.raises(ModelFileError, match="larger than 100 bytes"):
        read_model(path)
    with pytest.raises(ModelFileError, match="more than the limit of 100"):
        write_model(model(), path)


def test_writing_replaces_in_one_step_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", _no_space)
        with pytest.raises(OSError, match="no space"):
            write_model(model(), path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.bin"]
    assert path.read_bytes() == b"old"
    assert write_model(model(), path) == path.stat().st_size
    assert read_model(path) == model()
    assert path.stat().st_mode & 0o777 == 0o644


def _no_space(*_: object) -> None:
    raise OSError("no space")


@pytest.mark.parametrize(
    "changes",
    [
        {"buckets": 300},
        {"buckets": 128, "weights": (bytes(128), bytes(128))},
        {"weights": (bytes(256), bytes(255))},
        {"classes": ("code",), "intercepts": (0.5,), "weights": (bytes(256),), "fallback": "code"},
        {"classes": tuple(f"c{n}" for n in range(13)), "fallback": "c1"},
        {"scale": 0.0},
        {"scale": 1e7},
    ],
)
def test_parts_that_do_not_fit_make_no_model(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        model(**changes)
