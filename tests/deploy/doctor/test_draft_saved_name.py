"""`_name_or_path` of plain heads and of targets, which transformers writes: a hint, if nothing better is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.doctor.draft_folders import SOUND
from specwatch_deploy.doctor.draft.draft_examination import examine_draft, read_pair

INSTRUCT = "meta-llama/Llama-3.1-8B-Instruct"


def told(folder: Path, draft: str, target: str, *, target_name: str = "") -> list[str]:
    """Codes of what is said of an EAGLE head whose configuration, and its target's, carry these names."""
    pair = SOUND["first_eagle"]()
    pair.draft.config["_name_or_path"] = draft
    pair.target.config["_name_or_path"] = target
    read = read_pair(pair.draft.write(folder / "a"), pair.target.write(folder / "b"), "", target_name)
    return [one.code for one in examine_draft(read)]


@pytest.mark.parametrize(
    ("draft", "target", "said"),
    [
        (INSTRUCT, "meta-llama/Llama-3.3-8B-Instruct", ["draft-behind-target"]),
        (INSTRUCT, "meta-llama/Llama-3.1-70B-Instruct", ["draft-other-target"]),
        (INSTRUCT, INSTRUCT, []),
        (INSTRUCT, "RedHatAI/Llama-3.1-8B-Instruct-FP8-dynamic", []),
        (INSTRUCT, "/models/a", []),
        ("/workspace/head", INSTRUCT, []),
        ("example/Llama-3.1-8B-Instruct-eagle3", INSTRUCT, []),
        ("yuhuili/EAGLE-LLaMA3.0-Instruct-8B", INSTRUCT, []),
    ],
)
def test_names_that_were_saved_are_compared(tmp_path: Path, draft: str, target: str, said: list[str]) -> None:
    assert told(tmp_path, draft, target) == said


def test_the_name_that_is_given_counts_more(tmp_path: Path) -> None:
    assert told(tmp_path / "x", INSTRUCT, "meta-llama/Llama-3.3-8B-Instruct", target_name=INSTRUCT) == []
    assert told(tmp_path / "y", INSTRUCT, INSTRUCT, target_name="meta-llama/Llama-3.3-8B-Instruct") == [
        "draft-behind-target"
    ]
