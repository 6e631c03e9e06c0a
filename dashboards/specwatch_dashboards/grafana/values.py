"""What a value looks like: colours with limits, and texts instead of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_dashboards.grafana.plain_json import Json

# Colours that people with the common colour vision deficiencies tell apart; each also has a text or a limit.
GOOD: Final = "#0072B2"
WATCH: Final = "#E69F00"
BAD: Final = "#D55E00"
QUIET: Final = "#8E8E8E"
PLAIN: Final = "#56B4E9"
OTHER: Final = "#CC79A7"
GREENISH: Final = "#009E73"

# Stat and table cells show these instead of a number that does not exist.
NO_TRAFFIC: Final = -1
CANNOT_TELL: Final = -2


@dataclass(frozen=True, slots=True)
class Shown:
    """A value that is shown as a text.

    Attributes:
        value: the number.
        text: what stands for it.
        color: its colour.
    """

    value: int
    text: str
    color: str


ABSENT_TEXTS: Final = (Shown(NO_TRAFFIC, "No traffic", QUIET), Shown(CANNOT_TELL, "Cannot tell", QUIET))


def steps(base: str, *above: tuple[float, str]) -> Json:
    """Thresholds: a colour below all limits, and one from each limit on."""
    return {
        "mode": "absolute",
        "steps": [{"color": base, "value": None}, *({"color": color, "value": limit} for limit, color in above)],
    }


def mappings(shown: Sequence[Shown]) -> list[Json]:
    """Value mappings, as Grafana writes them."""
    if not shown:
        return []
    options = {str(one.value): {"text": one.text, "color": one.color, "index": at} for at, one in enumerate(shown)}
    return [{"type": "value", "options": options}]
