"""What a draft and its target say of themselves, in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specwatch_deploy.doctor.draft.draft_kind import PREDICTED, DraftKind, architecture, recognise
from specwatch_deploy.doctor.draft.json_file import DraftError, Json
from specwatch_deploy.doctor.draft.model_folder import ModelFolder, text_part, whole
from specwatch_deploy.doctor.draft.rope import Rope, positions, read_rope

_AUX: Final = ("eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids", "target_layer_ids")


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a language model or a head; None where the file does not say.

    Attributes:
        hidden: hidden size.
        layers: decoder layers.
        heads: attention heads.
        vocabulary: tokens that go in.
        positions: context length in tokens.
        rope: rotary embedding.
    """

    hidden: int | None
    layers: int | None
    heads: int | None
    vocabulary: int | None
    positions: int | None
    rope: Rope


@dataclass(frozen=True, slots=True)
class Verifier:
    """The target that a draft names.

    Attributes:
        name: hub name or path; empty if none is given.
        revision: of the target; empty if none is given.
        architectures: of the target; empty if none are given.
        sizes: other numbers that the draft gives for it, by their key.
    """

    name: str = ""
    revision: str = ""
    architectures: tuple[str, ...] = ()
    sizes: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft.

    Attributes:
        folder: where it is.
        kind: how it drafts.
        form: of its files: `Speculators` or `plain`.
        config: its configuration, the layer's part laid over the whole.
        shape: sizes of its own.
        target_hidden: hidden size of the target that it takes; None if the file does not say.
        vocabulary: tokens that come out; None if the file does not say.
        aux_layers: target layers whose hidden states it takes; None if the file does not say.
        depth: tokens that it was trained to draft in a row; None if the file does not say.
        verifier: the target that it names.
    """

    folder: ModelFolder
    kind: DraftKind
    form: str
    config: Json
    shape: Shape
    target_hidden: int | None
    vocabulary: int | None
    aux_layers: tuple[int, ...] | None
    depth: int | None
    verifier: Verifier


@dataclass(frozen=True, slots=True)
class Target:
    """A target.

    Attributes:
        folder: where it is.
        config: of its language model.
        shape: its sizes.
    """

    folder: ModelFolder
    config: Json
    shape: Shape

    @property
    def architecture(self) -> str:
        """The first architecture of the whole model."""
        return architecture(self.folder.config)


def describe_target(folder: ModelFolder) -> Target:
    """A target's description.

    Raises:
        DraftError: its configuration cannot be used.
    """
    if "speculators_model_type" in folder.config:
        raise DraftError(
            f"{folder.path} holds a draft (speculators_model_type); give --target the model it drafts for"
        )
    config = text_part(folder.config)
    return Target(folder, config, _shape(config))


def describe_draft(folder: ModelFolder, target: Target) -> Draft:
    """A draft's description.

    Raises:
        DraftError: nothing tells what kind of draft it is, or its configuration cannot be used.
    """
    if folder.path.resolve() == target.folder.path.resolve():
        kind, config = _own_layers(target), target.config
    else:
        config = _layer_part(folder.config)
        found = recognise(folder, config)
        if found is None:
            names = architecture(folder.config) or "no architecture"
            raise DraftError(
                f"{folder.config_file}: {names} is no draft that specwatch knows; is this the right folder?"
            )
        kind = found
    shape = _shape(config)
    own = whole(config, "draft_vocab_size")
    return Draft(
        folder=folder,
        kind=kind,
        form="Speculators" if "speculators_config" in folder.config else "plain",
        config=config,
        shape=shape,
        target_hidden=whole(config, "target_hidden_size") or (shape.hidden if kind.reads_hidden else None),
        vocabulary=shape.vocabulary if own is None else own,
        aux_layers=_aux_layers(config),
        depth=_depth(kind, folder.config, config),
        verifier=_verifier(folder.config),
    )


def _own_layers(target: Target) -> DraftKind:
    if any(whole(target.config, key) for key in PREDICTED):
        return DraftKind.MTP
    raise DraftError(
        f"{target.folder.path} is given as draft and as target, and has no MTP layers; give the draft's own folder"
    )


def _layer_part(config: Json) -> Json:
    """Speculators keep the layer's numbers in `transformer_layer_config`, vLLM's EAGLE form in `model`."""
    for key in ("transformer_layer_config", "model"):
        inner = config.get(key)
        if isinstance(inner, dict):
            return {**inner, **{name: value for name, value in config.items() if value is not None}}
    return text_part(config)


def _shape(config: Json) -> Shape:
    return Shape(
        hidden=whole(config, "hidden_size"),
        layers=whole(config, "num_hidden_layers"),
        heads=whole(config, "num_attention_heads"),
        vocabulary=whole(config, "vocab_size"),
        positions=positions(config),
        rope=read_rope(config),
    )


def _aux_layers(config: Json) -> tuple[int, ...] | None:
    for rows in (config, config.get("eagle_config"), config.get("dflash_config")):
        for key in _AUX:
            ids = rows.get(key) if isinstance(rows, Mapping) else None
            if isinstance(ids, Sequence) and ids and all(isinstance(one, int) for one in ids):
                return tuple(ids)
    return None


def _depth(kind: DraftKind, config: Json, layer: Json) -> int | None:
    if kind is DraftKind.MEDUSA:
        return whole(config, "medusa_num_heads") or whole(config, "num_heads")
    if kind is DraftKind.MTP and "speculators_config" not in config:
        return next((found for key in PREDICTED if (found := whole(layer, key))), None)
    if kind in {DraftKind.DFLASH, DraftKind.DSPARK}:
        return whole(layer, "block_size")
    for method in _methods(config):
        found = whole(method, "speculative_tokens") or whole(method, "draft_tokens")
        if found is not None:
            return found
    return None


def _methods(config: Json) -> list[Json]:
    inner = config.get("speculators_config")
    methods = inner.get("proposal_methods") if isinstance(inner, Mapping) else None
    return [one for one in methods if isinstance(one, dict)] if isinstance(methods, list) else []


def _verifier(config: Json) -> Verifier:
    inner = config.get("speculators_config")
    rows: Any = inner.get("verifier") if isinstance(inner, Mapping) else None
    if not isinstance(rows, Mapping):
        return Verifier()
    name, _, after = str(rows.get("name_or_path") or "").partition("@")
    architectures = rows.get("architectures")
    return Verifier(
        name=name,
        revision=str(rows.get("revision") or after),
        architectures=tuple(map(str, architectures)) if isinstance(architectures, list) else (),
        sizes={key: value for key, value in rows.items() if isinstance(value, int) and not isinstance(value, bool)},
    )
