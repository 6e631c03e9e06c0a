"""How fast the error budgets burn."""

from __future__ import annotations

from specwatch_dashboards.promql import MODELS


def burn(window: str) -> str:
    """Bad requests over those that the objective allows, worst model of each objective.

    Args:
        window: one that the rules record, such as `5m` or `1h`.
    """
    budget = "max by (slo) (specwatch:slo_budget:ratio)"
    return f"max by (slo) (specwatch:slo_error:ratio{window}{{{MODELS}}} / on (slo) group_left () {budget})"
