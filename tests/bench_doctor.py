"""How long `specwatch doctor` takes over 200 dashboards and 2,000 rules: `make bench-doctor`.

The dashboards are specwatch's own ten and a broken one, the rules specwatch's own for three sources; both are
repeated under other names until there are enough. Everything is timed: reading, parsing, checking.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import yaml

from specwatch_alerts.origin import Origin
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import load_values
from specwatch_deploy.doctor.examination import examine
from specwatch_deploy.doctor.gathering import gather, inputs_of

DASHBOARDS: Final = 200
RULES: Final = 2_000
AIM_S: Final = 10.0
ROOT: Final = Path(__file__).parents[1]
BROKEN: Final = ROOT / "tests" / "cases" / "44-vllm-dashboard-no-data-after-upgrade" / "dashboard.json"
PAGES: Final = (
    ROOT / "tests" / "captures" / "vllm-0.32.0-cpu" / "draft-k4.prom",
    ROOT / "tests" / "captures" / "sglang-0.5.17-h200" / "llama-8b-eagle3.prom",
)


def write_dashboards(folder: Path) -> None:
    """200 dashboards, one of eleven broken."""
    sources = [*sorted((ROOT / "dashboards" / "json").rglob("*.json")), BROKEN]
    for number in range(DASHBOARDS):
        body = json.loads(sources[number % len(sources)].read_text())
        body["title"] = f"{body['title']} {number}"
        (folder / f"dashboard-{number}.json").write_text(json.dumps(body, indent=1))


def write_rules(folder: Path) -> None:
    """2,000 rules in twenty files."""
    groups = [group for origin in Origin for group in build(load_values(), origin)["groups"]]
    rules = [rule for group in groups for rule in group["rules"]]
    each = RULES // 20
    for number in range(20):
        own: list[dict[str, Any]] = [
            copy.deepcopy(rules[at % len(rules)]) for at in range(number * each, (number + 1) * each)
        ]
        body = {"groups": [{"name": f"group-{number}", "rules": own}]}
        (folder / f"rules-{number}.yml").write_text(yaml.safe_dump(body))


def main() -> int:
    """Print seconds; 1 if they are over the aim."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_dashboards(folder)
        write_rules(folder)
        begin = time.perf_counter()
        inputs = inputs_of(gather([str(folder)], [str(page) for page in PAGES]))
        read = time.perf_counter()
        findings = examine(inputs)
        end = time.perf_counter()
    print(f"{DASHBOARDS} dashboards, {RULES} rules, {len(inputs.queries)} queries, {len(findings)} findings")
    print(
        f"{end - begin:.2f} s ({read - begin:.2f} s reading, {end - read:.2f} s checking); aim: under {AIM_S:g} s"
    )
    return int(end - begin > AIM_S)


if __name__ == "__main__":
    sys.exit(main())
