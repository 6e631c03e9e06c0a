"""One prompt of the corpus."""

from __future__ import annotations

from typing import NamedTuple


class Prompt(NamedTuple):
    """A prompt and the template, file or record that it was made from; those are never split in two."""

    text: str
    origin: str
