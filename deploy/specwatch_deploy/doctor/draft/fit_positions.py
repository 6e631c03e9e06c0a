"""RoPE and context length: how far into a text the draft can be trusted.

Sources: vLLM 0.32 `config/speculative.py` (`_maybe_override_draft_max_model_len`: past the draft's own length
nothing useful is drafted, and it is counted), SGLang 0.5.23 `configs/model_config.py` (`_derive_context_length`).
"""

from __future__ import annotations

from collections.abc import Iterator

from specwatch_deploy.doctor.draft.draft_pair import DraftPair, config_place
from specwatch_deploy.doctor.finding import Finding, Severity, found


def context(pair: DraftPair) -> Iterator[Finding]:
    """The draft must know as many positions as are served."""
    mine, its = pair.draft.shape.positions, pair.target.shape.positions
    request = pair.request
    served = (request.length if request is not None else None) or its
    if mine is None or served is None or mine >= served:
        return
    place = config_place(pair.draft.folder, "max_position_embeddings")
    evidence = f"max_position_embeddings {mine} against a context of {served} that is served"
    if request is not None and request.engine == "sglang":
        yield found(
            "draft-context",
            place,
            f"the draft knows {mine:,} positions and {served:,} are served: SGLang stops at its start",
            evidence=evidence,
            mended=f"--context-length {mine}, or SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 for a shorter reach",
            severity=Severity.ERROR,
        )
        return
    yield found(
        "draft-context",
        place,
        f"the draft knows {mine:,} positions and {served:,} can be served: in longer texts its tokens are not "
        "accepted, which looks like drift",
        evidence=evidence,
        severity=None if request is not None else Severity.INFO,
    )


def rotary(pair: DraftPair) -> Iterator[Finding]:
    """A head has its own RoPE, as it was trained; one that differs from the target's is worth a look."""
    draft, target = pair.draft, pair.target
    if not draft.kind.reads_hidden or draft.shape.rope == target.shape.rope or pair.in_one_folder:
        return
    mine, its = draft.shape.rope, target.shape.rope
    key = "rope_theta" if mine.theta != its.theta else "rope_scaling"
    yield found(
        "draft-rope",
        config_place(draft.folder, key),
        "the head's RoPE is not its target's: right only if it was trained so",
        evidence=mine.differences(its),
    )
