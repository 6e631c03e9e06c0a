"""Links between dashboards; they keep the variables and the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.plain_json import Json, plain

TAG: Final = "specwatch"
_CARRIED: Final = "${__url_time_range}&${__all_variables}"


@dataclass(frozen=True, slots=True)
class PanelLink:
    """A link of a panel to a dashboard of this set.

    Attributes:
        title: what one finds there.
        uid: the dashboard.
    """

    title: str
    uid: str

    def body(self) -> Json:
        """Its JSON."""
        # The URL carries variables and time itself: in a panel's link the two switches for that do nothing.
        made = core.DashboardLink(
            title=self.title, type="link", uri=f"/d/{self.uid}?{_CARRIED}", keepTime=False, tooltip=self.title
        )
        return dict(plain(made))


def set_links() -> list[Json]:
    """The dashboard's links to the whole set, by tag."""
    made = core.DashboardLink(
        title="specwatch",
        type="dashboards",
        tags=[TAG],
        includeVars=True,
        keepTime=True,
        asDropdown=False,
        targetBlank=False,
        tooltip="The other specwatch dashboards, with the same variables and time",
    )
    return [plain(made)]
