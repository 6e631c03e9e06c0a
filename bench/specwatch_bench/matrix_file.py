"""Reads a matrix from YAML: every member checked, every mistake one line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from specwatch_bench.bench_error import BenchError
from specwatch_bench.matrix import DATASET_KINDS, Acceptance, DatasetSpec, EngineSpec, Level, Matrix
from specwatch_bench.yaml_fields import Fields
from specwatch_exporters.demo.traffic_plan import Lengths

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHARED: Final = (
    "engine",
    "model",
    "served_name",
    "arguments",
    "environment",
    "live_acceptance",
    "url",
    "start_seconds",
    "expected_start",
    "labels",
    "body",
)
_ENGINE_KINDS: Final = ("replay", "sglang", "trtllm", "url", "vllm")


def read_matrix(path: Path, *, models: Path, url: str | None = None) -> Matrix:
    """Read a file.

    Args:
        path: the YAML file; `{here}` in its texts is its folder.
        models: what `{models}` in its texts stands for: the folder of the shapes.
        url: measure the engine at this address instead of starting any; the file's engines name no other then.

    Raises:
        BenchError: no file, no YAML, or a member that cannot be used.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise BenchError(f"{path}: {reason}") from error
    try:
        body = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BenchError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    names = {"{models}": str(models.resolve()), "{here}": str(path.parent.resolve())}
    return matrix_from(_replaced(body, names), str(path), url)


def matrix_from(body: Any, where: str, url: str | None = None) -> Matrix:
    """Make a matrix from decoded YAML.

    Raises:
        BenchError: a member that cannot be used.
    """
    top = Fields(body, where)
    common = {key: top.take(key) for key in _SHARED}
    engines = tuple(_engine(item, common, url, where) for item in top.items("engines"))
    datasets = {spec.name: spec for spec in (_dataset(item, where) for item in top.items("datasets"))}
    levels = tuple(level for item in top.items("levels") for level in _levels(item, where))
    matrix = Matrix(
        name=_name(top.text("name"), where),
        target=top.text("target"),
        shapes=top.texts("shapes"),
        seed=top.whole("seed", 1, 0),
        engines=engines,
        datasets=datasets,
        levels=levels,
    )
    top.finish()
    _check(matrix, where)
    return matrix


def _engine(item: Any, common: Mapping[str, Any], url: str | None, where: str) -> EngineSpec:
    own = Fields(item, f"{where}: an engine")
    name = _name(own.text("name"), where)
    own.where = f"{where}: engine {name}"
    shared = Fields({key: value for key, value in common.items() if value is not None}, where)
    kind = "url" if url is not None else own.text("engine", shared.text("engine", "vllm"))
    if kind not in _ENGINE_KINDS:
        raise BenchError(f"{own.where}: engine must be one of {', '.join(_ENGINE_KINDS)}, not {kind!r}")
    own.take("engine")
    speculative = own.mapping("speculative") or None
    spec = EngineSpec(
        name=name,
        kind=kind,
        model=own.maybe_text("model") or shared.maybe_text("model") or "",
        served_name=own.maybe_text("served_name") or shared.maybe_text("served_name"),
        arguments=shared.texts("arguments") + own.texts("arguments"),
        environment=_environment(shared.mapping("environment") | own.mapping("environment"), own.where),
        speculative=speculative,
        live_acceptance=own.flag("live_acceptance", default=shared.flag("live_acceptance")),
        url=url or own.maybe_text("url") or shared.maybe_text("url"),
        start_seconds=own.number("start_seconds", shared.number("start_seconds", 600.0)),
        expected_start=own.number("expected_start", shared.number("expected_start", 120.0)),
        datasets=own.texts("datasets") or None,
        labels=shared.texts("labels") + own.texts("labels"),
        body=shared.mapping("body") | own.mapping("body"),
    )
    spec = replace(spec, acceptance=_acceptance(own.take("acceptance"), spec, own.where))
    own.finish()
    if spec.kind == "url" and spec.url is None:
        raise BenchError(f"{own.where}: give url, or --url")
    if spec.kind in {"vllm", "sglang", "trtllm"} and not spec.model:
        raise BenchError(f"{own.where}: give model")
    return spec


def _environment(values: Mapping[str, Any], where: str) -> dict[str, str]:
    if any(isinstance(value, dict | list | bool) or value is None for value in values.values()):
        raise BenchError(f"{where}: environment holds texts and numbers only; quote true and false")
    return {name: str(value) for name, value in values.items()}


def _acceptance(value: Any, spec: EngineSpec, where: str) -> Acceptance | None:
    if value is None:
        return None
    fields = Fields(value, f"{where}: acceptance")
    source = fields.text("source")
    rates = {name: _rates(item, f"{where}: acceptance of {name}") for name, item in fields.mapping("rates").items()}
    fields.finish()
    name, depth = _depth(spec)
    if not rates or any(len(row) != depth for row in rates.values()):
        raise BenchError(f"{where}: acceptance needs {name} ({depth}) rates for each class")
    return Acceptance(source=source, rates=rates)


def _depth(spec: EngineSpec) -> tuple[str, int | None]:
    """What says how many tokens a draft has (vLLM's configuration, SGLang's argument), and how many."""
    name = "--speculative-num-steps"
    said = dict(itertools.pairwise(spec.arguments)).get(name, "")
    if said.isdecimal():
        return name, int(said)
    return "num_speculative_tokens", (spec.speculative or {}).get("num_speculative_tokens")


def _rates(value: Any, where: str) -> tuple[float, ...]:
    numbers = isinstance(value, list) and all(type(item) in {int, float} and 0 <= item <= 1 for item in value)
    if not numbers or any(later > earlier for earlier, later in itertools.pairwise(value)):
        raise BenchError(f"{where} must be probabilities that do not rise, not {value!r}")
    return tuple(float(item) for item in value)


def _dataset(item: Any, where: str) -> DatasetSpec:
    fields = Fields(item, f"{where}: a data set")
    name = _name(fields.text("name"), where)
    fields.where = f"{where}: data set {name}"
    kind = fields.text("kind", "synthetic")
    if kind not in DATASET_KINDS:
        raise BenchError(f"{fields.where}: kind must be one of {', '.join(DATASET_KINDS)}, not {kind!r}")
    output = fields.take("output")
    spec = DatasetSpec(
        name=name,
        traffic_class=fields.text("class", name),
        kind=kind,
        path=fields.maybe_text("path"),
        prompt=_lengths(fields.take("prompt", 256), f"{fields.where}: prompt"),
        output=None if output is None else _lengths(output, f"{fields.where}: output"),
        vocab=fields.whole("vocab", 0, 0) or None,
        chat=fields.flag("chat"),
    )
    fields.finish()
    if (kind == "synthetic") == (spec.path is not None):
        raise BenchError(f"{fields.where}: a file needs path, synthetic prompts have none")
    return spec


def _lengths(value: Any, where: str) -> Lengths:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return Lengths(value, most=value)
    fields = Fields(value, where)
    lengths = Lengths(fields.whole("median", 0), fields.number("sigma", 0.0), fields.whole("most", 2048))
    fields.finish()
    return lengths


def _levels(item: Any, where: str) -> list[Level]:
    fields = Fields(item, f"{where}: a level")
    concurrency, rate = fields.take("concurrency"), fields.take("rate")
    if (concurrency is None) == (rate is None):
        raise BenchError(f"{where}: a level has concurrency (closed loop) or rate (open loop)")
    seconds = fields.number("seconds", 30.0, 0.1)
    common: dict[str, Any] = {
        "seconds": seconds,
        "most_seconds": max(fields.number("most_seconds", seconds), seconds),
        "warmup": fields.number("warmup", 5.0),
        "drain": fields.number("drain", 60.0),
        "quantile": fields.number("quantile", 0.99),
        "datasets": fields.texts("datasets") or None,
    }
    repeats = fields.whole("repeats", 1)
    fields.finish()
    if not 0.0 < common["quantile"] < 1.0:
        raise BenchError(f"{where}: quantile lies between 0 and 1")
    given = concurrency if rate is None else rate
    values = given if isinstance(given, list) else [given]
    key = "concurrency" if rate is None else "rate"
    checked = [Fields({key: value}, f"{where}: a level") for value in values]
    loads: list[dict[str, Any]] = [
        {key: field.whole(key, 0) if key == "concurrency" else field.number(key, 0.0, 0.001)} for field in checked
    ]
    return [Level(**common, **load, repeat=turn) for turn in range(1, repeats + 1) for load in loads]


def _name(text: str, where: str) -> str:
    if not _NAME.fullmatch(text):
        raise BenchError(f"{where}: the name {text!r} must be letters, digits, '.', '_' and '-', at most 64")
    return text


def _check(matrix: Matrix, where: str) -> None:
    names = [engine.name for engine in matrix.engines]
    if len(set(names)) < len(names):
        raise BenchError(f"{where}: two engines have one name")
    named = [(f"engine {engine.name}", engine.datasets) for engine in matrix.engines]
    named += [(f"level {level.name}", level.datasets) for level in matrix.levels]
    for what, wanted in named:
        for name in wanted or ():
            if name not in matrix.datasets:
                raise BenchError(f"{where}: {what}: there is no data set {name!r}")


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, names) for item in value]
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(name, text)
    return value
