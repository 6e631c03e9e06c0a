"""A fleet whose history is written down once, and watches of it that read it in any way a test likes."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from detectors.watch.sample_store import FakePod, SampleStore, scrape_requests
from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.watch.rounds import Grid, Rounds
from specwatch_detectors.watch.watch_settings import WatchSettings, make_rounds
from specwatch_detectors.watch.watcher import NewRounds

BEGIN = 1_700_000_000
GRID = Grid(interval_s=10, delay_s=10, since_s=60)
SETTINGS = WatchSettings(grid=GRID)


def new_rounds(store: SampleStore, settings: WatchSettings = SETTINGS) -> NewRounds:
    """Makes watches of what a store holds."""
    return make_rounds(settings, store)


def reloaded(rounds: Rounds, make: NewRounds) -> Rounds:
    """The same watch in a new process."""
    return make(json.loads(json.dumps(rounds.state())))


def catch_up(rounds: Rounds, now: float) -> dict[str, ModelReading]:
    """Take everything in that is due."""
    rounds.catch_up(now)
    while rounds.behind(now):
        rounds.catch_up(now)
    return rounds.readings(now)


def eventful(seed: int, seconds: int) -> SampleStore:
    """Pods that come, go, restart, change their version, and accept less towards the end; two classes."""
    rng, store = random.Random(seed), SampleStore()
    pods = [FakePod(store, f"pod-{number}") for number in range(4)]
    counts: dict[str, list[float]] = {"chat": [0.0] * 4, "code": [0.0] * 4}
    target = {"instance": "proxy:9478", "pod": "proxy"}
    for second in range(0, seconds, 10):
        share = 0.7 if second < seconds * 0.6 else 0.45
        for number, pod in enumerate(pods):
            if rng.random() < 0.02:
                pod.forget()
            if rng.random() < 0.01:
                pod.restarts += 1
            pod.version = "0.32.0" if second < seconds * (0.4 + 0.02 * number) else "0.33.0"
            pod.work(rng.randint(0, 9000), share)
            if rng.random() > 0.05:
                pod.scrape(BEGIN + second + 2.5 * number + 0.125)
        if rng.random() < 0.02:
            pods[rng.randrange(4)] = FakePod(store, f"pod-new-{second}")
        for row in counts.values():
            drafts = rng.randint(0, 3000)
            for cell, grown in enumerate((drafts, 2 * drafts, round(drafts * share), round(drafts * share**2))):
                row[cell] += grown
        scrape_requests(store, target, BEGIN + second + 4.25, counts)
    return store


def plain(readings: Mapping[str, ModelReading]) -> Any:
    """Readings as values that compare."""
    return {name: (reading.verdict, reading.mix_shift, dict(reading.classes)) for name, reading in readings.items()}
