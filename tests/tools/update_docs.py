"""Write the generated parts of docs from the code: `make docs`; `--check` only compares.

A generated part stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from specwatch_alerts.definition import load_definitions
from specwatch_alerts.finding import CODES as LINT_CODES
from specwatch_deploy.doctor.codes import CODES as DOCTOR_CODES
from specwatch_deploy.doctor.engine import LABELS
from specwatch_exporters.catalog import CATALOG
from specwatch_exporters.engine_metrics.metric_table import load_tables
from specwatch_exporters.notices import CODES
from specwatch_exporters.proxy.options import OPTIONS as PROXY_OPTIONS
from specwatch_exporters.sidecar.options import OPTIONS, Option

ROOT = Path(__file__).resolve().parents[2]
FILES = (
    "docs/alerts.md",
    "docs/doctor-findings.md",
    "docs/doctor.md",
    "docs/metrics.md",
    "docs/proxy.md",
    "docs/settings.md",
    "docs/warnings.md",
)
PART = re.compile(r"(<!-- begin: (?P<name>[a-z-]+) -->\n).*?(<!-- end: (?P=name) -->)", re.DOTALL)


def metrics_table() -> str:
    rows = ["| metric | from | type | labels | meaning |", "|---|---|---|---|---|"]
    for metric in CATALOG:
        labels = ", ".join(metric.labels) or "none"
        row = (f"`{metric.name}`", str(metric.source), str(metric.kind), labels, _cell(metric.help))
        rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows) + "\n"


def warnings_table() -> str:
    rows = ["| code | meaning |", "|---|---|"]
    rows += [f"| `{code}` | {_cell(text)} |" for code, text in sorted(CODES.items())]
    return "\n".join(rows) + "\n"


def alerts_table() -> str:
    rows = ["| alert | severity | component | built on | meaning | impact |", "|---|---|---|---|---|---|"]
    for one in load_definitions():
        runbook = f"[{one.name}](../alerts/runbooks/{one.name}.md)"
        origins = ", ".join(origin.value for origin in one.origins)
        row = (runbook, ", ".join(one.severities), one.component, origins, _cell(one.summary), _cell(one.impact))
        rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows) + "\n"


def lint_table() -> str:
    rows = ["| finding | meaning |", "|---|---|"]
    rows += [f"| `{code}` | {_cell(text)} |" for code, text in sorted(LINT_CODES.items())]
    return "\n".join(rows) + "\n"


def doctor_findings() -> str:
    """Every code of the doctor in three lines: meaning, example, mend."""
    parts = [
        f"## {one.name}\n\n{one.severity}: {one.meaning}  \n`{one.example}`  \n{one.mend}\n"
        for one in DOCTOR_CODES.values()
    ]
    return "\n" + "\n".join(parts) + "\n"


def doctor_engines() -> str:
    rows = ["| engine | metrics | versions |", "|---|---:|---|"]
    for table in load_tables().values():
        versions = f"{table.first} to {table.newest}" if table.first != table.newest else str(table.newest)
        shown = versions if any(table.newest.release) else "all"
        rows.append(f"| {LABELS[table.engine]} | {len(table.rows)} | {shown} |")
    return "\n".join(rows) + "\n"


def settings_table(options: Sequence[Option]) -> str:
    rows = ["| flag | variable | default | accepted | what it does |", "|---|---|---|---|---|"]
    for option in options:
        default = option.default_text or "required"
        rows.append(
            f"| `{option.flag}` | `{option.variable}` | {_cell(default)} | {_cell(option.accepted)} | "
            f"{_cell(option.help)} |"
        )
    return "\n".join(rows) + "\n"


PARTS: dict[str, Callable[[], str]] = {
    "alerts": alerts_table,
    "doctor-engines": doctor_engines,
    "doctor-findings": doctor_findings,
    "lint": lint_table,
    "metrics": metrics_table,
    "proxy-settings": partial(settings_table, PROXY_OPTIONS),
    "settings": partial(settings_table, OPTIONS),
    "warnings": warnings_table,
}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def rendered(text: str) -> str:
    """The text with every generated part made anew."""
    return PART.sub(lambda found: found.group(1) + PARTS[found.group("name")]() + found.group(3), text)


def main(arguments: list[str]) -> int:
    stale = []
    for name in FILES:
        path = ROOT / name
        text = path.read_text()
        new = rendered(text)
        if new != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(new)
    if stale and "--check" in arguments:
        print(f"not up to date: {', '.join(stale)}; run 'make docs'", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
