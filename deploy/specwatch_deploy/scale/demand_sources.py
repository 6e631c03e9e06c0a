"""What the demand is computed from: expressions over specwatch's series, or over a bare engine's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from specwatch_alerts.origin import Origin
from specwatch_deploy.scale.scale_settings import DemandSettings

_POD: Final = "namespace, pod, instance"
_ONCE: Final = "max without (job, service, endpoint, container)"
"""A pod that two monitors scrape counts once; these labels are those of a monitor and never of an engine."""


@dataclass(frozen=True, slots=True)
class DemandSource:
    """Expressions without labels: each gives one element, or none. Windows are durations such as `2m`.

    Attributes:
        pods: engines' pods that answer.
        running: requests in the batches.
        waiting: requests in the queues.
        kv: used shares of KV caches, added up over the pods.
        finished: requests that ended, per second.
        rejected: requests that were refused, per second; None if the engine does not say.
        service: mean seconds from first scheduled to last token.
        length: tokens per request and step in a window of so many steps at least; 1 if tokens come undrafted.
        oldest: age of the oldest request without a token, seconds; None if nobody says.
        speedup: tokens per second with speculation over those without, at its upper bound; None likewise.
    """

    pods: str
    running: str
    waiting: str
    kv: str
    finished: str
    rejected: str | None
    service: str
    length: Callable[[str, int], str]
    oldest: str | None = None
    speedup: str | None = None


def selector(settings: DemandSettings, label: str, *more: str) -> str:
    """Matchers for one namespace and model, in braces."""
    model = settings.model.replace("\\", "\\\\").replace('"', '\\"')
    return "{" + ", ".join([f'namespace="{settings.namespace}"', f'{label}="{model}"', *more]) + "}"


def demand_source(settings: DemandSettings, origin: Origin) -> DemandSource:
    """The expressions for one origin."""
    return {Origin.SIDECAR: _sidecar, Origin.VLLM: _vllm, Origin.SGLANG: _sglang}[origin](settings)


def _sidecar(settings: DemandSettings) -> DemandSource:
    own, rate, mean = selector(settings, "model"), f"{settings.rate_s}s", f"{settings.service_s}s"
    streamed = f'{{namespace="{settings.namespace}", pod!=""}}'  # it names no model: that comes by the pod
    surely = selector(settings, "model", 'bound="upper"')
    there = f"group by (namespace, pod) (specwatch_requests_running{own})"
    return DemandSource(
        pods=f"count(group by ({_POD}) (specwatch_requests_running{own}))",
        running=f"sum({_ONCE} (specwatch_requests_running{own}))",
        waiting=f"sum({_ONCE} (specwatch_requests_waiting{own}))",
        kv=f"sum(avg by ({_POD}) (specwatch_kv_cache_usage_ratio{own}))",
        finished=f"sum({_ONCE} (rate(specwatch_requests_total{own}[{rate}])))",
        rejected=f"sum({_ONCE} (rate(specwatch_requests_rejected_total{own}[{rate}])))",
        service=_difference(
            "specwatch_engine_e2e_latency_seconds", "specwatch_engine_queue_wait_seconds", own, mean
        ),
        length=lambda window, least: _from_drafts(
            f"sum(increase(specwatch_accepted_tokens_total{own}[{window}]))",
            f"sum(increase(specwatch_drafts_total{own}[{window}]))",
            f"sum(increase(specwatch_generation_tokens_total{own}[{window}]))",
            least,
        ),
        oldest=f"max(max by (namespace, pod) (specwatch_request_oldest_waiting_seconds{streamed}) and {there})",
        speedup=f"avg(specwatch_payoff_speedup_ratio{surely})",
    )


def _vllm(settings: DemandSettings) -> DemandSource:
    """Names of vLLM 0.25 to 0.33 (V1)."""
    own, rate, mean = selector(settings, "model_name"), f"{settings.rate_s}s", f"{settings.service_s}s"
    took = "vllm:request_inference_time_seconds"
    return DemandSource(
        pods=f"count(group by ({_POD}) (vllm:num_requests_running{own}))",
        running=f"sum({_ONCE} (vllm:num_requests_running{own}))",
        waiting=f"sum({_ONCE} (vllm:num_requests_waiting{own}))",
        kv=f"sum(avg by ({_POD}) (vllm:kv_cache_usage_perc{own}))",
        finished=f"sum({_ONCE} (rate(vllm:request_success_total{own}[{rate}])))",
        rejected=f"sum({_ONCE} (rate(vllm:admission_rejections_total{own}[{rate}])))",
        service=_mean(took, own, mean),
        length=lambda window, least: _from_drafts(
            f"sum(increase(vllm:spec_decode_num_accepted_tokens_total{own}[{window}]))",
            f"sum(increase(vllm:spec_decode_num_drafts_total{own}[{window}]))",
            f"sum(increase(vllm:generation_tokens_total{own}[{window}]))",
            least,
        ),
    )


def _sglang(settings: DemandSettings) -> DemandSource:
    """Names of SGLang 0.5.13 to 0.5.23; every tensor-parallel rank repeats its replica's gauges.

    With priority scheduling the total stands under an empty priority.
    """
    own, rate, mean = selector(settings, "model_name"), f"{settings.rate_s}s", f"{settings.service_s}s"
    total = selector(settings, "model_name", 'priority=""')
    once = f"max by ({_POD}, dp_rank)"
    return DemandSource(
        pods=f"count(group by ({_POD}) (sglang:num_running_reqs{total}))",
        running=f"sum({once} (sglang:num_running_reqs{total}))",
        waiting=f"sum({once} (sglang:num_queue_reqs{total}))",
        kv=f"sum(avg by ({_POD}) (sglang:token_usage{total}))",
        finished=f"sum({_ONCE} (rate(sglang:num_requests_total{own}[{rate}])))",
        rejected=None,
        service=_difference("sglang:e2e_request_latency_seconds", "sglang:queue_time_seconds", own, mean),
        length=lambda window, least: (
            f"(sum(increase(sglang:generation_tokens_total{own}[{window}])) > 0)"
            f" / (sum(increase(sglang:spec_verify_calls_total{own}[{window}])) >= {max(least, 1)})"
            f" or (sum(increase(sglang:generation_tokens_total{own}[{window}])) > 0) ^ 0"
        ),
    )


def _mean(name: str, own: str, window: str) -> str:
    return f"sum(rate({name}_sum{own}[{window}])) / (sum(rate({name}_count{own}[{window}])) > 0)"


def _difference(whole: str, part: str, own: str, window: str) -> str:
    """Mean of a whole without its first part; 0 where the part is nearly all."""
    return f"clamp_min({_mean(whole, own, window)} - {_mean(part, own, window)}, 0)"


def _from_drafts(accepted: str, drafts: str, tokens: str, least: int) -> str:
    """1 + accepted per draft; 1 if tokens came and hardly a draft."""
    return f"1 + {accepted} / ({drafts} >= {max(least, 1)}) or ({tokens} > 0) ^ 0"
