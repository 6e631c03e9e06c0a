"""What stands beside the engines in a cluster, on one page: detectors, fallback, autoscaler, KEDA, GPUs."""

from __future__ import annotations

import time

NAMESPACE = "llm"
PODS = ("pod-1", "pod-2")
# Counters grow by one a second from here on.
_START = time.time()
_GPU = 'gpu="0", device="nvidia0", modelName="NVIDIA H200", Hostname="node-1"'
_EXPORTER = 'namespace="gpu", pod="dcgm-exporter-x"'
_MODEL = 'namespace="llm", pod="watch", model="m"'


def _drift() -> list[str]:
    rows = []
    for kind, states in (("", "drifted"), ("chat", "ok"), ("code", "drifted")):
        where = f'{_MODEL}, traffic_class="{kind}"'
        rows += [
            f'specwatch_drift_state{{{where}, state="{state}"}} {int(state == states)}'
            for state in ("ok", "watch", "drifted", "cannot_tell")
        ]
        rows += [f"specwatch_drift_over_ratio{{{where}}} 0.7"] if states == "drifted" else []
        rows += [
            f"specwatch_drift_score_ratio{{{where}}} 0.4",
            f"specwatch_drift_baseline_length_tokens{{{where}}} 2.6",
            f"specwatch_drift_alarms_total{{{where}}} 1",
        ]
    return [*rows, f"specwatch_drift_mix_shift{{{_MODEL}}} 0", f"specwatch_drift_calibrated{{{_MODEL}}} 1"]


def _payoff(grown: float) -> list[str]:
    rows = []
    for batch, speedup in (("8", 1.4), ("16", 1.1)):
        for bound, by in (("lower", -0.1), ("estimate", 0.0), ("upper", 0.1)):
            rows.append(
                f'specwatch_payoff_speedup_ratio{{{_MODEL}, batch="{batch}", bound="{bound}"}} {speedup + by}'
            )
        rows.append(f'specwatch_payoff_break_even_length_tokens{{{_MODEL}, batch="{batch}"}} 1.5')
    return [*rows, f"specwatch_payoff_rejected_seconds_total{{{_MODEL}}} {grown / 10:.3f}"]


def _fallback(now: float, grown: float) -> list[str]:
    rows = [
        f'specwatch_fallback_level{{{_MODEL}, level="{level}"}} {int(level == "draft")}'
        for level in ("draft", "ngram")
    ]
    rows += [
        f'specwatch_fallback_share_ratio{{{_MODEL}, level="{level}"}} {share}'
        for level, share in (("draft", 0.9), ("ngram", 0.1))
    ]
    gauges = {
        "acting": 1,
        "leader": 1,
        "latched": 0,
        "switches_left": 3,
        "probe_under_way": 0,
        "transition_under_way": 0,
        "regret_seconds": 4,
        "round_timestamp_seconds": now,
        "decision_timestamp_seconds": now - 60,
    }
    rows += [f"specwatch_fallback_{name}{{{_MODEL}}} {value}" for name, value in gauges.items()]
    move = f'{_MODEL}, from="draft", to="ngram", reason="not_paying"'
    return [
        *rows,
        f"specwatch_fallback_transitions_total{{{move}}} {grown:.0f}",
        f'specwatch_fallback_refused_total{{{_MODEL}, veto="regret"}} {grown:.0f}',
        f'specwatch_fallback_veto{{{_MODEL}, veto="regret"}} 1',
        f'specwatch_fallback_trouble{{{_MODEL}, kind="source"}} 1',
    ]


def _cluster(now: float, grown: float) -> list[str]:
    where = 'namespace="llm", horizontalpodautoscaler="keda-hpa-m"'
    rows = [
        f"kube_horizontalpodautoscaler_{name}{{{where}}} {value}"
        for name, value in (
            ("spec_min_replicas", 1),
            ("spec_max_replicas", 8),
            ("status_current_replicas", 2),
            ("status_desired_replicas", 2 + int(grown) % 2),
        )
    ]
    return [
        *rows,
        f'kube_replicaset_created{{namespace="llm", replicaset="m-1"}} {now - 5}',
        'keda_scaler_metrics_value{scaledObject="m", metric="s0-prometheus", namespace="llm"} 2.4',
        f'keda_scaler_detail_errors_total{{scaledObject="m", namespace="llm"}} {grown:.0f}',
        f'keda_scaler_empty_upstream_responses_total{{scaledResource="m", namespace="llm"}} {grown:.0f}',
        'specwatch:scale_demand:replicas{namespace="llm", model="m"} 2.4',
        'specwatch:scale_demand_part:replicas{namespace="llm", model="m", part="arrivals"} 2.4',
        'specwatch:scale_freed_by_cutting:replicas{namespace="llm", model="m"} 0',
    ]


def _gpus() -> list[str]:
    styles = (
        f'UUID="GPU-1", {_GPU}, namespace="llm", pod="pod-1"',
        f'UUID="GPU-2", {_GPU}, {_EXPORTER}, exported_namespace="llm", exported_pod="pod-2"',
        f'UUID="GPU-3", {_GPU}, {_EXPORTER}',
    )
    values = {"GPU_UTIL": 80, "FB_USED": 100_000, "FB_FREE": 40_000, "POWER_USAGE": 500}
    return [f"DCGM_FI_DEV_{name}{{{where}}} {value}" for where in styles for name, value in values.items()]


def page() -> str:
    """The page now; types do not matter here and are left out."""
    now = time.time()
    grown = now - _START
    alert = (
        'ALERTS{alertname="SpecwatchTest", alertstate="firing", severity="ticket", namespace="llm", model="m"} 1'
    )
    rows = [*_drift(), *_payoff(grown), *_fallback(now, grown), *_cluster(now, grown), *_gpus(), alert]
    return "\n".join(rows) + "\n"
