"""All facts by the name that the signatures use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from specwatch_detectors.explain import engine_facts as engine
from specwatch_detectors.explain import event_facts as events
from specwatch_detectors.explain import traffic_facts as traffic
from specwatch_detectors.explain.event import EventKind
from specwatch_detectors.explain.evidence import Dimension
from specwatch_detectors.explain.fact import Fact
from specwatch_detectors.explain.picture import Picture
from specwatch_detectors.explain.shape import ShapeKind

FACTS: Final[Mapping[str, Callable[[Picture], Fact]]] = {
    "acceptance_fell": traffic.acceptance_fell,
    "adapts": engine.adapts,
    "canary_fell": traffic.canary_fell,
    "client_near": events.near(EventKind.CLIENT),
    "conditionals_flat": engine.conditionals_flat,
    "config_near": events.near(EventKind.CONFIG),
    "counting_changed": events.counting_changed,
    "depth_fell": engine.depth_fell,
    "draft_near": events.near(EventKind.DRAFT),
    "every_class_fell": traffic.every_class_fell,
    "follows_batch": engine.follows_batch,
    "large_fall": traffic.large_fall,
    "longer_prompts": traffic.longer_prompts,
    "method_near": events.near(EventKind.METHOD),
    "mix_explains": traffic.mix_explains,
    "more_adapters": traffic.more_of(Dimension.ADAPTER, traffic.special(Dimension.ADAPTER)),
    "more_sampled": traffic.more_of(Dimension.TEMPERATURE, traffic.special(Dimension.TEMPERATURE)),
    "more_structured": traffic.more_of(Dimension.FORMAT, traffic.special(Dimension.FORMAT)),
    "not_speculating": engine.not_speculating,
    "older_pods_worse": engine.older_pods_worse,
    "only_adapters": traffic.only(Dimension.ADAPTER, traffic.special(Dimension.ADAPTER)),
    "only_disaggregated": traffic.only(Dimension.ROLE, traffic.special(Dimension.ROLE)),
    "only_long_prompts": traffic.only_end(Dimension.PROMPT_LENGTH, largest=True),
    "only_other_languages": traffic.only(Dimension.LANGUAGE, traffic.special(Dimension.LANGUAGE)),
    "only_sampled": traffic.only(Dimension.TEMPERATURE, traffic.special(Dimension.TEMPERATURE)),
    "only_short_outputs": traffic.only_end(Dimension.OUTPUT_LENGTH, largest=False),
    "only_some_pods": traffic.one_group_only(Dimension.POD),
    "only_some_routes": traffic.one_group_only(Dimension.ROUTE),
    "only_some_versions": traffic.one_group_only(Dimension.VERSION),
    "only_structured": traffic.only(Dimension.FORMAT, traffic.special(Dimension.FORMAT)),
    "quantisation_near": events.near(EventKind.QUANTISATION),
    "ramp": events.ramp,
    "rollout_at_onset": events.rollout_at_onset,
    "rollout_near": events.rollout_near,
    "shape_deeper": engine.shaped(ShapeKind.DEEPER, ShapeKind.FLAT_THEN_ZERO),
    "shape_first_only": engine.shaped(ShapeKind.FIRST_ONLY),
    "shape_uniform": engine.shaped(ShapeKind.UNIFORM),
    "shape_zero": engine.nothing_accepted,
    "small_fall": traffic.small_fall,
    "step_cost_rose": engine.step_cost_rose,
    "target_near": events.near(EventKind.TARGET, EventKind.WEIGHTS),
    "temperature_near": events.near(EventKind.TEMPERATURE),
    "template_near": events.near(EventKind.TEMPLATE),
    "version_near": events.near(EventKind.VERSION),
    "within_fell": traffic.within_fell,
}
"""By name, in order."""


def look_up(picture: Picture) -> dict[str, Fact]:
    """Every fact of one change."""
    return {name: find(picture) for name, find in FACTS.items()}
