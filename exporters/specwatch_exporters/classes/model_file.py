"""The file of a model: no pickle, nothing in it is executed, damage is found before use.

Format 1, in this order:

- `specwatch-classes 1` and a line feed;
- one line of JSON (64 KiB at most) and a line feed: `classes`, `buckets`, `scale`, `intercepts`, `fallback`,
  `features` (the version of the feature rules), `training` (anything, for people);
- the weights, one byte each: all buckets of the first class, then of the next; 128 is zero;
- the SHA-256 of all that stands before, 32 bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from specwatch_exporters.classes.features import VERSION as FEATURES
from specwatch_exporters.classes.model import MAX_BUCKETS, Model

FORMAT = 1
MAX_FILE = 16 << 20
MAX_HEADER = 64 << 10
_DIGEST = 32
_FIRST_LINE = re.compile(rb"specwatch-classes (\d{1,9})\n")
_KEYS = frozenset({"classes", "buckets", "scale", "intercepts", "fallback", "features", "training"})


class ModelFileError(ValueError):
    """The file is not a sound model; the message is one line that names the file and says what to do."""


def encode_model(model: Model) -> bytes:
    """Return the bytes of a model's file; the same model gives the same bytes."""
    header = {
        "buckets": model.buckets,
        "classes": model.classes,
        "fallback": model.fallback,
        "features": FEATURES,
        "intercepts": model.intercepts,
        "scale": model.scale,
        "training": dict(model.training),
    }
    line = json.dumps(header, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    content = b"".join([b"specwatch-classes %d\n" % FORMAT, line, b"\n", *model.weights])
    return content + hashlib.sha256(content).digest()


def write_model(model: Model, path: Path) -> int:
    """Write a model; an existing file is replaced in one step or stays as it was.

    Returns:
        Bytes written.

    Raises:
        ModelFileError: it would be larger than can be read back.
        OSError: the folder cannot be written.
    """
    content = encode_model(model)
    if len(content) > MAX_FILE:
        raise ModelFileError(f"{path}: {len(content):,} bytes are more than the limit of {MAX_FILE:,}")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), 0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return len(content)


def read_model(path: Path) -> Model:
    """Read a model file.

    Raises:
        ModelFileError: it cannot be read, is another kind of file, of another version, cut, damaged or too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > MAX_FILE:
        raise ModelFileError(f"{path}: larger than {MAX_FILE:,} bytes; a traffic class model is smaller")
    try:
        return decode_model(content)
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}") from error


def decode_model(content: bytes) -> Model:
    """Return the model that a file's bytes hold.

    Raises:
        ValueError: they do not hold one; the message is one clause.
    """
    first = _FIRST_LINE.match(content)
    if first is None:
        raise ValueError("not a traffic class model; make one with: specwatch classes train")
    if int(first[1]) != FORMAT:
        raise ValueError(f"model format {int(first[1])}; this specwatch reads {FORMAT}: train it again")
    header_end = content.find(b"\n", first.end(), first.end() + MAX_HEADER + 1)
    if header_end < 0:
        raise ValueError("damaged model: its header has no end; copy or train it again")
    header = _header(content[first.end() : header_end])
    start = header_end + 1
    size = header["buckets"]
    end = start + size * len(header["classes"])
    if len(content) != end + _DIGEST:
        what = "cut short" if len(content) < end + _DIGEST else "longer than it should be"
        raise ValueError(f"{what}: {len(content):,} bytes, {end + _DIGEST:,} expected; copy or train it again")
    if hashlib.sha256(content[:end]).digest() != content[end:]:
        raise ValueError("damaged model: its checksum does not match; copy or train it again")
    return Model(
        classes=header["classes"],
        buckets=size,
        scale=header["scale"],
        intercepts=header["intercepts"],
        weights=tuple(content[at : at + size] for at in range(start, end, size)),
        fallback=header["fallback"],
        training=header["training"],
    )


def _header(line: bytes) -> dict[str, Any]:
    """The header's values with the types that `Model` states; what they hold is `Model`'s to check."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("damaged model: its header is not JSON; copy or train it again") from error
    if not isinstance(raw, dict) or not raw.keys() >= _KEYS:
        raise ValueError("damaged model: its header lacks a field; copy or train it again")
    if raw["features"] != FEATURES:
        raise ValueError("made with other feature rules than this specwatch has; train it again")
    classes, intercepts = raw["classes"], raw["intercepts"]
    typed = (
        isinstance(classes, list)
        and all(isinstance(name, str) for name in classes)
        and isinstance(intercepts, list)
        and all(_is_number(value) for value in (*intercepts, raw["scale"]))
        and type(raw["buckets"]) is int
        and 0 < raw["buckets"] <= MAX_BUCKETS
        and isinstance(raw["fallback"], str)
        and isinstance(raw["training"], dict)
    )
    if not typed:
        raise ValueError("damaged model: a header field has the wrong type; copy or train it again")
    return raw | {
        "classes": tuple(classes),
        "intercepts": tuple(float(value) for value in intercepts),
        "scale": float(raw["scale"]),
    }


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < 1 << 53)
