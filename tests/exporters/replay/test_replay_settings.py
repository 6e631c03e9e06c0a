from __future__ import annotations

from typing import Any

import pytest

from specwatch_exporters.replay.settings import ReplaySettings, merged
from specwatch_exporters.replay.traffic_classes import TrafficClass


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"profile": "gpt-2"}, "profile 'gpt-2' is unknown; known: llama-70b-fp8, qwen3-coder-30b"),
        ({"method": "medusa"}, "method 'medusa' is unknown; known: off, eagle3"),
        ({"profile": "qwen3-coder-30b", "method": "ngram"}, "known: off, eagle3"),
        ({"slots": 0}, "slots must be at least 1, got 0"),
        ({"speed": 0.0}, "speed must be between"),
        ({"draft_probability": 1.5}, "draft_probability must be between 0 and 1"),
        ({"num_speculative_tokens": 0}, "num_speculative_tokens must be 1 to 16, got 0"),
        ({"live_k": 4}, r"k must be 0 to num_speculative_tokens \(3\), got 4"),
        ({"live_k": -1}, "k must be 0 to"),
        ({"acceptance": {"poetry": (0.5,)}}, "acceptance class 'poetry' is unknown; known: code, chat, math"),
        ({"acceptance": {"code": (0.5, 0.6)}}, "class 'code': .*cannot increase"),
        ({"kv_tokens": 1000}, "kv_tokens must hold one request"),
        ({"default_class": "poetry"}, "default_class 'poetry' is unknown"),
    ],
)
def test_wrong_settings_are_refused_with_the_reason(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ReplaySettings(**fields)


@pytest.mark.parametrize("fields", [{"mean_output_tokens": 0.5}, {"spread": -1.0}])
def test_wrong_classes_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="class 'x'"):
        TrafficClass("x", **fields)


def test_speculation_off_has_no_depth_and_no_rates() -> None:
    settings = ReplaySettings(method="off", num_speculative_tokens=5)
    assert (settings.depth, settings.depth_now, settings.rates("code")) == (0, 0, ())


def test_rates_reach_the_configured_depth() -> None:
    settings = ReplaySettings(num_speculative_tokens=5, acceptance={"code": (0.8, 0.4)})
    assert settings.rates("code") == pytest.approx((0.8, 0.4, 0.2, 0.1, 0.05))
    assert len(settings.rates("chat")) == 5


def test_acceptance_is_merged_by_class() -> None:
    first = merged(ReplaySettings(), {"acceptance": {"code": (0.9,)}})
    second = merged(first, {"acceptance": {"chat": (0.1,)}})
    assert dict(second.acceptance) == {"code": (0.9,), "chat": (0.1,)}


def test_another_drafter_takes_nothing_over_from_the_old_one() -> None:
    old = ReplaySettings(num_speculative_tokens=6, live_k=5, acceptance={"code": (0.9,)})
    new = merged(old, {"method": "ngram", "acceptance": {"math": (0.2,)}})
    assert (new.depth, new.depth_now, dict(new.acceptance)) == (3, 3, {"math": (0.2,)})


def test_an_unknown_class_is_served_as_the_default_one() -> None:
    settings = ReplaySettings(default_class="math")
    assert [settings.class_named(name).name for name in ("code", "poetry", None)] == ["code", "math", "math"]
