"""vLLM's metrics as an installed vLLM defines them, read from its source files; nothing of it is run.

Every metric of vLLM is made by a call such as `self._counter_cls(name="vllm:...", labelnames=...)` (checked with
0.32.0). A name that is a variable stands in a list of pairs in the same function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from specwatch_deploy.doctor.engine import Engine, Exposed
from specwatch_deploy.doctor.input_error import InputError
from specwatch_exporters.engine_metrics.metric_table import PARTS
from specwatch_exporters.engine_metrics.version import Version
from specwatch_exporters.metric import Kind

_NAME: Final = re.compile(r"vllm:[a-z0-9_]+")
_KINDS: Final = {"counter": Kind.COUNTER, "gauge": Kind.GAUGE, "histogram": Kind.HISTOGRAM}
_BASE_LABELS: Final = ("model_name", "engine")


@dataclass(frozen=True, slots=True, order=True)
class PackageMetric:
    """A metric that a source file defines.

    Attributes:
        name: as exposed; a histogram's base name.
        kind: Prometheus type.
        labels: those that can be read off; None if they are made elsewhere.
    """

    name: str
    kind: Kind
    labels: frozenset[str] | None = None


def package_engine(folder: Path | None = None) -> Engine:
    """The engine that an installed vLLM is, with every metric that it can export.

    Args:
        folder: of the package `vllm`; None for the one that this Python would import.

    Raises:
        InputError: there is none, or its source has no metrics.
    """
    folder = folder or _importable()
    metrics = package_metrics(folder)
    if not metrics:
        raise InputError(f"--from-package: {folder} defines no vLLM metrics")
    page: dict[str, Exposed] = {}
    for metric in metrics:
        labels = {label: frozenset[str]() for label in metric.labels or ()}
        parts = PARTS if metric.kind is Kind.HISTOGRAM else ("",)
        page |= {f"{metric.name}{part}": Exposed(metric.kind.value, labels) for part in parts}
    return Engine(str(folder), "vllm", _version(folder), page, "vllm:")


def package_metrics(folder: Path) -> tuple[PackageMetric, ...]:
    """Metrics that the source files below a folder define, sorted by name.

    Raises:
        InputError: the folder has no Python files.
    """
    files = sorted(folder.rglob("*.py"))
    if not files:
        raise InputError(f"--from-package: {folder} is no Python package")
    found: dict[str, PackageMetric] = {}
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if "vllm:" in text:
            found |= {one.name: one for one in _in_file(ast.parse(text))}
    return tuple(sorted(found.values(), key=lambda one: one.name))


def _importable() -> Path:
    spec = find_spec("vllm")
    if spec is None or spec.origin is None:
        raise InputError("--from-package: no vLLM is installed beside specwatch; give the folder of one")
    return Path(spec.origin).parent


def _version(folder: Path) -> Version | None:
    for info in sorted(folder.parent.glob("vllm-*.dist-info")):
        try:
            return Version.parse(info.name.removeprefix("vllm-").removesuffix(".dist-info"))
        except ValueError:
            continue
    return None


def _in_file(tree: ast.Module) -> Iterator[PackageMetric]:
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef):
            for call in ast.walk(scope):
                if isinstance(call, ast.Call):
                    yield from _made(call, scope)


def _made(call: ast.Call, scope: ast.FunctionDef) -> Iterator[PackageMetric]:
    kind = _kind(call.func)
    given = next((one.value for one in call.keywords if one.arg == "name"), None)
    if kind is None or given is None:
        return
    labels = _labels(call, scope)
    for name in _names(given, scope):
        counted = kind is Kind.COUNTER and not name.endswith("_total")
        yield PackageMetric(f"{name}_total" if counted else name, kind, labels)


def _kind(function: ast.expr) -> Kind | None:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return next((kind for word, kind in _KINDS.items() if word in name.lower()), None)


def _names(given: ast.expr, scope: ast.FunctionDef) -> list[str]:
    if isinstance(given, ast.Constant):
        return [str(given.value)] if _is_name(given.value) else []
    if not isinstance(given, ast.Name):
        return []
    pairs = [one.elts[0] for one in ast.walk(scope) if isinstance(one, ast.Tuple) and one.elts]
    assigned = [
        one.value
        for one in ast.walk(scope)
        if isinstance(one, ast.Assign) and any(getattr(to, "id", "") == given.id for to in one.targets)
    ]
    texts = [one.value for one in (*pairs, *assigned) if isinstance(one, ast.Constant)]
    return [str(text) for text in texts if _is_name(text)]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _labels(call: ast.Call, scope: ast.FunctionDef) -> frozenset[str] | None:
    given = next((one.value for one in call.keywords if one.arg == "labelnames"), None)
    if isinstance(given, ast.Name) and given.id != "labelnames":
        given = next(
            (
                one.value
                for one in ast.walk(scope)
                if isinstance(one, ast.Assign) and any(getattr(to, "id", "") == given.id for to in one.targets)
            ),
            None,
        )
    return None if given is None else _written(given)


def _written(given: ast.expr) -> frozenset[str] | None:
    """`labelnames`, a list of texts, or a sum of them."""
    if isinstance(given, ast.Name):
        return frozenset(_BASE_LABELS) if given.id == "labelnames" else None
    if isinstance(given, ast.List):
        texts = [one.value for one in given.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return frozenset(texts) if len(texts) == len(given.elts) else None
    if isinstance(given, ast.BinOp):
        sides = [_written(given.left), _written(given.right)]
        return None if None in sides else frozenset().union(*(side or () for side in sides))
    return None
