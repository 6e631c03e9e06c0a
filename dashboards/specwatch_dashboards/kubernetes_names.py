"""What Kubernetes takes as the name of an object, a namespace, or a label (its API conventions, RFC 1123)."""

from __future__ import annotations

import re
from typing import Final

_PART: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAMESPACE: Final = re.compile(_PART)
_KEY: Final = re.compile(rf"({_PART}(\.{_PART})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")
_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def object_name(uid: str) -> str:
    """A name that is made of a uid: lower case, dashes for what is no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "-", uid.lower()).strip("-") or "dashboard"


def is_namespace(name: str) -> bool:
    """Whether it can be a namespace; empty for none."""
    return not name or _NAMESPACE.fullmatch(name) is not None


def is_label(key: str, value: str) -> bool:
    """Whether it can be a label."""
    return _KEY.fullmatch(key) is not None and _VALUE.fullmatch(value) is not None
