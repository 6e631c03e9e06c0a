from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.matrix_text import ACCEPTANCE, SPECULATIVE, body, matrix, written
from specwatch_bench.bench_error import BenchError
from specwatch_bench.matrix_file import matrix_from, read_matrix

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
