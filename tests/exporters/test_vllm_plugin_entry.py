"""The entry point, as vLLM finds and loads it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from exporters import vllm_stats_fakes as fakes

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
GROUP = "vllm.stat_logger_plugins"
ENTRY = "specwatch_exporters.vllm_plugin.entry"


@pytest.fixture
def entry_point(monkeypatch: pytest.MonkeyPatch) -> EntryPoint:
    ((name, value),) = tomllib.loads(PROJECT.read_text())["project"]["entry-points"][GROUP].items()
    monkeypatch.delitem(sys.modules, ENTRY, raising=False)
    return EntryPoint(name, value, GROUP)


def install_vllm(monkeypatch: pytest.MonkeyPatch, classes: dict[str, type]) -> None:
    """Put a vLLM of these classes where an import finds it."""
    for name in ("vllm", "vllm.v1", "vllm.v1.metrics", "vllm.v1.metrics.loggers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["vllm"], "__version__", "0.33.0", raising=False)
    for name, kind in classes.items():
        monkeypatch.setattr(sys.modules["vllm.v1.metrics.loggers"], name, kind, raising=False)


def test_it_gives_a_class_that_vllm_accepts(entry_point: EntryPoint, monkeypatch: pytest.MonkeyPatch) -> None:
    classes = fakes.base_classes(fakes.RELEASES[-1])
    install_vllm(monkeypatch, classes)
    loaded = entry_point.load()
    assert isinstance(loaded, type)
    assert issubclass(loaded, classes["StatLoggerBase"])
    assert issubclass(loaded, classes["AggregateStatLoggerBase"])
    assert not getattr(loaded, "__abstractmethods__", None)
    assert entry_point.name == "specwatch"


def test_an_unknown_vllm_gives_an_import_error_that_it_logs(
    entry_point: EntryPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_vllm(monkeypatch, {})
    with pytest.raises(ImportError, match=r"vLLM 0\.33\.0 has no AggregateStatLoggerBase"):
        entry_point.load()


def test_the_plugin_needs_prometheus_client_alone() -> None:
    """It is installed with --no-deps into an engine's image."""
    blocked = "import sys; sys.modules.update(dict.fromkeys(('typer', 'rich', 'aiohttp')))"
    modules = ("start", "stat_logger", "vllm_interface")
    imports = "; ".join(f"import specwatch_exporters.vllm_plugin.{name}" for name in modules)
    subprocess.run([sys.executable, "-W", "error", "-c", f"{blocked}; {imports}"], check=True, timeout=60)
