"""JSON Schemas of Grafana's own types, made here from the package @grafana/schema and kept under `.cache`."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError

MAJORS: Final = ("11.6.0", "13.2.3")
_GENERATOR: Final = "ts-json-schema-generator@2.3.0"
_CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "grafana-schema"
_SCRIPT: Final = Path(__file__).with_name("make_schemas.mjs")


def schemas(version: str) -> Path:
    """The folder of a version's schemas; makes it the first time, which takes half a minute and npm."""
    folder = _CACHE / version
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".made").exists():
            _make(folder, version)
            (folder / ".made").touch()
    return folder


def _make(folder: Path, version: str) -> None:
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    assert not missing, f"{' and '.join(missing)} not found: install Node.js 20 or newer with npm"
    (folder / "package.json").write_text('{"private": true}')
    install = [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--ignore-scripts",
        "--legacy-peer-deps",
    ]
    _run([*install, f"@grafana/schema@{version}", _GENERATOR], folder)
    _run(["node", str(_SCRIPT), str(folder)], folder)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@cache
def _validator(version: str, name: str) -> Draft7Validator:
    return Draft7Validator(json.loads((schemas(version) / f"{name}.json").read_text()))


def violations(version: str, name: str, part: Mapping[str, Any]) -> list[str]:
    """What a part of a dashboard breaks, one line each: where, and what."""
    found = _validator(version, name).iter_errors(part)
    return sorted({line for error in found for line in _lines(error)})


def _lines(error: ValidationError) -> Iterator[str]:
    """The lines of an error; of alternatives, those of the one that comes nearest."""
    if error.context:
        branches: dict[Any, list[ValidationError]] = {}
        for below in error.context:
            branches.setdefault(below.schema_path[0], []).append(below)
        for below in min(branches.values(), key=len):
            yield from _lines(below)
    else:
        yield f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
