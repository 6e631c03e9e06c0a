"""The catalogue's rows of the drift detectors: does the draft still fit its target?"""

from __future__ import annotations

from typing import Final

from specwatch_exporters.metric import Kind, Metric, Source

_MODEL: Final = ("model",)
_CLASS: Final = ("model", "traffic_class")


def _gauge(name: str, labels: tuple[str, ...], text: str) -> Metric:
    return Metric(name, Kind.GAUGE, labels, text, Source.DETECT)


STATE: Final = _gauge(
    "specwatch_drift_state",
    (*_CLASS, "state"),
    "1 for the state that holds, 0 for the others. ok: acceptance as the baseline; watch: evidence is growing, or "
    "only the mix of traffic changed; drifted: acceptance has dropped; cannot_tell: learning, testing a deploy, or "
    "no data. The empty class is the verdict on the model.",
)
SCORE: Final = _gauge(
    "specwatch_drift_score_ratio",
    _CLASS,
    "Evidence for drift over its threshold; 1 is an alarm. Absent while nothing can be judged.",
)
OVER: Final = _gauge(
    "specwatch_drift_over_ratio",
    _CLASS,
    "Evidence that a drift is over, over the threshold that ends it; 1 ends it. Absent while there is no drift.",
)
ALARMS: Final = Metric(
    "specwatch_drift_alarms_total",
    Kind.COUNTER,
    _CLASS,
    "Times that drift was found. The empty class is the model; a mere change of mix is not counted.",
    Source.DETECT,
)
MIX_SHIFT: Final = _gauge(
    "specwatch_drift_mix_shift",
    _MODEL,
    "1 while acceptance moved because the mix of traffic classes did and no class accepts less; else 0.",
)
BASELINE: Final = _gauge(
    "specwatch_drift_baseline_length_tokens",
    _CLASS,
    "Mean acceptance length of the baseline that drift is measured against, bonus token included.",
)
DESIGN: Final = _gauge(
    "specwatch_drift_design_effect_ratio",
    _MODEL,
    "How many times wider accepted counts spread than independent drafts would, safety factor included.",
)
CALIBRATED: Final = _gauge(
    "specwatch_drift_calibrated",
    _MODEL,
    "1 if the baseline comes from a profile whose false alarms were checked on history; 0 if learned here.",
)

_SIGNAL: Final = ("model", "signal")
_SIGNALS: Final = (
    "signal: inter_token, the time per output token at equal batch size; queue_wait, the share of requests that "
    "wait long."
)
SIGNAL_STATE: Final = _gauge(
    "specwatch_latency_drift_state",
    (*_SIGNAL, "state"),
    "1 for the state that holds, 0 for the others: ok, watch, drifted (slower than the baseline), cannot_tell. "
    + _SIGNALS,
)
SIGNAL_SCORE: Final = _gauge(
    "specwatch_latency_drift_score_ratio",
    _SIGNAL,
    "Evidence for slower over its threshold; 1 is an alarm. Absent while nothing can be judged. " + _SIGNALS,
)
SIGNAL_ALARMS: Final = Metric(
    "specwatch_latency_drift_alarms_total",
    Kind.COUNTER,
    _SIGNAL,
    "Times that a latency was found slower than its baseline. " + _SIGNALS,
    Source.DETECT,
)

DRIFT_CATALOG: Final[tuple[Metric, ...]] = (
    STATE,
    SCORE,
    OVER,
    ALARMS,
    MIX_SHIFT,
    BASELINE,
    DESIGN,
    CALIBRATED,
    SIGNAL_STATE,
    SIGNAL_SCORE,
    SIGNAL_ALARMS,
)
