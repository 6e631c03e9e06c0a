"""A folder with a model: its configuration, its weights' headers, and what is missing from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specwatch_deploy.doctor.draft.json_file import DraftError, Json, json_object
from specwatch_deploy.doctor.draft.safetensors_header import Tensor, tensors

CONFIG: Final = "config.json"
INDEX: Final = "model.safetensors.index.json"
_SNAPSHOT: Final = re.compile(r"models--(?P<name>[^/]+)/snapshots/(?P<revision>[0-9a-f]{7,40})$")
_INNER: Final = ("text_config", "llm_config", "language_config")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What a folder says without a tensor being read.

    Attributes:
        path: of the folder, as it was given.
        config: its `config.json`.
        weights: tensors by name; None if there is no safetensors file.
        faults: what is missing or broken beside the configuration, one line each.
    """

    path: Path
    config: Json
    weights: Mapping[str, Tensor] | None
    faults: tuple[str, ...]

    @property
    def name(self) -> str:
        """Last part of its path."""
        return self.path.absolute().name

    @property
    def hub_name(self) -> str:
        """`organisation/name` if the folder is a snapshot in a hub's cache; empty otherwise."""
        match = _SNAPSHOT.search(self.path.absolute().as_posix())
        return "" if match is None else match["name"].replace("--", "/", 1)

    @property
    def revision(self) -> str:
        """Commit of a snapshot in a hub's cache, or the one in the configuration; empty if neither tells."""
        match = _SNAPSHOT.search(self.path.absolute().as_posix())
        return str(self.config.get("_commit_hash") or "") if match is None else match["revision"]

    @property
    def config_file(self) -> Path:
        """The configuration."""
        return self.path / CONFIG


def read_folder(path: Path) -> ModelFolder:
    """Read a folder.

    Raises:
        DraftError: it is no folder, or has no configuration that can be read.
    """
    if not path.is_dir():
        raise DraftError(f"{path}: there is no such folder; give the folder that holds {CONFIG}")
    if not (path / CONFIG).is_file():
        raise DraftError(f"{path} holds no {CONFIG}{_hint(path)}")
    weights, faults = _weights(path)
    return ModelFolder(path, json_object(path / CONFIG), weights, tuple(faults))


def text_part(config: Json) -> Json:
    """The configuration of the language model: of a multimodal one, its inner part over the outer one."""
    outer = config.get("thinker_config")
    config = {**config, **outer} if isinstance(outer, dict) else config
    for key in _INNER:
        inner = config.get(key)
        if isinstance(inner, dict) and inner:
            return {**config, **inner}
    return config


def whole(config: Mapping[str, Any], key: str) -> int | None:
    """A whole number of a configuration; None if it is not there or null.

    Raises:
        DraftError: it is something else.
    """
    value = config.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise DraftError(f"{CONFIG}: {key} is {value!r} and not a whole number")


def _hint(path: Path) -> str:
    snapshots = sorted(one for one in (path / "snapshots").glob("*") if (one / CONFIG).is_file())
    return f"; give the snapshot: {snapshots[-1]}" if snapshots else ""


def _weights(path: Path) -> tuple[dict[str, Tensor] | None, list[str]]:
    faults: list[str] = []
    names = {one.name for one in path.glob("*.safetensors")}
    mapped: dict[str, str] = {}
    if (path / INDEX).is_file():
        try:
            mapped = dict(json_object(path / INDEX).get("weight_map") or {})
        except (DraftError, ValueError) as error:
            faults.append(str(error))
        names |= set(mapped.values())
    found: dict[str, Tensor] = {}
    for name in sorted(names):
        try:
            found |= tensors(path / name)
        except DraftError as error:
            faults.append(str(error))
    lost = [] if faults else sorted(set(mapped) - set(found))
    if lost:
        faults.append(f"{path / INDEX} names {len(lost)} tensors that no file holds, {lost[0]} among them")
    return (found if names and not faults else None), faults
