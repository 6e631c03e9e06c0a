"""SGLang's "Decode batch" and "Prefill batch" lines.

Source: sglang wheels 0.4.3 to 0.5.23, `log_decode_stats` / `report_decode_stats`. "accept len" is there whenever a
speculative algorithm is set; "accept rate" since 0.5.4. The prefix is `[time DP0 PP0 TP0 EP0]`, as far as there are
such ranks. Every decode line has "#queue-req" near its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DECODE, PREFILL = "Decode batch", "Prefill batch"
# Logged since 0.5.11 when the adaptive engine chooses another number of steps: "... updated: steps 3 -> 0 (...)".
ADAPTIVE = "Adaptive spec params"
_HEAD = re.compile(r"\[([^\[\]]*)\]\s*(?:\S+:\s*)?$")
_RANK = re.compile(r"\b(DP|PP|TP|EP|MOE_DP|ATTN_CP)(\d{1,6})\b")
# TokenSpeed, which began as SGLang, spells both with underscores (smg-project/smg#1965).
_LENGTH = re.compile(r"(?<!block )(?:accept len|avg_accept_len): (\d+\.\d{2})(?!\d)")
_RATE = re.compile(r"accept[ _]rate: (\d+\.\d{2})(?!\d)")
_RUNNING = re.compile(r"#running-req: (\d{1,9})\b")
_QUEUED = re.compile(r"#queue-req: (\d{1,9})\b")
_USAGE = re.compile(r"token usage: (\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class SglangLine:
    """One scheduler line; None where it does not tell.

    Attributes:
        prefix: text before the bracket with the ranks.
        data_rank: data-parallel rank, or None.
        ranks: the other ranks, such as `TP0 EP0`; lines that differ only here repeat each other.
        decode: True for a decode batch.
        length: accept length of the interval, two decimals, bonus included.
        rate: accept rate of the interval, two decimals, in the version's own formula.
        running: requests running.
        queued: requests waiting.
        usage: share of the KV cache in use, 0 to 1.
        cut: True if a decode line ends early.
    """

    prefix: str
    data_rank: str | None
    ranks: str
    decode: bool
    length: float | None
    rate: float | None
    running: int | None
    queued: int | None
    usage: float | None
    cut: bool


def parse_sglang_line(text: str) -> SglangLine | None:
    """Read a line; None if it is another one that merely mentions a batch."""
    decode = DECODE in text
    start = text.find(DECODE if decode else PREFILL)
    running = _RUNNING.search(text, start)
    if start < 0 or (running is None and "#" not in text[start:]):
        return None
    head = _HEAD.search(text, 0, start)
    ranks = dict(_RANK.findall(head[1])) if head else {}
    length, rate = _LENGTH.search(text, start), _RATE.search(text, start)
    queued = _QUEUED.search(text, start)
    usage = [float(value) for value in _USAGE.findall(text, start)]
    return SglangLine(
        prefix=text[: head.start() if head else start],
        data_rank=ranks.pop("DP", None),
        ranks=" ".join(f"{name}{rank}" for name, rank in ranks.items()),
        decode=decode,
        length=float(length[1]) if length else None,
        rate=float(rate[1]) if rate else None,
        running=int(running[1]) if running else None,
        queued=int(queued[1]) if queued else None,
        usage=max(usage, default=None),
        cut=decode and queued is None,
    )
