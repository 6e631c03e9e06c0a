"""Every alert, quiet and firing, on Prometheus 2.42 and, where it could be had, 3.x."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerts.promtool_run import PROMTOOLS, check
from alerts.rule_case import FOLDER, read_cases
from specwatch_alerts.definition import AlertDefinition, load_definitions

FILES = sorted(FOLDER.glob("*.toml"))


@pytest.mark.timeout(600)  # hours and days of samples, on a machine that may be busy
@pytest.mark.parametrize("promtool", PROMTOOLS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_the_alerts_fire_when_they_should_and_only_then(file: Path, promtool: str, tmp_path: Path) -> None:
    check(promtool, file.stem, read_cases(file), tmp_path)


@pytest.mark.parametrize("definition", load_definitions(), ids=lambda one: str(one.name))
def test_every_alert_has_cases_that_fire_and_cases_that_do_not_in_each_origin(definition: AlertDefinition) -> None:
    cases = read_cases(FOLDER / f"{definition.name}.toml")
    for origin in definition.origins:
        own = [case for case in cases if case.origin is origin]
        fired = {labels["severity"] for case in own for labels in case.fires.get(definition.name, [])}
        built = {rule.severity for rule in definition.rules if definition.slo or rule.expression(origin)}
        assert fired == built, origin
        assert any(definition.name not in case.fires for case in own), f"{origin}: no quiet case"
