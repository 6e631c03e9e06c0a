"""Findings as SARIF 2.1.0, which code hosts show beside the lines of a change."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import quote

from specwatch_deploy.doctor.codes import CODES
from specwatch_deploy.doctor.finding import Finding, Severity

_LEVEL: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif_text(findings: list[Finding]) -> str:
    """One run with the rules of the codes that were found."""
    used = sorted({one.code for one in findings})
    driver = {"name": "specwatch doctor", "version": version("specwatch"), "rules": [_rule(code) for code in used]}
    run = {"tool": {"driver": driver}, "results": [_result(one, used.index(one.code)) for one in findings]}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False)


def _rule(name: str) -> dict[str, Any]:
    code = CODES[name]
    return {
        "id": name,
        "shortDescription": {"text": code.meaning},
        "help": {"text": f"{code.meaning} Example: {code.example} {code.mend}"},
        "defaultConfiguration": {"level": _LEVEL[Severity(code.severity)]},
    }


def _result(one: Finding, rule: int) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(one.place.file.replace("\\", "/"), safe="/:?&=#%~+,@")}
        }
    }
    if one.place.line:
        location["physicalLocation"]["region"] = {"startLine": one.place.line}
    if one.place.part:
        location["logicalLocations"] = [{"fullyQualifiedName": one.place.part}]
    parts = [f"{one.message}.", one.evidence, f"Instead: {one.mended}" if one.mended else ""]
    return {
        "ruleId": one.code,
        "ruleIndex": rule,
        "level": _LEVEL[one.severity],
        "message": {"text": " ".join(part for part in parts if part)},
        "locations": [location],
    }
