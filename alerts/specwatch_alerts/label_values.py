"""Values of labels of our metrics that are closed sets: any other value selects nothing.

From the code that writes them, where it has an enumeration. An engine's own words, such as `outcome` of
`specwatch_requests_total`, are no closed set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from specwatch_detectors.fallback.decision import Veto
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.transition import Cause as Reason
from specwatch_detectors.reading import DriftState
from specwatch_exporters import (
    catalog,
    drift_catalog,
    fallback_catalog,
    payoff_catalog,
    pool_catalog,
    request_catalog,
)
from specwatch_exporters.report import State
from specwatch_exporters.request_metrics import Outcome
from specwatch_exporters.sidecar.fetch_error import Cause

_ENDS: Final = frozenset(Outcome)
_LEVELS: Final = frozenset(Level)
_DRIFT: Final = frozenset(DriftState)
_VETOES: Final = frozenset(Veto) | {"dry_run", "foreign", "lever"}

CLOSED: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    (catalog.STATE.name, "state"): frozenset(State),
    (catalog.SCRAPES.name, "outcome"): frozenset(Cause) | {"success"},
    (drift_catalog.STATE.name, "state"): _DRIFT,
    (drift_catalog.SIGNAL_STATE.name, "state"): _DRIFT,
    (drift_catalog.SIGNAL_STATE.name, "signal"): frozenset({"inter_token", "queue_wait"}),
    (payoff_catalog.SPEEDUP.name, "bound"): frozenset({"lower", "estimate", "upper"}),
    (fallback_catalog.LEVEL.name, "level"): _LEVELS,
    (fallback_catalog.SHARE.name, "level"): _LEVELS,
    (fallback_catalog.TRANSITIONS.name, "from"): _LEVELS,
    (fallback_catalog.TRANSITIONS.name, "to"): _LEVELS,
    (fallback_catalog.TRANSITIONS.name, "reason"): frozenset(Reason) | {"undone"},
    (fallback_catalog.REFUSED.name, "veto"): _VETOES,
    (fallback_catalog.VETO.name, "veto"): _VETOES,
    (request_catalog.FINISHED.name, "outcome"): _ENDS,
    (pool_catalog.REQUESTS.name, "outcome"): _ENDS,
}
"""By metric and label."""
