from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.matrix_text import ACCEPTANCE, SPECULATIVE, matrix
from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell import Cell, starts_of
from specwatch_bench.cell_file import FORMAT, outcome_of, read_cell, write_cell
from specwatch_bench.placeless import placeless

BOTH = [{"concurrency": 1}]
VLLM = {"name": "e", "engine": "vllm", "model": "m", "speculative": SPECULATIVE, "acceptance": ACCEPTANCE}


def cells(**changes: Any) -> list[Cell]:
    return [cell for start in starts_of(matrix(**changes)) for cell in start.cells]


def test_an_engine_is_started_once_for_all_its_cells() -> None:
    starts = list(starts_of(matrix(levels=BOTH)))
    assert [[cell.name for cell in start.cells] for start in starts] == [["eagle3--chat--c1", "eagle3--code--c1"]]


@pytest.mark.parametrize(("live", "starts"), [(True, 1), (False, 2)])
def test_each_acceptance_is_a_start_unless_it_can_change_live(live: bool, starts: int) -> None:
    made = list(starts_of(matrix(levels=BOTH, engines=[{**VLLM, "live_acceptance": live}])))
    assert len(made) == starts
    assert [cell.rates for start in made for cell in start.cells] == [(0.8, 0.5), (0.9, 0.7)]
    assert made[0].rates == (0.8, 0.5)


def test_a_class_without_acceptance_is_a_mistake() -> None:
    with pytest.raises(BenchError, match="no acceptance for the class 'law'"):
        cells(engines=[VLLM], datasets=[{"name": "law"}], levels=BOTH)


@pytest.mark.parametrize(
    "changes",
    [
        {"levels": [{"concurrency": 2}]},
        {"levels": [{"concurrency": 1, "seconds": 31}]},
        {"seed": 2},
        {"datasets": [{"name": "chat", "prompt": 21}]},
        {"engines": [{**VLLM, "arguments": ["--x"]}]},
        {"engines": [{**VLLM, "acceptance": {**ACCEPTANCE, "rates": {"chat": [0.8, 0.4]}}}]},
    ],
)
def test_a_key_changes_with_what_is_measured(changes: dict[str, Any]) -> None:
    base = {"levels": BOTH, "datasets": [{"name": "chat"}], "engines": [VLLM]}
    assert cells(**base)[0].key != cells(**{**base, **changes})[0].key


@pytest.mark.parametrize(
    "engine",
    [
        {**VLLM, "live_acceptance": True, "start_seconds": 9, "labels": ["one run"]},
        {**VLLM, "datasets": ["chat"]},
        {**VLLM, "acceptance": {**ACCEPTANCE, "source": "said otherwise"}},
    ],
)
def test_a_key_stays_with_how_it_is_reached(engine: dict[str, Any]) -> None:
    base = {"levels": BOTH, "datasets": [{"name": "chat"}]}
    assert cells(**base, engines=[VLLM])[0].key == cells(**base, engines=[engine])[0].key


def test_a_key_does_not_depend_on_where_the_models_lie() -> None:
    def key(folder: str) -> str:
        made = matrix(engines=[{**VLLM, "model": f"{folder}/m"}], levels=BOTH)
        return next(starts_of(made, {folder: "{models}"})).cells[0].key

    assert key("/somewhere") == key("/else/where")


def test_every_engine_gets_the_same_load() -> None:
    first, second = cells(engines=[{"name": "a"}, {"name": "b"}], levels=BOTH, datasets=[{"name": "chat"}])
    assert first.seed == second.seed
    assert first.key != second.key


def lines() -> Iterator[dict[str, Any]]:
    yield {"kind": "cell", "format": FORMAT}
    yield from ({"kind": "request", "i": number, "chunks": [number] * 40} for number in range(300))
    yield {"kind": "end", "outcome": "ok"}


def test_a_cell_comes_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a" / "cell.jsonl.gz"
    write_cell(path, lines())
    assert list(read_cell(path)) == list(lines())
    assert outcome_of(path) == "ok"
    assert [item.name for item in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_torn_cell_has_no_outcome(tmp_path: Path, share: float) -> None:
    path = tmp_path / "cell.jsonl.gz"
    write_cell(path, lines())
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert outcome_of(path) is None


def test_a_cell_without_its_end_or_of_another_format_has_no_outcome(tmp_path: Path) -> None:
    path = tmp_path / "cell.jsonl.gz"
    write_cell(path, list(lines())[:-1])
    assert outcome_of(path) is None
    path.write_bytes(gzip.compress(b'{"kind": "cell", "format": 99}\n{"kind": "end", "outcome": "ok"}\n'))
    assert outcome_of(path) is None
    assert outcome_of(tmp_path / "none") is None


def test_nothing_is_left_of_a_cell_that_could_not_be_written(tmp_path: Path) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield {"kind": "cell"}
        raise RuntimeError("lost")

    path = tmp_path / "cell.jsonl.gz"
    with pytest.raises(RuntimeError):
        write_cell(path, broken())
    assert not path.exists()


def test_records_name_no_folder_of_a_machine() -> None:
    value = {"command": ["/a/b/python", "--model", "/a/b/models/m"], "depth": 3, "nested": [["/a/b depth"]]}
    places = {"/a/b": "~", "/a/b/models": "{models}", "/": "root", "depth": "x"}
    assert placeless(value, places) == {
        "command": ["~/python", "--model", "{models}/m"],
        "depth": 3,
        "nested": [["~ depth"]],
    }


def test_a_cell_names_its_file_by_what_it_measures() -> None:
    (cell,) = cells(levels=BOTH, datasets=[{"name": "chat"}])
    assert cell.file_name == f"eagle3--chat--c1--{cell.key}.jsonl.gz"
    assert replace(cell, key="0" * 12).file_name.endswith("000000000000.jsonl.gz")
