"""What a traffic class may be called, and how many a model may hold."""

from __future__ import annotations

import re

MAX_CLASSES = 12
"""Classes in one model; with more, the series per pod would exceed their bound."""

OTHER = "other"
"""The class of what no class describes."""

DEFAULT = "default"
"""The class of a request that neither a header, nor a rule, nor a classifier gives one."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}", re.ASCII)
RULE = "1 to 32 of a-z, 0-9, _, . and -, the first a letter or a digit"


def is_class_name(name: str) -> bool:
    """Tell whether `name` can be a class: it becomes the value of a metric's label."""
    return _NAME.fullmatch(name) is not None
