"""vLLM logs: which engine a line belongs to, and what the whole log says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from specwatch_exporters.logs import vllm_log
from specwatch_exporters.logs.read import read_log
from specwatch_exporters.report import ModelReport, Report, State, Window

HEAD = "(APIServer pid=1) INFO 05-01 14:24:50 "
LINE = (
    HEAD
    + "[metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.16, Accepted throughput: 15.00 tokens/s, "
    "Drafted throughput: 38.70 tokens/s, Accepted: 150 tokens, Drafted: 387 tokens, "
    "Per-position acceptance rate: 0.543, 0.357, 0.264, Avg Draft acceptance rate: 38.8%"
)
LOAD = (
    HEAD
    + "[loggers.py:271] Engine 000: Avg prompt throughput: 0.1 tokens/s, Avg generation throughput: 43.3 tokens/s, "
    "Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 10.1%, Prefix cache hit rate: 0.0%"
)
START = (
    "(EngineCore pid=7) INFO 05-01 14:20:00 [core.py:140] Initializing a V1 LLM engine (v0.25.1) with config: "
    "model='org/target', speculative_config=SpeculativeConfig(method='eagle3', model='org/draft', "
    "num_spec_tokens=3), tokenizer='org/target', seed=0, served_model_name=chat, enable_prefix_caching=True"
)


def report(text: str) -> Report:
    found = read_log(text)
    assert found is not None
    return found


def model(text: str) -> ModelReport:
    (only,) = report(text).models
    return only


def window(text: str) -> Window:
    (only,) = report(text).windows
    return only


def codes(found: Report) -> set[str]:
    return {notice.code for notice in found.notices}


def test_the_engine_is_that_of_the_line_before_from_the_same_process() -> None:
    lines = [
        LOAD.replace("pid=1", "pid=11").replace("Engine 000", "Engine 002"),
        LOAD.replace("pid=1", "pid=13").replace("Engine 000", "Engine 004").replace("10.1%", "55.5%"),
        LINE.replace("pid=1", "pid=11"),
        LINE.replace("pid=1", "pid=13"),
        LINE.replace("pid=1", "pid=17"),
    ]
    found = report("\n".join(lines))
    assert [w.engine for w in found.windows] == ["002", "004", None]
    (only,) = found.models
    assert (only.running, only.waiting, only.kv_cache_usage, only.engines) == (6, 4, 0.555, 3)


def test_engines_of_one_process_follow_their_own_line() -> None:
    other = LOAD.replace("Engine 000", "Engine 001").replace("Running: 3", "Running: 5")
    found = report("\n".join([LOAD, LINE, other, LINE, LOAD.replace("Running: 3", "Running: 0"), LINE]))
    assert [w.engine for w in found.windows] == ["000", "001", "000"]
    assert (found.models[0].engines, found.models[0].running) == (2, 5)


def test_pods_with_the_same_pid_are_two_engines() -> None:
    lines = [f"{pod} {line}" for pod in ("vllm-0:", "vllm-1:") for line in (LOAD, LINE)]
    assert model("\n".join(lines)).engines == 2


def test_an_aggregate_line_stands_for_its_engines() -> None:
    text = f"{LOAD.replace('Engine 000', '4 Engines Aggregated')}\n{LINE}"
    assert (model(text).engines, window(text).engine) == (4, None)


def test_the_start_up_line_names_model_method_and_k() -> None:
    found = report(f"{START}\n{LOAD}\n{LINE}")
    (only,) = found.models
    assert (only.model, only.method, only.speculative_tokens) == ("chat", "eagle3", 3)
    assert only.to_json()["engine_version"] == "0.25.1"
    assert codes(found) == set()


@pytest.mark.parametrize(
    ("config", "state", "warned"),
    [("speculative_config=None", State.OFF, False), ("dtype=bfloat16", State.UNKNOWN, True)],
)
def test_a_log_without_speculative_lines(config: str, state: State, warned: bool) -> None:
    start = START[: START.index("speculative_config")] + config + START[START.index(", tokenizer") :]
    found = report(f"{start}\n{LOAD}")
    assert (found.models[0].state, found.models[0].definition) == (state, "none")
    assert ("no_spec_series" in codes(found)) is warned


def test_generation_without_drafts_is_noted() -> None:
    assert "not_drafting" in codes(report(f"{LOAD}\n{LINE}\n{LOAD}\n{LOAD}"))
    assert "not_drafting" not in codes(report(f"{LOAD}\n{LINE}\n{LOAD}"))
    idle = LOAD.replace("43.3 tokens/s", "0.0 tokens/s")
    assert "not_drafting" not in codes(report(f"{LOAD}\n{LINE}\n{idle}\n{idle}\n{idle}"))


def test_positions_are_those_of_the_last_k() -> None:
    other = (
        LINE.replace("0.543, 0.357, 0.264", "0.767, 0.395")
        .replace("387 tokens", "258 tokens")
        .replace("38.8%", "58.1%")
    )
    found = report(f"{LINE}\n{other}")
    (only,) = found.models
    assert (only.tally.draft_tokens, only.tally.drafts, only.speculative_tokens) == (645, 258, 2)
    assert only.tally.per_position == pytest.approx((99 / 129, 51 / 129))
    assert only.tally.position_drafts == 129
    assert codes(found) == {"k_changed"}


def test_a_long_log_is_read_lazily_and_its_windows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_log, "MAX_WINDOWS", 5)

    def lines() -> Iterator[str]:
        for _ in range(50):
            yield LINE + "\n"

    found = read_log(lines())
    assert found is not None
    assert found.models[0].tally.drafts == 50 * 129
    assert ([w.line for w in found.windows], codes(found)) == ([46, 47, 48, 49, 50], {"lines_not_listed"})
