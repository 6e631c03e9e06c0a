"""Names of models: which are the same model, which are another version of it, and which are others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_QUANTISED: Final = re.compile(
    r"[-_.](fp8|fp4|nvfp4|mxfp4|int8|int4|awq|gptq|bnb|gguf|w\d+a\d+|bf16|fp16|dynamic|static|quantized|kv\d*|\d+bit)"
    r"(?=[-_.]|$)"
)
_SIZE: Final = re.compile(r"[ae]?\d+(\.\d+)?[bmk](x\d+)?|\d+x\d+b|\d+e")
_PART: Final = re.compile(r"[a-z]+|\d+(?:\.\d+)*")
_FILLERS: Final = frozenset({"meta", "hf", "v"})
_SNAPSHOT: Final = re.compile(r"models--([^/]+)/snapshots/[^/]+/?$")


class Likeness(StrEnum):
    """How two names relate."""

    SAME = "same"
    OLDER = "older"
    NEWER = "newer"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ModelName:
    """A name in parts.

    Attributes:
        words: family and variant, such as `llama`, `instruct`.
        sizes: such as `70b`, `a3b`.
        versions: numbers that are no sizes, such as `3.3`, `2507`.
    """

    words: tuple[str, ...]
    sizes: tuple[str, ...]
    versions: tuple[tuple[int, ...], ...]


def parse_name(name: str) -> ModelName:
    """A hub name or a path, in parts; how it was quantised is left out."""
    match = _SNAPSHOT.search(name)
    last = match[1].rpartition("--")[2] if match is not None else name.rstrip("/").rpartition("/")[2]
    text = last.lower()
    while (shorter := _QUANTISED.sub("", text)) != text:
        text = shorter
    words: list[str] = []
    sizes: list[str] = []
    versions: list[tuple[int, ...]] = []
    for token in re.split(r"[-_\s]+", text):
        if _SIZE.fullmatch(token):
            sizes.append(token)
            continue
        for part in _PART.findall(token):
            if part[0].isdigit():
                versions.append(tuple(int(one) for one in part.split(".")))
            elif part not in _FILLERS:
                words.append(part)
    return ModelName(tuple(words), tuple(sizes), tuple(versions))


def likeness(named: str, present: str) -> Likeness:
    """How the model that a draft names relates to the one that is there.

    A version that only one of two names has makes that one the newer: `Qwen3-30B-A3B-Instruct-2507` came after
    `Qwen3-30B-A3B-Instruct`.
    """
    mine, yours = parse_name(named), parse_name(present)
    if (mine.words, mine.sizes) != (yours.words, yours.sizes):
        return Likeness.OTHER
    if mine.versions == yours.versions:
        return Likeness.SAME
    return Likeness.OLDER if mine.versions < yours.versions else Likeness.NEWER
