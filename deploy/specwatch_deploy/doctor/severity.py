"""How bad a finding is."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How bad it is: it does not work, it misleads or breaks at times, or it is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


ORDER: Final = tuple(Severity)
"""The worst first."""
