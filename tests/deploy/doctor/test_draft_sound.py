"""Drafts that fit give no finding: every kind, with the arguments that belong to it, and without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.doctor.draft_folders import SOUND, Folder, Pair
from specwatch_deploy.doctor.draft.draft_examination import examine_draft, read_pair
from specwatch_deploy.doctor.draft.draft_kind import DraftKind
from specwatch_deploy.doctor.finding import Severity

KINDS = {
    "llama_70b": DraftKind.EAGLE3,
    "qwen_moe": DraftKind.EAGLE3,
    "gpt_oss": DraftKind.PEAGLE,
    "small_llama": DraftKind.MODEL,
    "first_eagle": DraftKind.EAGLE,
    "dflash": DraftKind.DFLASH,
    "medusa": DraftKind.MEDUSA,
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_pair_gives_nothing(name: str, tmp_path: Path) -> None:
    made = SOUND[name]()
    draft, target = made.write(tmp_path)
    pair = read_pair(draft, target, made.arguments)
    assert pair.draft.kind is KINDS[name]
    assert examine_draft(pair) == []


@pytest.mark.parametrize("name", SOUND)
def test_without_arguments_there_is_at_most_a_note_on_the_context(name: str, tmp_path: Path) -> None:
    draft, target = SOUND[name]().write(tmp_path)
    found = examine_draft(read_pair(draft, target))
    assert [(one.code, one.severity) for one in found] == (
        [("draft-context", Severity.INFO)] if name == "qwen_moe" else []
    )


def test_layers_of_the_target_itself_are_a_draft(tmp_path: Path) -> None:
    config = {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "hidden_size": 7168,
        "num_hidden_layers": 61,
        "num_nextn_predict_layers": 1,
        "vocab_size": 129280,
        "max_position_embeddings": 163840,
    }
    path = Folder(config).write(tmp_path / "target")
    pair = read_pair(path, path, '{"method": "deepseek_mtp", "num_speculative_tokens": 1}')
    assert pair.draft.kind is DraftKind.MTP
    assert examine_draft(pair) == []


def test_a_multimodal_target_is_read_in_its_text_part(tmp_path: Path) -> None:
    pair: Pair = SOUND["qwen_moe"]()
    text = pair.target.config
    pair.target.config = {"architectures": ["Qwen3VLMoeForConditionalGeneration"], "text_config": text}
    draft, target = pair.write(tmp_path)
    assert examine_draft(read_pair(draft, target, pair.arguments)) == []
