"""The configuration file: what it gives, and one clear line per mistake."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from specwatch_detectors.fallback import (
    fallback_config,
    fallback_replay,
    mover,
    policy,
    seen_config,
    transition_run,
)
from specwatch_detectors.fallback.advice_lever import AdviceLever
from specwatch_detectors.fallback.config_table import ConfigError
from specwatch_detectors.fallback.fallback_assembly import make_controller, make_lever, make_series, make_source
from specwatch_detectors.fallback.fallback_config import FallbackConfig, config_of, load_config
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.observation import ObservationSource
from specwatch_detectors.fallback.probe_batch import ProbeAtBatch
from specwatch_detectors.fallback.transition_settings import TransitionSettings
from specwatch_detectors.payoff.payoff import Bounds

LEAST: dict[str, Any] = {
    "model": "llama",
    "audit_log": "fallback.jsonl",
    "source": {"prometheus": "http://prometheus.example.com:9090"},
    "lever": {"kind": "none"},
}


def source_of(config: FallbackConfig) -> ObservationSource:
    return make_source(config, make_series(config))


def test_the_least_configuration_has_the_documented_defaults() -> None:
    config = config_of(LEAST)
    assert config.policy == FallbackSettings()
    assert config.steps == TransitionSettings()
    assert config.interval_s == 30.0
    assert config.seen.rule.shared
    assert config.prometheus is not None
    assert config.level is Level.DRAFT


def test_everything_can_be_said() -> None:
    config = config_of(
        {
            **LEAST,
            "levels": ["draft", "fewer", "off"],
            "interval": "10s",
            "adapts": "K by batch",
            "canary": True,
            "policy": {"dwell_s": 60, "flips_per_day": 6},
            "steps": {"watch_s": 10.0},
            "estimates": {"fewer": [1.0, 1.1, 1.2]},
            "source": {
                "prometheus": "https://mimir.example.com/prometheus",
                "headers": {"X-Scope-OrgID": "llm"},
                "match": 'namespace="llm"',
                "timeout": "5s",
                "levels": {"draft": {"job": "a"}, "fewer": {"job": "b"}},
                "revision_labels": ["draft_revision"],
                "deployments": ["llm"],
            },
            "lever": {"kind": "webhook", "url": "http://example.com", "force": True},
            "leader": {"namespace": "llm"},
        }
    )
    assert config.policy.levels == (Level.DRAFT, Level.FEWER, Level.OFF)
    assert (config.policy.dwell_s, config.policy.flips_per_day, config.steps.watch_s) == (60, 6, 10.0)
    assert config.seen.estimates == {Level.FEWER: Bounds(1.0, 1.1, 1.2)}
    assert config.seen.rule.level({"job": "b"}, Level.DRAFT) is Level.FEWER
    assert config.lever_table == {"url": "http://example.com", "force": True}
    assert config.leader_table == {"namespace": "llm"}
    assert config.prometheus is not None
    assert config.prometheus.timeout_s == 5.0


def test_pages_instead_of_prometheus() -> None:
    pages = {"draft": "http://127.0.0.1:9477/metrics", "ngram": ["http://127.0.0.1:9487/metrics"]}
    config = config_of({**LEAST, "source": {"pages": pages}})
    assert config.pages[Level.NGRAM] == ("http://127.0.0.1:9487/metrics",)
    assert config.seen.rule.level({"specwatch_level": "ngram"}, Level.DRAFT) is Level.NGRAM
    source_of(config)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": ""}, "model must be text, and is missing"),
        ({"modle": "x"}, "modle is no setting; did you mean model?"),
        ({"levels": ["draft", "fast"]}, "levels: 'fast' is no level; there are draft, fewer, ngram, off"),
        ({"levels": ["off", "draft"]}, "levels must be two or more"),
        ({"levels": "draft"}, "levels must be a list"),
        ({"audit_log": None}, "audit_log is missing"),
        ({"audit_log": 5}, "audit_log must be a path"),
        ({"interval": "30"}, "interval '30': it has no unit"),
        ({"interval": "0s"}, "more than nothing"),
        ({"canary": 1}, "canary must be true or false"),
        ({"policy": {"margin": 0.9}}, r"\[policy\] margin must be from 0 to 0.5"),
        ({"policy": {"margin": "3 %"}}, r"\[policy\] margin must be a number"),
        ({"policy": {"flips_per_day": 2.5}}, r"\[policy\] flips_per_day must be a whole number"),
        ({"policy": {"dwell": 5}}, r"\[policy\] dwell is no setting; did you mean dwell_s?"),
        ({"policy": 5}, "policy must be a table"),
        ({"steps": {"backoff_s": 0}}, r"\[steps\] times must not be negative, backoff_s above 0"),
        ({"estimates": {"draft": [1, 1, 1]}}, r"\[estimates\] draft cannot be stated: home is measured"),
        ({"estimates": {"off": [1, 1, 1]}}, "off is 1 by definition"),
        ({"estimates": {"ngram": [2, 1]}}, "must be lower bound, estimate and upper bound"),
        ({"source": {}}, "needs either prometheus"),
        ({"source": {"prometheus": "prometheus:9090"}}, r"\[source\] prometheus cannot be used as a URL"),
        ({"source": {"pages": {"draft": 5}}}, r"\[source.pages\] draft cannot be used as a URL"),
        ({"source": {"pages": {"drafts": "http://127.0.0.1"}}}, r"\[source.pages\] drafts is no setting"),
        (
            {"source": {"prometheus": "http://a", "levels": {"draft": "x"}}},
            r"\[source.levels\] draft must be a table",
        ),
        ({"source": {"prometheus": "http://a", "levels": {"fewer": {"job": "x"}}}}, "fewer: levels does not"),
        ({"source": {"pages": {"draft": "http://a"}, "level_label": "pool"}}, "level_label means nothing to"),
        ({"source": {"pages": {"draft": "http://a"}, "insecure": False}}, "insecure means nothing to pages"),
        ({"estimates": {"fewer": [1, 1, 1]}}, r"\[estimates\] fewer: levels does not declare fewer"),
        ({"lever": {"kind": "none", "level": "fewer"}}, r"\[lever\] level: levels does not declare fewer"),
        ({"source": {"prometheus": "http://a", "urll": 1}}, r"\[source\] urll is no setting"),
        ({"lever": {}}, r"\[lever\] kind must be text, and is missing"),
        ({"lever": {"kind": "none", "url": "x"}}, r"\[lever\] url means nothing"),
        ({"home": {"profile": "x", "depth": 3}}, r"\[home\] method must be text, and is missing"),
        ({"home": {"profile": "x", "method": "y", "depth": 0}}, r"\[home\] depth must be a whole number from 1"),
        ({"leader": 5}, "leader must be a table"),
    ],
)
def test_a_mistake_is_one_line(changes: dict[str, Any], said: str) -> None:
    body = {name: value for name, value in {**LEAST, **changes}.items() if value is not None}
    with pytest.raises(ConfigError, match=said) as error:
        config_of(body)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"), [(b"model = ", "is no TOML"), (b"\xff", "is no text"), (b"x = 1", "model must be text")]
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "fallback.toml"
    path.write_bytes(text)
    with pytest.raises(ConfigError, match=said) as error:
        load_config(path)
    assert str(path) in str(error.value)
    with pytest.raises(ConfigError, match="No such file"):
        load_config(tmp_path / "none.toml")


def test_levers_are_looked_up_by_their_kind() -> None:
    config = config_of({**LEAST, "lever": {"kind": "mine", "url": "x"}})

    def build(table: Any, levels: tuple[Level, ...]) -> AdviceLever:
        if table != {"url": "x"}:
            raise ValueError("url is odd")
        return AdviceLever(levels, Level.DRAFT)

    assert make_lever(config, {"mine": build}).levels == config.policy.levels
    with pytest.raises(ConfigError, match="'mine' is no lever; there are none, other"):
        make_lever(config, {"other": build})
    odd = config_of({**LEAST, "lever": {"kind": "mine"}})
    with pytest.raises(ConfigError, match=r"\[lever\] url is odd"):
        make_lever(odd, {"mine": build})
    with pytest.raises(ConfigError, match="does not know the level off"):
        make_lever(config, {"mine": lambda _table, _levels: AdviceLever((Level.DRAFT, Level.NGRAM), Level.DRAFT)})


def test_advice_cannot_act_and_a_log_needs_a_folder(tmp_path: Path) -> None:
    config = config_of({**LEAST, "audit_log": str(tmp_path / "log.jsonl")})
    lever, source = make_lever(config, {}), source_of(config)
    with pytest.raises(ConfigError, match="advice only"):
        make_controller(config, lever, source, lambda: 0.0, acting=True)
    make_controller(config, lever, source, lambda: 0.0, acting=False)
    lost = config_of({**LEAST, "audit_log": str(tmp_path / "no" / "log.jsonl")})
    with pytest.raises(ConfigError, match="its directory does not exist"):
        make_controller(lost, lever, source, lambda: 0.0, acting=False)


HOME = {"profile": "llama-70b-fp8-h200", "method": "eagle3", "depth": 3}


@pytest.mark.parametrize("changes", [{}, {"method": "p-eagle"}, {"method": "n-gram"}])
def test_a_profile_of_home_is_for_probes(changes: dict[str, str]) -> None:
    assert isinstance(source_of(config_of({**LEAST, "home": {**HOME, **changes}})), ProbeAtBatch)


@pytest.mark.parametrize(
    ("changes", "said"), [({"profile": "none"}, r"\[home\] profile: "), ({"method": "medusa"}, "medusa")]
)
def test_a_profile_that_cannot_be_used_is_one_line(changes: dict[str, str], said: str) -> None:
    config = config_of({**LEAST, "home": {**HOME, **changes}})
    with pytest.raises(ConfigError, match=said):
        source_of(config)


@pytest.mark.parametrize("kind", [FallbackSettings, TransitionSettings])
def test_every_constant_is_in_the_docs_with_its_default(kind: type) -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "fallback.md").read_text()
    rows = {line.split("|")[1].strip(" `"): line for line in text.splitlines() if line.startswith("| `")}
    for field in fields(kind):
        if field.name != "levels":
            assert field.name in rows, field.name
            assert rows[field.name].split("|")[2].strip() == f"{field.default:g}", field.name


def test_the_policy_has_no_number_that_is_no_setting() -> None:
    """A day is a unit; every other number that the policy, its steps or its replay go by can be set."""
    for module in (policy, transition_run, mover, fallback_replay):
        numbers = {
            name
            for name, value in vars(module).items()
            if name.isupper() and isinstance(value, int | float) and not isinstance(value, bool)
        }
        assert numbers <= {"DAY_S"}, module.__name__


def test_every_key_of_the_configuration_is_in_the_docs() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "fallback.md").read_text()
    source = "".join(Path(str(module.__file__)).read_text() for module in (fallback_config, seen_config))
    keys = set(re.findall(r'(?:top|source|table|lever)\.\w+\(\s*"(\w+)"', source))
    assert {"model", "revision_labels", "home_deployments", "depth", "canary"} <= keys
    missing = [
        key for key in sorted(keys) if not re.search(rf"`[^`]*\b{key}\b|^{key} =|^\[{key}\]", text, re.MULTILINE)
    ]
    assert missing == []


def test_the_documented_configuration_is_one() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "fallback.md").read_text()
    import tomllib  # noqa: PLC0415 - for this test only

    example = text.split("```toml\n", 1)[1].split("```", 1)[0]
    config_of(tomllib.loads(example))
