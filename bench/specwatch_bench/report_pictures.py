"""The pictures of one target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from specwatch_bench.profile_table import Range
from specwatch_bench.report_blocks import Figure
from specwatch_bench.report_cell import FEW, CellReport
from specwatch_bench.report_chart import OFF_COLOR, Axes, Curve, curve_chart
from specwatch_bench.report_classes import Acceptance, ClassSpeedup
from specwatch_bench.report_draws import interval
from specwatch_bench.report_tail_chart import Tail, tail_chart
from specwatch_bench.report_target import Target
from specwatch_bench.report_verdict import Speedup, Verdict

BATCH: Final = "requests in flight"
_COLORS: Final = 6
_TAILS: Final = 3


class Pictures:
    """Draws one target.

    Args:
        target: its results.
        speedups: see `speedups_of`.
        verdicts: see `verdicts_of`.
    """

    def __init__(self, target: Target, speedups: Sequence[Speedup], verdicts: Sequence[Verdict]) -> None:
        self._target = target
        self._speedups = speedups
        self._verdicts = verdicts
        self._colors = {name: f"var(--s{at % _COLORS + 1})" for at, name in enumerate(target.drafters)}
        self._shapes = {name: at + 1 for at, name in enumerate(target.drafters)}

    def speedup(self, title: str) -> Figure:
        """Speed-up against batch, with break-even."""
        axes = self._speedup_axes(
            f"Speed-up of {self._target.title} by batch: output tokens per second over those without"
        )
        caption = "Output tokens per second over those without speculation; bars are 95 % intervals."
        return self._figure("speedup", title, self._speedup_curves(), axes, caption)

    def _speedup_axes(self, words: str) -> Axes:
        """Batches below, times of the speed without speculation beside, and where it breaks even."""
        return Axes(places=self._target.batches, below=BATCH, unit="x", level=(1.0, "break-even"), words=words)

    def speed(self) -> Iterator[Figure]:
        """Speed-up, throughput, latency and its tail, gaps, tokens per joule."""
        if self._speedups:
            yield self.speedup("Speed-up against batch")
        yield self._over_batch(
            "throughput", "Output tokens per second", lambda cell: interval(cell.tok_s), "", log=True,
            caption="Of the whole engine, on one GPU.",
        )  # fmt: skip
        yield self._over_batch(
            "latency", "Latency against batch", _seconds(lambda cell: interval(cell.e2e.p50)), " s", log=True,
            caption="Median of whole requests.",
        )  # fmt: skip
        yield self._tail()
        yield self._over_batch(
            "gaps", "Gap between chunks, p99", lambda cell: interval(cell.chunk.p99), " ms", log=True,
            caption="What a reader of the stream waits: a step with speculation is longer and brings more.",
        )  # fmt: skip
        if any(self._target.gpu_of(cell) for cell in self._target.published):
            yield self._over_batch(
                "joule", "Output tokens per joule", self._per_joule, "", log=True,
                caption="Over the mean power of the GPU, not of the machine.",
            )  # fmt: skip

    def acceptance(self, found: Sequence[Acceptance]) -> Iterator[Figure]:
        """Acceptance by position and class, one picture for each set of values; none without counted positions."""
        counted = [one for one in found if one.seen]
        for label in _distinct(counted):
            own = [one for one in counted if one.label == label]
            depth = max(len(one.seen) for one in own)
            curves = [
                Curve(one.traffic_class, f"var(--s{at + 1})", at, _positions(one)) for at, one in enumerate(own)
            ]
            axes = Axes(places=range(1, depth + 1), below="position", words=f"Acceptance by position of {label}")
            yield self._figure(
                f"acceptance-{_slug(label)}",
                f"Acceptance by position: {label}",
                curves,
                axes,
                "Share of draft steps that kept the position, by the engine's counters.",
            )

    def classes(self, found: Sequence[ClassSpeedup]) -> Iterator[Figure]:
        """Speed-up by class: of each method the drafter with the smallest K."""
        for label in _one_of_each(found):
            own = [one for one in found if one.label == label]
            curves = [
                Curve(
                    name,
                    f"var(--s{at + 1})",
                    at,
                    [(one.batch, one.range) for one in own if one.traffic_class == name],
                )
                for at, name in enumerate(dict.fromkeys(one.traffic_class for one in own))
            ]
            axes = self._speedup_axes(f"Speed-up by traffic class of {label}")
            yield self._figure(
                f"classes-{_slug(label)}",
                f"Speed-up by class: {label}",
                curves,
                axes,
                "Published acceptance of the class on measured step times.",
            )

    def _figure(self, name: str, title: str, curves: Sequence[Curve], axes: Axes, caption: str) -> Figure:
        return Figure(f"{self._target.name}-{name}", title, curve_chart(curves, axes), caption)

    def _speedup_curves(self) -> list[Curve]:
        engines = dict.fromkeys(one.engine for one in self._speedups)
        return [
            Curve(
                self._target.label(name),
                self._colors[name],
                self._shapes[name],
                [(one.batch, one.range) for one in self._speedups if one.engine == name],
            )
            for name in self._target.engines
            if name in engines
        ]

    def _over_batch(
        self,
        name: str,
        title: str,
        figure: Callable[[CellReport], Range | None],
        unit: str,
        *,
        log: bool,
        caption: str,
    ) -> Figure:
        curves = [curve for engine in self._target.engines if (curve := self._curve(engine, figure)).points]
        axes = Axes(places=self._target.batches, below=BATCH, unit=unit, log=log, words=f"{title}, by batch")
        return self._figure(name, title, curves, axes, caption)

    def _curve(self, engine: str, figure: Callable[[CellReport], Range | None]) -> Curve:
        points = []
        for batch in self._target.batches:
            cell = self._target.cell(engine, batch)
            found = None if cell is None else figure(cell)
            if found is not None:
                points.append((batch, found))
        color = self._colors.get(engine, OFF_COLOR)
        shape = self._shapes.get(engine, 0)
        return Curve(self._target.label(engine), color, shape, points, dashed=engine not in self._colors)

    def _per_joule(self, cell: CellReport) -> Range | None:
        use = self._target.gpu_of(cell)
        return interval(cell.tok_s / use.watts) if use and use.watts else None

    def _tail(self) -> Figure:
        plain = [name for name in self._target.engines if name not in self._colors]
        best = dict.fromkeys(verdict.speedups[0].engine for verdict in self._verdicts)
        chosen = [*plain, *best][:_TAILS] or self._target.engines[:_TAILS]
        series = [
            (
                self._target.label(name),
                self._colors.get(name, OFF_COLOR),
                self._shapes.get(name, 0),
                self._bars(name),
            )
            for name in chosen
        ]
        axes = Axes(
            places=self._target.batches,
            below=BATCH,
            unit=" s",
            log=True,
            words="Tail of the latency of whole requests, by batch, with and without speculation",
        )
        return Figure(
            f"{self._target.name}-tail",
            "Tail: p50 to p99 of whole requests",
            tail_chart(series, axes),
            "Symbol p50, tick p95, end p99; an arrow: too few requests, so p99 is at least that.",
        )

    def _bars(self, engine: str) -> list[Tail]:
        cells = [(batch, self._target.cell(engine, batch)) for batch in self._target.batches]
        return [_bar(batch, cell) for batch, cell in cells if cell is not None and cell.requests]


def _bar(batch: int, cell: CellReport) -> Tail:
    p50, p95, p99 = (float(draws[0]) / 1e3 for draws in (cell.e2e.p50, cell.e2e.p95, cell.e2e.p99))
    return Tail(batch, p50, p95, p99, short=cell.requests < FEW[0.99])


def _seconds(figure: Callable[[CellReport], Range]) -> Callable[[CellReport], Range]:
    def scaled(cell: CellReport) -> Range:
        found = figure(cell)
        return Range(found.value / 1e3, found.lower / 1e3, found.upper / 1e3)

    return scaled


def _positions(one: Acceptance) -> list[tuple[int, Range]]:
    """Shares with their binomial 95 % interval."""
    points = []
    for position, share in enumerate(one.seen, start=1):
        if share is not None:
            half = 1.96 * (share * (1.0 - share) / one.drafts) ** 0.5
            points.append((position, Range(share, max(0.0, share - half), min(1.0, share + half))))
    return points


def _distinct(found: Sequence[Acceptance]) -> list[str]:
    """Labels whose set values are not the beginning of another's."""
    rates: dict[str, tuple[tuple[float, ...], ...]] = {}
    for one in found:
        rates[one.label] = (*rates.get(one.label, ()), one.given)
    kept: list[str] = []
    for label, own in sorted(rates.items(), key=lambda item: -sum(map(len, item[1]))):
        if not any(own and _begins(rates[other], own) for other in kept):
            kept.append(label)
    return [label for label in rates if label in kept]


def _begins(longer: Sequence[Sequence[float]], shorter: Sequence[Sequence[float]]) -> bool:
    if not all(shorter) or len(longer) != len(shorter):
        return False
    return all(list(a[: len(b)]) == list(b) for a, b in zip(longer, shorter, strict=True))


def _one_of_each(found: Sequence[ClassSpeedup]) -> list[str]:
    """The first label of each method, methods in their order."""
    chosen: dict[str, str] = {}
    for one in found:
        chosen.setdefault(one.label.partition(" K=")[0], one.label)
    return list(chosen.values())


def _slug(label: str) -> str:
    return label.lower().replace(",", "").replace(" ", "-").replace("=", "")
