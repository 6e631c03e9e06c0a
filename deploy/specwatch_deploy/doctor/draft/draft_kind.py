"""Which kind of draft a folder holds, from its configuration and the names of its tensors.

Sources: vLLM 0.32 (`transformers_utils/configs/{eagle,medusa}.py`, `.../speculators/algos.py`,
`models/llama_eagle3.py`), SpecForge's `configs/`, Speculators' `models/*/config.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from specwatch_deploy.doctor.draft.model_folder import ModelFolder, whole
from specwatch_deploy.doctor.draft.safetensors_header import Tensor


class DraftKind(StrEnum):
    """Kinds, by how they draft."""

    EAGLE = "EAGLE head"
    EAGLE3 = "EAGLE-3 head"
    PEAGLE = "P-EAGLE head"
    DFLASH = "DFlash head"
    DSPARK = "DSpark head"
    MEDUSA = "Medusa heads"
    MTP = "MTP layers"
    MODEL = "draft model"

    @property
    def reads_hidden(self) -> bool:
        """Whether it works on the target's hidden states, and so was trained for one target."""
        return self is not DraftKind.MODEL

    @property
    def parallel(self) -> bool:
        """Whether all tokens are drafted in one pass."""
        return self in {DraftKind.PEAGLE, DraftKind.DFLASH, DraftKind.DSPARK}


_ALGORITHMS: Final = {
    "eagle": DraftKind.EAGLE,
    "eagle3": DraftKind.EAGLE3,
    "peagle": DraftKind.PEAGLE,
    "dflash": DraftKind.DFLASH,
    "dflash2": DraftKind.DFLASH,
    "dspark": DraftKind.DSPARK,
    "mtp": DraftKind.MTP,
    "fast_mtp": DraftKind.MTP,
    "medusa": DraftKind.MEDUSA,
    "independent": DraftKind.MODEL,
}
_IN_ARCHITECTURE: Final = (
    ("peagle", DraftKind.PEAGLE),
    ("eagle3", DraftKind.EAGLE3),
    ("eagle", DraftKind.EAGLE),
    ("dflash", DraftKind.DFLASH),
    ("dspark", DraftKind.DSPARK),
    ("medusa", DraftKind.MEDUSA),
    ("nextn", DraftKind.MTP),
    ("mtp", DraftKind.MTP),
)
PREDICTED: Final = ("n_predict", "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
"""Where models say how many tokens their own MTP layers predict."""


def recognise(folder: ModelFolder, config: Mapping[str, Any]) -> DraftKind | None:
    """The kind; None if nothing tells.

    Args:
        folder: of the draft.
        config: its configuration, the layer's part laid over the whole.
    """
    algorithm = str(_algorithm(folder.config)).lower()
    if algorithm in _ALGORITHMS:
        return _ALGORITHMS[algorithm]
    words = f"{architecture(folder.config)} {folder.config.get('model_type', '')}".lower()
    weights = folder.weights or {}
    for part, kind in _IN_ARCHITECTURE:
        if part in words:
            return DraftKind.PEAGLE if kind is DraftKind.EAGLE3 and _drafts_in_parallel(config, weights) else kind
    if "medusa_num_heads" in config:
        return DraftKind.MEDUSA
    return _plain(config, weights)


def architecture(config: Mapping[str, Any]) -> str:
    """The first architecture; empty if there is none."""
    names = config.get("architectures")
    return str(names[0]) if isinstance(names, list) and names else ""


def _algorithm(config: Mapping[str, Any]) -> object:
    inner = config.get("speculators_config")
    nested = inner.get("algorithm") if isinstance(inner, Mapping) else None
    return config.get("speculators_model_type") or nested or ""


def _drafts_in_parallel(config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> bool:
    return "mask_hidden" in weights or bool(config.get("parallel_drafting")) or config.get("pard_token") is not None


def _plain(config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> DraftKind | None:
    """EAGLE heads carry the name of the architecture that their layer is copied from, such as LlamaForCausalLM."""
    fusing = weights.get("fc.weight")
    if fusing is not None and len(fusing.shape) == 2:
        return DraftKind.EAGLE if fusing.shape[1] == 2 * fusing.shape[0] else DraftKind.EAGLE3
    if config.get("draft_vocab_size") is not None:
        return DraftKind.EAGLE3
    if not architecture(config).endswith(("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")):
        return None
    return DraftKind.EAGLE if whole(config, "num_hidden_layers") == 1 and not weights else DraftKind.MODEL
