"""Does the draft accept in a way that it never did before? A hint for a person, never a reason to page.

An isolation forest learns what conditional acceptances looked like in half of the windows before a change (log-odds
by position). The other half sets the limit: the score that 2 % of them are beyond. If many windows after the change
are beyond it, the shape is one that the engine had not shown. Useful when no cause of the table fits; it says not
why. Windows with few drafts look odd by noise alone and are left out. Source: Liu, Ting and Zhou 2008.

scikit-learn and numpy are in the `detect` extra and are imported here, when a shape is judged.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors.chain import inside
from specwatch_detectors.window import Window

LEAST_WINDOWS: Final = 40
_LEAST_TRIALS: Final = 30.0
_LIMIT: Final = 0.02
_ODD_SHARE: Final = 0.3
_TREES: Final = 200


class OddShapeError(ValueError):
    """The shape cannot be judged; the message is one line that says why."""


@dataclass(frozen=True, slots=True)
class OddShape:
    """How unlike before the windows after are.

    Attributes:
        odd: 30 % or more of them are beyond what 2 % of the held-out windows before were.
        share: of windows after the change that are beyond the limit, 0 to 1.
        windows: (before, after) that could be judged.
        most_moved: position, from 1, whose log-odds moved most in standard deviations.
    """

    odd: bool
    share: float
    windows: tuple[int, int]
    most_moved: int

    @property
    def words(self) -> str:
        """The result for a person."""
        kind = "unlike anything before" if self.odd else "of a kind seen before"
        odd = f"{self.share:.0%} of {self.windows[1]} windows stand out"
        return f"the shape is {kind}: {odd}, most at position {self.most_moved}"


def judge_shape(before: Sequence[Window], after: Sequence[Window], *, seed: int = 0) -> OddShape:
    """Compare shapes of single windows.

    Args:
        before: windows before the change, in any order.
        after: windows after it.
        seed: of the forest and of the halves.

    Raises:
        OddShapeError: scikit-learn is missing, or too few windows have enough drafts at every position.
    """
    depth = min((len(window.accepted) for window in (*before, *after) if window.accepted), default=0)
    old, new = ([row for window in side if (row := _features(window, depth))] for side in (before, after))
    if len(old) < LEAST_WINDOWS or len(new) < 5:
        raise OddShapeError(
            f"{len(old)} windows before and {len(new)} after have enough drafts; "
            f"a shape needs {LEAST_WINDOWS} before and 5 after"
        )
    numpy = _library("numpy")
    rows = numpy.array(old)[numpy.random.default_rng(seed).permutation(len(old))]
    half = len(old) // 2
    forest = _library("sklearn.ensemble").IsolationForest(n_estimators=_TREES, random_state=seed)
    forest.fit(rows[:half])
    limit = float(numpy.quantile(forest.score_samples(rows[half:]), _LIMIT))
    found = numpy.array(new)
    share = float((forest.score_samples(found) < limit).mean())
    moved = numpy.abs(found.mean(axis=0) - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-9)
    return OddShape(share >= _ODD_SHARE, share, (len(old), len(new)), int(moved.argmax()) + 1)


def _features(window: Window, depth: int) -> list[float] | None:
    if not depth or len(window.accepted) < depth or min(window.trials[:depth]) < _LEAST_TRIALS:
        return None
    pairs = zip(window.accepted[:depth], window.trials[:depth], strict=True)
    shares = [inside((kept + 0.5) / (tried + 1.0)) for kept, tried in pairs]
    return [math.log(share / (1.0 - share)) for share in shares]


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise OddShapeError(
            "judging a shape needs scikit-learn; install it with: pip install '.[detect]'"
        ) from error
