"""Files of prompts: the user's JSON lines, ShareGPT, MT-Bench, GSM8K and HumanEval, each with its form checked.

Forms: ShareGPT is a JSON list of conversations, `conversations` with `from` and `value`; MT-Bench is JSON lines
with `turns` and `category`; GSM8K JSON lines with `question`; HumanEval JSON lines with `prompt` and `task_id`.
Files may be gzip. One's own lines have `prompt`, and if wanted `class` and `max_tokens`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.matrix import DatasetSpec
from specwatch_bench.prompt import Dataset, FileDataset, SyntheticDataset

Row = tuple[str, str | None, int | None]
_MOST_BYTES: Final = 1 << 30
_GZIP: Final = b"\x1f\x8b"


def open_dataset(spec: DatasetSpec) -> Dataset:
    """Make a data set ready.

    Raises:
        BenchError: a file that cannot be read, or that is not of the stated kind.
    """
    if spec.path is None:
        return SyntheticDataset(spec)
    rows = list(_READERS[spec.kind](_entries(spec), spec))
    if not rows:
        raise BenchError(f"data set {spec.name}: {spec.path} holds no prompt")
    return FileDataset(spec, [(text, name or spec.traffic_class, asked) for text, name, asked in rows])


def _entries(spec: DatasetSpec) -> Iterator[tuple[int, Any]]:
    """Decoded entries with the number of their line or place, from 1."""
    text = _text(Path(spec.path or ""), spec.name)
    if spec.kind == "sharegpt":
        body = _decoded(text, f"data set {spec.name}: {spec.path}")
        if not isinstance(body, list):
            raise BenchError(f"data set {spec.name}: {spec.path} is not a JSON list, as ShareGPT's file is")
        yield from enumerate(body, start=1)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, _decoded(line, f"data set {spec.name}: {spec.path}, line {number}")


def _text(path: Path, name: str) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise BenchError(f"data set {name}: {path} is larger than 1 GiB")
        data = path.read_bytes()
        return (gzip.decompress(data) if data.startswith(_GZIP) else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is neither UTF-8 text nor gzip of it"
        raise BenchError(f"data set {name}: {path}: {reason}") from error


def _decoded(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BenchError(f"{where}: not JSON") from error


def _own(entries: Iterable[tuple[int, Any]], spec: DatasetSpec) -> Iterator[Row]:
    for number, entry in entries:
        asked = entry.get("max_tokens") if isinstance(entry, Mapping) else None
        if asked is not None and (type(asked) is not int or asked < 1):
            raise _wrong(spec, number, "max_tokens must be a whole number over 0")
        name = entry.get("class") if isinstance(entry, Mapping) else None
        if name is not None and not isinstance(name, str):
            raise _wrong(spec, number, "class must be a text")
        yield _member(entry, "prompt", spec, number), name, asked


def _sharegpt(entries: Iterable[tuple[int, Any]], spec: DatasetSpec) -> Iterator[Row]:
    """First turn of every conversation that a person begins."""
    for number, entry in entries:
        turns = entry.get("conversations") if isinstance(entry, Mapping) else None
        if not isinstance(turns, list):
            raise _wrong(spec, number, "needs conversations")
        first = turns[0] if turns and isinstance(turns[0], Mapping) else {}
        text = first.get("value")
        if first.get("from") in {"human", "user"} and isinstance(text, str) and text.strip():
            yield text, None, None


def _mt_bench(entries: Iterable[tuple[int, Any]], spec: DatasetSpec) -> Iterator[Row]:
    """First turn of every question."""
    for number, entry in entries:
        turns = entry.get("turns") if isinstance(entry, Mapping) else None
        if not isinstance(turns, list) or not turns or not isinstance(turns[0], str):
            raise _wrong(spec, number, "needs turns, a list of texts")
        yield turns[0], None, None


def _gsm8k(entries: Iterable[tuple[int, Any]], spec: DatasetSpec) -> Iterator[Row]:
    for number, entry in entries:
        yield _member(entry, "question", spec, number), None, None


def _humaneval(entries: Iterable[tuple[int, Any]], spec: DatasetSpec) -> Iterator[Row]:
    for number, entry in entries:
        _member(entry, "task_id", spec, number)
        yield _member(entry, "prompt", spec, number), None, None


def _member(entry: Any, key: str, spec: DatasetSpec, number: int) -> str:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(value, str) or not value.strip():
        raise _wrong(spec, number, f"needs {key}, a text")
    return value


def _wrong(spec: DatasetSpec, number: int, what: str) -> BenchError:
    return BenchError(f"data set {spec.name}: {spec.path} is not of kind {spec.kind}: entry {number} {what}")


_READERS: Final[Mapping[str, Callable[[Iterable[tuple[int, Any]], DatasetSpec], Iterator[Row]]]] = {
    "gsm8k": _gsm8k,
    "humaneval": _humaneval,
    "jsonl": _own,
    "mt-bench": _mt_bench,
    "sharegpt": _sharegpt,
}
