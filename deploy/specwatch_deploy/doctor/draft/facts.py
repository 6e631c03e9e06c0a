"""What was compared, side by side: the table above the findings."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_deploy.doctor.draft.draft_pair import DraftPair
from specwatch_deploy.doctor.draft.fit_origin import trained_from
from specwatch_deploy.doctor.draft.fit_weights import quantisation
from specwatch_deploy.doctor.draft.tokenizer_files import TokenizerFiles, read_tokenizer

UNKNOWN = "not said"


@dataclass(frozen=True, slots=True)
class Fact:
    """One row: what it is, of the draft and of the target."""

    what: str
    draft: str
    target: str


def facts(pair: DraftPair) -> list[Fact]:
    """Everything that was compared, as both sides say it."""
    draft, target = pair.draft, pair.target
    mine, its = read_tokenizer(draft.folder.path), read_tokenizer(target.folder.path)
    aux = draft.aux_layers
    made_for = " ".join(one for one in (draft.verifier.name, draft.verifier.revision[:12]) if one)
    return [
        Fact("kind", f"{draft.kind}, {draft.form} form", target.architecture or UNKNOWN),
        Fact(
            "made for",
            made_for or trained_from(pair) or UNKNOWN,
            " ".join(one for one in (_name(pair), target.folder.revision[:12]) if one),
        ),
        Fact("hidden size", _number(draft.target_hidden or draft.shape.hidden), _number(target.shape.hidden)),
        Fact(
            "layers",
            _number(draft.shape.layers) + (f", reads {', '.join(map(str, aux))}" if aux else ""),
            _number(target.shape.layers),
        ),
        Fact("vocabulary in", _number(draft.shape.vocabulary), _number(target.shape.vocabulary)),
        Fact("vocabulary out", _number(draft.vocabulary), ""),
        Fact("positions", _number(draft.shape.positions), _number(target.shape.positions)),
        Fact("RoPE", str(draft.shape.rope), str(target.shape.rope)),
        Fact("quantisation", quantisation(draft.folder) or "none", quantisation(target.folder) or "none"),
        Fact("tokenizer.json", _tokenizer(mine), _tokenizer(its)),
        Fact("weights", _weights(pair), ""),
        Fact("tokens in a row", _number(draft.depth), _asked(pair)),
    ]


def _name(pair: DraftPair) -> str:
    return pair.target_name or pair.target.folder.hub_name or pair.target.folder.name


def _asked(pair: DraftPair) -> str:
    request = pair.request
    if request is None or request.tokens is None:
        return ""
    return f"{request.tokens} asked for, {request.method or 'no method'} ({request.engine})"


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _tokenizer(files: TokenizerFiles) -> str:
    return f"{len(files.tokens):,} tokens, SHA-256 {files.digest}..." if files.digest else "none in the folder"


def _weights(pair: DraftPair) -> str:
    weights = pair.draft.folder.weights
    if weights is None:
        return "no safetensors that can be read"
    return f"{len(weights)} tensors, {', '.join(sorted({one.dtype for one in weights.values()}))}"
