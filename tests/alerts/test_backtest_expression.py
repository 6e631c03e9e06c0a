from __future__ import annotations

from pathlib import Path

import pytest

from specwatch_alerts.backtest_expression import ExpressionError, expanded, metrics_of
from specwatch_alerts.backtest_rules import BacktestError, RecordingRule, read_rules, rule_set
from specwatch_alerts.origin import Origin
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import load_values

RECORDINGS = (
    RecordingRule("a:bad:increase5m", "sum by (model) (increase(bad_total[5m]))", {"slo": "x"}),
    RecordingRule("a:bad:increase5m", "sum by (model) (increase(worse_total[5m]))", {"slo": "y"}),
    RecordingRule("a:bad:sum1h", "sum_over_time(a:bad:increase5m[1h:5m])"),
    RecordingRule("a:plain:rate", "rate(plain_total[5m])", {}, "30s"),
    RecordingRule("a:loop:x", "a:loop:x + 1"),
    RecordingRule("a:named:x", 'label_replace(rate(plain_total[5m]), "model", "$1", "model_name", "(.+)")'),
)
X = 'label_replace((sum by (model) (increase(bad_total[5m]))), "slo", "x", "", "")'
Y = 'label_replace((sum by (model) (increase(worse_total[5m]))), "slo", "y", "", "")'
Y_OF_L = Y.replace("worse_total", 'worse_total{model=~"l.*"}')


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ('sum by (le) (rate(a_bucket{le="x"}[5m])) / b', {"a_bucket", "b"}),
        ("vector(1)", set()),
        ('{__name__="odd:name"} unless absent(up)', {"odd:name", "up"}),
        ("max_over_time((a > 1)[1h:1m]) and on () b offset 1d", {"a", "b"}),
    ],
)
def test_names_of_series(expression: str, names: set[str]) -> None:
    assert metrics_of(expression) == names


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("up == 0", "up == 0"),
        ("a:plain:rate > 1", "((rate(plain_total[5m]))) > 1"),
        ('a:bad:increase5m{slo="x"} > 1', f"({X}) > 1"),
        ('a:bad:increase5m{slo!="x"} > 1', f"({Y}) > 1"),
        ('a:bad:increase5m{slo=~"x|y"} > 1', f"({X} or {Y}) > 1"),
        ("max_over_time(a:plain:rate[1h]) > 1", "max_over_time(((rate(plain_total[5m])))[1h:30s]) > 1"),
        ("a:plain:rate offset 1d > 1", "last_over_time(((rate(plain_total[5m])))[60s:30s] offset 1d) > 1"),
        ("max_over_time(a:plain:rate[1h:5m])", "max_over_time(((rate(plain_total[5m])))[1h:5m])"),
        ('a:bad:sum1h{slo="y"}', f"((sum_over_time(({Y})[1h:5m])))"),
        ('a:plain:rate{pod="a:plain:rate"}', '((rate(plain_total{pod="a:plain:rate"}[5m])))'),
        ('label_replace(up, "x", "a:plain:rate", "", "")', 'label_replace(up, "x", "a:plain:rate", "", "")'),
        (
            'a:plain:rate{pod="a"} and on (pod) up{le=~"1(\\\\.0)?"}',
            '((rate(plain_total{pod="a"}[5m]))) and on (pod) up{le=~"1(\\\\.0)?"}',
        ),
        ('a:bad:sum1h{slo="y",model=~"l.*"}', f"((sum_over_time(({Y_OF_L})[1h:5m])))"),
    ],
)  # fmt: skip
def test_recording_rules_are_put_in(expression: str, text: str) -> None:
    assert expanded(expression, RECORDINGS) == text


def test_a_label_that_is_made_on_the_way_filters_the_result() -> None:
    text = expanded('a:named:x{model=~"l.*",pod="p"}', RECORDINGS)
    assert 'plain_total{pod="p"}' in text
    assert 'label_replace((label_replace(rate(plain_total{pod="p"}[5m]), "model",' in text
    assert '"specwatch_kept", "1", "model", "l.*") and on (specwatch_kept)' in text
    assert "unless on (specwatch_kept)" in expanded('a:named:x{model!="l"}', RECORDINGS)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("a:loop:x", "reads itself"),
        ("a:plain:rate @ start()", "read with @"),
        ("sum(", "cannot be parsed"),
        ('a:bad:increase5m{slo="z"}', "no recording rule"),
    ],
)
def test_what_cannot_be_put_in_is_said(expression: str, words: str) -> None:
    with pytest.raises(ExpressionError, match=words):
        expanded(expression, RECORDINGS)


@pytest.mark.parametrize("origin", list(Origin))
def test_every_rule_that_is_shipped_goes_back_to_raw_series(origin: Origin) -> None:
    rules = rule_set(build(load_values(), origin))
    recorded = {rule.name for rule in rules.recordings}
    for rule in rules.alerts:
        assert not metrics_of(expanded(rule.expression, rules.recordings)) & recorded


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("groups: {", "not YAML"),
        ("a: 1", "no `groups`"),
        ("groups: [{name: g}]", "a group without `rules`"),
        ("groups: [{name: g, rules: [{alert: A}]}]", "in group g"),
        ("groups: [{name: g, rules: [{record: r, expr: up}]}]", "no alerting rule"),
        ("groups: [{name: g, rules: [{alert: A, expr: up, for: soon}]}]", "A, for: 'soon'"),
    ],
)
def test_a_file_without_rules_is_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(text)
    with pytest.raises(BacktestError, match=words) as caught:
        read_rules(path)
    assert "\n" not in str(caught.value)


def test_a_prometheusrule_is_read_like_a_rule_file() -> None:
    rule = {
        "alert": "A",
        "expr": "up == 0",
        "for": "1h30m",
        "keep_firing_for": "5m",
        "labels": {"severity": "page"},
    }
    body = {"kind": "PrometheusRule", "spec": {"groups": [{"name": "g", "rules": [rule]}]}}
    (read,) = rule_set(body).alerts
    assert (read.name, read.severity, read.for_s, read.keep_firing_s) == ("A", "page", 5400.0, 300.0)
