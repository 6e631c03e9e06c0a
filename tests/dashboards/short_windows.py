"""Rules and pages with seconds for minutes, hours and days: for a Prometheus that is a minute old."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_LONG = re.compile(r"\[\d+[mhdw][^\]]*\]|:\d+[mhdw]\]|offset \d+[mhdw]|time\(\) - 60")


def shortened(data: Any, shorter: Mapping[str, str]) -> Any:
    """JSON data with texts replaced; only texts without quotes inside texts are found.

    Raises:
        AssertionError: a long window is left, which would show a wrong number here.
    """
    text = json.dumps(data)
    for window, seconds in shorter.items():
        text = text.replace(window, seconds)
    left = sorted(set(_LONG.findall(text)))
    assert not left, f"windows that nobody shortens: {left}"
    return json.loads(text)
