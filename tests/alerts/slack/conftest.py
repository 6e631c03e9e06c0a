from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from alerts.slack.slack_rig import Rig
from alerts.slack.slack_server import SlackServer, serving


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with serving() as server:
        yield server


@pytest.fixture
def rig(slack: SlackServer, tmp_path: Path) -> Iterator[Rig]:
    made = Rig(slack, tmp_path)
    yield made
    made.close()
