"""Do the requests after a change differ from those before it, and in what? A classifier two-sample test.

A gradient-boosted classifier learns on half of the requests to tell after from before; the area under its ROC curve
on the other half is the statistic. If nothing differs, labels of held-out requests are exchangeable, so the p-value
comes from shuffling them, whole requests (or conversations) at a time:

    p = (1 + shuffles with at least that area) / (1 + shuffles)

Which features differ: permutation importance, the area lost when one feature is shuffled among held-out requests.
Features that say the same thing share their importance. A small p says that traffic differs, not that acceptance
fell because of it: read it beside the mix term. Sources: Lopez-Paz and Oquab 2017; Breiman 2001.

scikit-learn and numpy are in the `detect` extra and are imported here, when a test is made.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LEAST_REQUESTS: Final = 60
SHUFFLES: Final = 999
SIGNIFICANT: Final = 0.01
_MOST_LEVELS: Final = 40
_IMPORTANCE_REPEATS: Final = 8

Record = Mapping[str, float | str | None]
"""Features of one request by name: numbers or words, None where unknown. `request` groups records, if there."""


class RecordTestError(ValueError):
    """The test cannot be made; the message is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class FeatureDifference:
    """One feature's part in telling after from before.

    Attributes:
        name: of the feature.
        importance: area under the curve lost without it, 0 to 0.5.
        error: its standard deviation over shuffles.
        words: how it differs: medians, or the share that moved most.
    """

    name: str
    importance: float
    error: float
    words: str


@dataclass(frozen=True, slots=True)
class RecordTest:
    """Result of the two-sample test.

    Attributes:
        area: under the ROC curve on held-out requests; 0.5 if after cannot be told from before.
        p_value: chance of such an area if nothing differs.
        features: those that differ, most important first; empty if nothing does.
        requests: (before, after).
    """

    area: float
    p_value: float
    features: tuple[FeatureDifference, ...]
    requests: tuple[int, int]

    @property
    def words(self) -> str:
        """The result for a person."""
        if self.p_value > SIGNIFICANT:
            return f"requests before and after cannot be told apart (p = {self.p_value:.3g})"
        how = "; ".join(row.words for row in self.features) or "in no single feature"
        return f"requests differ (p = {self.p_value:.3g}): {how}"

    def as_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "area": self.area,
            "p_value": self.p_value,
            "requests": list(self.requests),
            "features": [
                {"name": row.name, "importance": row.importance, "error": row.error, "words": row.words}
                for row in self.features
            ],
        }


def compare_records(
    before: Sequence[Record], after: Sequence[Record], *, seed: int = 0, shuffles: int = SHUFFLES
) -> RecordTest:
    """Test whether requests differ.

    Args:
        before: records before the change.
        after: records after it.
        seed: chooses halves and shuffles; the same seed gives the same answer.
        shuffles: of the p-value; it is at least 1 / (1 + shuffles).

    Raises:
        RecordTestError: scikit-learn is missing, or there are under 60 requests on a side, or no features.
    """
    # One thread: on a busy machine the threads of a small model wait for each other.
    with _library("threadpoolctl").threadpool_limits(limits=1):
        return _compared(before, after, seed, shuffles)


def _compared(before: Sequence[Record], after: Sequence[Record], seed: int, shuffles: int) -> RecordTest:
    numpy = _library("numpy")
    groups = [*_requests(before, "before"), *_requests(after, "after")]
    sizes = (len(set(groups[: len(before)])), len(set(groups[len(before) :])))
    if min(sizes) < LEAST_REQUESTS:
        words = f"{sizes[0]} requests before and {sizes[1]} after"
        raise RecordTestError(f"{words}; the test needs {LEAST_REQUESTS} on each side")
    names = sorted({name for row in (*before, *after) for name in row} - {"request"})
    if not names:
        raise RecordTestError("the records have no features, such as prompt length, temperature, class or adapter")
    matrix, words_mask = _matrix(numpy, [*before, *after], names)
    labels = numpy.array([0] * len(before) + [1] * len(after))
    random = numpy.random.default_rng(seed)
    held = _held_out(numpy, groups, labels, random)
    model = _fitted(matrix[~held], labels[~held], words_mask, seed)
    scores, units = model.predict_proba(matrix[held])[:, 1], [groups[at] for at in numpy.flatnonzero(held)]
    area, p_value = _area_test(numpy, scores, labels[held], units, random, shuffles)
    features: tuple[FeatureDifference, ...] = ()
    if p_value <= SIGNIFICANT:
        features = _differences(model, matrix[held], labels[held], names, (before, after), seed)
    return RecordTest(area, p_value, features, sizes)


def _requests(rows: Sequence[Record], side: str) -> list[str]:
    return [str(row.get("request", f"{side}-{at}")) for at, row in enumerate(rows)]


def _fitted(matrix: Any, labels: Any, words: list[bool], seed: int) -> Any:
    model = _library("sklearn.ensemble").HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, early_stopping=False, categorical_features=words, random_state=seed
    )
    return model.fit(matrix, labels)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RecordTestError(
            "comparing requests needs scikit-learn; install it with: pip install '.[detect]'"
        ) from error


def _matrix(numpy: Any, rows: Sequence[Record], names: Sequence[str]) -> tuple[Any, list[bool]]:
    """One column per feature; words become codes, the rarest of them share one."""
    columns, words = [], []
    for name in names:
        values = [row.get(name) for row in rows]
        wordy = any(isinstance(value, str) for value in values)
        words.append(wordy)
        columns.append(_codes(values) if wordy else [_plain(value) for value in values])
    return numpy.array(columns, dtype=float).T.reshape(len(rows), len(names)), words


def _plain(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _codes(values: Sequence[object]) -> list[float]:
    counts = Counter(str(value) for value in values if value is not None)
    order = {name: float(code) for code, (name, _) in enumerate(counts.most_common(_MOST_LEVELS))}
    return [math.nan if value is None else order.get(str(value), float(_MOST_LEVELS)) for value in values]


def _held_out(numpy: Any, groups: Sequence[str], labels: Any, random: Any) -> Any:
    """Half of the requests of each side, whole requests."""
    out: set[tuple[int, str]] = set()
    for side in (0, 1):
        own = sorted({group for group, label in zip(groups, labels, strict=True) if label == side})
        random.shuffle(own)
        out.update((side, group) for group in own[: len(own) // 2])
    return numpy.array([(int(label), group) in out for group, label in zip(groups, labels, strict=True)])


def _area_test(
    numpy: Any, scores: Any, labels: Any, groups: Sequence[str], random: Any, shuffles: int
) -> tuple[float, float]:
    ranks = _library("scipy.stats").rankdata(scores)
    keys = {key: at for at, key in enumerate(dict.fromkeys(zip(groups, labels.tolist(), strict=True)))}
    index = numpy.array([keys[key] for key in zip(groups, labels.tolist(), strict=True)])
    of_group = numpy.array([label for _, label in keys])
    area = _area(ranks, of_group[index])
    beaten = sum(_area(ranks, random.permutation(of_group)[index]) >= area for _ in range(shuffles))
    return area, (1 + beaten) / (1 + shuffles)


def _area(ranks: Any, labels: Any) -> float:
    """Area under the ROC curve from ranks: Mann-Whitney's U over its largest value."""
    ones = int(labels.sum())
    zeros = len(labels) - ones
    if not ones or not zeros:
        return 0.5
    return (float(ranks[labels == 1].sum()) - ones * (ones + 1) / 2.0) / (ones * zeros)


def _differences(
    model: Any,
    matrix: Any,
    labels: Any,
    names: Sequence[str],
    sides: tuple[Sequence[Record], Sequence[Record]],
    seed: int,
) -> tuple[FeatureDifference, ...]:
    found = _library("sklearn.inspection").permutation_importance(
        model, matrix, labels, scoring="roc_auc", n_repeats=_IMPORTANCE_REPEATS, random_state=seed
    )
    rows = [
        FeatureDifference(name, float(mean), float(error), _how(name, *sides))
        for name, mean, error in zip(names, found.importances_mean, found.importances_std, strict=True)
        if mean > max(0.01, 2.0 * error)
    ]
    return tuple(sorted(rows, key=lambda row: (-row.importance, row.name)))


def _how(name: str, before: Sequence[Record], after: Sequence[Record]) -> str:
    old, new = ([row[name] for row in side if row.get(name) is not None] for side in (before, after))
    if any(isinstance(value, str) for value in (*old, *new)):
        shares = [Counter(str(value) for value in side) for side in (old, new)]
        levels = sorted({*shares[0], *shares[1]})
        level = max(levels, key=lambda key: abs(_share(shares[1], key) - _share(shares[0], key)))
        return f"{name} {level}: {_share(shares[0], level):.0%} → {_share(shares[1], level):.0%}"
    return f"median {name} {_median(old):,.6g} → {_median(new):,.6g}"


def _share(counts: Counter[str], key: str) -> float:
    return counts[key] / max(1, counts.total())


def _median(values: Sequence[object]) -> float:
    ordered = sorted(_plain(value) for value in values)
    return ordered[len(ordered) // 2] if ordered else math.nan
