"""The demonstration from start to end: nothing is left running, however it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Event as Flag

from prometheus_client import CollectorRegistry
from rich.console import Console, RenderableType
from rich.live import Live

from specwatch_exporters.demo.fallback import FallbackKit, FallbackPart, FallbackScene, WithTraffic
from specwatch_exporters.demo.moment import Moment
from specwatch_exporters.demo.request_rows import RequestRows
from specwatch_exporters.demo.scenario import FALLBACK
from specwatch_exporters.demo.scenario import SETTINGS as SIMULATED
from specwatch_exporters.demo.stage import Stage
from specwatch_exporters.demo.view import fitted, line
from specwatch_exporters.demo.watch import Watch
from specwatch_exporters.sidecar.run import Sidecar
from specwatch_exporters.sidecar.settings import load
from specwatch_exporters.sidecar.watcher import Watcher

Judges = Callable[[CollectorRegistry | None], Watcher]
"""Makes what judges the draft, from the request sidecar's metrics if there is one."""

Frames = Callable[[], AbstractContextManager[Callable[[Moment], None]]]
"""Makes what is called with each moment, twice a second, until the end."""

Alert = Callable[[Moment, CollectorRegistry], RenderableType | None]
"""What a person is told at a moment, from it and from the scrape sidecar's metrics; None for nothing."""

SECONDS = 120.0
_FRAME_S = 0.5
_LINE_S = 5.0


def run_demo(
    engine: str | None = None,
    seconds: float | None = None,
    console: Console | None = None,
    judges: Judges | None = None,
    fallback: FallbackKit | None = None,
    log: Path | None = None,
    frames: Frames | None = None,
    alert: Alert | None = None,
    hint: str = "",
) -> None:
    """Watch an engine live.

    Args:
        engine: address of a real engine; None starts the replay engine with traffic and a draft that goes stale.
        seconds: length; None is `SECONDS` for the replay engine, and until Ctrl-C for a real one.
        console: where to draw.
        judges: makes what judges the draft; None judges nothing.
        fallback: makes what moves the simulated engines' traffic; None moves nothing.
        log: where its audit log is kept; None throws it away.
        frames: what shows each moment; None redraws a terminal in place, and prints lines elsewhere.
        alert: what a person is told, printed beside the moments; None tells nothing.
        hint: what to do next, printed at the end.

    Raises:
        SettingsError: the address cannot be used.
        OSError: no port is free.
    """
    console = console or Console()
    stop = Flag()
    with ExitStack() as stack:
        stack.enter_context(_stopping_on_signals(stop))
        total = (seconds or SECONDS) if engine is None else seconds
        stage = stack.enter_context(Stage(total or SECONDS)) if engine is None else None
        address = engine if stage is None else stage.url
        declared = {} if stage is None else {"speculation_method": SIMULATED.method}
        times = {"interval": "1s", "timeout": "1s"}
        settings = load({"engine": address, "listen": "127.0.0.1:0", **times, **declared}, environ={})
        registry = None if stage is None else stage.registry
        watcher = None if judges is None else WithTraffic(judges(registry))
        sidecar = stack.enter_context(Sidecar(settings, watcher=watcher))
        part = None
        if stage is not None and fallback is not None:
            part = _falling_back(stack, fallback, stage, sidecar, log)
            if watcher is not None:
                watcher.part = part
        requests = None if registry is None else RequestRows(registry)
        watch = Watch(
            sidecar,
            settings.engine.display,
            simulated=stage is not None,
            total_s=total,
            requests=requests,
            fallback=part,
        )
        with (frames or _frames(console))() as show:
            _loop(watch, stage, total, stop, _telling(show, alert, sidecar.registry, console))
    if hint:
        console.print(hint, highlight=False, markup=False, soft_wrap=True)
    console.print("Stopped; nothing is left running.")


def _falling_back(
    stack: ExitStack, kit: FallbackKit, stage: Stage, sidecar: Sidecar, log: Path | None
) -> FallbackPart:
    """A scrape sidecar beside the second engine, and a controller that reads both."""
    given = {"engine": stage.fallback_url, "listen": "127.0.0.1:0", "interval": "1s", "timeout": "1s"}
    settings = load({**given, "speculation_method": FALLBACK.method}, environ={})
    beside = stack.enter_context(Sidecar(settings, watcher=kit.judge()))
    scene = FallbackScene(
        model=SIMULATED.model_name,
        depth=SIMULATED.depth,
        admin_url=stage.admin_url,
        token_file=stage.token_file,
        pools={"draft": SIMULATED.method, "ngram": FALLBACK.method},
        pages={"draft": sidecar.registry.collect, "ngram": beside.registry.collect},
        log=log or stage.folder / "fallback.jsonl",
    )
    return stack.enter_context(kit.at_work(scene))


def _loop(
    watch: Watch, stage: Stage | None, total: float | None, stop: Flag, show: Callable[[Moment], None]
) -> None:
    while not stop.is_set() and (total is None or watch.elapsed_s < total):
        if stage is not None:
            watch.events += stage.play(watch.elapsed_s)
        show(watch.frame())
        stop.wait(_FRAME_S)


def _telling(
    show: Callable[[Moment], None], alert: Alert | None, registry: CollectorRegistry, console: Console
) -> Callable[[Moment], None]:
    """Show each moment, and print what a person is told above it."""

    def shown(moment: Moment) -> None:
        show(moment)
        told = None if alert is None else alert(moment, registry)
        if told is not None:
            console.print(told)

    return shown


def _frames(console: Console) -> Frames:
    return partial(_redrawn if console.is_terminal else _printed, console)


@contextmanager
def _redrawn(console: Console) -> Iterator[Callable[[Moment], None]]:
    """Redraw one frame in place."""
    with Live(console=console, auto_refresh=False) as live:
        yield lambda moment: live.update(fitted(moment, console), refresh=True)


@contextmanager
def _printed(console: Console) -> Iterator[Callable[[Moment], None]]:
    """Print a line every few seconds, and each event when it happens."""
    due, told = 0.0, 0

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    def show(moment: Moment) -> None:
        nonlocal due, told
        if not due:
            say(f"status page: {moment.status_url}")
        for event in moment.events[told:]:
            say(f"{event.at_s:5.0f}s  * {event.text}")
        told = len(moment.events)
        if moment.elapsed_s >= due:
            due = moment.elapsed_s + _LINE_S
            say(line(moment))

    yield show


@contextmanager
def _stopping_on_signals(stop: Flag) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a flag, so that everything is closed in order."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
