"""What the sidecar's detectors keep over restarts: one JSON object with a part for each model."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.kept_part import left_out
from specwatch_detectors.state_store import StateStore

LOG = logging.getLogger("specwatch.drift")
VERSION: Final = 1


class SidecarMemory:
    """Loads once, saves often; a trouble with either is logged and does no harm.

    Args:
        store: keeps the object, or None to keep nothing.
    """

    def __init__(self, store: StateStore | None) -> None:
        self._store = store
        self._failing = False

    def load(self) -> dict[str, Mapping[str, Any]]:
        """By model name, what was kept of it; empty if there is nothing that can be used."""
        try:
            body = None if self._store is None else self._store.load()
        except (OSError, ValueError, RecursionError) as error:
            LOG.warning("the kept drift state is not used: %s", error)
            return {}
        if body is None:
            return {}
        version, models = body.get("version"), body.get("models")
        if isinstance(version, bool) or version != VERSION:
            LOG.warning("the kept drift state is not used: it is not of version %d", VERSION)
            return {}
        if not isinstance(models, dict):
            LOG.warning("the kept drift state is not used: it is of another form")
            return {}
        for name in (name for name, kept in models.items() if not isinstance(kept, dict)):
            left_out(name, "it is no JSON object")
        return {name: kept for name, kept in models.items() if isinstance(kept, dict)}

    def save(self, models: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep the parts instead of the ones before; without any the old ones stay."""
        if self._store is None or not models:
            return
        try:
            self._store.save({"version": VERSION, "models": models})
        except (OSError, ValueError) as error:
            if not self._failing:
                reason = error.strerror if isinstance(error, OSError) else None
                LOG.warning("the drift state cannot be kept: %s", reason or error)
            self._failing = True
        else:
            self._failing = False
