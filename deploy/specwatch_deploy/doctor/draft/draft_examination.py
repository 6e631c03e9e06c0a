"""Draft against target against arguments: everything that is checked, in one list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from specwatch_deploy.doctor.draft import fit_origin, fit_positions, fit_shape, fit_weights
from specwatch_deploy.doctor.draft.description import describe_draft, describe_target
from specwatch_deploy.doctor.draft.draft_pair import DraftPair
from specwatch_deploy.doctor.draft.fit_adapters import adapters
from specwatch_deploy.doctor.draft.fit_sglang import sglang_arguments
from specwatch_deploy.doctor.draft.fit_tokenizer import tokenizer
from specwatch_deploy.doctor.draft.fit_vllm import vllm_arguments
from specwatch_deploy.doctor.draft.model_folder import read_folder
from specwatch_deploy.doctor.draft.spec_request import read_request
from specwatch_deploy.doctor.finding import Finding

CHECKS: Final[tuple[Callable[[DraftPair], Iterator[Finding]], ...]] = (
    adapters,
    fit_origin.architecture,
    fit_origin.name,
    fit_positions.context,
    fit_positions.rotary,
    fit_shape.hidden_size,
    fit_shape.named_sizes,
    fit_shape.target_layers,
    fit_shape.vocabulary,
    fit_weights.folders,
    fit_weights.fusing,
    fit_weights.mask,
    fit_weights.own_layers,
    fit_weights.quantised_weights,
    fit_weights.tables,
    sglang_arguments,
    tokenizer,
    vllm_arguments,
)


def read_pair(draft: Path, target: Path, arguments: str = "", target_name: str = "") -> DraftPair:
    """Read both folders and the arguments.

    Args:
        draft: folder of the draft.
        target: folder of the target.
        arguments: command line of an engine, or vLLM's speculative configuration; empty for none.
        target_name: hub name of the target; empty to take it from its folder.

    Raises:
        DraftError: a folder or the arguments cannot be used.
    """
    model = describe_target(read_folder(target))
    own = describe_draft(read_folder(draft), model)
    return DraftPair(own, model, read_request(arguments) if arguments else None, target_name)


def examine_draft(pair: DraftPair) -> list[Finding]:
    """All findings, the worst first."""
    found = {finding for check in CHECKS for finding in check(pair)}
    return sorted(found, key=lambda one: one.rank)
