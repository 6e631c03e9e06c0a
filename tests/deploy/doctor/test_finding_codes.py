"""Every code says what it means, and its own example shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from deploy.doctor.doctor_run import DYNAMO, alert, ask, page, panel
from specwatch_deploy.doctor.codes import CODES, Code
from specwatch_deploy.doctor.finding import Finding, Place, Severity, found

AREAS: Final = ("alerts", "labels", "metrics", "queries")
# What the examples take beside themselves.
ENGINES: Final = {
    "metric-too-new": ["vllm@0.12.0"],
    "metric-hidden": ["vllm@0.12.0"],
    "metric-needs": [page("vllm-0.32.0")],
    "metric-needs-speculation": [page("vllm-0.25.1-off")],
    "metric-on-worker": [str(DYNAMO)],
    "metric-one-process": [page("vllm-0.33.0-multiprocess")],
    "metric-other-frontend": [page("vllm-0.33.0-rust")],
    "metric-not-everywhere": ["vllm@0.33.0", "vllm@0.9.0"],
    "counted-twice": [page("sglang-0.5.23")],
    "step-as-token": [page("vllm-0.32.0")],
}
ALERTS: Final = {
    "absent-as-zero",
    "alert-always-fires",
    "alert-never-fires",
    "alert-without-for",
    "counter-without-rate",
    "edge-too-coarse",
    "nan-is-true",
    "zero-means-none",
}
PANELS: Final = {"sum-without-count": ("Queue time", "s"), "unit-wrong": ("KV cache", "percent")}
# Shown against a real Prometheus in test_live_prometheus.py, and by manifests in test_scrapes.py.
LIVE: Final = {"alert-out-of-reach", "scraped-twice", "selector-empty"}
OURS: Final = [code for code in CODES.values() if code.area in AREAS and code.name not in LIVE]


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.name)
def test_a_code_has_a_meaning_an_example_and_a_mend(code: Code) -> None:
    assert code.severity in set(Severity)
    for text in (code.meaning, code.mend):
        assert text.endswith(".")
        assert "\n" not in text
        assert len(text) < 260
    assert code.example.strip()
    assert "\n" not in code.example


def shown_by(code: Code, query: str) -> list[Finding]:
    """Findings of a code on a query that stands where the code is about."""
    engines = ENGINES.get(code.name, [])
    if code.name in ALERTS:
        files = alert(query, wait="" if code.name == "alert-without-for" else "5m")
    else:
        files = panel(query, *PANELS[code.name]) if code.name in PANELS else {}
    found = ask(*(() if files else (query,)), files=files, engines=engines)
    return [one for one in found if one.code == code.name]


@pytest.mark.parametrize("code", OURS, ids=lambda code: code.name)
def test_the_example_shows_the_fault_and_the_mended_query_does_not(code: Code) -> None:
    found = shown_by(code, code.example)
    assert found
    assert found[0].severity.value == code.severity
    for one in found:
        if one.mended:
            assert shown_by(code, one.mended) == []


def test_an_unknown_code_cannot_be_found() -> None:
    with pytest.raises(KeyError):
        found("no-such-code", Place("x"), "message")


def test_every_code_is_used() -> None:
    folder = Path(__file__).parents[3] / "deploy" / "specwatch_deploy" / "doctor"
    text = "".join(path.read_text() for path in folder.rglob("*.py"))
    assert not [name for name in CODES if f'"{name}"' not in text]
