"""Values that somebody else puts in before the object is applied: `envsubst`, kustomize, a reader of the guide."""

from __future__ import annotations

import re
from typing import Final

_PLACEHOLDER: Final = re.compile(r"\$\{|\$\(|\$[A-Z_]{2,}|\{\{|<[A-Za-z][\w .-]*>")


def is_placeholder(value: object) -> bool:
    """Whether a value is no value yet: `${PROMETHEUS_URL}`, `$(URL)`, `{{ .url }}`, `<prometheus-url>`."""
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None
