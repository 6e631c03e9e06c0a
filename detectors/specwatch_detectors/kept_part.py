"""Parts of a kept state: a part that cannot be read is left out and said in one line, the others are used."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

LOG = logging.getLogger("specwatch.drift")
MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading something of another form raises."""

_NUMBERS: Final = frozenset({"seen", "dropped", "drafted", "onset", "sampled", "settled", "waited", "score"})
"""Fields that monitors take over as they are, and that fail only later if they are no numbers."""
_LONGEST: Final = 200

_Part = TypeVar("_Part")


def restored(what: str, kept: object, make: Callable[[Mapping[str, Any]], _Part]) -> _Part | None:
    """What `make` gives for a kept part; None if nothing was kept, or if it cannot be read, which is logged.

    Args:
        what: the part, for the log.
        kept: the part as it was read.
        make: builds from it; what it raises of `MALFORMED` leaves the part out.
    """
    if kept is None:
        return None
    try:
        return make(_checked(kept))
    except MALFORMED as error:
        left_out(what, error)
        return None


def kept_time(kept: object) -> float:
    """A kept time, seconds; 0 if there is none that can be used."""
    return float(kept) if isinstance(kept, int | float) and _is_number(kept) else 0.0


def left_out(what: str, why: object) -> None:
    """Log that a part is not used, in one line."""
    LOG.warning("%s: the kept state is not used: %s", what, " ".join(str(why).split())[:_LONGEST])


def _checked(kept: object) -> Mapping[str, Any]:
    if not isinstance(kept, Mapping):
        raise TypeError(f"it is no JSON object but {type(kept).__name__}")
    for name, value in kept.items():
        if isinstance(value, Mapping):
            _checked(value)
        elif name in _NUMBERS and value is not None and not _is_number(value):
            raise ValueError(f"{name} is no number")
    return kept


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
