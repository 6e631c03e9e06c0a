from __future__ import annotations

from pathlib import Path

import pytest

from specwatch_detectors.state_store import FileStore


def test_what_is_saved_is_loaded_and_nothing_half_written_stays(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "state.json")
    assert store.load() is None
    store.save({"a": 1})
    with pytest.raises(ValueError, match="Out of range"):
        store.save({"a": float("nan")})
    with pytest.raises(TypeError):
        store.save({"a": object()})
    assert store.load() == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize(("text", "said"), [("{", "is not JSON"), ("[]", "no JSON object"), ("", "is not JSON")])
def test_a_file_that_is_no_state_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        FileStore(path).load()


def test_a_directory_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        FileStore(tmp_path / "gone" / "state.json").save({})
