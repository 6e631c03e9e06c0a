"""Statuses to render: one per state, and one whose every text is hostile."""

from __future__ import annotations

import math

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.notices import Notice
from specwatch_exporters.report import Latency, ModelReport, State
from specwatch_exporters.sidecar.status import EngineStatus, HistoryPoint, ModelStatus, ScrapeStatus, Status

HOSTILE = (
    '"><script>alert(1)</script>',
    "line one\nline two\r\x00\x1b[31m",
    "\u202edetrevni\u2066 \u05d0\u05d1\u05d2 '&<b>",
    "x" * 10_000,
    "</title></style><img src=x onerror=alert(1)>",
    "\ud800 lone surrogate",
)

GOOD = ScrapeStatus(
    success=True, seen=True, age_s=1.2, interval_s=5.0, stale_after_s=15.0, duration_s=0.0123, page_bytes=59_200
)
ENGINE = EngineStatus("http://127.0.0.1:8000/metrics", "vllm", "v1", "0.25.1")
LATENCIES = {
    "queue_wait_seconds": Latency(210, 0.184, 0.112, 0.94),
    "time_to_first_token_seconds": Latency(214, 0.0912, 0.083, 0.241),
    "inter_token_step_seconds": Latency(9_120, 0.0259, 0.0241, 0.0497),
    "time_per_output_token_seconds": Latency(210, 0.0104, 0.0101, 0.0248),
    "e2e_latency_seconds": Latency(210, 2.413, 2.02, 9.31),
}


def history(length: float | None, waiting: float | None) -> tuple[HistoryPoint, ...]:
    """Ten minutes that wave, with a gap."""
    points = []
    for index in range(120):
        age = 595.0 - index * 5
        gap = length is None or 40 <= index < 47
        bend = 0.18 * math.sin(index / 7) - (0.5 * math.exp(-((index - 85) ** 2) / 60))
        queue = None if waiting is None else max(0.0, waiting + 6 * math.sin(index / 9) + (index - 60) / 12)
        points.append(HistoryPoint(age, None if gap or length is None else length + bend, queue))
    return tuple(points)


def active(name: str = "meta-llama/Llama-3.3-70B-Instruct-FP8", **changes: object) -> ModelStatus:
    """A model that speculates with EAGLE-3 and K = 3."""
    values: dict[str, object] = {
        "model": name,
        "state": State.ACTIVE,
        "engines": 1,
        "tally": Tally(9120, 27360, 15601, (7130, 5020, 3451)),
        "definition": "vllm-v1",
        "running": 31.0,
        "waiting": 4.0,
        "kv_cache_usage": 0.643,
        "speculative_tokens": 3,
        "method": "eagle3",
        "latencies": LATENCIES,
        **changes,
    }
    report = ModelReport(**values)  # type: ignore[arg-type]
    return ModelStatus(report, 2.66, 0.0104, 0.981, (0.80, 0.62, 0.47), "last week")


def quiet(state: State, name: str = "meta-llama/Llama-3.3-70B-Instruct-FP8") -> ModelStatus:
    """A model in another state: figures of load, none of acceptance."""
    generating = state is not State.IDLE
    return ModelStatus(
        ModelReport(
            model=name,
            state=state,
            engines=1,
            tally=Tally(),
            definition="none",
            running=12.0 if generating else 0.0,
            waiting=0.0,
            kv_cache_usage=0.21 if generating else 0.0,
            latencies={
                key: value for key, value in LATENCIES.items() if generating and key != "queue_wait_seconds"
            },
        ),
        tokens_per_step=1.0 if generating else None,
        token_latency_s=0.0231 if generating else None,
    )


def sample(name: str) -> Status:
    """One status by name, one of `SAMPLES`."""
    return SAMPLES[name]


SAMPLES: dict[str, Status] = {
    "active": Status("0.1.0", GOOD, ENGINE, (active(),), (), history(2.7, 4)),
    "off": Status(
        "0.1.0",
        GOOD,
        ENGINE,
        (quiet(State.OFF),),
        (
            Notice(
                "not_drafting",
                "Llama-3.3-70B generates tokens and drafts nothing, although speculation is configured: K is 0 at "
                "this batch size, a gate has latched, or no n-gram matches.",
            ),
        ),
        history(None, 6),
    ),
    "idle": Status("0.1.0", GOOD, ENGINE, (quiet(State.IDLE),), (), history(None, -9)),
    "unknown": Status(
        "0.1.0",
        GOOD,
        EngineStatus("http://sglang:30000/metrics", "sglang", "", None, None, 2),
        (quiet(State.UNKNOWN, "Qwen/Qwen3-Coder-30B-A3B"),),
        (Notice("stale_gauge", "The acceptance gauge keeps its last value while the engine is idle."),),
    ),
    "failing": Status(
        "0.1.0",
        ScrapeStatus(
            success=False,
            seen=True,
            age_s=7.3,
            interval_s=5.0,
            stale_after_s=15.0,
            cause="timeout",
            message="http://127.0.0.1:8000/metrics: connected, and no answer came (limit 5 s)",
            duration_s=5.001,
            page_bytes=59_200,
        ),
        ENGINE,
        (active(),),
        (),
        history(2.7, 4),
    ),
    "stale": Status(
        "0.1.0",
        ScrapeStatus(
            success=False,
            seen=True,
            age_s=222.0,
            interval_s=5.0,
            stale_after_s=15.0,
            cause="refused",
            message="http://127.0.0.1:8000/metrics: no connection: Connection refused",
            duration_s=0.0004,
            page_bytes=59_200,
        ),
        ENGINE,
        (active(),),
        (),
        tuple(point for point in history(2.7, 4) if point.age_s > 222),
    ),
    "starting": Status(
        "0.1.0",
        ScrapeStatus(success=False, seen=False, age_s=0.4, interval_s=5.0, stale_after_s=15.0),
        EngineStatus("http://vllm:8000/metrics"),
    ),
    "never": Status(
        "0.1.0",
        ScrapeStatus(
            success=False,
            seen=False,
            age_s=95.0,
            interval_s=5.0,
            stale_after_s=15.0,
            cause="no_engine",
            message="No vLLM, SGLang or TensorRT-LLM series in the body (14 other names, such as python_info).",
            duration_s=0.002,
        ),
        EngineStatus("http://vllm:8000/metrics"),
    ),
    "several": Status(
        "0.1.0",
        GOOD,
        ENGINE,
        (
            active(),
            active("qwen3-coder-30b", tally=Tally(900, 6300, 2376, tuple(702 * 0.76**j for j in range(7)))),
            quiet(State.IDLE, "gpt-oss-120b"),
            quiet(State.OFF, "mistral-small-24b"),
        ),
        (),
        history(2.7, 4),
    ),
    "hostile": Status(
        HOSTILE[4],
        GOOD,
        EngineStatus("http://127.0.0.1:8000/" + "y" * 300, HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3], 1),
        (
            active(HOSTILE[0], method=HOSTILE[1], definition=HOSTILE[2]),
            active(HOSTILE[1], tally=Tally(1000, 40_000, 9_000, tuple(900 * 0.9**j for j in range(40)))),
            active(HOSTILE[2], tally=Tally(10, 30, 99, (math.nan, math.inf, 30, -4)), running=math.nan),
            quiet(State.UNKNOWN, HOSTILE[3]),
            quiet(State.IDLE, HOSTILE[5]),
        ),
        tuple(Notice("label_clash", text) for text in HOSTILE),
        (HistoryPoint(500, math.nan, math.inf), HistoryPoint(-3, 1, 1), HistoryPoint(9e9, 1, 1)),
    ),
}
