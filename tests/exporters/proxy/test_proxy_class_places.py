"""Classes that are promised have places, whatever clients send; too many of them are refused before the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporters.proxy.proxy_rig import CHAT, LIMITS, ask, before, eventually, read_request, request, sample
from exporters.raw_server import Visit
from specwatch_exporters.classes.class_name import DEFAULT, MAX_CLASSES, OTHER
from specwatch_exporters.proxy.class_rules import Rule, RulesError, load_rules, promised_classes
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load
from specwatch_exporters.sidecar.settings import SettingsError

SHIPPED = ("chat", "code", "math", OTHER)


def rules_file(folder: Path, names: list[str]) -> Path:
    path = folder / "rules.toml"
    path.write_text("".join(f'[[rule]]\nclass = "{name}"\nmodel = "{name}-*"\n' for name in names))
    return path


def named(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


def answer(visit: Visit) -> None:
    read_request(visit)
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")


@pytest.mark.parametrize("rule_count", [0, 3])
def test_default_and_the_rules_keep_their_places(rule_count: int, tmp_path: Path) -> None:
    flags = {"class_rules": str(rules_file(tmp_path, named(rule_count)))} if rule_count else {}
    with before(answer, LIMITS, **flags) as (_, running):
        for number in range(20):
            ask(running.port, request(CHAT, b"{}", headers={"x-specwatch-class": f"junk-{number}"}))
        ask(running.port, request(CHAT, b"{}"))
        for name in named(rule_count):
            ask(running.port, request(CHAT, f'{{"model": "{name}-7b"}}'.encode()))
        total = 21 + rule_count
        eventually(lambda: sample(running, "specwatch_request_finished_total") == total)
        for name in (DEFAULT, *named(rule_count)):
            assert sample(running, "specwatch_request_finished_total", traffic_class=name) == 1, name
        folded = sample(running, "specwatch_request_folded_total", limit="class")
        assert folded == 20 - (MAX_CLASSES - rule_count)
        assert sample(running, "specwatch_request_finished_total", traffic_class=OTHER) == folded


def test_as_many_classes_as_there_are_places_are_accepted(tmp_path: Path) -> None:
    names = [*named(MAX_CLASSES), DEFAULT, OTHER, "c0"]
    rules = load_rules(rules_file(tmp_path, names))
    assert set(promised_classes(rules, ())) == {*named(MAX_CLASSES), DEFAULT, OTHER}


def test_rules_with_more_classes_than_places_are_refused_in_one_line(tmp_path: Path) -> None:
    path = rules_file(tmp_path, named(MAX_CLASSES + 2))
    with pytest.raises(RulesError) as caught:
        load_rules(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: 14 classes; accepted: 12 at most beside default and other")
    assert "\n" not in message
    with pytest.raises(SettingsError, match=r"--class-rules: .*14 classes"):
        load({"upstream": "127.0.0.1:1", "class_rules": str(path)}, {})


@pytest.mark.parametrize(
    ("rule_names", "classifier", "count"),
    [
        (named(10), SHIPPED, 13),
        (named(1), tuple(f"k{number}" for number in range(MAX_CLASSES)), 13),
        ([*named(9), "code", OTHER, DEFAULT], SHIPPED, 0),
        ([], tuple(f"k{number}" for number in range(MAX_CLASSES)), 0),
    ],
)
def test_rules_and_a_classifier_must_fit_together(
    rule_names: list[str], classifier: tuple[str, ...], count: int
) -> None:
    rules = [Rule(name, path="/x") for name in rule_names]
    if not count:
        assert set(promised_classes(rules, classifier)) == {*rule_names, *classifier, DEFAULT}
        return
    with pytest.raises(RulesError, match=f"^{count} classes of the rules and the classifier; accepted: 12 at most"):
        promised_classes(rules, classifier)


def test_a_sidecar_that_cannot_keep_its_classes_does_not_start(tmp_path: Path) -> None:
    path = rules_file(tmp_path, named(10))
    flags = {"upstream": "127.0.0.1:1", "class_rules": str(path), "classifier": "shipped"}
    settings = load({**flags, "listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}, {})
    with pytest.raises(SettingsError, match=r"^--class-rules, --classifier: 13 classes of the rules"):
        RequestSidecar(settings)
