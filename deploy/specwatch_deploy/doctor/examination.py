"""Runs every check, and sorts what they find."""

from __future__ import annotations

from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.registry import CHECKS


def examine(inputs: Inputs) -> list[Finding]:
    """All findings, the worst first, each once."""
    found = {finding for check in CHECKS for finding in check(inputs)}
    return sorted(found, key=lambda one: one.rank)
