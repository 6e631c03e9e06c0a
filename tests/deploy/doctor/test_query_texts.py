"""Mends are edits of the text; variables of Grafana's are read; ranges hold every value."""

from __future__ import annotations

import json
import math
import operator as operators
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.doctor.doctor_run import ask, codes, panel
from specwatch_alerts.promql import parse
from specwatch_deploy.doctor import mend
from specwatch_deploy.doctor.check_thresholds import always, never
from specwatch_deploy.doctor.grafana_query import readable
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.ranges import value_range

QUANTILE: Final = "histogram_quantile(0.9, sum{} (rate(x_bucket[5m])))"
LABELS: Final = "sum(rate(a[5m])) / {} < 0.3"
DIVISOR: Final = 'sum by (x) (rate(b{c="}"}[5m]))'


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (mend.renamed("sum(a:b) / a:bc", "a:b", "c"), "sum(c) / a:bc"),
        (mend.with_guard("a / b"), "a / (b > 0)"),
        (mend.with_guard(LABELS.format(DIVISOR)), LABELS.format(f"({DIVISOR} > 0)")),
        (mend.with_guard("a / b / (c > 0) or d"), "a / (b > 0) / (c > 0) or d"),
        (mend.with_guard("a / 3"), "a / 3"),
        (mend.with_guard("a / on (x) group_left () b"), ""),
        (mend.with_le(QUANTILE.format("")), QUANTILE.format(" by (le)")),
        (mend.with_le(QUANTILE.format(" by (pod)")), QUANTILE.format(" by (le, pod)")),
        (mend.without_rate('sum(rate(g{a="b"}[5m]))', "g"), 'sum(g{a="b"})'),
        (mend.with_rate('c{a="b"} / sum(c)', "c", "5m"), 'rate(c{a="b"}[5m]) / sum(rate(c[5m]))'),
        (mend.with_max("sum by (m) (kv) + sum(kv2)", "kv"), "max by (m) (kv) + sum(kv2)"),
        (mend.with_matcher('sum(a{x="1"}) + a', "a", 'y="2"'), 'sum(a{x="1", y="2"}) + a{y="2"}'),
        (mend.with_window("rate(a[30s]) + rate(b[30s])", "a", "1m"), "rate(a[1m]) + rate(b[30s])"),
        (mend.relabelled('sum by (m) (a{m="x"})', "m", "n"), 'sum by (n) (a{n="x"})'),
    ],
)
def test_a_mend_changes_what_it_must_and_nothing_else(found: str, wanted: str) -> None:
    assert found == wanted


@pytest.mark.parametrize(
    "query",
    [
        "rate(a[$__rate_interval])",
        "rate(a[${window}])",
        "rate(a[[[window]]])",
        "rate(a[$interval]) > $limit",
        'a{model=~"$model", pod=~"[[pod]]"}',
        "sum by ($label) (a)",
        "topk($n, a)",
        "histogram_quantile($q, sum by (le) (rate(a_bucket[${__range_s}s])))",
        "a offset $back",
    ],
)
def test_variables_of_grafana_are_read(query: str) -> None:
    assert any(_parses(text) for text in readable(query)), readable(query)


def _parses(text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def test_what_cannot_be_read_is_a_fault_only_without_variables() -> None:
    assert codes(ask("sum(rate(a[5m])")) == ["query-unreadable"]
    assert ask(files=panel("$everything { $at_once")) == []


NUMBER = st.floats(-1e6, 1e6, allow_nan=False)
COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    ">": operators.gt,
    ">=": operators.ge,
    "<": operators.lt,
    "<=": operators.le,
    "==": operators.eq,
    "!=": operators.ne,
}


@given(NUMBER, NUMBER, NUMBER, st.sampled_from([">", ">=", "<", "<=", "==", "!="]))
def test_never_and_always_hold_at_every_value(one: float, other: float, limit: float, operator: str) -> None:
    low, high = sorted((one, other))
    compare = COMPARE[operator]
    values = [low, high, (low + high) / 2, *([limit] if low <= limit <= high else [])]
    if never((low, high), operator, limit):
        assert not any(compare(value, limit) for value in values)
    if always((low, high), operator, limit):
        assert all(compare(value, limit) for value in values)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("vllm:kv_cache_usage_perc", (0, 1)),
        ("100 * max(vllm:kv_cache_usage_perc)", (0, 100)),
        ("sum(vllm:kv_cache_usage_perc)", (0, math.inf)),
        ("rate(vllm:generation_tokens_total[5m])", (0, math.inf)),
        ("1 + rate(vllm:generation_tokens_total[5m])", (1, math.inf)),
        ("sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))", (0, 1)),
        (
            "sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[1h]))",
            (0, math.inf),
        ),
        ("1 - avg(vllm:kv_cache_usage_perc)", (0, 1)),
        ("count(up)", (1, math.inf)),
        ("some_gauge", (-math.inf, math.inf)),
    ],
)
def test_the_range_of_an_expression(expression: str, wanted: tuple[float, float]) -> None:
    assert value_range(parse(expression), Knowledge(15.0)) == wanted


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('sum(vllm:num_requests_waiting{model="m"})', 'model_name="m"'),
        ("sum by (model) (vllm:num_requests_waiting)", "by (model_name)"),
        ('sum(rate(vllm:request_success_total{finish_reason="stop"}[5m]))', 'finished_reason="stop"'),
        ("sum by (pos) (rate(vllm:spec_decode_num_accepted_tokens_per_pos_total[5m]))", "by (position)"),
        ('sum(vllm:num_requests_waiting{env="prod", cluster="c", team="t", region="r", app="a"})', ""),
        ('sum(vllm:num_requests_waiting{pod=~"a.*", namespace="n", exported_job="x", model_name="m"})', ""),
        ('sum(vllm:num_requests_waiting{model=~".*"})', ""),
    ],
)
def test_a_label_is_a_slip_only_if_it_is_nearly_another(written: str, meant: str) -> None:
    found = ask(written)
    assert [one.code for one in found] == (["label-unknown"] if meant else [])
    assert all(meant in one.mended for one in found)


def test_places_are_lines_of_the_file_and_panels() -> None:
    text = json.dumps(
        {"title": "D", "panels": [{"title": "KV", "targets": [{"expr": "sum(vllm:kv_cache_usage_perc)"}]}]},
        indent=1,
    )
    (found,) = ask(files={"d.json": text})
    assert text.splitlines()[found.place.line - 1].strip() == '"expr": "sum(vllm:kv_cache_usage_perc)"'
    assert found.place.part == "KV"


def test_a_mended_query_has_every_new_name() -> None:
    hits, asked = "vllm:gpu_prefix_cache_hits_total", "vllm:gpu_prefix_cache_queries_total"
    old = f"sum(rate({hits}[5m])) / (sum(rate({asked}[5m])) > 0)"
    wanted = old.replace("gpu_", "")
    found = ask(old, engines=["vllm@0.33.0"])
    assert [one.mended for one in found if one.code == "metric-renamed"] == [wanted, wanted]
