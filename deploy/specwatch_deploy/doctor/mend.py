"""Edits of a query's text that leave the rest of it as its author wrote it.

Every function gives the edited text, or an empty one where the edit cannot be made without reading the whole query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_STRING: Final = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`"""
_BRACES: Final = rf"(?:\s*\{{(?:[^{{}}\"'`]|{_STRING})*\}})?"
_BEFORE, _AFTER = r"(?<![\w:$])", r"(?![\w:])"
_AGGREGATE: Final = re.compile(r"\b(sum|avg|min|max|count)\s*(by|without)?\s*(\(([^()]*)\)\s*)?\(")
_TOKEN: Final = re.compile(
    rf"(?P<text>{_STRING})|(?P<range>\[[^\]]*\])|(?P<braces>\{{(?:[^{{}}\"'`]|{_STRING})*\}})"
    r"|(?P<word>[A-Za-z_:$][\w:.$]*)|(?P<number>\d[\w.]*)|(?P<open>\()|(?P<close>\))|(?P<operator>[=!<>]=|[-+*/%^<>,])"
)
_WORD_OPERATORS: Final = frozenset({"and", "or", "unless", "on", "ignoring", "by", "without", "bool", "offset"})
_ENDS: Final = frozenset({"and", "or", "unless"})


def _name(name: str) -> str:
    return f"{_BEFORE}{re.escape(name)}{_AFTER}"


def renamed(text: str, old: str, new: str) -> str:
    """With one metric's name for another's."""
    return re.sub(_name(old), new, text)


def relabelled(text: str, old: str, new: str) -> str:
    """With one label's name for another's, in matchers and in `by`."""
    return re.sub(rf"{_BEFORE}{re.escape(old)}(?=\s*(?:=|!=|!~|,|\)))", new, text)


def revalued(text: str, label: str, old: str, new: str) -> str:
    """With one value of a label for another."""
    return re.sub(rf'({_BEFORE}{re.escape(label)}\s*=~?\s*)"{re.escape(old)}"', rf'\1"{new}"', text)


def without_rate(text: str, metric: str) -> str:
    """Without the rate, increase or irate around a metric."""
    return re.sub(rf"\b(?:rate|irate|increase)\s*\(\s*({_name(metric)}{_BRACES})\s*\[[^\]]*\]\s*\)", r"\1", text)


def with_rate(text: str, metric: str, window: str) -> str:
    """With a rate around a metric."""
    return re.sub(rf"({_name(metric)}{_BRACES})(?!\s*[\[{{])", rf"rate(\1[{window}])", text)


def with_sum_for_avg(text: str) -> str:
    """With `sum` for the only `avg` of a query that begins with it; empty for any other query."""
    return re.sub(r"^\s*avg\b", "sum", text) if re.match(r"\s*avg\b(?!.*\bavg\b)", text, re.DOTALL) else ""


def with_sum(text: str, metric: str, labels: Sequence[str]) -> str:
    """With a sum by labels around every rate of a metric."""
    by = f"sum by ({', '.join(labels)}) " if labels else "sum"
    rated = rf"\b(?:rate|irate|increase)\s*\(\s*{_name(metric)}{_BRACES}\s*\[[^\]]*\]\s*\)"
    return re.sub(rated, lambda found: f"{by}({found[0]})", text)


def with_filter(text: str, metric: str) -> str:
    """With only what is above 0 of a metric."""
    return re.sub(rf"{_name(metric)}{_BRACES}", lambda found: f"({found[0].rstrip()} > 0)", text)


def with_function(text: str, metric: str, old: str, new: str) -> str:
    """With one function for another right around a metric."""
    return re.sub(rf"\b{old}(\s*\(\s*{_name(metric)})", rf"{new}\1", text)


def with_share(text: str, old: str, new: str) -> str:
    """With one share of a quantile for another."""
    asks = r"\b((?:histogram_quantile|quantile_over_time|quantile)\s*(?:(?:by|without)\s*\([^()]*\)\s*)?\(\s*)"
    return re.sub(rf"{asks}{re.escape(old)}(?=\s*,)", rf"\g<1>{new}", text)


def with_buckets(text: str, metric: str) -> str:
    """With a histogram's buckets where a summary's quantile, or the histogram itself, was asked for."""
    asked = re.search(rf"{_name(metric)}({_BRACES})", text)
    braces = asked[1] if asked is not None else ""
    share = re.search(r'\bquantile\s*=\s*"([0-9.]+)"\s*,?\s*', braces)
    buckets = f"sum by (le) (rate({metric}_bucket{{}}[5m]))"
    if share is not None:
        rest = re.sub(r",\s*}", "}", braces.replace(share[0], "")).strip()
        inner = buckets.replace("{}", "" if rest == "{}" else rest)
        return text.replace(f"{metric}{braces}", f"histogram_quantile({share[1]}, {inner})")
    if "histogram_quantile" not in text:
        return ""
    if re.search(rf"{_name(metric)}{_BRACES}\s*\[", text):
        return renamed(text, metric, f"{metric}_bucket")
    return text.replace(f"{metric}{braces}", buckets.replace("{}", braces))


def with_matching(text: str, operator: str, matching: str) -> str:
    """With a matching of labels behind an operator that the text has once; empty if it has it more often."""
    there = [
        one for one in _TOKEN.finditer(text) if (one["operator"] or one["word"]) and one.group().lower() == operator
    ]
    return f"{text[: there[0].end()]} {matching}{text[there[0].end() :]}" if len(there) == 1 else ""


def with_max(text: str, metric: str) -> str:
    """With `max` for the `sum` right around a metric."""
    return re.sub(rf"\bsum(\s*(?:(?:by|without)\s*\([^()]*\))?\s*\(\s*{_name(metric)})", r"max\1", text)


def with_le(text: str) -> str:
    """With `le` among the labels of the only aggregation."""
    found = list(_AGGREGATE.finditer(text))
    if len(found) != 1:
        return ""
    one = found[0]
    if one[2] == "without":
        return re.sub(r",?\s*\ble\b", "", text) if "le" in (one[4] or "") else ""
    if one[2] == "by":
        labels = ", ".join(part for part in ("le", (one[4] or "").strip()) if part)
        return f"{text[: one.start()]}{one[1]} by ({labels}) ({text[one.end() :]}"
    return f"{text[: one.start()]}{one[1]} by (le) ({text[one.end() :]}"


def with_window(text: str, metric: str, window: str) -> str:
    """With another range behind a metric."""
    return re.sub(rf"({_name(metric)}{_BRACES}\s*)\[[^\]:]*\]", rf"\1[{window}]", text)


def with_guard(text: str) -> str:
    """With `> 0` behind every divisor that has no comparison of its own."""
    edits: list[tuple[int, int]] = []
    tokens = list(_TOKEN.finditer(text))
    for number, token in enumerate(tokens):
        if token["operator"] == "/":
            span = _operand(tokens, number + 1)
            if span is None:
                return ""
            edits.append(span)
    for start, end in reversed(edits):
        operand = text[start:end]
        if not re.fullmatch(r"\d[\w.]*|\(.*>\s*0\s*\)", operand, re.DOTALL):
            text = f"{text[:start]}({operand} > 0){text[end:]}"
    return text


def _operand(tokens: list[re.Match[str]], number: int) -> tuple[int, int] | None:
    """Begin and end of the operand that starts with a token; None if it has a matching of labels before it."""
    if number >= len(tokens) or tokens[number].group() in _WORD_OPERATORS:
        return None
    depth, last = 0, number
    for at in range(number, len(tokens)):
        token = tokens[at]
        if depth == 0 and at > number and (token["operator"] or token["close"] or token.group() in _ENDS):
            break
        depth += bool(token["open"]) - bool(token["close"])
        last = at
    return tokens[number].start(), tokens[last].end()


def with_matcher(text: str, metric: str, matcher: str) -> str:
    """With one more matcher behind a metric."""

    def added(found: re.Match[str]) -> str:
        inside = found[2].strip()[1:-1].strip().rstrip(",") if found[2] else ""
        return f"{found[1]}{{{', '.join(one for one in (inside, matcher) if one)}}}"

    return re.sub(rf"({_name(metric)})({_BRACES})", added, text)
