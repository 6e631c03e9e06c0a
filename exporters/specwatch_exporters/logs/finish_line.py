"""SGLang's "Finish" line of one request (`--log-requests`): its `meta_info` as Python prints it.

Source: sglang wheels 0.5.4 to 0.5.23, `request_logger` and what it was called before. The text of the answer stands
in the same line, so nothing but numbers under known names, from `meta_info` on, is read.
"""

from __future__ import annotations

import re
from typing import Final

from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.response import record_from_json
from specwatch_exporters.json_text import decode

MARKER: Final = "Finish: obj="
_META: Final = re.compile(r"""['"]meta_info['"]: \{(.*)""", re.DOTALL)
_FIELD: Final = re.compile(
    r"""['"](spec_\w{1,60}|completion_tokens|prompt_tokens|e2e_latency)['"]: (\d[\d.e+-]*|\[[\d, ]*\])(?=[,}\s])"""
)


def parse_finish_line(text: str) -> RequestRecord | None:
    """Read a line; None if it has no `meta_info`."""
    start = text.find(MARKER)
    found = _META.search(text, start) if start >= 0 else None
    if found is None:
        return None
    fields = {name: decode(value) for name, value in _FIELD.findall(found[1])}
    return record_from_json({"meta_info": fields})
