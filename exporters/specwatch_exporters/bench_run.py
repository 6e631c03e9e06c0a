"""One benchmark run: what its client printed, and what that says per token.

A benchmark's client measures the gaps between the chunks of a stream. With speculation a chunk carries several
tokens, and then its inter-token latency (ITL) is a time per chunk, while its time per output token (TPOT) and its
throughput count tokens. vLLM's client counts its peak throughput over the same chunks (0.32,
`benchmarks/serve.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from specwatch_exporters.acceptance import Tally, ratio
from specwatch_exporters.notices import Notice
from specwatch_exporters.token_time import inter_token, tokens_per_chunk

TOLERANCE = 0.001  # of the throughput
COLD_START = 10.0  # p99 over median
PER_CHUNK = 1.1  # tokens a chunk: above, a chunk holds several; below PER_TOKEN, the figures do not fit together
PER_TOKEN = 0.9
PLAIN = 0.05  # share of the output tokens
APART = 0.05  # of two counts of the same tokens
_HALF_DIGIT = 0.005


@dataclass(frozen=True, slots=True)
class Times:
    """One latency as the client gives it, milliseconds; None where it does not."""

    mean: float | None = None
    p50: float | None = None
    p99: float | None = None

    def to_json(self) -> dict[str, float | None]:
        """The JSON form."""
        return {"mean": self.mean, "p50": self.p50, "p99": self.p99}


@dataclass(frozen=True, slots=True)
class Implied:
    """Tokens that a chunk carries on average, and the two figures that say so.

    Attributes:
        gap_ms: the ITL that was used.
        tokens: the quotient as it comes out; slightly under 1 where each chunk is a token.
        basis: how it was formed, in words.
    """

    gap_ms: float
    tokens: float
    basis: str


@dataclass(frozen=True, slots=True)
class BenchRun:
    """Figures of one run as stated, and properties for what follows from them.

    Attributes:
        name: what the source calls the run, else its number.
        concurrency: limit on requests in flight, or None.
        duration_s: wall time of the run.
        output_tokens: of the whole run, as the client counts them.
        retokenized: output tokens by the client's own tokenizer, where it gives both (SGLang).
        output_tok_s: output throughput as stated, tokens per second.
        peak: highest output throughput as stated, in the unit that ITL counts.
        tally: draft counts over the run, where the client reads them from the engine.
        rate: acceptance rate as stated, 0 to 1; used where there are no counts.
        length: mean acceptance length as stated, bonus included; likewise.
    """

    name: str
    concurrency: int | None = None
    requests: int | None = None
    failed: int | None = None
    duration_s: float | None = None
    output_tokens: int | None = None
    retokenized: int | None = None
    output_tok_s: float | None = None
    peak: float | None = None
    ttft: Times = Times()
    tpot: Times = Times()
    itl: Times = Times()
    tally: Tally = field(default_factory=Tally)
    rate: float | None = None
    length: float | None = None

    @property
    def acceptance_rate(self) -> float | None:
        """From counts where they exist, else as stated; None if it is over 1, or nothing was drafted."""
        if self.tally.draft_tokens == 0:
            return None
        rate = self.rate if self.tally.acceptance_rate is None else self.tally.acceptance_rate
        return rate if rate is None or rate <= 1 else None

    @property
    def mean_acceptance_length(self) -> float | None:
        """From counts where they exist, else as stated; None if nothing was drafted, whatever is stated then."""
        own = self.tally.mean_acceptance_length
        return self.length if own is None and self.tally.drafts != 0 else own

    @property
    def counted_tok_s(self) -> float | None:
        """Output tokens over the duration."""
        return ratio(self.output_tokens, self.duration_s)

    @property
    def throughput_agrees(self) -> bool | None:
        """Whether the stated throughput is tokens / duration, to 0.1 % and the rounding of two printed decimals."""
        counted, stated = self.counted_tok_s, self.output_tok_s
        if not counted or not stated or not self.duration_s:
            return None
        rounding = _HALF_DIGIT / self.duration_s + _HALF_DIGIT / stated
        return abs(counted / stated - 1) <= TOLERANCE + rounding

    @property
    def tpot_tokens(self) -> float | None:
        """Tokens that a TPOT holds at least at concurrency 1, where one request after the other has the engine.

        Over 1.1 it is the time of a step of several tokens. At a higher concurrency the mean over requests of very
        different lengths may say so as well, and proves nothing.
        """
        tpot, rate = self.tpot.p50 if self.tpot.mean is None else self.tpot.mean, self.output_tok_s
        if tpot is None or rate is None or self.concurrency != 1:
            return None
        firsts = (self.requests or 0) / self.output_tokens if self.output_tokens else 0.0
        return rate * (1.0 - min(firsts, 1.0)) * tpot / 1e3

    @property
    def _token_times(self) -> Times:
        """TPOT where it can be a token's."""
        return Times() if (self.tpot_tokens or 0.0) > PER_CHUNK else self.tpot

    @property
    def implied(self) -> Implied | None:
        """Tokens per chunk: mean ITL over mean TPOT.

        At concurrency 1 the gaps hardly vary, so that there medians serve too, and tokens per second where TPOT is
        not given. At any other concurrency the quotient of two medians says nothing.
        """
        tpot = self._token_times
        if self.itl.mean is not None and tpot.mean is not None:
            return _implied(self.itl.mean, tpot.mean, "mean ITL / mean TPOT")
        if self.concurrency != 1:
            return None
        gap, which = (self.itl.p50, "median") if self.itl.mean is None else (self.itl.mean, "mean")
        per_token = tpot.p50 if tpot.mean is None else tpot.mean
        if per_token is not None:
            return _implied(gap, per_token, f"{which} ITL / {'median' if tpot.mean is None else 'mean'} TPOT")
        return _implied(gap, ratio(1000.0, self.output_tok_s), f"{which} ITL x tokens/s")

    @property
    def itl_counts(self) -> str | None:
        """`chunk` if a gap of the run's ITL holds several tokens, `token` if one; None if it cannot be told."""
        implied = self.implied
        if implied is None or implied.tokens < PER_TOKEN:
            return None
        return "chunk" if implied.tokens > PER_CHUNK else "token"

    @property
    def itl_corrected_ms(self) -> float | None:
        """ITL per token: shared among the tokens of a chunk, or as given where each gap is one token's."""
        implied, counts = self.implied, self.itl_counts
        if implied is None or counts is None:
            return None
        return inter_token(implied.gap_ms, implied.tokens) if counts == "chunk" else implied.gap_ms

    @property
    def peak_counts(self) -> str | None:
        """What the stated peak counts: the unit of ITL, and chunks in any case if it is below the mean."""
        if self.peak is None:
            return None
        mean = self.output_tok_s or self.counted_tok_s
        return "chunk" if mean is not None and self.peak < mean else self.itl_counts

    @property
    def cold_start(self) -> bool | None:
        """Whether p99 TTFT is over 10 times the median at concurrency 1, where no request waits for another."""
        if self.concurrency != 1 or self.ttft.p50 is None or self.ttft.p99 is None:
            return None
        return self.ttft.p99 > COLD_START * self.ttft.p50

    def notices(self) -> Iterable[Notice]:
        """What a reader of these figures must know."""
        implied, corrected = self.implied, self.itl_corrected_ms
        if implied is not None and corrected is not None and self.itl_counts == "chunk":
            yield Notice(
                "itl_per_chunk",
                f"{self.name}: ITL is the time between chunks of {implied.tokens:.2f} tokens ({implied.basis}), "
                f"not between tokens: {implied.gap_ms:g} ms a chunk are {corrected:.2f} ms a token.",
            )
        held = self.tpot_tokens
        if held is not None and held > PER_CHUNK:
            yield Notice(
                "tpot_per_step",
                f"{self.name}: {self.output_tok_s:.2f} tokens/s at concurrency 1 leave no time for its TPOT: "
                f"it is the time of a step of at least {held:.2f} tokens, not of a token.",
            )
        mean = self.output_tok_s or self.counted_tok_s
        if self.peak is not None and mean is not None and self.peak < mean:
            yield Notice(
                "peak_per_chunk",
                f"{self.name}: the peak output throughput, {self.peak:g}, is below the mean, {mean:.2f} tokens/s: "
                "it counts chunks per second, and the peak in tokens is unknown.",
            )
        yield from self._token_notices()
        if self.throughput_agrees is False:
            yield Notice(
                "throughput_mismatch",
                f"{self.name}: {self.output_tok_s:.2f} tokens/s are stated, and {self.output_tokens} tokens in "
                f"{self.duration_s:g} s are {self.counted_tok_s:.2f}: one of them is of another span or count.",
            )
        if self.cold_start:
            yield Notice(
                "cold_start",
                f"{self.name}: p99 TTFT {self.ttft.p99:g} ms is over {COLD_START:g} times the median "
                f"{self.ttft.p50:g} ms at concurrency 1: a cold start; warm up and leave it out.",
            )

    @property
    def plain_tokens(self) -> float | None:
        """Output tokens of decode steps that had no draft: what draft steps and prefills do not account for."""
        drafts, accepted = self.tally.drafts, self.tally.accepted_tokens
        if self.output_tokens is None or drafts is None or accepted is None:
            return None
        return max(0.0, self.output_tokens - accepted - drafts - (self.requests or 0))

    def _token_notices(self) -> Iterable[Notice]:
        """What the counts of tokens tell of each other."""
        tokens, drafts, plain = self.output_tokens, self.tally.drafts, self.plain_tokens
        if drafts == 0 and tokens:
            yield Notice(
                "not_drafting",
                f"{self.name}: {tokens:,} tokens and not one draft: acceptance is unknown, and the run "
                "is one without speculation, whatever was configured.",
            )
        elif drafts and tokens and plain and plain > PLAIN * tokens:
            yield Notice(
                "steps_without_draft",
                f"{self.name}: {plain:,.0f} of {tokens:,} tokens come from steps without a draft. Over all steps "
                f"it is {tokens / (drafts + plain):.2f} tokens a step; {self.mean_acceptance_length:.2f} is of "
                "those with one.",
            )
        if self.retokenized and tokens and abs(self.retokenized / tokens - 1.0) > APART:
            yield Notice(
                "token_counts_differ",
                f"{self.name}: it counts {tokens} output tokens, and its tokenizer {self.retokenized} in the text "
                "that came: without usage from the engine it takes the length that was asked for, for throughput "
                "and times per token too.",
            )

    def to_json(self) -> dict[str, Any]:
        """The JSON form: every documented key is there, unknown numbers are null."""
        implied, peak_counts = self.implied, self.peak_counts
        return {
            "name": self.name,
            "concurrency": self.concurrency,
            "requests": self.requests,
            "failed": self.failed,
            "duration_s": self.duration_s,
            "output_tokens": self.output_tokens,
            "output_tok_s": self.output_tok_s,
            "counted_tok_s": self.counted_tok_s,
            "throughput_agrees": self.throughput_agrees,
            "peak_tok_s": self.peak if peak_counts == "token" else None,
            "peak_chunks_s": self.peak if peak_counts == "chunk" else None,
            "ttft_ms": self.ttft.to_json(),
            "tpot_ms": self.tpot.to_json(),
            "itl_ms": self.itl.to_json(),
            "itl_counts": self.itl_counts,
            "tokens_per_chunk": None if implied is None else implied.tokens,
            "tokens_per_chunk_from": None if implied is None else implied.basis,
            "itl_corrected_ms": self.itl_corrected_ms,
            "cold_start": self.cold_start,
            "drafts": self.tally.drafts,
            "draft_tokens": self.tally.draft_tokens,
            "accepted_tokens": self.tally.accepted_tokens,
            "acceptance_rate": self.acceptance_rate,
            "mean_acceptance_length": self.mean_acceptance_length,
            "per_position": list(self.tally.per_position),
        }


def _implied(gap_ms: float | None, per_token_ms: float | None, basis: str) -> Implied | None:
    tokens = tokens_per_chunk(gap_ms, per_token_ms)
    return None if gap_ms is None or tokens is None else Implied(gap_ms, tokens, basis)
