"""Output text: one word per token, so that a client can count tokens by words."""

from __future__ import annotations

from specwatch_exporters.replay.sequence import FinishReason
from specwatch_exporters.replay.step_result import Output

_GENERAL = (
    *("the", "answer", "is", "that", "a", "small", "change", "in", "one", "place", "moves", "many", "others"),
    *("so", "we", "look", "at", "each", "part", "and", "then", "at", "their", "sum"),
)
_BY_CLASS: dict[str, tuple[str, ...]] = {
    "code": (
        *("def", "load(path):", "with", "open(path)", "as", "handle:", "return", "json.load(handle)", "for"),
        *("row", "in", "rows:", "total", "+=", "row.size", "if", "total", ">", "limit:", "break", "else:"),
    ),
    "math": (
        *("let", "x", "=", "3", "then", "2x", "+", "1", "=", "7", "and", "the", "sum", "of", "both", "sides"),
        *("gives", "x^2", "-", "9", "=", "0", "so", "x", "is", "3", "or", "-3"),
    ),
}


def text_of(output: Output) -> str:
    """Words of an output's tokens, each with a blank before it; the end token has no text (as in vLLM)."""
    words = _BY_CLASS.get(output.sequence.submission.traffic_class.name, _GENERAL)
    shown = output.tokens - (1 if output.finish is FinishReason.STOP else 0)
    start = output.sequence.number * 7 + output.first
    return "".join(f" {words[(start + offset) % len(words)]}" for offset in range(shown))
