"""Traces as they are published; the rows are made up in the published forms."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from specwatch_deploy.scale.simulation.trace_file import read_trace

AZURE_2023 = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,110,27
2023-11-16 18:37:03.9799600,1,0
"""
AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:01+00:00,2399,6
2024-05-10 00:20:00.009930+00:00,76,15
"""
BURST_GPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45.5,GPT-4,417,276,693,API log
1205,ChatGPT,300,0,300,Conversation log
"""
BURST_GPT_SESSIONS = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5,s-1,0.7,ChatGPT,472,18,490,Conversation log
1205,s-1,3.2,ChatGPT,300,40,340,Conversation log
"""
MOONCAKE = """{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}
{"timestamp": 3000, "input_length": 7322, "output_length": 490, "hash_ids": [0, 14]}

{"timestamp": 1200000, "input_length": 40, "output_length": 0, "hash_ids": []}
"""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that does not live in UTC."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("text", "requests"),
    [
        pytest.param(AZURE_2023, [(0, 4808, 10), (0.052, 110, 27), (1200, 1, 1)], id="Azure 2023"),
        pytest.param(AZURE_2024, [(0, 2162, 5), (0.99007, 2399, 6), (1200, 76, 15)], id="Azure 2024"),
        pytest.param(BURST_GPT, [(0, 472, 18), (40.5, 417, 276), (1200, 300, 1)], id="BurstGPT"),
        pytest.param(BURST_GPT_SESSIONS, [(0, 472, 18), (1200, 300, 40)], id="BurstGPT with sessions"),
        pytest.param(MOONCAKE, [(0, 6758, 500), (3, 7322, 490), (1200, 40, 1)], id="Mooncake"),
        pytest.param("\ufeff" + AZURE_2023, [(0, 4808, 10), (0.052, 110, 27), (1200, 1, 1)], id="byte order mark"),
        pytest.param(
            "time\n2024-03-10 01:50:00\n2024-03-10 03:10:00\n", [(0, 512, 1024), (4800, 512, 1024)], id="DST"
        ),
    ],
)
def test_published_traces_are_read(tmp_path: Path, text: str, requests: list[tuple[float, int, int]]) -> None:
    path = tmp_path / "trace"
    path.write_text(text)
    found = read_trace(path).requests
    assert [row[1:] for row in found] == [row[1:] for row in requests]
    assert [row[0] for row in found] == pytest.approx([row[0] for row in requests], abs=1e-4)
