"""The plugin inside vLLM: per-step and per-request figures on vLLM's own metrics page.

vLLM loads `entry` through the entry point group `vllm.stat_logger_plugins`; nothing else here imports vLLM.
"""
