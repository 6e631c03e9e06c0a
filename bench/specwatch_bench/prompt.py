"""Prompts: one request's input, and what it becomes in the API."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from specwatch_bench.matrix import DatasetSpec
from specwatch_exporters.demo.traffic_plan import Lengths

_FIRST_WORD = 10  # the numbers below are special tokens in most vocabularies
_DEFAULT_OUTPUT = Lengths(256, most=256)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request's input.

    Attributes:
        content: a text, or token numbers.
        traffic_class: of this request.
        output_tokens: `max_tokens`.
        exact: the output has exactly that many tokens, because the end token is ignored.
    """

    content: str | tuple[int, ...]
    traffic_class: str
    output_tokens: int
    exact: bool


class Dataset(Protocol):
    """Where prompts come from."""

    def draw(self, rng: random.Random) -> Prompt:
        """The next one."""
        ...


@dataclass(frozen=True, slots=True)
class SyntheticDataset:
    """Prompts of random tokens with drawn lengths, so that no prompt repeats another's beginning."""

    spec: DatasetSpec

    def draw(self, rng: random.Random) -> Prompt:
        """The next one: its length, its output's length, then its tokens."""
        spec = self.spec
        size = spec.prompt.draw(rng)
        asked = (spec.output or _DEFAULT_OUTPUT).draw(rng)
        vocab = spec.vocab
        if vocab is None:
            words = " ".join(f"w{rng.randrange(1000)}" for _ in range(size))
            return Prompt(words, spec.traffic_class, asked, exact=True)
        tokens = tuple(rng.randrange(min(_FIRST_WORD, vocab - 1), vocab) for _ in range(size))
        return Prompt(tokens, spec.traffic_class, asked, exact=True)


@dataclass(frozen=True, slots=True)
class FileDataset:
    """Prompts of a file, drawn with replacement.

    Attributes:
        prompts: (text, class, `max_tokens` or None) of each.
    """

    spec: DatasetSpec
    prompts: Sequence[tuple[str, str, int | None]]

    def draw(self, rng: random.Random) -> Prompt:
        """The next one; it may end by itself, unless the data set states the length of outputs."""
        text, traffic_class, own = rng.choice(self.prompts)
        lengths = self.spec.output
        asked = lengths.draw(rng) if lengths is not None else own or _DEFAULT_OUTPUT.draw(rng)
        return Prompt(text, traffic_class, asked, exact=lengths is not None)


def request_body(prompt: Prompt, model: str | None, *, chat: bool, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON body of a streamed request, greedy unless `extra` says otherwise.

    Usage is asked for on every chunk: its differences say how many tokens a chunk carries.
    """
    body: dict[str, Any] = {
        "max_tokens": prompt.output_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }
    if prompt.exact:
        body["ignore_eos"] = True
    if model is not None:
        body["model"] = model
    if chat and isinstance(prompt.content, str):
        body["messages"] = [{"role": "user", "content": prompt.content}]
    else:
        body["prompt"] = prompt.content
    return {**body, **extra}
