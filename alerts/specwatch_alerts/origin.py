"""Where the series of a rule come from: specwatch's own, or a bare engine's."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """Which series rules are built on."""

    SIDECAR = "sidecar"
    VLLM = "vllm"
    SGLANG = "sglang"

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys under which a data file may hold the expression of this origin, the most special first."""
        own = () if self is Origin.SIDECAR else ("engine",)
        return (self.value, *own, "any")

    @property
    def model_label(self) -> str:
        """The label that names the model in the series of this origin."""
        return "model" if self is Origin.SIDECAR else "model_name"
