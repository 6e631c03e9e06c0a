"""The label set of `vllm:cache_config_info`, which changes with every few vLLM releases (this is 0.32.0's)."""

from __future__ import annotations

from specwatch_exporters.replay.settings import ReplaySettings

_CONSTANT: dict[str, str] = {
    "_block_size_resolved": "True",
    "cache_dtype": "auto",
    "cache_hit_alignment_tokens": "None",
    "enable_mamba_shared_prefix_checkpoint": "False",
    "enable_prefix_caching": "True",
    "engine": "0",
    "gpu_memory_utilization": "0.92",
    "hash_block_size": "None",
    "is_attention_free": "False",
    "kv_cache_dtype_skip_layers": "[]",
    "kv_cache_layout": "None",
    "kv_cache_memory_bytes": "None",
    "kv_offloading_backend": "native",
    "kv_offloading_size": "None",
    "kv_sharing_fast_prefill": "False",
    "mamba_block_size": "None",
    "mamba_cache_dtype": "auto",
    "mamba_cache_mode": "none",
    "mamba_page_size_padded": "None",
    "mamba_ssm_cache_dtype": "auto",
    "num_cpu_blocks": "None",
    "num_gpu_blocks_override": "None",
    "prefix_cache_retention_interval": "0",
    "prefix_caching_hash_algo": "sha256",
    "prefix_match_unit": "None",
    "replayssm_buffer_len": "16",
    "skip_page_size_padded": "None",
    "sliding_window": "None",
    "swa_bounded_replay": "True",
    "use_kda_recoverssm": "False",
    "use_replayssm": "False",
    "user_specified_block_size": "False",
}


def cache_config_labels(settings: ReplaySettings) -> dict[str, str]:
    """Labels of the info gauge; size and block count are the replay's, the rest is as on a real page."""
    blocks = settings.kv_size // settings.block_size
    return {
        **_CONSTANT,
        "block_size": str(settings.block_size),
        "effective_attention_block_size": str(settings.block_size),
        "kv_cache_max_concurrency": str(settings.kv_size / settings.max_model_len),
        "kv_cache_size_tokens": str(settings.kv_size),
        "num_gpu_blocks": str(blocks),
    }
