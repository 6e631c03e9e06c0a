"""The page about drafts names every code, and its example is what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.doctor.draft_folders import SOUND
from specwatch_cli.doctor import app
from specwatch_deploy.doctor.codes import CODES

PAGE = (Path(__file__).parents[3] / "docs" / "doctor-draft.md").read_text(encoding="utf-8")


def test_every_code_of_drafts_stands_on_the_page() -> None:
    own = {name for name, code in CODES.items() if code.area == "draft"}
    assert set(re.findall(r"`(draft-[a-z-]+)`", PAGE)) == own


def test_the_example_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    pair = SOUND["llama_70b"]()
    pair.draft.config["speculators_config"]["verifier"]["name_or_path"] = "meta-llama/Llama-3.1-70B-Instruct"
    pair.draft.config["transformer_layer_config"]["max_position_embeddings"] = 4096
    draft, target = pair.write(tmp_path)
    asked = '{"model": "/models/draft", "num_speculative_tokens": 8}'
    printed = CliRunner().invoke(app, ["draft", str(draft), "--target", str(target), "--args", asked]).output
    shown = PAGE.split("<!-- begin: draft-example -->\n```\n")[1].split("```\n<!-- end")[0]
    assert [line.rstrip() for line in printed.splitlines()][: shown.count("\n")] == [
        line.rstrip() for line in shown.splitlines()
    ]
