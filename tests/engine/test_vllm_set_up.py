from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine import setup_vllm
from engine.completions_client import final_body, parse_record
from engine.setup_vllm import DONE, REQUIREMENTS, UNDERWAY, SetupError
from tools.debian_packages import DebianPackages

CAPTURES = Path(__file__).parents[1] / "captures" / "vllm-0.32.0-cpu"
PIN = re.compile(r'[A-Za-z0-9._-]+==[\w.!+]+( ; [a-z_]+ (==|>=) "[\w.]+")?')


def test_every_package_is_pinned_once() -> None:
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not PIN.fullmatch(line)] == []
    names = [line.partition("==")[0] for line in lines]
    assert len(names) == len(set(names))


def test_what_another_recipe_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / DONE).write_text("another")
    (tmp_path / "old").touch()
    setup_vllm.prepare_folder(tmp_path, "this")
    assert [entry.name for entry in tmp_path.iterdir()] == [UNDERWAY]


def test_an_interrupted_run_goes_on_without_half_a_package(tmp_path: Path) -> None:
    (tmp_path / UNDERWAY).write_text("this")
    packages = setup_vllm.site_packages(tmp_path)
    for name in ("whole-1.dist-info", "half-1.dist-info"):
        (packages / name).mkdir(parents=True)
    (packages / "whole-1.dist-info" / "INSTALLER").touch()
    setup_vllm.prepare_folder(tmp_path, "this")
    assert [entry.name for entry in packages.iterdir()] == ["whole-1.dist-info"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(SetupError, match="not an environment"):
        setup_vllm.prepare_folder(tmp_path, "this")
    assert (tmp_path / "thesis.txt").exists()


def test_a_finished_installation_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / DONE).write_text(setup_vllm.recipe_digest())
    assert setup_vllm.main(["--into", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "vllm: is there\n"


def test_a_refusal_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").touch()
    assert setup_vllm.main(["--into", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_missing_system_library_is_unpacked_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(_: DebianPackages, names: list[str], into: Path) -> None:
        assert names == [setup_vllm.NUMA_PACKAGE]
        (into / "usr" / "lib").mkdir(parents=True)
        (into / "usr" / "lib" / setup_vllm.NUMA_LIBRARY).write_text("library")

    monkeypatch.setattr(setup_vllm, "can_load", lambda _: False)
    monkeypatch.setattr(DebianPackages, "unpack", unpack)
    setup_vllm.provide_system_libraries(tmp_path)
    folder = Path(setup_vllm.library_path(tmp_path).split(":")[0])
    assert (folder / setup_vllm.NUMA_LIBRARY).read_text() == "library"


@pytest.mark.parametrize("kind", ["completion", "chat"])
def test_a_stream_and_a_whole_answer_say_the_same(kind: str) -> None:
    whole, streamed = (
        parse_record(final_body((CAPTURES / f"{kind}-detailed.{ending}").read_bytes()))
        for ending in ("json", "sse")
    )
    assert whole.accepted == streamed.accepted
    assert whole.drafted == streamed.drafted == (4,) * len(whole.drafted)
    assert (whole.prompt_tokens, whole.completion_tokens, whole.finish_reason) == (
        streamed.prompt_tokens,
        streamed.completion_tokens,
        "length",
    )
