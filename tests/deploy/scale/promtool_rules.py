"""Runs every promtool that is here on the demand's rules."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from alerts.promtool_run import PROMTOOLS
from specwatch_alerts.origin import Origin
from specwatch_deploy.scale.demand_rules import demand_group
from specwatch_deploy.scale.scale_settings import DemandSettings
from tools.tool_paths import find_tool

SETTINGS = DemandSettings(namespace="llm", model="m", slots=16, target_use=0.75, drain_s=120.0)
"""12 requests are a replica."""


def write_rules(folder: Path, settings: Sequence[DemandSettings], origin: Origin) -> Path:
    path = folder / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [demand_group(item, origin) for item in settings]}, width=10**6))
    return path


def promtool_says(
    folder: Path,
    series: Mapping[str, str],
    expected: Mapping[str, Sequence[tuple[str, float]]],
    *,
    at: str = "15m",
    settings: Sequence[DemandSettings] = (SETTINGS,),
    origin: Origin = Origin.SIDECAR,
) -> str:
    """Evaluate expressions over series, 15 s apart; returns what promtool complains about, or nothing."""
    rules = write_rules(folder, settings, origin)
    case = {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": expr,
                "eval_time": at,
                "exp_samples": [{"labels": labels, "value": value} for labels, value in samples],
            }
            for expr, samples in expected.items()
        ],
    }
    test = folder / "test.yml"
    test.write_text(
        yaml.safe_dump({"rule_files": [rules.name], "evaluation_interval": "15s", "tests": [case]}, width=10**6)
    )
    return "".join(_complaint(promtool, test) for promtool in PROMTOOLS)


def _complaint(promtool: str, test: Path) -> str:
    done = subprocess.run([find_tool(promtool), "test", "rules", test], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{promtool}: {done.stdout}{done.stderr}"
