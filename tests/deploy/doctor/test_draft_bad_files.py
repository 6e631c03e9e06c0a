"""Folders and arguments that cannot be used give one clear line; half of the rest gives a finding."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.doctor.draft_folders import SOUND
from specwatch_deploy.doctor.draft.draft_examination import examine_draft, read_pair
from specwatch_deploy.doctor.draft.json_file import DraftError
from specwatch_deploy.doctor.draft.model_name import Likeness, likeness
from specwatch_deploy.doctor.draft.safetensors_header import tensors
from specwatch_deploy.doctor.draft.spec_request import read_request


def _config(path: Path, text: str) -> None:
    (path / "config.json").write_text(text)


def _no_draft(draft: Path, _: Path) -> None:
    _config(draft, '{"architectures": ["BertModel"]}')
    (draft / "model.safetensors").unlink()


REFUSED: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "no folder": (lambda d, _: (d / "config.json").rename(d.parent / "x"), "holds no config.json"),
    "half a configuration": (lambda d, _: _config(d, '{"hidden_size": 81'), "is no whole JSON"),
    "no object": (lambda d, _: _config(d, "[1]"), "holds no JSON object"),
    "a number in quotes": (lambda d, _: _config(d, '{"hidden_size": "8192"}'), "hidden_size is '8192'"),
    "no draft": (_no_draft, "BertModel is no draft"),
    "the target has none": (lambda _, t: (t / "config.json").unlink(), "holds no config.json"),
    "a draft as target": (
        lambda d, t: _config(t, (d / "config.json").read_text()),
        "holds a draft (speculators_model_type)",
    ),
    "binary": (lambda d, _: (d / "config.json").write_bytes(b"\x93NUMPY\x80"), "is no whole JSON (not UTF-8)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_folder_that_cannot_be_used_is_one_line(case: str, tmp_path: Path) -> None:
    spoil, said = REFUSED[case]
    draft, target = SOUND["llama_70b"]().write(tmp_path)
    spoil(draft, target)
    with pytest.raises(DraftError) as caught:
        read_pair(draft, target)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cache_of_a_hub_is_pointed_into(tmp_path: Path) -> None:
    cache = tmp_path / "models--meta-llama--Llama-3.3-70B-Instruct"
    draft, target = SOUND["llama_70b"]().write(tmp_path)
    (cache / "snapshots").mkdir(parents=True)
    target.rename(cache / "snapshots" / "6f6073b423013f6a7d4d9f39144961bfbfbc386b")
    with pytest.raises(DraftError, match=r"give the snapshot: .*snapshots/6f6073b"):
        read_pair(draft, cache)


def test_the_same_folder_twice_is_no_draft(tmp_path: Path) -> None:
    _, target = SOUND["llama_70b"]().write(tmp_path)
    with pytest.raises(DraftError, match="given as draft and as target"):
        read_pair(target, target)


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "LFS": (
        lambda d: (d / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0"),
        "Git LFS pointer",
    ),
    "cut": (
        lambda d: (d / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{"),
        "a header that is no whole JSON",
    ),
    "no safetensors": (lambda d: (d / "model.safetensors").write_bytes(b"PK\3\4"), "is no safetensors file"),
    "lost shard": (
        lambda d: (d / "model.safetensors.index.json").write_text('{"weight_map": {"a": "b.safetensors"}}'),
        "b.safetensors: there is no such file",
    ),
    "lost tensor": (
        lambda d: (d / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model.safetensors"}}'),
        "1 tensors that no file holds, a among them",
    ),
    "half an index": (lambda d: (d / "model.safetensors.index.json").write_text("{"), "is no whole JSON"),
    "half a tokenizer": (lambda d: (d / "tokenizer.json").write_text('{"model": {'), "is no whole JSON"),
    "other tokenizer": (lambda d: (d / "tokenizer.json").write_text("{}"), "has not the form of a tokenizer"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_a_spoilt_file_beside_the_configuration_is_a_finding(case: str, tmp_path: Path) -> None:
    spoil, said = SPOILT[case]
    draft, target = SOUND["llama_70b"]().write(tmp_path)
    spoil(draft)
    found = examine_draft(read_pair(draft, target))
    assert {one.code for one in found} == {"draft-folder-incomplete"}
    assert said in found[0].message


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "model.safetensors"
    path.write_bytes(raw)
    try:
        found = tensors(path)
    except DraftError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either is right
    else:
        assert json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")]).keys() >= found.keys()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vllm serve model", "has neither --speculative-config"),
        ("--speculative-config 'half", "cannot be read as a command line"),
        ("--speculative-config '{half'", "is no JSON object but '{half'"),
        ('{"num_speculative_tokens": "3"}', "num_speculative_tokens is '3'"),
        ("--max-model-len many --speculative-config {}", "a context length of 'many' is no number"),
        ("-tp two --speculative-config {}", "--tensor-parallel-size is 'two'"),
    ],
)
def test_arguments_that_cannot_be_used_are_one_line(text: str, said: str, tmp_path: Path) -> None:
    draft, target = SOUND["llama_70b"]().write(tmp_path)
    with pytest.raises(DraftError) as caught:
        examine_draft(read_pair(draft, target, text))
    assert said in str(caught.value)


def test_arguments_are_read_in_every_spelling() -> None:
    text = "vllm serve org/model --max_model_len=32k -tp=8 --revision abc -sc.method=eagle3 --spec-tokens 4"
    request = read_request(text)
    assert (request.model, request.revision, request.length, request.parallel) == ("org/model", "abc", 32_000, 8)
    assert (request.method, request.tokens) == ("eagle3", 4)
    sglang = read_request("--tp 2 --model-path m --speculative-algorithm=EAGLE --speculative-draft-model d")
    assert (sglang.engine, sglang.method, sglang.draft_model, sglang.parallel) == ("sglang", "EAGLE", "d", 2)


@pytest.mark.parametrize(
    ("named", "present", "like"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", Likeness.SAME),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "/data/Llama-3.1-8B-Instruct-quantized.w4a16/", Likeness.SAME),
        ("Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-GPTQ-Int4", Likeness.SAME),
        ("openai/gpt-oss-20b", "/x/models--openai--gpt-oss-20b/snapshots/0123456", Likeness.SAME),
        ("Qwen/Qwen3-30B-A3B-Instruct", "Qwen/Qwen3-30B-A3B-Instruct-2507", Likeness.OLDER),
        ("meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct", Likeness.OLDER),
        ("Qwen/Qwen3-8B", "Qwen/Qwen2.5-8B", Likeness.NEWER),
        ("support-v6", "support-v10", Likeness.OLDER),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-14B", Likeness.OTHER),
        ("Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B-Instruct", Likeness.OTHER),
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct", Likeness.OTHER),
    ],
)
def test_names_are_compared_by_what_they_mean(named: str, present: str, like: Likeness) -> None:
    assert likeness(named, present) is like
