"""Chat prompts: synthetic, from templates that were written for this project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from classes_corpus.phrases import fill, lines_of
from classes_corpus.prompt import Prompt


def requests(_cache: Path, rng: Random) -> Iterator[Prompt]:
    """Questions, advice, writing, role play and small talk from templates of this project (synthetic)."""
    for template in lines_of("chat"):
        for _ in range(7):
            yield Prompt(fill(template, rng), template)


def situations(_cache: Path, rng: Random) -> Iterator[Prompt]:
    """Longer personal messages, put together from sentences of this project (synthetic)."""
    sentences, asks = lines_of("chat_situations"), lines_of("chat")
    for number in range(900):
        parts = [fill(template, rng) for template in rng.sample(sentences, rng.randint(2, 7))]
        if rng.random() < 0.5:
            parts.insert(rng.choice((0, len(parts))), fill(rng.choice(asks), rng))
        yield Prompt(rng.choice((" ", " ", "\n", "\n\n")).join(parts), f"situation {number}")
