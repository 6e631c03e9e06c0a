"""SGLang's per-request fields (`meta_info.spec_*`), old and new names.

Source: sglang wheels, `tokenizer_manager.py`, `_calculate_spec_decoding_metrics`:

- 0.5.4, 0.5.5: a rate and a length (completion tokens / verify calls), no counts;
- 0.5.6 to 0.5.10: `spec_accept_token_num`, `spec_draft_token_num`. The released wheels count strictly there; builds
  that count the bonus token and the root slot are told apart by the completion tokens and the histogram;
- 0.5.11 to 0.5.20: `spec_accepted_drafts`, `spec_proposed_drafts`; 0.5.12 and newer: `spec_num_correct_drafts`,
  `spec_num_proposed_drafts`.

TokenSpeed speaks the same form with `spec_accepted_tokens` and `spec_draft_tokens` (lightseekorg/tokenspeed#1443).

Completion tokens = accepted + verify calls, plus at most one from the prefill, less what was cut behind the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bodies.fields import count, counts, first_count, items, mapping, number
from specwatch_exporters.bodies.speculation import Claims, Speculation, check, combine
from specwatch_exporters.notices import Notice
from specwatch_exporters.sglang_rate import interpret

DEFINITION = "sglang-request"
LENGTH_DEFINITION = "sglang-completion-per-verify"
MAX_DEPTH = 64
_CORRECT = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accepted_tokens")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_tokens")
_OLD_ACCEPTED, _OLD_PROPOSED = "spec_accept_token_num", "spec_draft_token_num"
_RATE, _LENGTH, _CALLS = "spec_accept_rate", "spec_accept_length", "spec_verify_ct"
_MARKERS = frozenset({_RATE, _LENGTH, _CALLS, *_CORRECT, _OLD_ACCEPTED})


def find(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The fields of a `meta_info` object, bare or inside a response; one set per choice where there are several."""
    extension = mapping(body.get("sglext")).get("spec_tokens_details")
    choices = [mapping(choice.get("meta_info")) for choice in items(body.get("choices"))]
    groups = ([body], [mapping(body.get("meta_info"))], [mapping(extension)], items(extension), choices)
    present = ([spot for spot in group if not _MARKERS.isdisjoint(spot)] for group in groups)
    return next((group for group in present if group), [])


def read(records: Sequence[Mapping[str, Any]], completion: int | None) -> Speculation:
    """Read what `find` returned; several records are added.

    Args:
        records: the fields, one set per choice.
        completion: completion tokens of the response, if known from elsewhere.
    """
    own = completion if len(records) == 1 else None
    return combine([_read(fields, own) for fields in records])


def _read(fields: Mapping[str, Any], completion: int | None) -> Speculation:
    calls = count(fields.get(_CALLS))
    generated = _generated(fields, calls, completion)
    if _is_zero(fields):
        return _zero(calls, generated)
    correct = first_count(fields, *_CORRECT)
    histogram = counts(fields.get("spec_correct_drafts_histogram")) or counts(fields.get("spec_accept_histogram"))
    if correct is not None:
        return _counted(Claims(calls, first_count(fields, *_PROPOSED), correct, histogram=histogram))
    if count(fields.get(_OLD_ACCEPTED)) is not None:
        return _old(fields, calls, generated, histogram)
    return _rate_only(number(fields.get(_RATE)), number(fields.get(_LENGTH)), calls, generated)


def _generated(fields: Mapping[str, Any], calls: int | None, completion: int | None) -> int | None:
    """Completion tokens: as told, or from the length that was made of them."""
    own = count(fields.get("completion_tokens"))
    if own is not None or completion is not None:
        return own if own is not None else completion
    length = number(fields.get(_LENGTH))
    return round(length * calls) if length and calls else None


def _counted(claims: Claims) -> Speculation:
    depth = None
    if claims.drafts and claims.draft_tokens and claims.draft_tokens % claims.drafts == 0:
        depth = claims.draft_tokens // claims.drafts
    tally, notices = check(replace(claims, depth=depth))
    return Speculation(tally, DEFINITION, claims.histogram, speculative_tokens=depth, notices=notices)


def _is_zero(fields: Mapping[str, Any]) -> bool:
    """True for a record that was never filled: with one verify call the length is at least about 1."""
    values = (fields.get(key) for key in (_RATE, _LENGTH, *_CORRECT, _OLD_ACCEPTED))
    return number(fields.get(_LENGTH)) == 0 and not any(values)


def _zero(calls: int | None, generated: int | None) -> Speculation:
    if calls == 0 and generated is not None and generated <= 1:
        return Speculation(Tally(0.0, 0.0, 0.0), DEFINITION)
    seen = "an unknown number of" if calls is None else str(calls)
    text = f"SGLang reports acceptance 0 and length 0 over {seen} verify calls: the record was not filled; unknown."
    return Speculation(Tally(), DEFINITION, notices=(Notice("client_zero_conflict", text),))


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to read numbers: accepted tokens and K over the same verify calls."""

    accepted: int
    depth: int

    def fits(self, calls: int, generated: int | None, histogram: tuple[int, ...]) -> bool:
        """True if neither the completion tokens nor the histogram speak against it."""
        if not 0 <= self.accepted <= calls * self.depth:
            return False
        if histogram:
            return sum(index * steps for index, steps in enumerate(histogram)) == self.accepted
        return generated is None or -self.depth <= generated - calls - self.accepted <= 2


def _old(
    fields: Mapping[str, Any], calls: int | None, generated: int | None, histogram: tuple[int, ...]
) -> Speculation:
    """Names of 0.5.6 to 0.5.10: strict, or with the bonus token and the root slot in every verify call."""
    accepted, proposed = count(fields.get(_OLD_ACCEPTED)) or 0, count(fields.get(_OLD_PROPOSED))
    if not calls or not proposed or proposed % calls:
        return _counted(Claims(calls, proposed, accepted, histogram=histogram))
    width = proposed // calls
    strict, rooted = _Reading(accepted, width), _Reading(accepted - calls, width - 1)
    fitting = [way for way in (strict, rooted) if way.depth and way.fits(calls, generated, histogram)]
    if len(fitting) != 1:
        text = f"spec_accept_token_num {accepted} of {proposed} may or may not count the bonus token; rate unknown."
        notice = Notice("rate_formula_unknown", text)
        return Speculation(Tally(drafts=float(calls)), DEFINITION, histogram, notices=(notice,))
    reading = fitting[0]
    own = _counted(Claims(calls, calls * reading.depth, reading.accepted, histogram=histogram))
    if reading is strict:
        return own
    text = (
        f"spec_accept_token_num {accepted} of {proposed} counts the bonus token and the root slot of each verify "
        f"call; accepted / draft tokens is {reading.accepted} / {calls * reading.depth}."
    )
    return replace(own, notices=(*own.notices, Notice("rate_converted", text)))


def _rate_only(rate: float | None, length: float | None, calls: int | None, generated: int | None) -> Speculation:
    """Without counts: solve for them if calls and completion tokens leave one answer."""
    if rate is not None and rate > 1.0:
        return _refused(rate, length, calls)
    solution = _solve(rate, calls, generated)
    if solution is not None and calls:
        return _counted(Claims(calls, calls * solution.depth, solution.accepted))
    drafts = None if calls is None else float(calls)
    if length is None and calls and generated:
        length = generated / calls
    if rate is None:
        return Speculation(Tally(drafts=drafts), LENGTH_DEFINITION, length=length)
    reading = interpret(rate, length, rounding=0.0)
    return Speculation(
        Tally(drafts=drafts),
        LENGTH_DEFINITION,
        speculative_tokens=reading.speculative_tokens,
        length=reading.length,
        rate=reading.rate,
        notices=reading.notices,
    )


def _refused(rate: float, length: float | None, calls: int | None) -> Speculation:
    reading = interpret(rate, length, rounding=0.0)
    drafts = None if calls is None else float(calls)
    return Speculation(Tally(drafts=drafts), LENGTH_DEFINITION, length=reading.length, notices=reading.notices)


def _solve(rate: float | None, calls: int | None, generated: int | None) -> _Reading | None:
    """Accepted tokens and K with rate = accepted / (calls * K), or with bonus and root slot in both."""
    if rate is None or not calls or generated is None or calls > MAX_DEPTH * 10**6:
        return None
    found: set[_Reading] = set()
    for depth in range(1, MAX_DEPTH + 1):
        for accepted in (rate * calls * depth, rate * calls * (depth + 1) - calls):
            reading = _Reading(round(accepted), depth)
            is_whole = abs(accepted - reading.accepted) < 1e-6 * max(1.0, accepted)
            if is_whole and reading.fits(calls, generated, ()):
                found.add(reading)
    return found.pop() if len(found) == 1 else None
