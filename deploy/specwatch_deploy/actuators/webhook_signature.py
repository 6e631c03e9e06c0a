"""Signature of a webhook: HMAC-SHA256 over time and body, so that neither can be changed nor sent again later.

A receiver checks it with `verify`, and keeps the idempotency keys that it has seen for as long as a time is taken.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

TIMESTAMP: Final = "X-Specwatch-Timestamp"
SIGNATURE: Final = "X-Specwatch-Signature"
IDEMPOTENCY_KEY: Final = "Idempotency-Key"
TAKEN_S: Final = 300.0
"""Age of a time, in seconds, up to which a receiver should take it: clocks differ, and retries take a while."""
_SCHEME: Final = "v1="


def sign(secret: bytes, timestamp: int, body: bytes) -> str:
    """Value of the signature's header.

    Args:
        secret: that both sides know.
        timestamp: epoch seconds, as in its header.
        body: bytes as they are sent; empty for a GET.
    """
    return _SCHEME + hmac.new(secret, b"%d." % timestamp + body, hashlib.sha256).hexdigest()


def verify(secret: bytes, timestamp: str, signature: str, body: bytes, now: float) -> bool:
    """Whether a request comes from who knows the secret, and was made now.

    Args:
        secret: that both sides know.
        timestamp: header.
        signature: header.
        body: bytes as they came.
        now: epoch seconds.
    """
    if not timestamp.isdecimal() or not timestamp.isascii() or len(timestamp) > 15:
        return False
    if abs(now - int(timestamp)) > TAKEN_S:
        return False
    return hmac.compare_digest(sign(secret, int(timestamp), body).encode(), signature.encode("utf-8", "replace"))
