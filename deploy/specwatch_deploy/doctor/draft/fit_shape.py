"""Hidden size, layers and vocabulary: what the configurations say of them.

Sources: vLLM 0.32 `model_executor/models/{llama_eagle3,interfaces}.py`, `v1/worker/gpu_model_runner.py`,
`config/speculative.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specwatch_deploy.doctor.draft.draft_kind import DraftKind
from specwatch_deploy.doctor.draft.draft_pair import DraftPair, config_place
from specwatch_deploy.doctor.draft.model_folder import whole
from specwatch_deploy.doctor.finding import Finding, found

_AS_NAMED: Final = {"hidden_size": "hidden", "num_hidden_layers": "layers", "vocab_size": "vocabulary"}


def hidden_size(pair: DraftPair) -> Iterator[Finding]:
    """The hidden states that a head takes must be as wide as the target's."""
    draft, target = pair.draft, pair.target
    takes, gives = draft.target_hidden, target.shape.hidden
    if not draft.kind.reads_hidden or takes is None or gives is None or takes == gives:
        return
    key = "target_hidden_size" if whole(draft.config, "target_hidden_size") else "hidden_size"
    yield found(
        "draft-hidden-size",
        config_place(draft.folder, key),
        f"the {draft.kind} takes hidden states of {takes:,} numbers, and the target's have {gives:,}",
        evidence=f"{key} {takes} against hidden_size {gives} of {target.folder.name}",
    )


def target_layers(pair: DraftPair) -> Iterator[Finding]:
    """The target layers that a head reads must exist, and be those of a target of this depth."""
    draft, layers = pair.draft, pair.target.shape.layers
    if layers is None:
        return
    made_for = whole(draft.config, "num_target_layers")
    if made_for is not None and made_for != layers:
        yield found(
            "draft-layers",
            config_place(draft.folder, "num_target_layers"),
            f"the {draft.kind} was made for a target of {made_for} layers, and this one has {layers}",
        )
        return
    ids = draft.aux_layers
    if not ids:
        return
    key = next((one for one in ("eagle_aux_hidden_state_layer_ids", "target_layer_ids") if _has(pair, one)), "")
    place = config_place(draft.folder, key or "aux_hidden_state_layer_ids")
    if max(ids) > layers or min(ids) < 0:
        yield found(
            "draft-layers",
            place,
            f"the {draft.kind} reads layer {max(ids) if max(ids) > layers else min(ids)} of {layers}",
            evidence=f"layers {list(ids)}",
        )
    elif (depth := _default_of(ids)) not in {None, layers}:
        yield found(
            "draft-layers",
            place,
            f"the {draft.kind} reads the layers that are usual for a target of {depth} layers, and this one has "
            f"{layers}",
            evidence=f"layers {list(ids)}; of {layers} they would be {[2, layers // 2, layers - 3]}",
        )


def vocabulary(pair: DraftPair) -> Iterator[Finding]:
    """Tokens that go into the draft are the target's; those that come out are some of them."""
    draft, target = pair.draft, pair.target
    mine, whole_vocabulary = draft.shape.vocabulary, target.shape.vocabulary
    place = config_place(draft.folder, "vocab_size")
    if mine is not None and whole_vocabulary is not None and mine != whole_vocabulary and not _mapped(pair):
        yield found(
            "draft-vocabulary",
            place,
            f"the draft's vocabulary has {mine:,} tokens and the target's {whole_vocabulary:,}",
            evidence=f"vocab_size {mine} against {whole_vocabulary}",
        )
    out = draft.vocabulary
    limit = whole_vocabulary or mine
    if out is not None and limit is not None and out > limit and out != mine:
        yield found(
            "draft-vocabulary",
            config_place(draft.folder, "draft_vocab_size"),
            f"the draft proposes from {out:,} tokens, and the target knows {limit:,}",
        )


def named_sizes(pair: DraftPair) -> Iterator[Finding]:
    """Older Speculators files repeat the target's sizes: they must be this target's."""
    shape = pair.target.shape
    for key, field in _AS_NAMED.items():
        said = (pair.draft.verifier.sizes or {}).get(key)
        here = getattr(shape, field)
        if said is not None and here is not None and said != here:
            yield found(
                "draft-other-target",
                config_place(pair.draft.folder, "verifier"),
                f"the draft was made for a target with {key} {said:,}, and this one has {here:,}",
            )


def _has(pair: DraftPair, key: str) -> bool:
    return f'"{key}"' in pair.draft.folder.config_file.read_text(encoding="utf-8", errors="replace")


def _default_of(ids: tuple[int, ...]) -> int | None:
    """Depth of the target whose default layers these are: (2, n // 2, n - 3) in vLLM and Speculators."""
    if len(ids) < 3 or ids[0] != 2:
        return None
    depth = ids[2] + 3
    return depth if ids[1] == depth // 2 else None


def _mapped(pair: DraftPair) -> bool:
    """Whether vLLM is asked to draft over what two vocabularies have in common."""
    request = pair.request
    wanted = request is not None and bool(request.config.get("use_heterogeneous_vocab"))
    return wanted and pair.draft.kind is DraftKind.MODEL
