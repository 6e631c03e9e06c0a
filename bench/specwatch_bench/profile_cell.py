"""What one cell says about step times, and whether it can be believed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell_file import read_cell
from specwatch_bench.count_words import counted
from specwatch_bench.profile_steps import Step, mean_gap, steps_of
from specwatch_bench.request_record import RequestRecord
from specwatch_exporters.inspection import Content, InspectionError, inspect
from specwatch_exporters.report import ModelReport

OFF: Final = "off"
STALLED: Final = 10.0
STALLED_S: Final = 0.5
"""A step of over ten median steps and half a second is none of the load's: a kernel was compiled, or the like."""
MOST_STALLED: Final = 0.2
_MOST_APART: Final = 0.05
LEAST_QUIET: Final = 5


@dataclass(frozen=True, slots=True)
class Drafted:
    """The engine's own counts of the measured time.

    Attributes:
        length: tokens per request and step, steps without a draft included.
        share: draft tokens over K times requests in steps.
        drafts: draft steps.
    """

    length: float
    share: float
    drafts: float


@dataclass(frozen=True, slots=True)
class CellSteps:
    """One cell.

    Attributes:
        name: of the file, without its key.
        head: its first line.
        method: `off`, or the drafter's.
        depth: K; 0 for `off`.
        batch: requests in flight.
        steps: without those that stalled.
        stalled_s: seconds of those that were left out.
        seconds: measured time.
        context: mean tokens of context of a request in a step.
        drafted: None without speculation.
        gpu: its name, or empty.
        refused: why it is left out, or empty.
    """

    name: str
    head: Mapping[str, Any]
    method: str
    depth: int
    batch: int
    steps: tuple[Step, ...]
    stalled_s: float
    seconds: float
    context: float
    drafted: Drafted | None
    gpu: str
    refused: str

    @property
    def stalled_share(self) -> float:
        """Share of the time of all steps that the stalled ones took."""
        whole = self.stalled_s + sum(step.seconds for step in self.steps)
        return self.stalled_s / whole if whole else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Tokens that arrived over the measured time without stalls."""
        return sum(step.tokens for step in self.steps) / sum(step.seconds for step in self.steps)

    @property
    def prompt_per_output(self) -> float:
        """Prompt tokens per output token."""
        return sum(step.prompt_tokens for step in self.steps) / sum(step.tokens for step in self.steps)


def read_steps(path: Path) -> CellSteps | None:
    """Read a cell; None for one with a Poisson load, whose batch wanders.

    Raises:
        BenchError: the file is torn or no cell.
    """
    try:
        lines = list(read_cell(path))
        records = [RequestRecord.from_json(line) for line in lines if line["kind"] == "request"]
        return judged_steps(path, lines, records)
    except (ValueError, KeyError, TypeError) as error:
        why = str(error).removeprefix(f"{path}: ")
        raise BenchError(f"{path.name}: not a whole cell of this format ({why})") from error


def judged_steps(
    path: Path, lines: Sequence[Mapping[str, Any]], records: Sequence[RequestRecord]
) -> CellSteps | None:
    """The same from a cell's lines and the requests among them.

    Raises:
        KeyError: a member is missing.
    """
    head, end = lines[0], lines[-1]
    if head["level"].get("concurrency") is None:
        return None
    method, depth = method_of(head, end)
    seconds = float(end.get("seconds") or 0.0)
    steps = steps_of(records, seconds)
    typical = statistics.median(step.seconds for step in steps) if steps else 0.0
    limit = max(STALLED_S, STALLED * typical)
    kept = tuple(step for step in steps if step.seconds <= limit)
    stalled = sum(step.seconds for step in steps) - sum(step.seconds for step in kept)
    model = _model(lines)
    return CellSteps(
        name="--".join(path.name.split("--")[:3]),
        head=head,
        method=method,
        depth=depth,
        batch=int(head["level"]["concurrency"]),
        steps=kept,
        stalled_s=stalled,
        seconds=seconds,
        context=_context(records),
        drafted=_drafted(model, depth),
        gpu=gpu_name(lines),
        refused=_refused(str(end.get("outcome")), kept, stalled, mean_gap(records, seconds), model),
    )


def method_of(head: Mapping[str, Any], end: Mapping[str, Any]) -> tuple[str, int]:
    """A drafter's name and K; one-pass drafting with an EAGLE-3 head is P-EAGLE.

    An engine that is not told by vLLM's `--speculative-config` (SGLang, the replay engine, one at a URL) speculates
    when its arguments say so or it counted drafts; its drafter is what they say, else its name in the matrix.

    Args:
        head: a cell's first line.
        end: its last line.
    """
    engine = head["engine"]
    speculative = engine.get("speculative")
    if speculative:
        method = "peagle" if speculative.get("parallel_drafting") else str(speculative.get("method"))
        return method, int(speculative["num_speculative_tokens"])
    said = options_of(engine.get("arguments", ()))
    algorithm = said.get("--speculative-algorithm")
    if algorithm is None and not end.get("drafts"):
        return OFF, 0
    name = algorithm or said.get("--method") or str(engine["name"])
    steps, verified = (
        int(said.get(option, "").strip() or 0)
        for option in ("--speculative-num-steps", "--speculative-num-draft-tokens")
    )
    return name.lower(), max(steps or len(end.get("per_position") or ()) or verified - 1, 1)


def options_of(arguments: Sequence[object]) -> dict[str, str]:
    """Values of options, given as `--name value` or `--name=value`."""
    words = [str(one) for one in arguments]
    found = dict(pairwise(words))
    return found | {name: value for name, mark, value in (word.partition("=") for word in words) if mark}


def _context(records: Sequence[RequestRecord]) -> float:
    """Mean over output tokens of prompt plus half the answer."""
    known = [(record.prompt_tokens, record.tokens) for record in records if record.prompt_tokens and record.tokens]
    weight = sum(tokens or 0 for _, tokens in known)
    total = sum((tokens or 0) * ((prompt or 0) + (tokens or 0) / 2.0) for prompt, tokens in known)
    return total / weight if weight else 0.0


def _model(lines: Sequence[Mapping[str, Any]]) -> ModelReport | None:
    pages = {line["when"]: line["text"] for line in lines if line["kind"] == "page"}
    before, after = pages.get("before"), pages.get("after")
    if not before or not after:
        return None
    try:
        found = inspect(Content("after", after.encode()), Content("before", before.encode()))
    except InspectionError:
        return None
    return found.models[0] if len(found.models) == 1 else None


def _drafted(model: ModelReport | None, depth: int) -> Drafted | None:
    if model is None or not depth or not model.tally.drafts:
        return None
    tally = model.tally
    drafts, kept = tally.drafts or 0.0, tally.accepted_tokens or 0.0
    proposed = depth * drafts if tally.draft_tokens is None else tally.draft_tokens
    gaps = model.latencies.get("inter_token_step_seconds")
    steps = max(drafts, gaps.count if gaps is not None else 0.0)
    return Drafted(1.0 + kept / steps, min(1.0, proposed / (depth * steps)), drafts)


def gpu_name(lines: Sequence[Mapping[str, Any]]) -> str:
    """Name of the first GPU in a cell's lines, or empty."""
    for line in lines:
        if line["kind"] == "gpu" and line["rows"]:
            return str(line["rows"][0][line["fields"].index("name")])
    return ""


def _refused(
    outcome: str, steps: Sequence[Step], stalled: float, gap: float | None, model: ModelReport | None
) -> str:
    """Why step times of this cell are not to be believed, or nothing."""
    if outcome != "ok":
        return f"its outcome is {outcome}"
    share = stalled / (stalled + sum(step.seconds for step in steps)) if steps else 0.0
    if share > MOST_STALLED:
        return f"{share:.0%} of the time went into steps of over {STALLED_S} s, {STALLED:.0f} times the median"
    own = None if model is None else model.latencies.get("inter_token_step_seconds")
    if own is not None and own.mean and gap and abs(gap / own.mean - 1.0) > _MOST_APART:
        return f"the client saw {gap * 1e3:.1f} ms between chunks and the engine {own.mean * 1e3:.1f} ms"
    quiet = sum(step.quiet for step in steps)
    if quiet < LEAST_QUIET:
        return f"{counted(quiet, 'step')} without a prompt beside them ({LEAST_QUIET} are needed)"
    return ""
