"""How a configuration says that its weights are quantised, in the terms of `capacity_weights`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_bench.bench_error import BenchError

_GROUP: Final = 128
_FOUR_BITS: Final = frozenset({"awq", "awq_marlin", "gptq", "gptq_marlin"})
_SAME: Final[Mapping[str, str]] = {"fbgemm_fp8": "fp8"}


@dataclass(frozen=True, slots=True)
class Quantisation:
    """What a configuration says.

    Attributes:
        name: of `WEIGHTS`; empty for weights that are not quantised, other words where it is not worked out.
        group: weights per scale of a quantised tensor.
    """

    name: str = ""
    group: int = _GROUP


def read_quantisation(config: Mapping[str, Any], model: str, width: int) -> Quantisation:
    """The quantisation of a decoded configuration.

    GPTQ keeps what AWQ keeps. compressed-tensors and ModelOpt name the bits and not the method.

    Args:
        config: it.
        model: its name.
        width: weights of a scale where a whole column has one.

    Raises:
        BenchError: it cannot be understood.
    """
    said = config.get("quantization_config")
    if not said:
        return Quantisation()
    if not isinstance(said, Mapping):
        raise BenchError(f"{model}: quantization_config is no object")
    method = str(said.get("quant_method", ""))
    if method == "compressed-tensors":
        return _of_groups(said, model, width)
    if method.startswith("modelopt"):
        algorithm = said.get("quant_algo")
        return Quantisation("fp8" if algorithm == "FP8" else f"{method} {algorithm}")
    if method in _FOUR_BITS:
        bits = said.get("bits", said.get("w_bit", 4))
        group = _group(said.get("group_size", said.get("q_group_size")), model, width)
        return Quantisation("awq" if bits == 4 else f"{method} of {bits} bits", group)
    return Quantisation(_SAME.get(method, method))


def _of_groups(said: Mapping[str, Any], model: str, width: int) -> Quantisation:
    """compressed-tensors: one kind of weights, or it is not worked out."""
    groups = said.get("config_groups")
    each = list(groups.values()) if isinstance(groups, Mapping) else []
    found = [group.get("weights") for group in each if isinstance(group, Mapping)]
    kinds = list({str(one): one for one in found if isinstance(one, Mapping)}.values())
    words = {f"{one.get('type')} of {one.get('num_bits')} bits" for one in kinds}
    if words == {"float of 8 bits"}:
        return Quantisation("fp8")
    if words == {"int of 4 bits"} and len(kinds) == 1:
        return Quantisation("awq", _group(kinds[0].get("group_size"), model, width))
    return Quantisation(f"compressed-tensors, {' and '.join(sorted(words)) or 'no weights'}")


def _group(value: object, model: str, width: int) -> int:
    """Weights of a scale; -1 stands for a whole column."""
    if value == -1:
        return width
    if value is None:
        return _GROUP
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BenchError(f"{model}: group_size must be a number above 0, or -1 for a whole column, not {value!r}")
    return value
