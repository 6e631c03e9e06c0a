"""What the commands of `specwatch doctor` can be told about their output."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """How findings are printed."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


class FailOn(StrEnum):
    """From which severity on the exit status is 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"
