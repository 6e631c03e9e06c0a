"""A state made small enough for a ConfigMap."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.watch.store import StoreError

MAX_BYTES: Final = 1_000_000
"""A ConfigMap holds 1 MiB, names and the lease included."""
MAX_UNPACKED: Final = 64 << 20


def packed(state: Mapping[str, Any], limit: int = MAX_BYTES) -> tuple[bytes, bool]:
    """The state compressed, and whether the pods' lives had to be left out to make it fit.

    Without them a rollout that is under way while the watch restarts is not recognised as one.

    Raises:
        StoreError: it does not fit even so.
    """
    whole = _compressed(state)
    if len(whole) <= limit:
        return whole, False
    small = _compressed({**state, "models": {name: _without_pods(own) for name, own in state["models"].items()}})
    if len(small) <= limit:
        return small, True
    raise StoreError(
        f"the state of {len(state['models'])} models takes {len(small):,} bytes compressed and a ConfigMap holds "
        f"{limit:,}: keep it in a file, or split the fleet with --match"
    )


def unpacked(body: bytes) -> Mapping[str, Any]:
    """The state that was packed.

    Raises:
        StoreError: it is none.
    """
    try:
        stream = zlib.decompressobj(wbits=31)
        text = stream.decompress(body, MAX_UNPACKED)
        state = json.loads(text) if stream.eof else None
    except (zlib.error, ValueError) as error:
        raise StoreError(f"the kept state cannot be unpacked ({error}); delete it to begin anew") from error
    if not isinstance(state, dict):
        raise StoreError("the kept state is no JSON object; delete it to begin anew")
    return state


def _without_pods(model: Mapping[str, Any]) -> dict[str, Any]:
    return {**model, "rollout": {**model["rollout"], "pods": {}}}


def _compressed(state: Mapping[str, Any]) -> bytes:
    text = json.dumps(state, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=6, mtime=0)
