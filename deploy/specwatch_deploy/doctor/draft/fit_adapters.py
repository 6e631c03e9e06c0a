"""LoRA adapters on the target: they change its tokens, and the draft stays as it is.

Sources: vLLM and SGLang apply adapters to the target alone; SGLang took them with n-gram only until August 2026.
"""

from __future__ import annotations

from collections.abc import Iterator

from specwatch_deploy.doctor.draft.draft_pair import DraftPair
from specwatch_deploy.doctor.finding import Finding, Place, found


def adapters(pair: DraftPair) -> Iterator[Finding]:
    """One draft for a target and all of its adapters."""
    request = pair.request
    if request is not None and request.adapters:
        yield found(
            "draft-adapters",
            Place("--args", 0, request.adapters),
            f"{request.adapters} puts adapters on the target, and one draft, trained without them, drafts for all: "
            "what an adapter changed is accepted less",
            evidence="SGLang before August 2026 refuses adapters with this algorithm"
            if request.engine == "sglang" and request.method.upper() != "NGRAM"
            else "",
        )
