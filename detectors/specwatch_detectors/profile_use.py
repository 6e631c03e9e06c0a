"""What a watch makes of a drift profile: whose model it is of, and whether it is newer than what was kept."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.profile import Profile

LOG = logging.getLogger("specwatch.drift")
_MOST_NAMES: Final = 3


class ProfileUse:
    """Gives the calibrations of a profile, and says where it has none.

    Args:
        profile: as read.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._missed: set[str] = set()

    def calibrations(self, model: str) -> Mapping[str, Calibration]:
        """What the profile knows of a model, by traffic class; that it knows nothing is logged once a model."""
        found = self._profile.calibrations(model)
        if not found and model not in self._missed:
            self._missed.add(model)
            LOG.warning("%s: %s", model, self.remark(model))
        return found

    def remark(self, model: str) -> str:
        """What to say beside a verdict on a model; empty if the profile is of this model."""
        if self._profile.calibrations(model):
            return ""
        names = sorted(self._profile.models)
        rest = len(names) - _MOST_NAMES
        listed = ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
        return f"the drift profile is of {listed or 'no model'}, not of {model}, whose baseline is learned here"


def made_at(calibrations: Mapping[str, Calibration]) -> float:
    """When the profile was made that the calibrations are of, epoch seconds; 0 if that is not known."""
    return max((known.made for known in calibrations.values()), default=0.0)


def replaces(model: str, calibrations: Mapping[str, Calibration], kept_made: float) -> bool:
    """Whether a profile is newer than the kept baseline, which is then dropped; logged.

    Args:
        model: its name, for the log.
        calibrations: what the profile knows of it.
        kept_made: when the profile was made that the kept baseline began from, or when somebody accepted the
            acceptance of that time as the new normal; 0 for neither.
    """
    made = made_at(calibrations)
    if made <= kept_made:
        return False
    when = datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    LOG.warning("%s: the drift profile of %s is newer than the kept baseline and replaces it", model, when)
    return True
