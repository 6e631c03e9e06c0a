"""What is right has no finding: correct queries, and everything that specwatch itself makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
import yaml

from deploy.doctor.doctor_run import PAGES, ROOT, alert, ask, codes, page
from specwatch_alerts.origin import Origin
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import load_values
from specwatch_deploy.doctor.finding import Severity
from specwatch_deploy.scale.scale_build import build as build_scaler
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_deploy.scale.scaler_settings import Scaler, ScalerSettings
from specwatch_exporters.exposition import parse

QUERIES: Final = [
    line
    for line in Path(__file__).with_name("correct_queries.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
ENGINE_PAGES: Final = [(), *((name,) for name in PAGES)]
DEMAND: Final = DemandSettings(
    namespace="llm",
    model="llama",
    slots=16,
    target_use=0.9,
    drain_s=60.0,
    wait_slo_s=1.0,
    kv_limit=0.9,
    start_up_s=180,
    scrape_s=15,
    rate_s=120,
    service_s=300,
    now_s=60,
)


def test_there_are_at_least_thirty_correct_queries() -> None:
    assert len(set(QUERIES)) == len(QUERIES) >= 30


@pytest.mark.parametrize("query", QUERIES)
def test_a_correct_query_has_no_finding(query: str) -> None:
    assert [(one.code, one.message) for one in ask(query)] == []


@pytest.mark.parametrize("query", [one for one in QUERIES if "$" not in one and " or " not in one])
def test_a_correct_query_is_a_correct_alert(query: str) -> None:
    limit = 3 if query.startswith("1 +") else 0.5  # no length is below 1
    compared = query if query.endswith(("> 0", "> 1")) else f"({query}) > {limit}"
    assert codes(ask(files=alert(compared))) == []


@pytest.mark.parametrize("pages", ENGINE_PAGES, ids="-".join)
def test_our_dashboards_are_clean(pages: tuple[str, ...]) -> None:
    files = {str(path): path.read_text() for path in sorted((ROOT / "dashboards" / "json").rglob("*.json"))}
    assert len(files) == 10
    found = ask(files=files, engines=[page(one) for one in pages])
    assert [one for one in found if one.severity is not Severity.INFO] == []


@pytest.mark.parametrize("pages", ENGINE_PAGES, ids="-".join)
@pytest.mark.parametrize("origin", Origin)
def test_our_rules_are_clean(origin: Origin, pages: tuple[str, ...]) -> None:
    files = {"rules.yml": json.dumps(build(load_values(), origin))}
    assert codes(ask(files=files, engines=[page(one) for one in pages])) == []


@pytest.mark.parametrize("pages", ENGINE_PAGES, ids="-".join)
@pytest.mark.parametrize("scaler", Scaler)
@pytest.mark.parametrize("origin", Origin)
def test_our_scalers_are_clean(origin: Origin, scaler: Scaler, pages: tuple[str, ...]) -> None:
    chosen = ScalerSettings(workload="llama", least=2, most=8, scaler=scaler)
    files = build_scaler(DEMAND, chosen, origin, {"release": "kube-prometheus-stack"})
    assert all(list(yaml.safe_load_all(text)) for text in files.values())
    assert codes(ask(files=files, engines=[page(one) for one in pages])) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_series_that_a_page_has_is_not_said_to_be_missing(name: str) -> None:
    content_type = "application/openmetrics-text" if PAGES[name].suffix == ".openmetrics" else ""
    families = parse(PAGES[name].read_text(), content_type).families
    series = {sample.name for family in families for sample in family.samples}
    asked = sorted(one for one in series if one.startswith(("vllm:", "sglang:", "trtllm_", "specwatch_")))
    assert len(asked) > 20
    missing = [found.message for found in ask(*asked, engines=[page(name)]) if found.code.startswith("metric-")]
    assert missing == []
