from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.matrix_text import ACCEPTANCE, SPECULATIVE, body, matrix, written
from specwatch_bench import run_matrix
from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell import starts_of
from specwatch_bench.matrix_file import matrix_from, read_matrix
from specwatch_bench.starter import STARTERS

ENGINE = {"name": "a"}
MATRICES = sorted((Path(__file__).parents[2] / "bench" / "matrices").glob("*.yaml"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"engines": []}, "engines must be a list that is not empty"),
        ({"engines": [{"name": "a/b"}]}, "the name 'a/b' must be letters"),
        ({"engines": [ENGINE, ENGINE]}, "two engines have one name"),
        ({"engines": [{"name": "a", "sped": 1}]}, "engine a: sped is not known here"),
        ({"engines": [{"name": "a", "engine": "tgi"}]}, "engine must be one of"),
        ({"engines": [{"name": "a", "engine": "vllm"}]}, "engine a: give model"),
        ({"engines": [{"name": "a", "engine": "url"}]}, "give url, or --url"),
        ({"engines": [{"name": "a", "datasets": ["maths"]}]}, "there is no data set 'maths'"),
        ({"engines": [{"name": "a", "environment": {"A": True}}]}, "quote true and false"),
        ({"engines": [{"name": "a", "acceptance": ACCEPTANCE}]}, "num_speculative_tokens (None) rates"),
        (
            {
                "engines": [
                    {
                        "name": "a",
                        "speculative": SPECULATIVE,
                        "acceptance": {"source": "x", "rates": {"c": [0.5, 0.6]}},
                    }
                ]
            },
            "probabilities that do not rise",
        ),
        ({"levels": [{"concurrency": 1, "rate": 2}]}, "concurrency (closed loop) or rate (open loop)"),
        ({"levels": [{"concurrency": 0}]}, "concurrency must be a whole number of at least 1"),
        ({"levels": [{"rate": "fast"}]}, "rate must be a number"),
        ({"levels": [{"concurrency": 1, "quantile": 1}]}, "quantile lies between 0 and 1"),
        ({"levels": [{"concurrency": 1, "secnds": 3}]}, "secnds is not known here"),
        ({"datasets": [{"name": "d", "kind": "csv"}]}, "kind must be one of"),
        ({"datasets": [{"name": "d", "kind": "gsm8k"}]}, "a file needs path"),
        ({"datasets": [{"name": "d", "prompt": {"median": 0}}]}, "median must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"colour": "red"}, "colour is not known here"),
    ],
)
def test_a_wrong_matrix_is_one_line(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BenchError) as caught:
        matrix_from(body(**changes), "small.yaml")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("small.yaml")


def test_what_engines_share_is_added_to_what_is_their_own() -> None:
    own = {"name": "a", "arguments": ["--x", 2], "environment": {"B": 2}, "labels": ["mine"]}
    made = matrix(engines=[own], arguments=["--y"], environment={"A": 1, "B": 1}, labels=["all"])
    (engine,) = made.engines
    assert engine.arguments == ("--y", "--x", "2")
    assert engine.environment == {"A": "1", "B": "2"}
    assert engine.labels == ("all", "mine")


def test_a_list_of_loads_and_repeats_become_levels() -> None:
    levels = matrix(levels=[{"concurrency": [1, 8], "repeats": 2}, {"rate": 2.5, "seconds": 9}]).levels
    assert [level.name for level in levels] == ["c1", "c8", "c1-2", "c8-2", "r2.5"]
    assert levels[-1].most_seconds == 9


def test_a_url_takes_the_place_of_every_start() -> None:
    made = matrix_from(body(engines=[{"name": "a", "engine": "vllm", "model": "m"}]), "x", "http://127.0.0.1:9")
    assert (made.engines[0].kind, made.engines[0].url) == ("url", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("text", "words"), [("a: [", "not YAML"), ("- 1", "must be a mapping"), ("\xff", "must be a mapping")]
)
def test_a_file_that_is_no_matrix_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BenchError, match=words):
        read_matrix(written(tmp_path, text), models=tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"none\.yaml: No such file"):
        read_matrix(tmp_path / "none.yaml", models=tmp_path)


@pytest.mark.parametrize("path", MATRICES, ids=lambda path: path.stem)
def test_the_matrices_of_the_repository_can_be_read(path: Path, tmp_path: Path) -> None:
    made = read_matrix(path, models=tmp_path)
    assert made.name == path.stem
    for shape in made.shapes:
        assert (path.parent / "shapes" / f"{shape}.json").is_file()
    for engine in made.engines:
        used = [engine.model, str((engine.speculative or {}).get("model", ""))]
        names = [Path(text).name for text in used if text.startswith(str(tmp_path))]
        assert set(names) <= set(made.shapes)


@pytest.mark.parametrize("path", MATRICES, ids=lambda path: path.stem)
def test_the_cells_of_the_repository_are_listed_and_every_start_is_known(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = list(starts_of(read_matrix(path, models=tmp_path)))
    for start in starts:
        assert STARTERS[start.engine.kind].launch(start.engine, 8000, start.rates, "python3").command
    assert run_matrix.main([str(path), "--list", "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == sum(len(start.cells) for start in starts) > 0
    assert all(line.endswith("to measure") for line in lines)
    assert not (tmp_path / "out").exists()


SGLANG = {"name": "a", "engine": "sglang", "model": "m", "acceptance": ACCEPTANCE}
DEPTH = 2


def test_sglang_is_told_the_mean_length_of_the_rates() -> None:
    made = matrix(engines=[{**SGLANG, "arguments": ["--speculative-num-steps", DEPTH]}])
    (start,) = starts_of(made)
    assert start.rates is not None
    launch = STARTERS["sglang"].launch(start.engine, 8000, start.rates, "python3")
    assert float(launch.environment["SGLANG_SIMULATE_ACC_LEN"]) == pytest.approx(1 + sum(start.rates))


def test_rates_of_sglang_must_be_as_many_as_its_steps() -> None:
    with pytest.raises(BenchError, match=rf"acceptance needs --speculative-num-steps \({DEPTH + 1}\) rates"):
        matrix(engines=[{**SGLANG, "arguments": ["--speculative-num-steps", DEPTH + 1]}])


def test_the_engines_beside_each_other_have_the_same_acceptance() -> None:
    """What SGLang and the plugin's cells are set beside is vLLM's file of the same target."""
    folder = MATRICES[0].parent
    vllm = {one.name: one.acceptance for one in read_matrix(folder / "llama-70b-fp8.yaml", models=folder).engines}
    for name in ("llama-70b-fp8-sglang", "llama-70b-fp8-plugin"):
        made = read_matrix(folder / f"{name}.yaml", models=folder)
        drafters = [one for one in made.engines if one.acceptance is not None]
        assert drafters
        for one in drafters:
            other = vllm[one.name.removesuffix("-plugin")]
            assert one.acceptance is not None
            assert other is not None
            assert one.acceptance.rates.items() <= dict(other.rates).items()
