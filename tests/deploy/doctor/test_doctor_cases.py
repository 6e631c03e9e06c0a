"""Cases that people reported, through the doctor (tests/cases/<case>/expected.json)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.doctor.doctor_run import CASES, ask

CASE_17: Final = CASES / "17-ray-prefix-three-spellings"
CASE_38: Final = CASES / "38-keda-empty-result-becomes-zero"
CASE_41: Final = CASES / "41-colon-underscore-and-total"
CASE_44: Final = CASES / "44-vllm-dashboard-no-data-after-upgrade"
CASE_47: Final = CASES / "47-ratio-alert-zero-traffic"
MEANT: Final = {
    "renamed": "metric-renamed",
    "removed": "metric-removed",
    "ratio": "metric-replaced",
    "sum_on_ratio": "ratio-summed",
}


def expected(case: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((case / "expected.json").read_text())
    return body


@pytest.mark.parametrize(
    ("page", "right"),
    [
        ("ray_colon.txt", "ray_vllm:generation_tokens_total"),
        ("ray_underscore.txt", "ray_vllm_generation_tokens_total"),
    ],
)
def test_17_under_ray_the_prefix_is_told(page: str, right: str) -> None:
    (found,) = ask("sum(rate(vllm:generation_tokens_total[5m]))", engines=[str(CASE_17 / page)])
    assert (found.code, found.mended) == ("metric-misspelt", f"sum(rate({right}[5m]))")
    assert ask(f"sum(rate({right}[5m]))", engines=[str(CASE_17 / page)]) == []


def test_38_an_empty_answer_that_becomes_zero() -> None:
    found = {one.code for one in ask(files={"so.yaml": (CASE_38 / "scaledobject.yaml").read_text()})}
    meant = {"ignoreNullValues": "scaler-null-is-zero", "scale_from_zero": "scaler-blind-at-zero"}
    assert found == {meant[one] for one in expected(CASE_38)["lint"]}


def test_41_colon_underscore_and_total(tmp_path: Path) -> None:
    page = tmp_path / "series.prom"
    page.write_text((CASE_41 / "series.txt").read_text())
    queries, verdicts = json.loads((CASE_41 / "queries.json").read_text()), expected(CASE_41)
    for name in ("q1", "q2", "q3", "q5"):
        found = [one.code for one in ask(queries[name], engines=[str(page)])]
        assert found == ([] if verdicts[name] == "ok" else ["metric-misspelt"]), name
    assert ask(files={"adapter.yaml": (CASE_41 / "adapter.yaml").read_text()}, engines=[str(page)]) == []


def test_44_panels_without_data_after_an_upgrade(tmp_path: Path) -> None:
    names = (CASE_44 / "current_metric_names.txt").read_text().split()
    page = tmp_path / "now.prom"
    page.write_text("".join(f'{name}{{model_name="m",engine="0",le="+Inf"}} 1\n' for name in names))
    found = ask(files={"d.json": (CASE_44 / "dashboard.json").read_text()}, engines=[str(page)])
    count = Counter(one.code for one in found)
    wanted = expected(CASE_44)
    assert {key: count[code] for key, code in MEANT.items()} == {key: wanted[key] for key in MEANT}
    told = {one.place.part for one in found}
    panels = {panel["title"] for panel in json.loads((CASE_44 / "dashboard.json").read_text())["panels"]}
    assert panels - told == {"Running"}


def test_47_ratio_alerts_without_traffic() -> None:
    found = ask(files={"rules.yml": (CASE_47 / "rules.yml").read_text()})
    worse = {one.place.part.removeprefix("alert "): one.code for one in found if one.severity.value != "info"}
    fires = expected(CASE_47)
    wrong = {name for state in ("idle", "absent") for name, does in fires[state].items() if does}
    told = {one.place.part.removeprefix("alert ") for one in found}
    assert not told & {"GuardedDenominator", "DenominatorOnLeft"}
    assert worse == {"NotAbove": "nan-is-true", "OrVectorZero": "absent-as-zero"}
    assert set(worse) == wrong
