"""What the plugin costs inside vLLM: `make bench-plugin` prints the tables that docs/vllm-plugin.md keeps.

First the processor time of one engine step, publishing included, for several batch sizes, with one process and with
the files that several API servers share, beside the same values observed one by one. Then the same inside a real
engine on the CPU, whose work takes the processor's caches between two steps, beside vLLM's own logger. Then tokens
per second of two such engines, one with the plugin and one without, in rounds that alternate.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

from engine.completions_client import completion_request, run_completions, varied_prompts
from engine.engine_load import SIGMA, draft_config
from engine.engine_process import MODEL_NAME, MODELS, EngineProcess, vllm_python
from engine.plugin_engine import engine_with_plugin, engine_with_timed_plugin, install_plugin
from exporters import vllm_stats_fakes as fakes
from specwatch_exporters import request_catalog
from specwatch_exporters.vllm_plugin.start import PluginRecorder, start_recorder

RELEASE = fakes.RELEASES[-1]
POSITIONS = 4
BATCHES = (1, 8, 32, 128)
STEPS = 1000
STEPS_A_FLUSH = 40  # steps of 25 ms, a flush a second
REPEATS = 25
SHARED = "--shared-files"
SLOTS = 16
ONE_BY_ONE = (request_catalog.INTER_CHUNK, request_catalog.INTER_TOKEN, request_catalog.ACCEPTANCE_LENGTH)
Step = tuple[Any, Any]


def engine_steps(batch: int, seed: int = 1) -> list[Step]:
    """Decode steps in which every request drafts 4 tokens, and one in `batch` steps or so ends a request."""
    dice = random.Random(seed)
    steps = []
    for _ in range(100):
        drafts = [(POSITIONS, dice.choice((0, 0, 1, 2, 3, 4))) for _ in range(batch)]
        tokens = batch + sum(accepted for _, accepted in drafts)
        gap = 0.025 + dice.random() * 0.005
        ends = batch > dice.random() * 100
        request = fakes.finished_request(
            RELEASE, num_prompt_tokens=500, num_generation_tokens=300, queued_time=0.01, e2e_latency=5.0
        )
        iteration = fakes.iteration_stats(
            RELEASE, tokens, firsts=[0.2] * ends, gaps=[gap] * batch, finished=[request] * ends
        )
        steps.append((fakes.scheduler_stats(RELEASE, batch, drafts, POSITIONS), iteration))
    return steps


def plugin_steps(recorder: PluginRecorder, steps: list[Step]) -> None:
    """Record all steps, and publish as often as a running engine would."""
    for number in range(STEPS):
        scheduler, iteration = steps[number % len(steps)]
        recorder.record(scheduler, iteration, 0)
        if number % STEPS_A_FLUSH == 0:
            recorder.flush()


class OneByOne:
    """The same values through prometheus_client's `observe` and `inc` on every step."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        metrics = {
            metric: Histogram(metric.name, metric.help, ["model"], buckets=metric.buckets, registry=registry)
            for metric in ONE_BY_ONE
        }
        self._gap, self._token, self._length = (metric.labels("m") for metric in metrics.values())
        counter = Counter("c", "c", ["name"], registry=registry)
        self._counts = [counter.labels(str(number)) for number in range(3 + 2 * POSITIONS)]

    def record(self, scheduler: Any, iteration: Any) -> None:
        """Count one step."""
        stats = scheduler.spec_decoding_stats
        values = (stats.num_drafts, stats.num_draft_tokens, stats.num_accepted_tokens)
        values += (*stats.num_accepted_tokens_per_pos, *stats.num_draft_tokens_per_pos)
        for counter, value in zip(self._counts, values, strict=True):
            counter.inc(value)
        for gap in iteration.inter_token_latencies_iter:
            self._gap.observe(gap)
        for _ in range(iteration.num_generation_tokens):
            self._token.observe(0.01)
        for _ in range(stats.num_drafts):
            self._length.observe(2)


def one_by_one(metrics: OneByOne, steps: list[Step]) -> None:
    """Record all steps."""
    for number in range(STEPS):
        metrics.record(*steps[number % len(steps)])


def microseconds_a_step(run: Callable[[], None]) -> float:
    """Least processor time of one step over the repeats: what else runs on the machine only adds to it."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        run()
        times.append((time.process_time() - began) / STEPS * 1e6)
    return min(times)


def measure_steps() -> dict[int, float]:
    """Cost of a step with the plugin, by batch size, in this process."""
    costs = {}
    for batch in BATCHES:
        recorder = start_recorder(fakes.vllm_config(), [0], RELEASE.version)
        if recorder is None:
            raise SystemExit("the plugin did not start")
        steps = engine_steps(batch)
        costs[batch] = microseconds_a_step(lambda: plugin_steps(recorder, steps))  # noqa: B023 - run at once
    return costs


def measure_shared_files() -> dict[int, float]:
    """The same in a process whose values lie in the files that several API servers share."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": folder}
        command = [sys.executable, __file__, SHARED]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return {int(batch): cost for batch, cost in json.loads(done.stdout).items()}


def print_steps() -> None:
    """Print the first table."""
    alone, shared = measure_steps(), measure_shared_files()
    print(f"Processor time of one engine step, K = {POSITIONS}; aim: at most 20 µs at batch 32\n")
    print("| batch | plugin | plugin, several API servers | observed one by one |\n|---|---|---|---|")
    for batch in BATCHES:
        metrics, steps = OneByOne(), engine_steps(batch)
        naive = microseconds_a_step(lambda: one_by_one(metrics, steps))  # noqa: B023 - run at once
        print(f"| {batch} | {alone[batch]:.1f} µs | {shared[batch]:.1f} µs | {naive:.1f} µs |")


@dataclass(frozen=True)
class Round:
    """One round of load on one engine.

    Attributes:
        speed: output tokens per second.
        server: processor time of the API server, where the plugin runs, in microseconds per output token.
    """

    speed: float
    server: float


def load_round(engine: EngineProcess, seed: int) -> Round:
    """Send 32 requests, as many at once as the engine has slots."""
    bodies = [completion_request(MODEL_NAME, prompt) for prompt in varied_prompts(32, seed)]
    used, began = processor_seconds(engine), time.perf_counter()
    result = run_completions(engine.url, bodies, SLOTS)
    seconds, spent = time.perf_counter() - began, processor_seconds(engine) - used
    tokens = sum(record.completion_tokens for record in result.records)
    return Round(tokens / seconds, spent / tokens * 1e6)


def processor_seconds(engine: EngineProcess) -> float:
    """Processor time of the engine's first process, the API server; its engine core is another one."""
    if engine._process is None:
        raise SystemExit("the engine does not run")
    fields = Path(f"/proc/{engine._process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def paired_rounds(rounds: int) -> list[tuple[Round, Round]]:
    """Rounds without and with the plugin; both engines run all the time, and which goes first alternates."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = install_plugin(folder / "site")
        without = stack.enter_context(EngineProcess(folder / "without.log", draft_config()))
        beside = stack.enter_context(engine_with_plugin(site, folder / "with.log", draft_config()))
        for engine in (without, beside):
            load_round(engine, seed=0)
        found = []
        for number in range(1, rounds + 1):
            order = (without, beside) if number % 2 else (beside, without)
            pair = {engine: load_round(engine, seed=number) for engine in order}
            found.append((pair[without], pair[beside]))
        return found


def make_models() -> None:
    """Make the tiny models, if they are not there."""
    script = Path(__file__).parent / "engine" / "tiny_models.py"
    subprocess.run([str(vllm_python()), str(script), str(MODELS), "--sigma", str(SIGMA)], check=True)


def print_time_inside() -> None:
    """Print what the plugin and vLLM's own Prometheus logger take in the API server of a real engine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site, times = install_plugin(folder / "site"), folder / "times.json"
        with engine_with_timed_plugin(site, folder / "timed.log", draft_config(), times) as engine:
            for seed in range(12):
                load_round(engine, seed)
        spent: dict[str, list[float]] = json.loads(times.read_text())
    steps = len(spent["vllm"])
    a_step = {kind: sum(values) / steps * 1e6 for kind, values in spent.items()}
    print(f"\nInside a real engine on the CPU, processor time a step, mean of {steps} steps\n")
    print("| what | µs |\n|---|---|")
    print(f"| the plugin, when a step is recorded | {a_step['plugin']:.0f} |")
    print(f"| the plugin, counting and publishing once a second | {a_step['publish']:.0f} |")
    print(f"| vLLM's own Prometheus logger | {a_step['vllm']:.0f} |")


def ratio_line(what: str, pairs: list[tuple[float, float]]) -> str:
    """Table row: medians without and with, and the mean ratio of the pairs with its 95 % interval."""
    logs = [math.log(after / before) for before, after in pairs]
    half = 1.96 * statistics.stdev(logs) / len(logs) ** 0.5
    middle = [statistics.median(values) for values in zip(*pairs, strict=True)]
    low, mean, high = (math.exp(statistics.mean(logs) + shift) for shift in (-half, 0.0, half))
    return f"| {what} | {middle[0]:.0f} | {middle[1]:.0f} | {mean:.3f} ({low:.3f} to {high:.3f}) |"


def print_engines(rounds: int) -> None:
    """Print tokens per second of both engines and what their API servers use."""
    pairs = paired_rounds(rounds)
    print(
        f"\nReal vLLM on the CPU, {SLOTS} requests at once, {rounds} paired rounds of 32 requests, 48 tokens each\n"
    )
    print("| median of the rounds | without | with | with / without, 95 % interval |\n|---|---|---|---|")
    print(ratio_line("tokens per second", [(before.speed, after.speed) for before, after in pairs]))
    print(ratio_line("API server, µs per token", [(before.server, after.server) for before, after in pairs]))


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description="Measure what the plugin costs inside vLLM.")
    parser.add_argument("--rounds", type=int, default=60, help="paired rounds with real engines; 0 leaves them out")
    parser.add_argument(SHARED, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.shared_files:
        print(json.dumps(measure_steps()))
        return
    print(f"Python {sys.version.split()[0]}; {os.cpu_count()} cores\n")
    print_steps()
    if arguments.rounds:
        make_models()
        print_time_inside()
        print_engines(arguments.rounds)


if __name__ == "__main__":
    main()
