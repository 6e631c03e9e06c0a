"""Findings as one JSON object."""

from __future__ import annotations

import json
from typing import Any

from specwatch_deploy.doctor.codes import CODES
from specwatch_deploy.doctor.finding import ORDER, Finding


def json_text(findings: list[Finding]) -> str:
    """The object: how many of each severity, and the findings, the worst first."""
    counts = {severity.value: sum(1 for one in findings if one.severity is severity) for severity in ORDER}
    return json.dumps({"counts": counts, "findings": [_row(one) for one in findings]}, indent=1, ensure_ascii=False)


def _row(one: Finding) -> dict[str, Any]:
    return {
        "code": one.code,
        "severity": one.severity.value,
        "file": one.place.file,
        "line": one.place.line or None,
        "part": one.place.part or None,
        "message": one.message,
        "evidence": one.evidence or None,
        "mended": one.mended or None,
        "mend": CODES[one.code].mend,
    }
