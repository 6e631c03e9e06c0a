"""Write what the chart has from elsewhere, its README, and the kustomize patch; `--check` only compares.

Run it as `PYTHONPATH=tests python -m deploy.chart.update_chart`, after a change of rules, dashboards or values.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import yaml

from deploy.chart.chart_readme import readme
from specwatch_alerts.origin import Origin
from specwatch_alerts.rule_build import build
from specwatch_alerts.rule_files import rule_file
from specwatch_alerts.values import load_values
from specwatch_deploy.inject.sidecar_containers import SidecarSettings, sidecars, volumes
from specwatch_deploy.scale.demand_rules import demand_group
from specwatch_deploy.scale.scale_settings import DemandSettings

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy" / "chart" / "specwatch"
PATCH = ROOT / "deploy" / "kustomize" / "sidecar" / "sidecar.yaml"
DASHBOARDS = ROOT / "dashboards" / "json"

# Numbers and names that occur nowhere else in the rules; each becomes a word that the chart replaces.
STAND_INS = {"n-a-m-e-s-p-a-c-e": "@namespace@", "m-o-d-e-l": "@model@", "99991": "@capacity@"}
STAND_INS |= {"3511": "@drain@", "3517": "@wait@", "0.70707": "@kv@"}
SETTINGS = DemandSettings(
    namespace="n-a-m-e-s-p-a-c-e",
    model="m-o-d-e-l",
    slots=99991,
    target_use=1.0,
    drain_s=3511,
    wait_slo_s=3517,
    kv_limit=0.70707,
)


def alert_rules(origin: Origin) -> str:
    """The rules of `specwatch alerts build` with its own values."""
    engine = "sglang" if origin is Origin.SGLANG else "vllm"
    source = "sidecar" if origin is Origin.SIDECAR else "engine"
    groups = build(load_values(None), origin, engine)
    return rule_file(groups, f"--source {source} --engine {engine} --format rules")


def scale_rules(origin: Origin) -> str:
    """The rules of `specwatch scale build`, with words where a release has its values."""
    text: str = yaml.dump({"groups": [demand_group(SETTINGS, origin)]}, sort_keys=False, width=1_000_000)
    for stand_in, word in STAND_INS.items():
        text = text.replace(stand_in, word)
    # A model may be called 0123: in quotes it stays text.
    text = re.sub(r"^(.*\b(?:name|namespace|model): )(\S*@)$", r'\1"\2"', text, flags=re.MULTILINE)
    return f"# Made by: specwatch scale build --source {origin.value}. The chart replaces the words in @.\n{text}"


def kustomize_patch() -> str:
    """The sidecar that `specwatch inject` adds, as a patch; kustomize overrides the name by its target."""
    settings = SidecarSettings(image="registry.example.com/specwatch:0.1.0", engine_port=8000)
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "any"},
        "spec": {"template": {"spec": {"initContainers": sidecars(settings), "volumes": volumes()}}},
    }
    return "# Made by `make docs`.\n" + yaml.safe_dump(patch, sort_keys=False, default_flow_style=None, width=1_000)


def wanted() -> dict[Path, str]:
    """Files of the chart and their texts."""
    files = {CHART / "README.md": readme(CHART), PATCH: kustomize_patch()}
    for origin in Origin:
        files[CHART / "files" / "rules" / f"{origin.value}.yaml"] = alert_rules(origin)
        files[CHART / "files" / "scale" / f"{origin.value}.yaml"] = scale_rules(origin)
    for page in sorted(DASHBOARDS.glob("*/*.json")):
        compact = json.dumps(json.loads(page.read_text()), separators=(",", ":"), ensure_ascii=False)
        files[CHART / "files" / "dashboards" / page.parent.name / page.name] = compact + "\n"
    return files


def stale() -> list[str]:
    """Files of the chart that differ from what they are made of, and those that nothing makes any more."""
    made = wanted()
    differ = [path for path, text in made.items() if not path.is_file() or path.read_text() != text]
    left = [path for path in (CHART / "files").rglob("*") if path.is_file() and path not in made]
    return [str(path.relative_to(ROOT)) for path in sorted(differ + left)]


def main(arguments: list[str]) -> int:
    """Write, or compare with --check; 1 if something is not up to date."""
    if "--check" in arguments:
        for name in stale():
            print(f"not up to date: {name}; run: make docs", file=sys.stderr)  # noqa: T201 - a program
        return 1 if stale() else 0
    made = wanted()
    for path in (CHART / "files").rglob("*"):
        if path.is_file() and path not in made:
            path.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
