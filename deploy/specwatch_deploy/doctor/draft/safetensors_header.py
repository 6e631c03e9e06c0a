"""Names, types and shapes of tensors, from the headers of safetensors files; no tensor is read.

Source: the format's description: 8 bytes little-endian length, a JSON header, then the data; `data_offsets` of each
tensor count from the end of the header, so that a file cut short is known by its size.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specwatch_deploy.doctor.draft.json_file import DraftError

MOST_HEADER: Final = 100_000_000
"""Bytes; the limit of the reference implementation."""

_LFS: Final = b"version "


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor.

    Attributes:
        dtype: as in the file: `BF16`, `F8_E4M3`, `I32`, ...
        shape: sizes.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Size of the first axis; 0 for a scalar."""
        return self.shape[0] if self.shape else 0


def tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a file by name.

    Raises:
        DraftError: it is missing, cut short, or no safetensors file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            if start == _LFS:
                raise DraftError(f"{path} is a Git LFS pointer and not the weights; run: git lfs pull")
            length = int.from_bytes(start, "little")
            if len(start) < 8 or not 0 < length <= MOST_HEADER:
                raise DraftError(f"{path} is no safetensors file: its first 8 bytes are not the length of a header")
            raw = file.read(length)
    except FileNotFoundError as error:
        raise DraftError(f"{path}: there is no such file") from error
    except OSError as error:
        raise DraftError(f"{path}: {error.strerror}") from error
    found, end = _parsed(path, raw)
    if len(raw) < length or size < 8 + length + end:
        whole = 8 + length + end
        raise DraftError(f"{path} is cut short: it has {size:,} of {whole:,} bytes; copy it again")
    return found


def _parsed(path: Path, raw: bytes) -> tuple[dict[str, Tensor], int]:
    """Tensors, and the number of bytes that they take."""
    try:
        rows = json.loads(raw)
        found = {
            name: Tensor(str(row["dtype"]), tuple(int(one) for one in row["shape"]))
            for name, row in rows.items()
            if name != "__metadata__"
        }
        ends = [int(row["data_offsets"][1]) for name, row in rows.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise DraftError(f"{path} has a header that is no whole JSON; copy it again") from error
    return found, max(ends, default=0)
