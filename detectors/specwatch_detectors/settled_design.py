"""Which spans of a history the design effect of a drift test must cover: those in which the test decides.

Batch means over long spans see every slow wave of acceptance: the hours of the day, a changing mix. A wave that
stays within half of the smallest drop that is watched for adds no evidence to a CUSUM, however long it lasts,
because each interval's evidence is negative on average up to there; but it makes the design effect grow with the
span, without limit at high volume, and the test slow in proportion. What brings false alarms is the spread over
the time that evidence takes to reach the threshold:

    a span b (in intervals) counts if b <= H d_b / I,   I = N i(r, q), nats of an interval at d = 1

with H the threshold and r the smallest drop. Whether waves do stay within that limit is not assumed but looked at:
the test with this design effect is run over the history, and where its largest score comes nearer to the threshold
than chance explains, the design effect over all spans is taken instead. Chance: the largest of D days lies about
ln(30 / D) under that of 30 days, which is at most h; one nat more is left for what the history did not show.

Failure modes: waves that grow after the history, past half of the smallest drop, are alarms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from specwatch_detectors.stream_fit import StreamFit

SPARE_NATS: Final = 1.0
MONTH_DAYS: Final = 30.0


def settle(found: StreamFit, peak: Callable[[StreamFit], float], threshold: float, days: float) -> StreamFit:
    """The fit with the design effect to judge with.

    Args:
        found: fit of the stream.
        peak: largest evidence, in nats, of a replay of the history with a fit's design effect.
        threshold: h in nats.
        days: of history, > 0.
    """
    if found.quick_design is None or found.quick_design >= found.design:
        return found
    quick = replace(found, design=found.quick_design, design_from="batch means over the time that a test takes")
    limit = threshold - max(0.0, math.log(MONTH_DAYS / days)) - SPARE_NATS
    return quick if peak(quick) <= limit else found
