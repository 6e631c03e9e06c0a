"""Memory arithmetic, held against what vLLM printed when it started, with the error stated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from specwatch_bench.bench_error import BenchError
from specwatch_bench.capacity_plan import CARDS, Wish, kv_token_bytes, plan
from specwatch_bench.capacity_seen import Seen, seen_starts
from specwatch_bench.capacity_shape import read_shape, shape_names, shape_of
from specwatch_bench.capacity_weights import WEIGHTS, quantisation_of, weight_bytes
from specwatch_cli import main
from specwatch_cli.errors import UserError

STARTS = tuple(seen_starts())
H200 = CARDS[1]


@pytest.mark.parametrize("seen", STARTS, ids=lambda seen: f"{seen.shape} {seen.plan.quantisation} {seen.method}")
def test_the_error_against_the_engines_own_lines(seen: Seen) -> None:
    most = {"mxfp4": 0.010, "awq": 0.023}.get(seen.plan.quantisation, 0.004)
    assert -most < seen.weights_error <= 0
    assert abs(seen.token_bytes_error) < 0.002
    assert abs(seen.tokens_error) < 0.012


def test_the_unquantised_70b_on_one_h200() -> None:
    (seen,) = [one for one in STARTS if one.plan.quantisation == "bf16" and one.shape == "llama-3.3-70b"]
    assert (seen.weights_gib, seen.kv_tokens) == (131.45, 14_128)
    assert seen.plan.weights == pytest.approx(131.45, abs=0.05)
    assert seen.plan.kv == pytest.approx(4.31, abs=0.02)
    assert seen.plan.tokens == pytest.approx(14_128, abs=32)
    assert seen.plan.requests == pytest.approx(6.9, abs=0.05)


def test_sglangs_start_by_its_own_division() -> None:
    """It said 67.75 GiB of weights and 165,350 tokens at 0.85 of 139.09 GiB."""
    shape = read_shape("llama-3.3-70b-fp8")
    weights = weight_bytes(shape, quantisation_of(shape, None)) / 2**30
    assert weights == pytest.approx(67.75, rel=0.0013)
    tokens = (0.85 * 139.09 - weights) * 2**30 / kv_token_bytes(shape, Wish())
    assert tokens == pytest.approx(165_350, rel=0.002)
    page = (Path(__file__).parents[2] / "docs" / "bench-capacity.md").read_text()
    assert f"{weights:.2f} GiB and {tokens:,.0f}" in page


@pytest.mark.parametrize(
    ("name", "billions"), [("llama-3.3-70b", 70.554), ("qwen3-coder-30b-a3b", 30.532), ("gpt-oss-120b", 116.83)]
)
def test_parameters_are_those_that_the_models_have(name: str, billions: float) -> None:
    assert read_shape(name).parameters / 1e9 == pytest.approx(billions, rel=1e-4)


@pytest.mark.parametrize(("kind", "bits"), [("bf16", 16.0), ("fp8", 8.24), ("awq", 4.51)])
def test_bits_per_weight(kind: str, bits: float) -> None:
    shape = read_shape("llama-3.3-70b")
    assert weight_bytes(shape, kind) * 8 / shape.parameters == pytest.approx(bits, abs=0.02)


def test_a_token_of_the_70b_leaves_320_kib_and_a_draft_layer_adds_4() -> None:
    shape = read_shape("llama-3.3-70b")
    draft = read_shape("llama-3.3-70b-eagle3")
    assert kv_token_bytes(shape, Wish()) == 320 * 1024
    assert kv_token_bytes(shape, Wish(draft=draft)) == 324 * 1024
    assert kv_token_bytes(shape, Wish(kv_bytes=1.0)) == 160 * 1024
    assert kv_token_bytes(shape, Wish(gpus=2)) == 160 * 1024
    assert kv_token_bytes(shape, Wish(gpus=16)) == 40 * 1024, "a KV head is kept whole"


def test_windowed_layers_and_full_ones_are_filled_up_to_groups_of_one_size() -> None:
    shape = read_shape("gpt-oss-120b")
    assert (shape.layers, shape.window_layers) == (36, 18)
    layer = shape.kv_layer_bytes(2.0)
    assert kv_token_bytes(shape, Wish()) == 36 * layer
    assert kv_token_bytes(shape, Wish(draft=read_shape("gpt-oss-120b-eagle3"))) == 38 * layer


def test_a_draft_with_words_of_its_own_brings_a_head() -> None:
    shape, draft = read_shape("llama-3.3-70b"), read_shape("llama-3.3-70b-eagle3")
    with_head = plan(shape, H200, Wish(quantisation="fp8", draft=draft))
    without = plan(shape, H200, Wish(quantisation="fp8", draft=draft, own_head=False))
    assert (with_head.draft - without.draft) * 2**30 == pytest.approx(32_000 * 8192 * 2)


@given(
    st.sampled_from(["llama-3.3-70b", "qwen3-coder-30b-a3b", "gpt-oss-120b"]),
    st.floats(0.5, 0.99),
    st.sampled_from([1, 2, 4, 8]),
)
def test_more_memory_holds_more_tokens_and_a_draft_fewer(name: str, use: float, gpus: int) -> None:
    shape = read_shape(name)
    wish = Wish(utilisation=use, gpus=gpus)
    plans = [plan(shape, card, wish) for card in CARDS]
    assert [one.tokens for one in plans] == sorted(one.tokens for one in plans)
    assert all(one.tokens % 16 == 0 and one.tokens >= 0 for one in plans)
    assert all((one.headroom is None) == (one.kv <= 0) for one in plans)
    drafted = plan(shape, H200, replace(wish, draft=read_shape(f"{name}-eagle3")))
    assert drafted.tokens <= plans[1].tokens
    assert plan(shape, H200, replace(wish, utilisation=use / 2)).tokens <= plans[1].tokens


DENSE = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
FP8_GROUPS = {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}
INT4_GROUPS = {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 64}}}


@pytest.mark.parametrize(
    ("said", "name", "group"),
    [
        ({"quant_method": "fp8"}, "fp8", 128),
        ({"quant_method": "fbgemm_fp8"}, "fp8", 128),
        ({"quant_method": "compressed-tensors", "config_groups": FP8_GROUPS}, "fp8", 128),
        ({"quant_method": "compressed-tensors", "config_groups": INT4_GROUPS}, "awq", 64),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8", 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "awq", 32),
        ({"quant_method": "awq", "bits": 4, "group_size": -1}, "awq", 4096),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, "awq", 64),
    ],
)
def test_what_a_configuration_calls_its_quantisation(said: dict[str, object], name: str, group: int) -> None:
    shape = shape_of({**DENSE, "quantization_config": said}, "x")
    assert (shape.quantisation, shape.group) == (name, group)
    assert 0 < weight_bytes(shape, quantisation_of(shape, name)) < weight_bytes(shape_of(DENSE, "x"), "bf16")


@pytest.mark.parametrize(
    "said",
    [
        {"quant_method": "bitsandbytes"},
        {"quant_method": "awq", "bits": 8},
        {"quant_method": "modelopt", "quant_algo": "NVFP4"},
        {"quant_method": "compressed-tensors"},
        {"quant_method": "compressed-tensors", "config_groups": {**FP8_GROUPS, "group_1": INT4_GROUPS["group_0"]}},
    ],
)
def test_bits_that_are_not_worked_out_are_refused(said: dict[str, object]) -> None:
    shape = shape_of({**DENSE, "quantization_config": said}, "x")
    with pytest.raises(BenchError, match="is not known"):
        quantisation_of(shape, None)


def test_shared_experts_and_dense_layers_are_counted() -> None:
    mixture = {**DENSE, "num_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 1024}
    plain = shape_of(mixture, "x").feed_forward
    one = 3 * 4096
    assert plain == 32 * 64 * one * 1024
    assert shape_of({**mixture, "n_shared_experts": 2}, "x").feed_forward == plain + 32 * one * 2048
    assert (
        shape_of({**mixture, "shared_expert_intermediate_size": 5632}, "x").feed_forward == plain + 32 * one * 5632
    )
    dense = one * 14336 - 64 * one * 1024
    assert shape_of({**mixture, "first_k_dense_replace": 3}, "x").feed_forward == plain + 3 * dense
    assert shape_of({**mixture, "mlp_only_layers": [0, 5]}, "x").feed_forward == plain + 2 * dense
    assert shape_of({**mixture, "decoder_sparse_step": 2}, "x").feed_forward == plain + 16 * dense


def test_windows_in_all_layers_are_one_group() -> None:
    shape = shape_of({**DENSE, "layer_types": ["sliding_attention"] * 32}, "x")
    assert kv_token_bytes(shape, Wish()) == 2 * 8 * 128 * 2 * 32


def test_a_folder_a_file_and_a_nested_configuration_are_read(tmp_path: Path) -> None:
    config = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 3, "vocab_size": 10}
    (tmp_path / "config.json").write_text(json.dumps({"text_config": config, "tie_word_embeddings": True}))
    for where in (tmp_path, tmp_path / "config.json"):
        shape = read_shape(str(where))
        assert (shape.hidden, shape.kv_heads, shape.head_width, shape.inner, shape.tied) == (8, 2, 4, 32, True)
        assert shape.name == tmp_path.name


@pytest.mark.parametrize("text", [None, [1], 5])
def test_a_nested_configuration_that_is_none_is_passed_over(tmp_path: Path, text: object) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**DENSE, "text_config": text, "layer_types": 5}))
    assert read_shape(str(tmp_path)).hidden == 4096


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"num_attention_heads": 2, "num_hidden_layers": 3, "vocab_size": 10}, "has no hidden_size"),
        (
            {
                "hidden_size": 8,
                "num_attention_heads": 2,
                "num_hidden_layers": 3,
                "vocab_size": 9,
                "kv_lora_rank": 4,
            },
            "MLA",
        ),
        ({**DENSE, "layer_types": ["linear_attention", "full_attention"]}, "of the kind linear_attention"),
        ({**DENSE, "num_attention_heads": 0}, "num_attention_heads must be from 1"),
        ({**DENSE, "num_key_value_heads": 0}, "num_key_value_heads must be from 1"),
        ({**DENSE, "num_hidden_layers": -3}, "num_hidden_layers must be from 1"),
        ({**DENSE, "hidden_size": 10**400}, "hidden_size must be from 1"),
        ({**DENSE, "quantization_config": "awq"}, "quantization_config is no object"),
        ({**DENSE, "quantization_config": {"quant_method": "awq", "group_size": "x"}}, "group_size must be"),
    ],
)
def test_a_configuration_that_cannot_be_worked_out_is_refused(config: dict[str, object], words: str) -> None:
    with pytest.raises(BenchError, match=words):
        shape_of(config, "x")


@pytest.mark.parametrize(
    ("shape", "asked", "words"),
    [
        ("llama-3.3-70b", "int3", "the quantisation 'int3' is not known"),
        ("gpt-oss-120b", "fp8", "its weights are mxfp4"),
        ("llama-3.3-70b", "mxfp4", "this model has none"),
    ],
)
def test_a_quantisation_that_makes_no_sense_is_refused(shape: str, asked: str, words: str) -> None:
    found = read_shape(shape)
    with pytest.raises(BenchError, match=words):
        weight_bytes(found, quantisation_of(found, asked))
    assert set(WEIGHTS) == {"awq", "bf16", "fp8", "mxfp4"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nothing"], "no such file and no such shape; there are gpt-oss-120b"),
        (["llama-3.3-70b-eagle3"], "is a draft"),
        (["llama-3.3-70b", "--draft", "gpt-oss-120b"], "is no EAGLE-3 head"),
        (["llama-3.3-70b", "--gpus", "3"], "64 attention heads cannot be shared by 3 GPUs"),
        (["llama-3.3-70b", "--utilisation", "1.5"], "utilisation is a share"),
    ],
)
def test_the_command_refuses_in_one_line(options: list[str], words: str) -> None:
    done = CliRunner().invoke(main.command_line(), ["bench", "capacity", *options])
    assert isinstance(done.exception, UserError)
    assert words in str(done.exception)
    assert "\n" not in str(done.exception)
    assert done.exception.exit_code == 2


def test_the_command_says_what_fits() -> None:
    done = CliRunner().invoke(main.command_line(), ["bench", "capacity", "llama-3.3-70b", "--quantisation", "fp8"])
    assert done.exit_code == 0, done.output
    rows = {line.split("|")[1].strip(): line for line in done.output.splitlines() if line.startswith("|")}
    assert "does not fit" not in rows["H200 141 GB"]
    assert "191,936" in rows["H200 141 GB"]
    assert "-" in rows["H100 80 GB"]
    assert len(shape_names()) == 9
