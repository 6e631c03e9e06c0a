from __future__ import annotations

import pytest

from specwatch_alerts.slack.alert_turn import LATE_S, Held, Turn, turn
from specwatch_alerts.slack.payload import Alert, Status

NOW = 10_000.0


def said(status: str, start: float, end: float | None = None) -> Alert:
    return Alert("fp", Status(status), start, end, {}, {})


FIRING = Held(Status.FIRING, 100.0, None, 110.0)
ENDED = Held(Status.RESOLVED, 100.0, 200.0, NOW - 10.0)
ENDED_LONG_AGO = Held(Status.RESOLVED, 100.0, 200.0, NOW - LATE_S - 1.0)
FIRING_AGAIN = Held(Status.FIRING, 100.0, 200.0, NOW - 10.0)


@pytest.mark.parametrize(
    ("held", "alert", "brings"),
    [
        (None, said("firing", 100), Turn.FIRING),
        (None, said("resolved", 100, 200), Turn.RESOLVED),
        (FIRING, said("firing", 100), Turn.NOTHING),
        (FIRING, said("firing", 90), Turn.NOTHING),
        (FIRING, said("firing", 150), Turn.NOTHING),
        (FIRING, said("resolved", 100, 200), Turn.RESOLVED),
        (FIRING, said("resolved", 90, 200), Turn.RESOLVED),
        (FIRING, said("resolved", 100), Turn.RESOLVED),
        (FIRING, said("resolved", 50, 60), Turn.NOTHING),
        (ENDED, said("resolved", 100, 200), Turn.NOTHING),
        (ENDED, said("resolved", 90, 205), Turn.NOTHING),
        (ENDED, said("resolved", 300, 400), Turn.RESOLVED),
        (ENDED, said("firing", 300), Turn.FIRING),
        (ENDED, said("firing", 100), Turn.NOTHING),
        (ENDED_LONG_AGO, said("firing", 100), Turn.FIRING),
        (FIRING_AGAIN, said("resolved", 100, 200), Turn.NOTHING),
        (FIRING_AGAIN, said("resolved", 100, 300), Turn.RESOLVED),
    ],
)
def test_what_an_alert_brings(held: Held | None, alert: Alert, brings: Turn) -> None:
    assert turn(held, alert, NOW) is brings
