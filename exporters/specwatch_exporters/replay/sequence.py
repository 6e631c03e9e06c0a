"""One request inside the engine: what was asked, how far it is, what happened to its drafts."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from enum import StrEnum

from specwatch_exporters.replay.chain import Rates, accepted, shifted
from specwatch_exporters.replay.traffic_classes import TrafficClass


class FinishReason(StrEnum):
    """`finished_reason` label of `vllm:request_success_total` (0.32), in the page's order."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"
    ERROR = "error"
    REPETITION = "repetition"


@dataclass(frozen=True, slots=True)
class Submission:
    """What a client asks of the engine.

    Attributes:
        request_id: unique while the request lives.
        traffic_class: decides acceptance and natural length.
        prompt_tokens: at least 1.
        max_tokens: most output tokens, at least 1.
        ignore_eos: never stop before `max_tokens`.
    """

    request_id: str
    traffic_class: TrafficClass
    prompt_tokens: int
    max_tokens: int
    ignore_eos: bool = True


@dataclass(slots=True)
class DraftRecord:
    """Draft steps of one request, in order; one list entry per verification that had a draft."""

    drafted: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)

    def note(self, drafted: int, kept: int) -> None:
        """Add one draft step."""
        self.drafted.append(drafted)
        self.accepted.append(kept)


@dataclass(slots=True)
class Timeline:
    """Moments of one request in engine seconds; None until they happen."""

    queued: float
    scheduled: float | None = None
    first_token: float | None = None
    last_token: float | None = None


@dataclass(slots=True, eq=False)
class Sequence:
    """A live request; equal only to itself.

    Attributes:
        number: order of submission, which also fixes the request's random stream.
        stop_at: output token that is the end-of-sequence token, counted from 1; None when it never comes.
        computed: tokens whose KV is held.
        generated: output tokens so far.
        prefilling: True until the prompt (after a preemption: everything so far) is computed.
        blocks: KV blocks held.
    """

    submission: Submission
    number: int
    rng: random.Random
    stop_at: int | None
    shift: float
    times: Timeline
    computed: int = 0
    generated: int = 0
    prefilling: bool = True
    blocks: int = 0
    preemptions: int = 0
    finish: FinishReason | None = None
    record: DraftRecord = field(default_factory=DraftRecord)
    _rates: tuple[Rates, Rates] = ((), ())

    @property
    def request_id(self) -> str:
        """The client's id for it."""
        return self.submission.request_id

    @property
    def tokens(self) -> int:
        """Prompt and output tokens so far."""
        return self.submission.prompt_tokens + self.generated

    def verify(self, class_rates: Rates, drafted: int) -> int:
        """Draw how many of `drafted` tokens the target keeps; `class_rates` are its class's rates now."""
        if self._rates[0] is not class_rates:
            self._rates = (class_rates, shifted(class_rates, self.shift))
        return accepted(self.rng, self._rates[1], drafted)

    def append(self, count: int, max_model_len: int) -> int:
        """Take generated tokens one by one until a stop, as vLLM's stop check does (0.32).

        The end token counts as output. Tokens after a stop are cut; what was accepted stays counted.

        Returns:
            Tokens kept, 1 to `count`.
        """
        for kept in range(1, count + 1):
            self.generated += 1
            if self.generated == self.stop_at:
                self.finish = FinishReason.STOP
            elif self.generated >= self.submission.max_tokens or self.tokens >= max_model_len:
                self.finish = FinishReason.LENGTH
            if self.finish is not None:
                return kept
        return count


def admitted(submission: Submission, number: int, seed: str, now: float) -> Sequence:
    """Make a sequence with its own random stream, so that its draws do not depend on other requests."""
    rng = random.Random(f"{seed}/{number}")
    spread = submission.traffic_class.spread
    shift = rng.gauss(0.0, spread) if spread > 0 else 0.0
    natural = _geometric(rng, submission.traffic_class.mean_output_tokens)
    return Sequence(
        submission=submission,
        number=number,
        rng=rng,
        stop_at=None if submission.ignore_eos else natural,
        shift=shift,
        times=Timeline(queued=now),
    )


def _geometric(rng: random.Random, mean: float) -> int:
    """Number of tokens up to and with the first success of probability 1 / mean."""
    if mean <= 1:
        return 1
    return 1 + int(math.log(1.0 - rng.random()) / math.log(1.0 - 1.0 / mean))
