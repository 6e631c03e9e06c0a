"""One simulated incident per cause: the fault applied to a draft chain, and the facts that somebody would have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from detectors.explain.simulated_chain import CHAT, CLASSES, CODE, DESIGN, compared, groups, times, together
from specwatch_detectors.explain.event import Event, EventKind
from specwatch_detectors.explain.evidence import Course, Dimension, Evidence

ONSET = 10_000.0
D = Dimension
K = EventKind
Chain = Sequence[float]
Rng = np.random.Generator
ZERO = (0.002, 0.1, 0.1, 0.1)
FOUR = Mapping[str, tuple[int, int]]


def classes(rng: Rng, change: Callable[[Chain], Chain], *events: Event, **facts: object) -> Evidence:
    """All classes changed alike."""
    parts = groups(rng, {name: (q, change(q)) for name, q in CLASSES.items()})
    return told_apart({D.CLASS: parts}, events, **facts)


def told_apart(
    parts: Mapping[Dimension, Mapping[str, object]], events: Sequence[Event] | None, **facts: object
) -> Evidence:
    total = together(next(iter(parts.values())))  # type: ignore[arg-type]
    base: dict[str, object] = {"onset": ONSET, "design": DESIGN, "engine": "vllm", "method": "eagle3"}
    return Evidence(total, parts, events, **{**base, **facts})  # type: ignore[arg-type]


def event(kind: EventKind, ago: float = 20.0, was: str = "", now: str = "") -> Event:
    return Event(kind, ONSET - ago, was, now)


def split_by(
    rng: Rng,
    dimension: Dimension,
    ratios: Mapping[str, float],
    events: Sequence[Event] = (),
    drafts: FOUR | None = None,
    **facts: object,
) -> Evidence:
    """Groups of one dimension that serve the same chat, each with its own loss."""
    parts = groups(rng, {name: (CHAT, times(CHAT, ratio)) for name, ratio in ratios.items()}, drafts)
    return told_apart({dimension: parts}, events, **facts)


def stale_draft(rng: Rng) -> Evidence:
    return classes(rng, lambda q: times(q, 0.92), event(K.DEPLOY))


def stale_draft_weights(rng: Rng) -> Evidence:
    return classes(rng, lambda q: times(q, 0.95), event(K.WEIGHTS))


def mix_shift(rng: Rng) -> Evidence:
    drafts = {"code": (60_000, 12_000), "chat": (60_000, 90_000)}
    return told_apart({D.CLASS: groups(rng, {n: (q, q) for n, q in CLASSES.items()}, drafts)}, ())


def wrong_wiring(rng: Rng) -> Evidence:
    return classes(rng, lambda _: ZERO, event(K.DEPLOY))


def draft_quantisation(rng: Rng) -> Evidence:
    return classes(rng, lambda _: ZERO, event(K.QUANTISATION, now="nvfp4"))


def rotated_target(rng: Rng) -> Evidence:
    return classes(rng, lambda q: times(q, 0.55), event(K.QUANTISATION), event(K.TARGET))


def disaggregation(rng: Rng) -> Evidence:
    hit = (0.75 * CHAT[0], *CHAT[1:])
    parts = groups(rng, {"decode": (CHAT, hit), "both": (CHAT, CHAT)})
    return told_apart({D.ROLE: parts}, ())


def draft_cache(rng: Rng) -> Evidence:
    return classes(rng, lambda q: (q[0], 0.7 * q[1], 0.5 * q[2], 0.3 * q[3]), event(K.DEPLOY))


def draft_cache_flat_then_zero(rng: Rng) -> Evidence:
    return classes(rng, lambda q: (q[0], q[1], 0.0, 0.0), event(K.VERSION, was="0.31.0", now="0.31.1"))


def prefix_cache(rng: Rng) -> Evidence:
    ages = {"a": 1.0, "b": 8.0, "c": 16.0, "d": 30.0, "e": 48.0}
    pods = groups(rng, {pod: (CODE, times(CODE, 1.0 - 0.002 * age)) for pod, age in ages.items()})
    return told_apart(
        {D.POD: pods}, (), course=Course.RAMP, uptimes={pod: 3600.0 * age for pod, age in ages.items()}
    )


def engine_regression(rng: Rng) -> Evidence:
    return classes(rng, lambda q: times(q, 0.9), event(K.VERSION, was="0.10.0", now="0.11.0"))


def sampling_rule(rng: Rng) -> Evidence:
    return split_by(rng, D.TEMPERATURE, {"0": 1.0, "0.7": 0.85, "1.0": 0.82}, [event(K.VERSION)])


def temperature_share(rng: Rng) -> Evidence:
    warm = times(CODE, 0.88)
    drafts = {"0": (90_000, 20_000), "1.0": (20_000, 90_000)}
    return told_apart({D.TEMPERATURE: groups(rng, {"0": (CODE, CODE), "1.0": (warm, warm)}, drafts)}, ())


def chat_template(rng: Rng) -> Evidence:
    return split_by(rng, D.ROUTE, {"/v1/assist": 0.8, "/v1/raw": 1.0}, [event(K.TEMPLATE)])


def lora(rng: Rng) -> Evidence:
    return split_by(rng, D.ADAPTER, {"none": 1.0, "legal-v2": 0.85})


def lora_share(rng: Rng) -> Evidence:
    far = times(CHAT, 0.7)
    parts = groups(rng, {"none": (CHAT, CHAT), "sql": (far, far)}, {"sql": (0, 60_000)})
    return told_apart({D.ADAPTER: parts}, ())


def long_context(rng: Rng) -> Evidence:
    return split_by(rng, D.PROMPT_LENGTH, {"<2k": 1.0, "2k-8k": 1.0, "8k-32k": 0.7, ">32k": 0.5})


def longer_prompts(rng: Rng) -> Evidence:
    far = times(CHAT, 0.6)
    drafts = {"<2k": (90_000, 30_000), "8k-32k": (10_000, 70_000)}
    return told_apart({D.PROMPT_LENGTH: groups(rng, {"<2k": (CHAT, CHAT), "8k-32k": (far, far)}, drafts)}, ())


def vocabulary(rng: Rng) -> Evidence:
    return split_by(rng, D.LANGUAGE, {"en": 1.0, "de": 0.85, "ja": 0.7}, [event(K.DRAFT)])


def load_test(rng: Rng) -> Evidence:
    total = compared(rng, CHAT, times(CHAT, 0.6))
    canary = compared(rng, CHAT, CHAT)
    return Evidence(total, {}, [event(K.CLIENT)], onset=ONSET, design=DESIGN, canary=canary)


def follows_batch(rng: Rng) -> Evidence:
    return classes(rng, lambda q: times(q, 0.93), batch_correlation=-0.7)


def backend_clash(rng: Rng) -> Evidence:
    return classes(rng, lambda q: (q[0], 0.6 * q[1], 0.5 * q[2], 0.4 * q[3]), event(K.CONFIG, now="graph mode"))


def draft_checkpoint(rng: Rng) -> Evidence:
    return classes(rng, lambda q: times(q, 0.96), event(K.DRAFT, now="draft-v3"))


def slower(rng: Rng) -> Evidence:
    return classes(rng, lambda q: q, step_cost=(1.0, 1.25))


def counting(rng: Rng) -> Evidence:
    upgrade = event(K.VERSION, was="0.31.2", now="0.32.0")
    return classes(rng, lambda q: (0.4 * q[0], *q[1:]), upgrade, method="ngram")


def tier_zero(rng: Rng) -> Evidence:
    total = compared(rng, CHAT, ZERO)
    return Evidence(total, {}, (), onset=ONSET, design=DESIGN, engine="sglang", adaptive=True, speculating=False)


def dynamic_depth(rng: Rng) -> Evidence:
    total = compared(rng, CHAT, CHAT[:2])
    return Evidence(
        total, {}, (), onset=ONSET, design=DESIGN, engine="vllm", depth=(4.0, 2.0), adaptive=True, alarmed=True
    )


def structured(rng: Rng) -> Evidence:
    return split_by(rng, D.FORMAT, {"text": 1.0, "json": 0.6})


def other_method(rng: Rng) -> Evidence:
    return classes(rng, lambda q: times(q, 0.6), event(K.METHOD, was="eagle3", now="ngram"))


INCIDENTS: Mapping[str, Sequence[Callable[[Rng], Evidence]]] = {
    "acceptance_follows_batch": [follows_batch],
    "backend_clash": [backend_clash],
    "chat_template": [chat_template],
    "context_beyond_training": [long_context, longer_prompts],
    "counting_changed": [counting],
    "disaggregation_loses_state": [disaggregation],
    "draft_chain_cache": [draft_cache, draft_cache_flat_then_zero],
    "draft_quantisation": [draft_quantisation],
    "draft_vocabulary": [vocabulary],
    "dynamic_depth": [dynamic_depth],
    "engine_regression": [engine_regression],
    "lora_unadapted": [lora, lora_share],
    "method_changed": [other_method],
    "mix_shift": [mix_shift],
    "rotated_target": [rotated_target],
    "sampling_rule": [sampling_rule],
    "slower_not_draft": [slower],
    "speculation_off": [tier_zero],
    "stale_draft_after_deploy": [stale_draft, stale_draft_weights],
    "stale_prefix_cache": [prefix_cache],
    "structured_output": [structured],
    "synthetic_load": [load_test],
    "temperature_share": [temperature_share],
    "wrong_draft_checkpoint": [draft_checkpoint],
    "wrong_wiring": [wrong_wiring],
}
