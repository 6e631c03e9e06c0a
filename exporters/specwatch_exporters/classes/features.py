"""From a prompt's text to the numbers of its buckets: what training and classification both compute.

The text is cut to windows, lower-cased, its digits become 0, and it is split into words, runs of digits, pairs of
punctuation, line starts with their indentation, and pieces of non-ASCII text. Each token and each pair of
neighbours is hashed (CRC-32) into a bucket. A bucket is in the set or not; counts are not kept.

Any change here that gives some text other buckets needs a new `VERSION`: models of the old one are then refused.
"""

from __future__ import annotations

import re
from itertools import pairwise
from zlib import crc32

VERSION = 1
WINDOW = 512
"""Characters that are looked at: from the start, around the middle, and from the end; all of a text up to 1,536."""

_FOLD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", b"abcdefghijklmnopqrstuvwxyz" + b"0" * 9)
_TOKENS = re.compile(rb"[a-z_]+|[!-/:-@\[-^`{-~]{1,2}|0+|[\x80-\xff]{1,6}|\n[ \t]*")


def windows(text: str) -> str:
    """Return the part of a prompt that its class depends on, 1,538 characters at most."""
    if len(text) <= 3 * WINDOW:
        return text
    middle = (len(text) - WINDOW) // 2
    return f"{text[:WINDOW]}\n{text[middle : middle + WINDOW]}\n{text[-WINDOW:]}"


def buckets_of(text: str, buckets: int) -> set[int]:
    """Return the buckets that a prompt falls into.

    Args:
        text: any string; lone surrogates are read as question marks.
        buckets: how many there are, a power of two.

    Returns:
        Numbers from 0 to `buckets` - 1; empty for a text of blanks only.
    """
    mask = buckets - 1
    folded = windows(text).encode("utf-8", "replace").translate(_FOLD)
    hashes = [crc32(token) for token in _TOKENS.findall(folded)]
    found = {value & mask for value in hashes}
    found.update([((left >> 9) * 31 + right) & mask for left, right in pairwise(hashes)])
    return found
