"""A PromQL query that somebody relies on: its text, where it stands, and what it is for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specwatch_deploy.doctor.finding import Place


class Role(StrEnum):
    """What a query is for; NAME is a series that a scaler names, where no PromQL can stand."""

    ADAPTER = "adapter"
    ALERT = "alert"
    ANNOTATION = "annotation"
    GIVEN = "given"
    NAME = "name"
    PANEL = "panel"
    RECORDING = "recording"
    SCALER = "scaler"
    VARIABLE = "variable"

    @property
    def acts(self) -> bool:
        """Whether something happens by its result without a person looking."""
        return self in {Role.ADAPTER, Role.ALERT, Role.NAME, Role.RECORDING, Role.SCALER}


@dataclass(frozen=True, slots=True)
class Query:
    """One query.

    Attributes:
        text: PromQL as written, with Grafana's variables if there are any.
        role: what it is for.
        place: where it stands.
        title: what people read beside it: panel title and legend, alert name and texts.
        wait_s: `for` of an alert in seconds; None where nothing waits.
        name: of the alert or the recorded series; empty otherwise.
        unit: Grafana's unit of the panel; empty otherwise.
        divided: whether a scaler divides the value by the replicas, so that it has to grow with them.
    """

    text: str
    role: Role
    place: Place
    title: str = ""
    wait_s: float | None = None
    name: str = ""
    unit: str = ""
    divided: bool = False
