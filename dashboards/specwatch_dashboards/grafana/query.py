"""One query of a panel."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_dashboards.grafana.datasource import DATASOURCE
from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.plain_json import Json, merged, plain

_KEPT = ("expr", "format", "instant", "legendFormat", "refId")


@dataclass(frozen=True, slots=True)
class Query:
    """One PromQL query.

    Attributes:
        expr: the expression, with Grafana's variables.
        legend: text with `{{label}}`; a label that a series does not have leaves nothing.
        instant: ask for the end of the time range only.
        form: `time_series`, `table` or `heatmap`.
    """

    expr: str
    legend: str = ""
    instant: bool = False
    form: str = "time_series"

    def target(self, position: int) -> Json:
        """Its JSON; `position` gives it its letter."""
        made = core.Target(
            expr=self.expr,
            legendFormat=self.legend or "__auto",
            refId=chr(ord("A") + position),
            format=self.form,
            instant=self.instant,
        )
        kept = {key: value for key, value in plain(made).items() if key in _KEPT}
        own = {"datasource": DATASOURCE, "editorMode": "code", "range": not self.instant, "exemplar": False}
        return merged(kept, own)
