"""Prompts for code, from sources of packages and from requests written for this project."""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from classes_corpus.packages import unpack
from classes_corpus.phrases import fill, lines_of
from classes_corpus.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Function:
    """A documented Python function; `body` is the line of its first statement after the docstring."""

    name: str
    arguments: str
    summary: str
    lines: tuple[str, ...]
    body: int


def requests(_cache: Path, rng: Random) -> Iterator[Prompt]:
    """Requests without a listing, from templates of this project (synthetic)."""
    for template in lines_of("code"):
        for _ in range(6):
            yield Prompt(fill(template, rng), template)


def python_functions(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Python functions with a request or bare, their heads to complete, requests made of their descriptions."""
    asks, descriptions = lines_of("code_asks"), lines_of("code_from_docs")
    for package in ("django", "networkx", "sphinx"):
        for path in _files(unpack(package, cache), {".py"}):
            for function in _functions(path):
                kind = rng.random()
                if kind < 0.4:
                    text = fill(rng.choice(asks), rng, code=_listing(list(function.lines), "python", rng))
                elif kind < 0.7:
                    head = rng.choice(("", "import re\n\n\n", "from typing import Any\n\n\n", "import math\n\n"))
                    text = head + "\n".join(function.lines[: function.body]) + "\n"
                else:
                    facts = {"name": function.name, "arguments": function.arguments, "what": function.summary}
                    text = fill(rng.choice(descriptions), rng, **facts)
                yield Prompt(text, f"{path.name} {function.name}")


def web_sources(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Excerpts in JavaScript and TypeScript, with a request or bare."""
    for package in ("lodash", "express", "rxjs"):
        yield from _excerpts(unpack(package, cache), {".js": "javascript", ".ts": "typescript"}, rng)


def compiled_sources(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Excerpts in C, C++, Java and Cython, with a request or bare."""
    languages = {".c": "c", ".h": "cpp", ".cpp": "cpp", ".hpp": "cpp", ".java": "java", ".pyx": "cython"}
    for package in ("pybind11", "cython", "python-for-android"):
        yield from _excerpts(unpack(package, cache), languages, rng)


def sql_sources(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Excerpts of templated SQL, with a request or bare."""
    yield from _excerpts(unpack("dbt-adapters", cache), {".sql": "sql"}, rng)


def described_tasks(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Tasks with stated inputs and outputs, asked for as programs."""
    asks = lines_of("code_from_tasks")
    data = unpack("reasoning-gym", cache) / "reasoning_gym/data/codeio.jsonl.gz"
    for number, line in enumerate(gzip.decompress(data.read_bytes()).decode().splitlines()):
        record = json.loads(line)
        facts = {"task": record["task_description"], "spec": record["input_output_spec"]}
        yield Prompt(fill(rng.choice(asks), rng, **facts), f"codeio {number}")


def _files(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.suffix in suffixes and ".min." not in path.name)
    return sorted(path for path in found if "locale" not in path.parts and path.stat().st_size < 400_000)


def _functions(path: Path) -> Iterator[Function]:
    text = path.read_text()
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef) or len(node.body) < 2:
            continue
        doc = ast.get_docstring(node)
        length = (node.end_lineno or 0) - node.lineno + 1
        if doc is None or not 20 <= len(doc) <= 1500 or not 4 <= length <= 60:
            continue
        own = [line[node.col_offset :] for line in lines[node.lineno - 1 : node.end_lineno]]
        body = node.body[1].lineno - node.lineno
        summary = " ".join(doc.split("\n\n")[0].split())
        yield Function(node.name, ast.unparse(node.args), summary, tuple(own), body)


def _excerpts(folder: Path, languages: dict[str, str], rng: Random) -> Iterator[Prompt]:
    """Pieces of 5 to 50 lines that begin where a line begins at the margin."""
    asks = lines_of("code_asks")
    for path in _files(folder, languages):
        lines = path.read_text(errors="replace").splitlines()
        starts = [number for number, line in enumerate(lines[:-4]) if line[:1].strip()]
        for start in rng.sample(starts, min(len(starts), 4)):
            piece = lines[start : start + rng.randint(5, 50)]
            listing = _listing(piece, languages[path.suffix], rng)
            yield Prompt(fill(rng.choice(asks), rng, code=listing), f"{folder.name} {path.name}")


def _listing(lines: list[str], language: str, rng: Random) -> str:
    text = "\n".join(lines)
    kind = rng.random()
    if kind < 0.3:
        return f"```{language}\n{text}\n```"
    return f"```\n{text}\n```" if kind < 0.4 else text
