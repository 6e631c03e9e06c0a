"""A real vLLM whose traffic changes, and whose draft goes stale with a restart: what the detectors make of it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.class_load import ClassLoad
from engine.completions_client import RequestRecord, completion_request, run_completions, varied_prompts
from engine.engine_load import DRAFT_POSITIONS, SIGMA
from engine.engine_process import MODEL_NAME, MODELS, EngineProcess, vllm_python
from engine.tiny_models import draft_name
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.chain import variance
from specwatch_detectors.class_counts import ClassCounts
from specwatch_detectors.design_effect import from_requests
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.sidecar_watch import SidecarWatch
from specwatch_detectors.threshold import Budget
from specwatch_detectors.window import window
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load as load_proxy
from specwatch_exporters.sidecar.run import Sidecar
from specwatch_exporters.sidecar.settings import load as load_sidecar
from specwatch_exporters.sidecar.watcher import Judgement

pytestmark = [pytest.mark.engine_long, pytest.mark.timeout(900)]

STALE_SIGMA = 0.15  # accepts about 7 % of the draft tokens
REPEATS = 1000.0
LAG_S = 5.0  # an answer takes one or two seconds
SETTINGS = MonitorSettings(budget=Budget(interval_s=1.0), class_lag_s=LAG_S, history_chunk_s=1.0)


class DraftFolder:
    """The draft that the engine loads: a link, so that a deploy is a new target of it and a restart."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self.point(SIGMA)

    def point(self, sigma: float) -> None:
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(MODELS / draft_name(sigma), target_is_directory=True)


@dataclass
class Scene:
    """Everything that runs."""

    engine: EngineProcess
    draft: DraftFolder
    load: ClassLoad
    watch: SidecarWatch
    began: float

    def judgement(self) -> Judgement | None:
        found = self.watch.judgements(time.monotonic())
        return found[0] if found else None

    def until(self, holds: Callable[[Judgement], bool], seconds: float = 120.0) -> list[Judgement]:
        """All verdicts up to the first one that holds, which is the last."""
        seen: list[Judgement] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            now = self.judgement()
            if now is not None and (not seen or now.headline != seen[-1].headline):
                seen.append(now)
            if seen and holds(seen[-1]):
                return seen
            time.sleep(0.2)
        raise AssertionError(f"not within {seconds:.0f} s; the last verdicts: {seen[-3:]}")


def by_acceptance(engine: EngineProcess) -> list[tuple[str, RequestRecord]]:
    """Different prompts with what the engine accepts of each, worst first."""
    prompts = varied_prompts(90, seed=11)
    result = run_completions(engine.url, [completion_request(MODEL_NAME, prompt) for prompt in prompts], 12)
    assert result.lost == 0
    return sorted(zip(prompts, result.records, strict=True), key=lambda pair: sum(pair[1].accepted))


def calibration(records: Sequence[RequestRecord]) -> Calibration:
    """What a profile would hold, from records of requests.

    The load draws from exactly these prompts, greedily, so their counts are the truth and not a sample of it: they
    stand for as many more.
    """
    steps = [step for record in records for step in record.accepted]
    accepted = [float(sum(step > at for step in steps)) for at in range(DRAFT_POSITIONS)]
    drafted = [
        float(sum(step > at for record in records for step in record.drafted)) for at in range(DRAFT_POSITIONS)
    ]
    baseline = Baseline(window(float(len(steps)), accepted, drafted=drafted).scaled(REPEATS))
    spread = from_requests([(len(r.accepted), sum(r.accepted)) for r in records], variance(baseline.q))
    assert spread is not None
    return Calibration(baseline, spread, threshold=1.0)


@pytest.fixture
def scene(models: Path, logs: Path, tmp_path: Path) -> Iterator[Scene]:
    script = Path(__file__).with_name("tiny_models.py")
    subprocess.run([str(vllm_python()), str(script), str(models), "--sigma", str(STALE_SIGMA)], check=True)
    draft = DraftFolder(tmp_path / "draft")
    config = {"method": "draft_model", "model": str(draft.link), "num_speculative_tokens": DRAFT_POSITIONS}
    with EngineProcess(logs / "drift.log", config) as engine:
        ranked = by_acceptance(engine)
        third = len(ranked) // 3
        groups = {"hard": ranked[:third], "easy": ranked[-third:]}
        records = {name: [record for _, record in group] for name, group in groups.items()}
        known = {name: calibration(own) for name, own in records.items()}
        known[""] = calibration([record for own in records.values() for record in own])
        listen = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}
        with RequestSidecar(load_proxy({"upstream": engine.url, **listen}, {})) as proxy:
            watch = _watch(proxy, known)
            settings = load_sidecar({"engine": engine.url, "listen": "127.0.0.1:0", "interval": "1s"}, {})
            prompts = {name: [prompt for prompt, _ in group] for name, group in groups.items()}
            with Sidecar(settings, watcher=watch), ClassLoad(f"http://127.0.0.1:{proxy.port}", prompts) as load:
                yield Scene(engine, draft, load, watch, time.monotonic())


def _watch(proxy: RequestSidecar, known: Mapping[str, Calibration]) -> SidecarWatch:
    return SidecarWatch(SETTINGS, calibrations=lambda _model: known, classes=ClassCounts(proxy.registry.collect))


def test_a_changed_mix_is_named_and_not_paged_and_a_stale_draft_is_named_and_paged(scene: Scene) -> None:
    scene.until(lambda one: one.state == "ok")
    time.sleep(15.0)
    quiet = scene.judgement()
    assert quiet is not None
    assert (quiet.state, quiet.alarms) == ("ok", 0), quiet

    scene.load.mix(hard=0.97, easy=0.03)
    seen = scene.until(lambda one: one.cause == "the mix of traffic has changed")
    assert {one.state for one in seen} <= {"ok", "watch"}, seen
    assert seen[-1].alarms == 0

    scene.load.mix(hard=1.0, easy=1.0)
    scene.until(lambda one: one.state == "ok")

    scene.draft.point(STALE_SIGMA)
    scene.engine.restart()
    up = time.monotonic()
    seen = scene.until(lambda one: one.state == "drifted")
    print(f"stale draft seen {time.monotonic() - up:.1f} s after the engine served again: {seen[-1]}")  # noqa: T201
    assert seen[-1].alarms == 1
    seen = scene.until(lambda one: "draft no longer matches the target after a deploy" in one.cause, 60.0)
    assert seen[-1].state == "drifted"

    scene.draft.point(SIGMA)
    scene.engine.restart()
    scene.until(lambda one: one.state == "ok")
    assert scene.load.answered > 100
