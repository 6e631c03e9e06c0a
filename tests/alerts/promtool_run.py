"""Runs `promtool test rules` over cases, with every promtool that is here."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from alerts.rule_case import Case
from specwatch_alerts.definition import load_definitions
from specwatch_alerts.origin import Origin
from specwatch_alerts.promql import parse
from specwatch_alerts.promql_tree import selectors
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import Values, load_values, parse_values
from tools.tool_paths import BIN_FOLDER, find_tool, is_program

# The newer one is welcome, not required: the end of the test run says when it is missing.
PROMTOOLS: Final = ("promtool", *(("promtool-3",) if is_program(BIN_FOLDER / "promtool-3") else ()))


def rules_of(
    origin: Origin, alerts: Iterable[str], values: str = "", *, annotations: bool = False
) -> dict[str, Any]:
    """Some alerts and the recorded series that they read, directly or not; `values` are laid over the shipped ones.

    Promtool wants annotations to match whole, so most tests go without.
    """
    groups = build(_values(values), origin)["groups"]
    recorded: dict[str, list[str]] = {}
    for rule in (rule for group in groups for rule in group["rules"] if "record" in rule):
        recorded.setdefault(rule["record"], []).append(rule["expr"])
    wanted = set(alerts)
    waiting = [rule["expr"] for group in groups for rule in group["rules"] if rule.get("alert") in wanted]
    slos: set[str] = set()
    while waiting:
        read = list(selectors(parse(waiting.pop())))
        slos.update(matcher.value for one in read for matcher in one.matchers if matcher.label == "slo")
        for name in {one.name for one in read} - wanted:
            wanted.add(name)
            waiting += recorded.get(name, [])
    for group in groups:
        group["rules"] = [
            rule
            for rule in group["rules"]
            if rule.get("alert", rule.get("record")) in wanted
            and rule.get("labels", {}).get("slo") in {None, *slos}
        ]
        for rule in group["rules"] if not annotations else ():
            rule.pop("annotations", None)
    return {"groups": [group for group in groups if group["rules"]]}


def check(promtool: str, alert: str, cases: list[Case], folder: Path) -> None:
    """Fail with what promtool says unless every alert fires or is quiet as the cases say.

    A case of days asks for its own alert only: all rules over all that time take minutes.
    """
    every_alert = [one.name for one in load_definitions()]
    for origin, every, values in sorted({_setting(case) for case in cases}):
        names = every_alert if every == "1m" else [alert]
        chosen = [case.as_test(names) for case in cases if _setting(case) == (origin, every, values)]
        (folder / "rules.yml").write_text(json.dumps(rules_of(origin, names, values)))
        run(promtool, "rules.yml", chosen, folder, every)


def _setting(case: Case) -> tuple[Origin, str, str]:
    return case.origin, case.every, case.values


def _values(own: str) -> Values:
    shipped = (files("specwatch_alerts") / "values.toml").read_text(encoding="utf-8")
    return parse_values(shipped, own, "the case") if own else load_values()


def run(promtool: str, rules: str, tests: list[dict[str, Any]], folder: Path, every: str = "1m") -> None:
    """One run of `promtool test rules` over test groups.

    Groups are evaluated in the file's order, what records before what reads. Promtool takes any otherwise, and
    with minutes between evaluations what the last one recorded may be too old to be read.
    """
    order = [group["name"] for group in json.loads((folder / rules).read_text())["groups"]]
    shape = {"rule_files": [rules], "evaluation_interval": every, "group_eval_order": order}
    file = folder / "test.yml"
    file.write_text(json.dumps({**shape, "tests": tests}))
    command = [str(find_tool(promtool)), "test", "rules", file.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    said = re.sub(r"\n\s+\n", "\n", done.stdout + done.stderr)
    assert done.returncode == 0, said[:6000]
