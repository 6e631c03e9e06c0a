"""What the draft's tensors say against its own configuration and the target: names and shapes, never values.

Sources: vLLM 0.32 `models/llama_eagle3.py` (fc, d2t, lm_head, mask_hidden), Speculators' `models/eagle3/core.py`
(t2d).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from specwatch_deploy.doctor.draft.draft_kind import DraftKind
from specwatch_deploy.doctor.draft.draft_pair import DraftPair, config_place
from specwatch_deploy.doctor.draft.model_folder import ModelFolder
from specwatch_deploy.doctor.draft.safetensors_header import Tensor
from specwatch_deploy.doctor.finding import Finding, Place, found

_LAYER: Final = re.compile(r"^(?:language_model\.)?(?:model\.)?(?:language_model\.)?(?:midlayer|layers\.(\d+))\.")
_FLOATS: Final = frozenset({"BF16", "F16", "F32", "F64"})
_SCALES: Final = re.compile(r"\.(weight_scale(_inv)?|weight_packed|qweight|scales|weight_scale_2)$")


def folders(pair: DraftPair) -> Iterator[Finding]:
    """What is missing or cut short in either folder."""
    for folder in (pair.draft.folder, *(() if pair.in_one_folder else (pair.target.folder,))):
        for fault in folder.faults:
            yield found("draft-folder-incomplete", Place(str(folder.path)), fault)


def fusing(pair: DraftPair) -> Iterator[Finding]:
    """The matrix that takes the target's hidden states in has one column per number of them."""
    draft = pair.draft
    matrix = _matrix(draft.folder, "fc.weight")
    hidden = pair.target.shape.hidden
    if matrix is None or hidden is None or draft.kind not in {DraftKind.EAGLE3, DraftKind.PEAGLE}:
        return
    count = len(draft.aux_layers) if draft.aux_layers else 3
    width = matrix.shape[1]
    if width != count * hidden and draft.target_hidden == hidden:
        yield found(
            "draft-hidden-size",
            Place(str(draft.folder.path), 0, "fc.weight"),
            f"the weights take {width:,} numbers, and {count} hidden states of this target are {count * hidden:,}",
            evidence=f"fc.weight has the shape {list(matrix.shape)}",
        )


def own_layers(pair: DraftPair) -> Iterator[Finding]:
    """A draft's configuration must name as many layers as its weights have; engines build by the configuration."""
    draft = pair.draft
    if draft.kind not in {DraftKind.EAGLE, DraftKind.EAGLE3, DraftKind.PEAGLE, DraftKind.MODEL}:
        return
    there = _layer_count(draft.folder)
    said = draft.shape.layers
    more_is_fine = draft.kind is DraftKind.MODEL  # MTP layers are counted on from the others
    if there and said is not None and there != said and not (more_is_fine and there > said):
        yield found(
            "draft-layers",
            config_place(draft.folder, "num_hidden_layers"),
            f"the draft's configuration says {said} layers, and its weights have {there}",
        )


def tables(pair: DraftPair) -> Iterator[Finding]:
    """The tables between the two vocabularies, and the output matrix, must have their sizes."""
    draft = pair.draft
    weights = draft.folder.weights
    out, target = draft.vocabulary, pair.target.shape.vocabulary
    if weights is None or draft.kind not in {
        DraftKind.EAGLE3,
        DraftKind.PEAGLE,
        DraftKind.DFLASH,
        DraftKind.DSPARK,
    }:
        return
    rows = (
        ("d2t", out, "draft_vocab_size"),
        ("lm_head.weight", out, "draft_vocab_size"),
        ("t2d", target, "the target"),
    )
    for name, size, of in rows:
        tensor = weights.get(name)
        if tensor is not None and size is not None and tensor.rows != size:
            yield found(
                "draft-vocabulary",
                Place(str(draft.folder.path), 0, name),
                f"the tensor {name} has {tensor.rows:,} rows, and {of} says {size:,}",
            )
    if out is not None and target is not None and out < target and "d2t" not in weights:
        yield found(
            "draft-vocabulary",
            config_place(draft.folder, "draft_vocab_size"),
            f"the draft proposes {out:,} of {target:,} tokens, and its weights have no table d2t that says which",
        )


def mask(pair: DraftPair) -> Iterator[Finding]:
    """Heads that draft in parallel need the state that stands in for the tokens to come."""
    draft = pair.draft
    weights = draft.folder.weights
    if draft.kind is not DraftKind.PEAGLE or weights is None or any(one.endswith("mask_hidden") for one in weights):
        return
    yield found(
        "draft-folder-incomplete",
        Place(str(draft.folder.path), 0, "mask_hidden"),
        "the weights have no mask_hidden, without which vLLM does not draft in parallel",
    )


def quantised_weights(pair: DraftPair) -> Iterator[Finding]:
    """The draft's weights must be stored as its configuration says."""
    folder = pair.draft.folder
    weights = folder.weights
    if not weights or pair.in_one_folder:
        return
    said = quantisation(folder)
    scaled = sorted(name for name in weights if _SCALES.search(name))
    plain = all(one.dtype in _FLOATS for name, one in weights.items() if name.endswith(".weight"))
    if said and plain and not scaled:
        yield found(
            "draft-quantisation",
            config_place(folder, "quantization_config"),
            f"the draft's configuration says {said}, and no tensor of it is quantised",
            evidence=f"types: {', '.join(sorted({one.dtype for one in weights.values()}))}",
        )
    if not said and (scaled or _packed(weights)):
        yield found(
            "draft-quantisation",
            Place(str(folder.path), 0, (scaled or [_packed(weights)])[0]),
            "the draft's weights are quantised, and its configuration does not say so: they are loaded as plain "
            "numbers, or not at all",
        )


def quantisation(folder: ModelFolder) -> str:
    """Method of a folder's `quantization_config`; empty for none."""
    rows = folder.config.get("quantization_config") or folder.config.get("compression_config")
    return str(rows.get("quant_method") or rows.get("format") or "") if isinstance(rows, dict) else ""


def _packed(weights: Mapping[str, Tensor]) -> str:
    """The first matrix that is stored in no plain type; empty if there is none."""
    return next(
        (name for name, one in weights.items() if name.endswith(".weight") and one.dtype not in _FLOATS), ""
    )


def _matrix(folder: ModelFolder, name: str) -> Tensor | None:
    tensor = (folder.weights or {}).get(name)
    return tensor if tensor is not None and len(tensor.shape) == 2 else None


def _layer_count(folder: ModelFolder) -> int:
    matches = [match for name in folder.weights or {} if (match := _LAYER.search(name))]
    return len({match[1] or "0" for match in matches})
