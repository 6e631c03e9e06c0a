"""One field changed in a pair that fits: it is found, by its code, and nothing else is said."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.doctor.draft_folders import SOUND, TEMPLATE, Folder, Pair
from specwatch_deploy.doctor.codes import CODES
from specwatch_deploy.doctor.draft.draft_examination import examine_draft, read_pair
from specwatch_deploy.doctor.finding import Severity

Change = Callable[[Pair], object]


def _layer(pair: Pair, **new: object) -> None:
    pair.draft.config["transformer_layer_config"].update(new)


def _verifier(pair: Pair, **new: object) -> None:
    pair.draft.config["speculators_config"]["verifier"].update(new)


def _said(pair: Pair, old: str, new: str) -> None:
    assert old in pair.arguments
    pair.arguments = pair.arguments.replace(old, new)


def _tensor(pair: Pair, name: str, dtype: str, *shape: int) -> None:
    pair.draft.tensors[name] = (dtype, shape)


def _quantised_twice(pair: Pair) -> None:
    pair.draft.config["quantization_config"] = {"quant_method": "awq"}
    pair.draft.tensors.clear()
    _said(pair, '"method"', '"quantization": "fp8", "method"')


def _fine_tuned(pair: Pair) -> None:
    _verifier(pair, name_or_path="/models/support-v6")
    pair.target_name = "support-v7"
    _said(pair, "example/Llama-3.3-70B-Instruct-FP8-dynamic", "/models/support-v7")


def _other_commit(pair: Pair) -> None:
    _verifier(pair, revision="aaaaaaa")
    pair.target_name = "models--meta-llama--Llama-3.3-70B-Instruct/snapshots/bbbbbbb"


CASES: dict[str, tuple[str, Change, str]] = {
    "hidden size": ("llama_70b", lambda p: p.draft.config.update(target_hidden_size=4096), "draft-hidden-size"),
    "hidden size of a plain head": (
        "first_eagle",
        lambda p: p.target.config.update(hidden_size=5120),
        "draft-hidden-size",
    ),
    "columns of fc": ("llama_70b", lambda p: _tensor(p, "fc.weight", "BF16", 8192, 4 * 8192), "draft-hidden-size"),
    "layer that is not there": (
        "llama_70b",
        lambda p: p.draft.config.update(eagle_aux_hidden_state_layer_ids=[2, 40, 81]),
        "draft-layers",
    ),
    "layers of another depth": (
        "llama_70b",
        lambda p: p.draft.config.update(eagle_aux_hidden_state_layer_ids=[2, 16, 29]),
        "draft-layers",
    ),
    "target layers of DFlash": ("dflash", lambda p: p.draft.config.update(num_target_layers=28), "draft-layers"),
    "layers copied from the target": (
        "qwen_moe",
        lambda p: p.draft.config.update(num_hidden_layers=48),
        "draft-layers",
    ),
    "vocabulary": ("qwen_moe", lambda p: p.draft.config.update(vocab_size=151643), "draft-vocabulary"),
    "vocabulary of a draft model": (
        "small_llama",
        lambda p: p.draft.config.update(vocab_size=128000),
        "draft-vocabulary",
    ),
    "draft vocabulary": ("medusa", lambda p: p.draft.config.update(vocab_size=32001), "draft-vocabulary"),
    "draft vocabulary beyond the target's": (
        "dflash",
        lambda p: p.draft.config.update(draft_vocab_size=152000),
        "draft-vocabulary",
    ),
    "no d2t": ("llama_70b", lambda p: p.draft.tensors.pop("d2t"), "draft-vocabulary"),
    "length of d2t": ("llama_70b", lambda p: _tensor(p, "d2t", "I64", 64000), "draft-vocabulary"),
    "length of t2d": ("qwen_moe", lambda p: _tensor(p, "t2d", "BOOL", 151643), "draft-vocabulary"),
    "rows of lm_head": (
        "qwen_moe",
        lambda p: _tensor(p, "lm_head.weight", "BF16", 16000, 2048),
        "draft-vocabulary",
    ),
    "other token": ("llama_70b", lambda p: p.draft.tokens.__setitem__(4, "<|im_end|>"), "draft-tokenizer"),
    "token lacking": ("llama_70b", lambda p: p.draft.tokens.pop(), "draft-tokenizer"),
    "token beyond": ("small_llama", lambda p: p.draft.tokens.append("<tool>"), "draft-tokenizer"),
    "eos token": ("llama_70b", lambda p: p.draft.special.update({"eos_token": "</s>"}), "draft-special-tokens"),
    "chat template": (
        "llama_70b",
        lambda p: p.draft.special.update(chat_template="<|im_start|>{{ content }}<|im_end|>"),
        "draft-chat-template",
    ),
    "chat template, same markers": (
        "llama_70b",
        lambda p: p.draft.special.update(chat_template=f"Today: {TEMPLATE}"),
        "draft-chat-template",
    ),
    "rope base": ("llama_70b", lambda p: _layer(p, rope_theta=10000.0), "draft-rope"),
    "rope scaling": ("gpt_oss", lambda p: _layer(p, rope_scaling=None), "draft-rope"),
    "context before vLLM": ("llama_70b", lambda p: _layer(p, max_position_embeddings=4096), "draft-context"),
    "context before SGLang": ("qwen_moe", lambda p: _said(p, "--context-length 2048", ""), "draft-context"),
    "quantised in words only": (
        "qwen_moe",
        lambda p: p.draft.config.update(quantization_config={"quant_method": "fp8"}),
        "draft-quantisation",
    ),
    "quantised in weights only": (
        "qwen_moe",
        lambda p: _tensor(p, "lm_head.weight", "F8_E4M3", 32000, 2048),
        "draft-quantisation",
    ),
    "other quantisation asked for": (
        "small_llama",
        _quantised_twice,
        "draft-quantisation",
    ),
    "architecture": ("llama_70b", lambda p: _verifier(p, architectures=["Qwen3ForCausalLM"]), "draft-other-target"),
    "name": ("gpt_oss", lambda p: _verifier(p, name_or_path="openai/gpt-oss-120b"), "draft-other-target"),
    "sizes that are repeated": ("gpt_oss", lambda p: _verifier(p, num_hidden_layers=36), "draft-other-target"),
    "version": (
        "llama_70b",
        lambda p: _verifier(p, name_or_path="meta-llama/Llama-3.1-70B-Instruct"),
        "draft-behind-target",
    ),
    "fine-tune": (
        "llama_70b",
        _fine_tuned,
        "draft-behind-target",
    ),
    "revision": (
        "llama_70b",
        _other_commit,
        "draft-behind-target",
    ),
    "half a file": ("llama_70b", lambda p: setattr(p, "draft_name", "cut"), "draft-folder-incomplete"),
    "no mask": ("gpt_oss", lambda p: p.draft.tensors.pop("mask_hidden"), "draft-folder-incomplete"),
    "method": ("llama_70b", lambda p: _said(p, '"eagle3"', '"eagle"'), "draft-arguments-method"),
    "no method": ("llama_70b", lambda p: _said(p, '"method": "eagle3", ', ""), "draft-arguments-method"),
    "method without a draft": ("llama_70b", lambda p: _said(p, '"eagle3"', '"ngram"'), "draft-arguments-method"),
    "draft model as a head": ("small_llama", lambda p: _said(p, "draft_model", "eagle3"), "draft-arguments-method"),
    "one by one": (
        "gpt_oss",
        lambda p: _said(p, "--speculative-config.parallel_drafting true", ""),
        "draft-arguments-method",
    ),
    "in parallel": (
        "llama_70b",
        lambda p: _said(p, '"method"', '"parallel_drafting": true, "method"'),
        "draft-arguments-method",
    ),
    "algorithm": ("qwen_moe", lambda p: _said(p, "EAGLE3", "EAGLE"), "draft-arguments-method"),
    "P-EAGLE before SGLang": (
        "gpt_oss",
        lambda p: setattr(p, "arguments", "--speculative-algorithm EAGLE3"),
        "draft-arguments-method",
    ),
    "adapters": (
        "llama_70b",
        lambda p: setattr(p, "arguments", f"{p.arguments} --enable-lora --lora-modules support=/adapters/support"),
        "draft-adapters",
    ),
    "depth": ("llama_70b", lambda p: _said(p, '_tokens": 3', '_tokens": 8'), "draft-arguments-depth"),
    "depth of Medusa": ("medusa", lambda p: _said(p, '_tokens": 5', '_tokens": 6'), "draft-arguments-depth"),
    "block": ("dflash", lambda p: _said(p, '_tokens": 15', '_tokens": 17'), "draft-arguments-depth"),
    "draft tokens of a chain": (
        "qwen_moe",
        lambda p: _said(p, "draft-tokens 4", "draft-tokens 8"),
        "draft-arguments-depth",
    ),
    "tokens of a block": (
        "dflash",
        lambda p: setattr(
            p, "arguments", "--speculative-algorithm DFLASH --speculative-num-draft-tokens 8 --context-length 4096"
        ),
        "draft-arguments-depth",
    ),
    "no depth": ("llama_70b", lambda p: _said(p, ', "num_speculative_tokens": 3', ""), "draft-arguments-invalid"),
    "depth of nothing": ("llama_70b", lambda p: _said(p, '_tokens": 3', '_tokens": 0'), "draft-arguments-invalid"),
    "key that is refused": (
        "small_llama",
        lambda p: _said(p, '"draft_tensor_parallel_size"', '"tensor_parallel_size"'),
        "draft-arguments-invalid",
    ),
    "key misspelt": (
        "llama_70b",
        lambda p: _said(p, '"num_speculative_tokens": 3', '"num_speculative_tokens": 3, "max_model_length": 4096'),
        "draft-arguments-invalid",
    ),
    "half a tree": ("qwen_moe", lambda p: _said(p, "--speculative-eagle-topk 1", ""), "draft-arguments-invalid"),
    "length": (
        "llama_70b",
        lambda p: _said(p, '"method"', '"max_model_len": 65536, "method"'),
        "draft-arguments-length",
    ),
    "tensor parallel size": (
        "llama_70b",
        lambda p: _said(p, '"method"', '"draft_tensor_parallel_size": 2, "method"'),
        "draft-arguments-parallel",
    ),
    "heads": ("llama_70b", lambda p: _layer(p, num_attention_heads=66), "draft-arguments-parallel"),
}
MILDER = {
    "chat template, same markers": Severity.INFO,
    "context before SGLang": Severity.ERROR,
    "depth of Medusa": Severity.ERROR,
    "token lacking": Severity.WARNING,
    "token beyond": Severity.WARNING,
}


@pytest.mark.parametrize("case", CASES)
def test_one_change_is_found_and_nothing_else(case: str, tmp_path: Path) -> None:
    name, change, code = CASES[case]
    pair = SOUND[name]()
    change(pair)
    draft, target = pair.write(tmp_path)
    if pair.draft_name == "cut":
        os.truncate(draft / "model.safetensors", 2_000)
    found = examine_draft(read_pair(draft, target, pair.arguments))
    assert [one.code for one in found] == [code], found
    assert found[0].severity is MILDER.get(case, Severity(CODES[code].severity))
    assert not found[0].message.endswith(".")
    assert "\n" not in found[0].message


def test_every_code_of_drafts_has_a_case() -> None:
    assert {code for _, _, code in CASES.values()} == {name for name, code in CODES.items() if code.area == "draft"}


@pytest.mark.parametrize(
    "case", [name for name, (_, _, code) in CASES.items() if code.startswith("draft-arguments")]
)
def test_mended_arguments_are_clean(case: str, tmp_path: Path) -> None:
    name, change, _ = CASES[case]
    pair = SOUND[name]()
    change(pair)
    draft, target = pair.write(tmp_path)
    (one,) = examine_draft(read_pair(draft, target, pair.arguments))
    if not one.mended.startswith("--speculative-config"):
        return
    rest = "--max-model-len 32768 -tp 4" if name == "llama_70b" else ""
    assert examine_draft(read_pair(draft, target, f"{rest} {one.mended}")) == []


def test_the_line_of_the_field_is_told(tmp_path: Path) -> None:
    pair = SOUND["qwen_moe"]()
    pair.draft.config["vocab_size"] = 151643
    draft, target = pair.write(tmp_path)
    (one,) = examine_draft(read_pair(draft, target, pair.arguments))
    line = (draft / "config.json").read_text().splitlines()[one.place.line - 1]
    assert json.loads(f"{{{line.strip().rstrip(',')}}}") == {"vocab_size": 151643}


def test_vocabularies_in_common_need_no_equal_size(tmp_path: Path) -> None:
    pair = SOUND["small_llama"]()
    pair.draft.config["vocab_size"] = 151936
    pair.draft.tokens[4] = "<|im_end|>"
    pair.draft.special.clear()
    draft, target = pair.write(tmp_path)
    asked = pair.arguments.replace('"method"', '"use_heterogeneous_vocab": true, "method"')
    assert examine_draft(read_pair(draft, target, asked)) == []
    assert {one.code for one in examine_draft(read_pair(draft, target, pair.arguments))} == {
        "draft-tokenizer",
        "draft-vocabulary",
    }


def test_layers_of_a_draft_model_are_those_of_its_text_part(tmp_path: Path) -> None:
    pair = SOUND["small_llama"]()
    for number in range(5):
        pair.draft.tensors[f"vision_tower.encoder.layers.{number}.mlp.weight"] = ("BF16", (8, 8))
    pair.draft.tensors["model.layers.2.mtp.weight"] = ("BF16", (8, 8))
    draft, target = pair.write(tmp_path)
    assert examine_draft(read_pair(draft, target, pair.arguments)) == []
    pair.draft.config["num_hidden_layers"] = 16
    draft, target = pair.write(tmp_path / "fewer")
    assert [one.code for one in examine_draft(read_pair(draft, target, pair.arguments))] == ["draft-layers"]


def test_a_name_that_says_nothing_is_not_compared(tmp_path: Path) -> None:
    pair = SOUND["llama_70b"]()
    pair.target_name = "main"
    draft, target = pair.write(tmp_path)
    assert examine_draft(read_pair(draft, target, pair.arguments.replace("example/", "/models/"))) == []


def test_a_name_that_is_given_is(tmp_path: Path) -> None:
    pair = SOUND["llama_70b"]()
    draft, target = pair.write(tmp_path)
    found = examine_draft(read_pair(draft, target, "", "Qwen/Qwen3-8B"))
    assert [one.code for one in found] == ["draft-other-target"]


def test_mutated_arguments_of_layers_of_the_target_itself(tmp_path: Path) -> None:
    config = {"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 64, "num_nextn_predict_layers": 2}
    path = Folder(config).write(tmp_path / "target")
    found = examine_draft(read_pair(path, path, '{"method": "mtp", "num_speculative_tokens": 3}'))
    assert [(one.code, one.severity) for one in found] == [("draft-arguments-depth", Severity.ERROR)]
    assert examine_draft(read_pair(path, path, '{"method": "mtp", "num_speculative_tokens": 4}'))[0].severity is (
        Severity.WARNING
    )
