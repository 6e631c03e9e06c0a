"""Weights of the pools, with a version, so that two controllers cannot overwrite each other unseen."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specwatch_exporters.json_text import decode
from specwatch_exporters.proxy.upstreams import UpstreamError, checked_weight

AT_START: Final = "start"
MAX_SETTER: Final = 80


class WeightsError(ValueError):
    """The weights are none; one clause says why."""


class StaleWeightsError(Exception):
    """Somebody else has set weights since the version that was meant."""


@dataclass(frozen=True, eq=False, slots=True)
class Weights:
    """Weights in force; a new object for every change.

    Attributes:
        values: by pool, in order; 0 or more, together above 0.
        version: changes with every change, and with every start of the sidecar.
        setter: who set them; `start` as the sidecar was started.
    """

    values: tuple[float, ...]
    version: str
    setter: str

    def share(self, pool: int) -> float:
        """Share of new requests that a pool gets, 0 to 1."""
        return self.values[pool] / sum(self.values)


class PoolWeights:
    """Set by the admin server's thread, read by the data path's: `now` is replaced whole.

    Args:
        names: of the pools, in order.
        values: at the start.
        file: keeps them over a restart, or None.

    Raises:
        WeightsError: the file cannot be read; a file that knows other pools is passed over.

    Attributes:
        now: weights in force.
    """

    def __init__(self, names: Sequence[str], values: Sequence[float], file: Path | None = None) -> None:
        self.names = tuple(names)
        self._file = file
        self._lock = threading.Lock()
        self._life = secrets.token_hex(4)  # a version of an earlier life is never taken for one of this
        self._changes = 0
        kept = None if file is None else _read(file)
        found = None if kept is None else self._kept(kept)
        self.now = self._next(*((tuple(values), AT_START) if found is None else found))

    def replace(self, weights: Any, version: str, setter: str) -> Weights:
        """Set other weights.

        Args:
            weights: by name; a pool that is missing gets none.
            version: that the change is meant for.
            setter: who sets them, for people.

        Raises:
            WeightsError: they are no weights of these pools.
            StaleWeightsError: other weights are in force than those that were meant.
            OSError: the file cannot be written; then nothing has changed.
        """
        values = self._checked(weights)
        with self._lock:
            if version != self.now.version:
                raise StaleWeightsError
            if self._file is not None:
                _write(self._file, {"weights": dict(zip(self.names, values, strict=True)), "by": setter})
            self.now = self._next(values, setter)
            return self.now

    def _next(self, values: tuple[float, ...], setter: str) -> Weights:
        self._changes += 1
        return Weights(values, f"{self._life}-{self._changes}", setter)

    def _checked(self, weights: Any) -> tuple[float, ...]:
        if not isinstance(weights, Mapping):
            raise WeightsError("weights must be an object of numbers by pool")
        strange = sorted(set(weights) - set(self.names))
        if strange:
            raise WeightsError(f"there is no pool {strange[0][:40]!r}; there are: {', '.join(self.names)}")
        try:
            values = tuple(checked_weight(weights.get(name, 0.0)) for name in self.names)
        except UpstreamError as error:
            raise WeightsError(str(error)) from None
        if not sum(values):
            raise WeightsError("no pool would have a weight, so no request could go anywhere")
        return values

    def _kept(self, kept: Any) -> tuple[tuple[float, ...], str] | None:
        """What the file holds, if it is of these pools."""
        weights = kept.get("weights") if isinstance(kept, Mapping) else None
        if not isinstance(weights, Mapping) or set(weights) != set(self.names):
            return None
        try:
            return self._checked(weights), str(kept.get("by", ""))[:MAX_SETTER] or AT_START
        except WeightsError:
            return None


def _read(file: Path) -> Any:
    """The file's content; None if it does not exist yet."""
    try:
        return decode(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WeightsError(f"{file} cannot be read: {error.strerror}") from None


def _write(file: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    partial = file.with_name(file.name + ".partial")
    with partial.open("w") as out:
        json.dump(content, out)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(file)
