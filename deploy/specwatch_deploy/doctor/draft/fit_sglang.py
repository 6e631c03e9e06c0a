"""What SGLang is asked for against the draft: algorithm, steps, tree, quantisation.

Source: SGLang 0.5.23 `arg_groups/speculative_hook.py` and `speculative/spec_info.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specwatch_deploy.doctor.draft.draft_kind import DraftKind
from specwatch_deploy.doctor.draft.draft_pair import DraftPair
from specwatch_deploy.doctor.draft.fit_weights import quantisation
from specwatch_deploy.doctor.draft.spec_request import SpecRequest
from specwatch_deploy.doctor.finding import Finding, Place, found

ALGORITHMS: Final = {
    DraftKind.EAGLE: ("EAGLE", "NEXTN"),
    DraftKind.EAGLE3: ("EAGLE3",),
    DraftKind.DFLASH: ("DFLASH",),
    DraftKind.DSPARK: ("DSPARK",),
    DraftKind.MTP: ("EAGLE", "NEXTN", "FROZEN_KV_MTP"),
    DraftKind.MODEL: ("STANDALONE",),
}
"""The first is the one to write. SGLang has no algorithm for P-EAGLE and Medusa."""

PLACE: Final = Place("--args", 0, "--speculative-algorithm")
_TREE: Final = ("num-steps", "eagle-topk", "num-draft-tokens")
_CHAINED: Final = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})


def sglang_arguments(pair: DraftPair) -> Iterator[Finding]:
    """Everything about SGLang's arguments; nothing if they are another engine's."""
    request = pair.request
    if request is None or request.engine != "sglang":
        return
    yield from _algorithm(pair, request)
    if request.method.upper() in _CHAINED and "adaptive" not in request.config:
        yield from _tree(request)
    yield from _depth(pair, request)
    yield from _quantised(pair, request)


def _algorithm(pair: DraftPair, request: SpecRequest) -> Iterator[Finding]:
    kind, asked = pair.draft.kind, request.method.upper()
    known = ALGORITHMS.get(kind)
    if known is None:
        yield found(
            "draft-arguments-method", PLACE, f"SGLang 0.5.23 has no algorithm for a draft of the kind {kind}"
        )
    elif asked not in known:
        said = f"the algorithm is {asked}" if asked else "no --speculative-algorithm is given"
        yield found(
            "draft-arguments-method",
            PLACE,
            f"{said}, and the draft is of the kind {kind}",
            mended=f"--speculative-algorithm {known[0]}",
        )


def _tree(request: SpecRequest) -> Iterator[Finding]:
    steps, width, tokens = (request.number(key) for key in _TREE)
    given = [one for one in (steps, width, tokens) if one is not None]
    if given and len(given) < 3:
        yield found(
            "draft-arguments-invalid",
            Place("--args", 0, "--speculative-num-steps"),
            "of --speculative-num-steps, --speculative-eagle-topk and --speculative-num-draft-tokens some are "
            "given and some not; SGLang wants all three, or none of them",
            mended=f"--speculative-num-steps {steps or 3} --speculative-eagle-topk {width or 1} "
            f"--speculative-num-draft-tokens {tokens or (steps or 3) + 1}",
        )
    elif steps is not None and width == 1 and tokens != steps + 1:
        yield found(
            "draft-arguments-depth",
            Place("--args", 0, "--speculative-num-draft-tokens"),
            f"with a top-k of 1 SGLang drafts --speculative-num-steps + 1 = {steps + 1} tokens and not {tokens}",
            mended=f"--speculative-num-draft-tokens {steps + 1}",
        )


def _depth(pair: DraftPair, request: SpecRequest) -> Iterator[Finding]:
    depth, kind = pair.draft.depth, pair.draft.kind
    if depth is None:
        return
    steps, tokens = request.number("num-steps"), request.number("num-draft-tokens")
    if kind in {DraftKind.DFLASH, DraftKind.DSPARK}:
        width = depth + (kind is DraftKind.DSPARK)
        if tokens is not None and tokens != width:
            yield found(
                "draft-arguments-depth",
                Place("--args", 0, "--speculative-num-draft-tokens"),
                f"{tokens} tokens are asked for, and the draft's block of {depth} makes {width}",
                mended=f"--speculative-num-draft-tokens {width}",
            )
    elif steps is not None and steps > depth and kind is not DraftKind.MTP:
        yield found(
            "draft-arguments-depth",
            Place("--args", 0, "--speculative-num-steps"),
            f"{steps} steps are asked for, and the draft was trained for {depth}",
            mended=f"--speculative-num-steps {depth}",
        )


def _quantised(pair: DraftPair, request: SpecRequest) -> Iterator[Finding]:
    asked = str(request.config.get("draft-model-quantization") or "")
    said = quantisation(pair.draft.folder)
    if asked and said and asked.replace("_", "-") != said.replace("_", "-"):
        yield found(
            "draft-quantisation",
            Place("--args", 0, "--speculative-draft-model-quantization"),
            f"the draft is to be loaded as {asked}, and its configuration says {said}",
        )
