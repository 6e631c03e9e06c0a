"""What the offline examples of vLLM and the question sets of SGLang print at their end: counts, or a length alone.

- vLLM 0.8.5 to 0.33, `examples/offline_inference/spec_decode.py` (`eagle.py` before): `num_drafts: 4816` and so on,
  the share accepted at each position as `acceptance at token 0: 0.72`;
- SGLang's `benchmark/mtbench`: `#questions: 80, Throughput: 378.57 token/s, Acceptance length: 5.39`; those of
  SpecForge: `Average Output throughput: 41.960 token/s` and `Average Accept length: 1.037`, a line each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bench_run import BenchRun

_COUNT: Final = re.compile(
    r"(?<![\w:])(total_num_output_tokens|num_drafts|num_draft_tokens|num_accepted_tokens):\s*(\d{1,15})(?:\.0)?\s*$"
)
_LENGTH: Final = re.compile(r"(?<![\w:])(?:mean acceptance|Average Accept) length:\s*(\d{1,4}\.\d+)\s*$")
_SPEED: Final = re.compile(r"(?<![\w:])Average Output throughput:\s*(\d+\.\d+) token/s\s*$")
_POSITION: Final = re.compile(r"(?<![\w:])acceptance at (?:token|position) (\d{1,2}):\s*([01]\.\d+)\s*$")
_LENGTH_KEY: Final = "length"
_SPEED_KEY: Final = "throughput"
_QUESTIONS: Final = re.compile(
    r"#questions: (\d{1,9}), Throughput: (\d+\.\d+) token/s, Acceptance length: (\d{1,4}\.\d+)"
)


def read_offline_counts(text: str, *, bare: bool = False) -> tuple[BenchRun, ...]:
    """Runs of such a text in order; empty if it holds none.

    Args:
        text: with whatever stands around the figures.
        bare: whether a length without counts makes a run; a log may say one in passing.
    """
    least = _LENGTH_KEY if bare else "num_drafts"
    blocks = (block for block in _blocks(text.splitlines()) if least in block or "num_drafts" in block)
    return tuple(_run(block, f"run {number}") for number, block in enumerate(blocks, start=1))


def _blocks(lines: Iterable[str]) -> Iterator[dict[str, float]]:
    """Figures of one run each: a name that comes again begins the next."""
    block: dict[str, float] = {}
    for line in lines:
        fields = dict(_fields(line))
        if any(name in block for name in fields):
            yield block
            block = {}
        block |= fields
    yield block


def _fields(line: str) -> Iterator[tuple[str, float]]:
    asked = _QUESTIONS.search(line)
    if asked is not None:
        yield from (("questions", float(asked[1])), (_SPEED_KEY, float(asked[2])), (_LENGTH_KEY, float(asked[3])))
        return
    for pattern, key in ((_LENGTH, _LENGTH_KEY), (_SPEED, _SPEED_KEY)):
        if (figure := pattern.search(line)) is not None:
            yield key, float(figure[1])
    if (counted := _COUNT.search(line)) is not None:
        yield counted[1], float(counted[2])
    if (position := _POSITION.search(line)) is not None:
        yield str(int(position[1])), float(position[2])


def _run(block: dict[str, float], name: str) -> BenchRun:
    drafts, drafted, accepted = (block.get(f"num_{what}") for what in ("drafts", "draft_tokens", "accepted_tokens"))
    rates = [block[key] for key in map(str, range(len(block))) if key in block] if drafts else []
    tokens, requests = block.get("total_num_output_tokens"), block.get("questions")
    return BenchRun(
        name,
        requests=None if requests is None else int(requests),
        output_tokens=None if tokens is None else int(tokens),
        output_tok_s=block.get(_SPEED_KEY),
        tally=Tally(drafts, drafted, accepted, tuple(rate * (drafts or 0.0) for rate in rates)),
        length=block.get(_LENGTH_KEY),
    )
