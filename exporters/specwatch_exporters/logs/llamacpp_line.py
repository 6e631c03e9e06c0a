"""llama.cpp's lines about drafts: one for each finished request, and totals since the server's start.

Source: ggml-org/llama.cpp#12603 (the first of these lines), #24536 (length and positions), and logs of its users:

- `draft acceptance rate = 0.57576 (  171 accepted /   297 generated)`, later `draft acceptance = 0.76049 (...)`,
  with `mean len = 2.52` or `mean acceptance length = 2.92, acceptance rate per position = (0.805, 0.632, 0.483)`;
- `statistics draft-eagle3: ... #gen drafts = 87, ... #gen tokens = 259, #acc tokens = 167, ...`, a drafter each.

The length is 1 + accepted / drafts, and positions are over drafts, as in vLLM (#24536 says so).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

REQUEST_MARKERS: Final = ("draft acceptance = ", "draft acceptance rate = ")
TOTAL_MARKER: Final = "#calls(b,g,a) ="
_REQUEST: Final = re.compile(
    r"draft acceptance (?:rate )?= [\d.]+ \(\s*(\d{1,15}) accepted /\s*(\d{1,15}) generated\)"
)
_LENGTH: Final = re.compile(r"mean (?:acceptance length|len) =\s*(\d{1,6}\.\d{2})(?!\d)")
_POSITIONS: Final = re.compile(r"(?:acceptance rate per position|#acc rate/pos) = \(([\d., ]*)\)")
_DRAFTER: Final = re.compile(r"statistics\s+([\w-]{1,60}):?\s")
_TOTAL: Final = re.compile(r"#(gen drafts|gen tokens|acc tokens) =\s*(\d{1,15})\b")


@dataclass(frozen=True, slots=True)
class LlamaCppLine:
    """The numbers of one line.

    Attributes:
        drafted: draft tokens.
        accepted: accepted tokens, bonus excluded.
        drafts: draft steps, where the line counts them (totals).
        length: mean acceptance length as printed, two decimals, or None.
        positions: per-position rates, three decimals; empty if not told.
        drafter: who drafted, where the line names it (totals).
    """

    drafted: int
    accepted: int
    drafts: int | None = None
    length: float | None = None
    positions: tuple[float, ...] = ()
    drafter: str | None = None


def parse_request_line(text: str) -> LlamaCppLine | None:
    """Read the line of a finished request; None if it is cut."""
    found = _REQUEST.search(text)
    if found is None:
        return None
    length = _LENGTH.search(text, found.end())
    return LlamaCppLine(
        int(found[2]), int(found[1]), length=float(length[1]) if length else None, positions=_positions(text)
    )


def parse_total_line(text: str) -> LlamaCppLine | None:
    """Read the totals of a drafter; None if they are cut or another line's."""
    drafter, totals = _DRAFTER.search(text), {name: int(value) for name, value in _TOTAL.findall(text)}
    if drafter is None or len(totals) < len(("gen drafts", "gen tokens", "acc tokens")):
        return None
    return LlamaCppLine(
        totals["gen tokens"],
        totals["acc tokens"],
        drafts=totals["gen drafts"],
        positions=_positions(text),
        drafter=drafter[1],
    )


def _positions(text: str) -> tuple[float, ...]:
    found = _POSITIONS.search(text)
    return () if found is None else tuple(float(part) for part in found[1].split(",") if part.strip(" ."))
