"""What vLLM loads through the entry point group `vllm.stat_logger_plugins`; the only module that imports vLLM.

vLLM takes the class when it starts an asynchronous engine (`vllm serve`), in the processes that serve the API.
"""

from __future__ import annotations

from specwatch_exporters.vllm_plugin.start import start_recorder
from specwatch_exporters.vllm_plugin.stat_logger import stat_logger_class
from specwatch_exporters.vllm_plugin.vllm_interface import find_interface

SpecwatchStatLogger = stat_logger_class(find_interface(), start_recorder)
