"""What vLLM is asked for against the draft: method, tokens, lengths, tensor parallel size, quantisation.

Source: vLLM 0.32 `config/speculative.py`: `SpeculativeConfig.__post_init__`, `_verify_args`,
`_maybe_override_draft_max_model_len`, `_verify_and_get_draft_tp`; configurations refuse keys that they do not know.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any, Final

from specwatch_deploy.doctor.draft.description import Draft
from specwatch_deploy.doctor.draft.draft_kind import DraftKind
from specwatch_deploy.doctor.draft.draft_pair import DraftPair
from specwatch_deploy.doctor.draft.fit_weights import quantisation
from specwatch_deploy.doctor.draft.spec_request import SpecRequest
from specwatch_deploy.doctor.finding import Finding, Place, Severity, found

METHODS: Final = {
    DraftKind.EAGLE: "eagle",
    DraftKind.EAGLE3: "eagle3",
    DraftKind.PEAGLE: "eagle3",
    DraftKind.DFLASH: "dflash",
    DraftKind.DSPARK: "dspark",
    DraftKind.MEDUSA: "medusa",
    DraftKind.MTP: "mtp",
    DraftKind.MODEL: "draft_model",
}
PLACE: Final = Place("--args", 0, "--speculative-config")
_IN_NAME: Final = (("eagle-", "eagle"), ("eagle3", "eagle3"), ("dflash", "dflash"), ("dspark", "dspark"))
_WITHOUT_DRAFT: Final = frozenset({"ngram", "[ngram]", "ngram_gpu", "suffix", "custom_class"})
_KEYS: Final = (
    "attention_backend",
    "code_revision",
    "disable_eagle_block_drop",
    "disable_padded_drafter_batch",
    "draft_load_config",
    "draft_sample_method",
    "draft_tensor_parallel_size",
    "dspark_draft_topk",
    "enable_adaptive_verification",
    "enforce_eager",
    "index_share_for_mtp_iteration",
    "kv_cache_dtype",
    "max_model_len",
    "method",
    "model",
    "moe_backend",
    "num_speculative_tokens",
    "num_speculative_tokens_per_batch_size",
    "parallel_drafting",
    "prompt_lookup_max",
    "prompt_lookup_min",
    "quantization",
    "rejection_sample_method",
    "revision",
    "synthetic_acceptance_length",
    "synthetic_acceptance_rates",
    "use_heterogeneous_vocab",
    "use_local_argmax_reduction",
)


def vllm_arguments(pair: DraftPair) -> Iterator[Finding]:
    """Everything about vLLM's arguments; nothing if they are another engine's."""
    request = pair.request
    if request is None or request.engine != "vllm":
        return
    yield from _keys(dict(request.config))
    if _method(pair.draft, request) in _WITHOUT_DRAFT:
        yield found(
            "draft-arguments-method",
            PLACE,
            f"the method {request.method} uses no draft, and this one would not be loaded",
            mended=_with(request, method=METHODS[pair.draft.kind]),
        )
        return
    yield from _right_method(pair.draft, request)
    yield from _tokens(pair.draft, request)
    yield from _parallel_drafting(pair.draft, request)
    yield from _lengths(pair, request)
    yield from _tensor_parallel(pair.draft, request)
    yield from _quantised(pair.draft, request)


def _method(draft: Draft, request: SpecRequest) -> str:
    """The method that vLLM 0.32 takes: as given, else by the draft's name, its type, and at last draft_model."""
    given, name = request.method, request.draft_model.lower()
    if given:
        return "mtp" if given.endswith("_mtp") else given
    by_name = next((method for part, method in _IN_NAME if part in name), None)
    if by_name is None and draft.kind in {DraftKind.MEDUSA, DraftKind.MTP, DraftKind.DSPARK}:
        return METHODS[draft.kind]
    return by_name or "draft_model"


def _right_method(draft: Draft, request: SpecRequest) -> Iterator[Finding]:
    taken, wanted = _method(draft, request), METHODS[draft.kind]
    if taken == wanted:
        return
    how = f"the method is {taken}" if request.method else f"no method is given and vLLM takes {taken}"
    yield found(
        "draft-arguments-method",
        PLACE,
        f"{how}, and the draft is of the kind {draft.kind}",
        mended=_with(request, method=wanted),
    )


def _keys(config: dict[str, Any]) -> Iterator[Finding]:
    if "tensor_parallel_size" in config:
        right = {("draft_tensor_parallel_size" if k == "tensor_parallel_size" else k): v for k, v in config.items()}
        yield found(
            "draft-arguments-invalid",
            PLACE,
            "vLLM refuses tensor_parallel_size here; the draft's is draft_tensor_parallel_size",
            mended=_flag(right),
        )
    for key in config:
        near = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.85)
        if key not in _KEYS and key != "tensor_parallel_size" and near:
            right = {(near[0] if k == key else k): v for k, v in config.items()}
            yield found(
                "draft-arguments-invalid",
                PLACE,
                f"vLLM knows no {key} and stops at its start; {near[0]} is probably meant",
                mended=_flag(right),
            )


def _tokens(draft: Draft, request: SpecRequest) -> Iterator[Finding]:
    """Tokens in a row against what the draft was trained for."""
    asked, depth, kind = request.tokens, draft.depth, draft.kind
    if asked is None:
        if kind is not DraftKind.MTP and not (kind is DraftKind.DSPARK and depth):
            yield found(
                "draft-arguments-invalid",
                PLACE,
                "num_speculative_tokens is not given, and vLLM cannot tell it from this draft",
                mended=_with(request, num_speculative_tokens=depth or 3),
            )
        return
    if asked < 1:
        yield found("draft-arguments-invalid", PLACE, f"num_speculative_tokens is {asked}; vLLM takes 1 and more")
    elif depth is not None and asked > depth:
        yield _too_deep(draft, request, asked, depth)


def _too_deep(draft: Draft, request: SpecRequest, asked: int, depth: int) -> Finding:
    kind = draft.kind
    refused = kind is DraftKind.MTP and asked % depth != 0
    sure = refused or kind is DraftKind.MEDUSA
    why = {
        DraftKind.MTP: f"has layers for {depth}" + (": vLLM wants a multiple of them" if refused else ""),
        DraftKind.MEDUSA: f"has {depth} heads",
        DraftKind.DFLASH: f"drafts blocks of {depth}",
        DraftKind.DSPARK: f"drafts blocks of {depth}",
    }.get(kind, f"was trained for {depth}")
    return found(
        "draft-arguments-depth",
        PLACE,
        f"{asked} tokens in a row are asked for, and the draft {why}",
        mended=_with(request, num_speculative_tokens=depth),
        severity=Severity.ERROR if sure else None,
    )


def _parallel_drafting(draft: Draft, request: SpecRequest) -> Iterator[Finding]:
    asked, kind = bool(request.config.get("parallel_drafting")), draft.kind
    if kind is DraftKind.PEAGLE and not asked:
        yield found(
            "draft-arguments-method",
            PLACE,
            "a P-EAGLE head needs parallel_drafting; without it, it drafts one by one, which it never learnt",
            mended=_with(request, parallel_drafting=True),
        )
    elif asked and kind in {DraftKind.EAGLE, DraftKind.EAGLE3}:
        yield found(
            "draft-arguments-method",
            PLACE,
            f"parallel_drafting is asked for, and this {kind} has no mask_hidden: vLLM stops at its start",
            mended=_with(request, parallel_drafting=None),
        )


def _lengths(pair: DraftPair, request: SpecRequest) -> Iterator[Finding]:
    asked = request.number("max_model_len")
    served = request.length or pair.target.shape.positions
    for limit, whose in ((pair.draft.shape.positions, "the draft"), (served, "the target")):
        if asked is not None and limit is not None and asked > limit:
            yield found(
                "draft-arguments-length",
                PLACE,
                f"max_model_len {asked:,} is more than {whose} has ({limit:,}): vLLM stops at its start",
                mended=_with(request, max_model_len=limit),
            )
            return


def _tensor_parallel(draft: Draft, request: SpecRequest) -> Iterator[Finding]:
    size, whole = request.number("draft_tensor_parallel_size"), request.parallel
    if size is not None and size not in {1, whole}:
        yield found(
            "draft-arguments-parallel",
            PLACE,
            f"draft_tensor_parallel_size is {size}: vLLM takes 1 or the target's {whole}",
            mended=_with(request, draft_tensor_parallel_size=whole),
        )
        return
    heads, taken = draft.shape.heads, size or whole
    if heads and heads % taken and draft.kind is not DraftKind.MEDUSA:
        yield found(
            "draft-arguments-parallel",
            PLACE,
            f"the draft's {heads} attention heads cannot be divided among {taken} GPUs",
            mended=_with(request, draft_tensor_parallel_size=1),
        )


def _quantised(draft: Draft, request: SpecRequest) -> Iterator[Finding]:
    asked, said = str(request.config.get("quantization") or ""), quantisation(draft.folder)
    if asked and said and asked.replace("_", "-") != said.replace("_", "-"):
        yield found(
            "draft-quantisation",
            PLACE,
            f"the draft is to be loaded as {asked}, and its configuration says {said}: vLLM stops at its start",
            mended=_with(request, quantization=None),
        )


def _with(request: SpecRequest, **changes: Any) -> str:
    merged = {**request.config, **changes}
    return _flag({key: value for key, value in merged.items() if value is not None})


def _flag(config: dict[str, Any]) -> str:
    return f"--speculative-config '{json.dumps(config)}'"
