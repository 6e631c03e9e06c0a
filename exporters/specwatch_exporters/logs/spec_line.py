"""vLLM's line of speculative counts, every generation of it.

Source: vLLM `v1/spec_decode/metrics.py` and `engine/metrics.py`:

- V0 (0.7.3, 0.8.5): `Speculative metrics: Draft acceptance rate: 0.642, System efficiency: …`, counts since start;
- first V1: `Speculative metrics: Draft acceptance rate: 1.000, Number of accepted tokens: 66, …`;
- from April 2025: `SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens, Drafted: 66 tokens`;
- 0.8.5: with mean length (bonus token not counted) and positions; 0.9.0: bonus token counted;
- later throughputs were added, then the rate moved to the end as "Avg Draft acceptance rate" (as in 0.33.0).

Fields are found by name, so their order and spaces do not matter. A number that a cut may have shortened is
unknown: counts need their unit behind them, lengths two decimals, positions three.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MARKERS = ("SpecDecoding metrics:", "Speculative metrics:")
_LENGTH = re.compile(r"Mean acceptance length:\s*(\d+\.\d{2}|nan)(?!\d)")
_ACCEPTED = re.compile(r"\bAccepted:\s*(\d{1,15})\s*tokens\b")
_DRAFTED = re.compile(r"\bDrafted:\s*(\d{1,15})\s*tokens\b")
_ACCEPTED_SPEED = re.compile(r"Accepted throughput:\s*(\d+\.\d{2})\s*tokens/s")
_DRAFTED_SPEED = re.compile(r"Drafted throughput:\s*(\d+\.\d{2})\s*tokens/s")
_SHARE = re.compile(r"Draft acceptance rate:\s*(?:(\d+\.\d)|nan)\s*%")
_POSITIONS = re.compile(r"Per-position acceptance rate:\s*\[?((?:[\s\d.,]|nan)*)")
_POSITION = re.compile(r"[01]\.\d{3}")
_OLD_ACCEPTED = re.compile(r"Number of accepted tokens:\s*(\d{1,15})\s*,")
_OLD_DRAFTED = re.compile(r"Number of draft tokens(?: tokens)?:\s*(\d{1,15})\s*,")  # twice in 0.4 and 0.5
_OLD_EMITTED = re.compile(r"Number of emitted tokens(?: tokens)?:\s*(\d{1,15})\s*\.")
_OLD_DEPTH = re.compile(r"Number of speculative tokens:\s*(\d{1,4})\s*,")


@dataclass(frozen=True, slots=True)
class SpecLine:
    """The numbers of one line; None or empty where the line does not tell or was cut.

    Attributes:
        accepted: accepted tokens, bonus excluded.
        drafted: draft tokens.
        length: mean acceptance length as printed, two decimals.
        share: acceptance rate as printed, 0 to 1, three decimals.
        seconds: length of the interval.
        positions: per-position rates, three decimals; those before the cut if there is one.
        depth: K, where the line names it (V0).
        cut: True if the line ends early.
        positions_cut: True if a position was cut.
        cumulative: True if counts run since start-up (V0).
        emitted: tokens that came out of the draft steps, bonus included (V0).
    """

    accepted: int | None = None
    drafted: int | None = None
    length: float | None = None
    share: float | None = None
    seconds: float | None = None
    positions: tuple[float, ...] = ()
    depth: int | None = None
    cut: bool = False
    positions_cut: bool = False
    cumulative: bool = False
    emitted: int | None = None


def parse_spec_line(body: str) -> SpecLine:
    """Read what follows the marker."""
    if "System efficiency" in body or "Number of " in body:
        return _old(body)
    length = _LENGTH.search(body)
    positions, positions_cut = _positions(body)
    accepted, drafted = _count(_ACCEPTED, body), _count(_DRAFTED, body)
    share = _SHARE.search(body)
    return SpecLine(
        accepted=accepted,
        drafted=drafted,
        length=None if length is None or length[1] == "nan" else float(length[1]),
        share=None if share is None or share[1] is None else float(share[1]) / 100.0,
        seconds=_seconds(body, accepted, drafted),
        positions=positions,
        cut=positions_cut or accepted is None or drafted is None or _ends_early(body, share is not None),
        positions_cut=positions_cut,
    )


def _old(body: str) -> SpecLine:
    cumulative = "System efficiency" in body
    accepted, drafted = _count(_OLD_ACCEPTED, body), _count(_OLD_DRAFTED, body)
    emitted = _count(_OLD_EMITTED, body)
    cut = accepted is None or drafted is None or (cumulative and emitted is None)
    depth = _count(_OLD_DEPTH, body)
    return SpecLine(accepted, drafted, depth=depth, cut=cut, cumulative=cumulative, emitted=emitted)


def _ends_early(body: str, has_share: bool) -> bool:
    """True if fields are missing that the line's generation has; the rate is first or last, and always there."""
    with_length = "Mean acceptance length" in body
    return not has_share or (
        with_length and (not _LENGTH.search(body) or "Per-position acceptance rate:" not in body)
    )


def _count(pattern: re.Pattern[str], body: str) -> int | None:
    found = pattern.search(body)
    return None if found is None else int(found[1])


def _positions(body: str) -> tuple[tuple[float, ...], bool]:
    """Rates before the first one that is cut, and whether there is one."""
    found = _POSITIONS.search(body)
    if found is None:
        return (), False
    values: list[float] = []
    for part in (piece.strip() for piece in found[1].split(",") if piece.strip()):
        if part == "nan":
            return (), False
        if not _POSITION.fullmatch(part):
            return tuple(values), True
        values.append(float(part))
    return tuple(values), not values


def _seconds(body: str, accepted: int | None, drafted: int | None) -> float | None:
    """Length of the interval: accepted tokens / their throughput, else the drafted; to 0.1 s."""
    for tokens, pattern in ((accepted, _ACCEPTED_SPEED), (drafted, _DRAFTED_SPEED)):
        speed = pattern.search(body)
        if tokens and speed is not None and float(speed[1]) > 0:
            return round(tokens / float(speed[1]), 1)
    return None
