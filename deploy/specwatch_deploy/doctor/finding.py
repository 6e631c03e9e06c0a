"""What the doctor says: a code, a place, one sentence, the evidence, and the mended query."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_deploy.doctor.codes import CODES
from specwatch_deploy.doctor.severity import ORDER, Severity

__all__ = ["ORDER", "Finding", "Place", "Severity", "found", "reaches"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where it stands.

    Attributes:
        file: file or URL, as it was given.
        line: line in it, from 1; 0 where there is none.
        part: panel, alert, object or field, in words.
    """

    file: str
    line: int = 0
    part: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault.

    Attributes:
        code: key of `codes.CODES`.
        severity: of the code, or of what it does in this place.
        place: where.
        message: what is wrong, in one sentence.
        evidence: how that is known; empty if the message says it.
        mended: the query as it should be; empty where that cannot be told.
    """

    code: str
    severity: Severity
    place: Place
    message: str
    evidence: str = ""
    mended: str = ""

    @property
    def rank(self) -> tuple[int, Place, str, str]:
        """Sorting key: the worst first, then by place."""
        return ORDER.index(self.severity), self.place, self.code, self.message


def found(
    code: str,
    place: Place,
    message: str,
    *,
    evidence: str = "",
    mended: str = "",
    severity: Severity | None = None,
) -> Finding:
    """A finding with its code's severity, unless another one is given.

    Raises:
        KeyError: there is no such code.
    """
    return Finding(code, severity or Severity(CODES[code].severity), place, message, evidence, mended)


def reaches(findings: list[Finding], limit: Severity) -> bool:
    """Whether any finding is as bad as the limit, or worse."""
    return any(ORDER.index(one.severity) <= ORDER.index(limit) for one in findings)
