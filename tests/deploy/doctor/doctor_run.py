"""Queries and texts through the doctor, as the tests need it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from specwatch_deploy.doctor.documents import documents
from specwatch_deploy.doctor.engine_source import engine_of
from specwatch_deploy.doctor.examination import examine
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.gathering import Gathered, inputs_of
from specwatch_deploy.doctor.inputs import Prometheus

ROOT: Final = Path(__file__).parents[3]
CAPTURES: Final = ROOT / "tests" / "captures"
CASES: Final = ROOT / "tests" / "cases"
PAGES: Final = {
    "vllm-0.25.1": CAPTURES / "vllm-0.25.1-h200" / "l70-eagle3.prom",
    "vllm-0.25.1-off": CAPTURES / "vllm-0.25.1-h200" / "l70-off.prom",
    "vllm-0.25.1-plugin": CAPTURES / "vllm-0.25.1-h200-plugin" / "eagle3-c32-after.prom",
    "vllm-0.32.0": CAPTURES / "vllm-0.32.0-cpu" / "draft-k4.prom",
    "vllm-0.32.0-dp2": CAPTURES / "vllm-0.32.0-cpu" / "draft-k4-dp2.prom",
    "vllm-0.33.0": CAPTURES / "from-source" / "vllm-0.33.0-python-k3.prom",
    "vllm-0.33.0-multiprocess": CAPTURES / "from-source" / "vllm-0.33.0-python-dp2-multiprocess-k3.prom",
    "vllm-0.33.0-off": CAPTURES / "from-source" / "vllm-0.33.0-python-nospec.prom",
    "vllm-0.33.0-rust": CAPTURES / "from-source" / "vllm-0.33.0-rust-frontend-k3.openmetrics",
    "sglang-0.5.17": CAPTURES / "sglang-0.5.17-h200" / "llama-8b-eagle3.prom",
    "sglang-0.5.17-off": CAPTURES / "sglang-0.5.17-h200-loaded" / "off-c32-after.prom",
    "sglang-0.5.17-ngram": CAPTURES / "sglang-0.5.17-h200-loaded" / "ngram-c32-after.prom",
    "sglang-0.5.23": CAPTURES / "from-source" / "sglang-0.5.23-tp2-eagle3.prom",
    "trtllm-main": CAPTURES / "from-source" / "trtllm-main-eagle3-prometheus.prom",
}
DYNAMO: Final = Path(__file__).with_name("dynamo_frontend.prom")


def page(name: str) -> str:
    """A captured page as `--engine` takes it."""
    return str(PAGES[name])


def ask(
    *queries: str,
    engines: Iterable[str] = (),
    files: Mapping[str, str] | None = None,
    prometheus: Prometheus | None = None,
) -> list[Finding]:
    """Findings on queries, and on texts by the name of their file."""
    found = Gathered(engines=[engine_of(one) for one in engines])
    for name, text in (files or {}).items():
        found.documents += documents(text, name)
    return examine(inputs_of(found, queries, prometheus=prometheus))


def alert(expression: str, *, wait: str = "5m", title: str = "A") -> dict[str, str]:
    """A rule file with one alert, for `ask(files=...)`."""
    lines = [f"- alert: {title}", f"  expr: |\n        {expression}", *([f"  for: {wait}"] if wait else [])]
    rules = "\n".join(f"    {line}" for line in lines)
    return {"rules.yml": f"groups:\n- name: g\n  rules:\n{rules}\n"}


def panel(expression: str, title: str = "Panel", unit: str = "") -> dict[str, str]:
    """A dashboard with one panel, for `ask(files=...)`."""
    one = {
        "title": title,
        "type": "timeseries",
        "targets": [{"expr": expression, "refId": "A"}],
        "fieldConfig": {"defaults": {"unit": unit}},
    }
    return {"dashboard.json": json.dumps({"title": "D", "panels": [one]}, indent=1)}


def codes(findings: Sequence[Finding], least: Severity = Severity.WARNING) -> list[str]:
    """Codes of what is at least as bad, sorted."""
    order = list(Severity)
    return sorted(one.code for one in findings if order.index(one.severity) <= order.index(least))
