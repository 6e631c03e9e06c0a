"""Real engines for the tests: each is started once for all tests that use it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine_load import NGRAM_CONFIG, SIGMA, draft_config
from engine.engine_process import MODELS, EngineProcess, vllm_python
from engine.sidecar_process import Sidecar, sidecar_beside


@pytest.fixture(scope="session")
def models() -> Path:
    """Make the tiny models, if they are not there, and return their folder."""
    script = Path(__file__).with_name("tiny_models.py")
    subprocess.run([str(vllm_python()), str(script), str(MODELS), "--sigma", str(SIGMA)], check=True)
    return MODELS


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine-logs")


@pytest.fixture(scope="session")
def draft_engine(models: Path, logs: Path) -> Iterator[EngineProcess]:
    """A vLLM with a draft model, shared by all tests: they compare what is added, not what is there."""
    assert models.is_dir()
    with EngineProcess(logs / "draft.log", draft_config()) as engine:
        yield engine


@pytest.fixture(scope="module")
def ngram_engine(models: Path, logs: Path) -> Iterator[EngineProcess]:
    assert models.is_dir()
    with EngineProcess(logs / "ngram.log", NGRAM_CONFIG) as engine:
        yield engine


@pytest.fixture(scope="module")
def plain_engine(models: Path, logs: Path) -> Iterator[EngineProcess]:
    """A vLLM that does not speculate."""
    assert models.is_dir()
    with EngineProcess(logs / "plain.log") as engine:
        yield engine


@pytest.fixture(scope="module")
def parallel_engine(models: Path, logs: Path) -> Iterator[EngineProcess]:
    """Two data-parallel engines, each with its own draft model, behind one address."""
    assert models.is_dir()
    with EngineProcess(logs / "parallel.log", draft_config(), extra=("--data-parallel-size", "2")) as engine:
        yield engine


@pytest.fixture
def draft_sidecar(draft_engine: EngineProcess, tmp_path: Path) -> Iterator[Sidecar]:
    with sidecar_beside(draft_engine.url, tmp_path / "sidecar.log") as sidecar:
        yield sidecar
