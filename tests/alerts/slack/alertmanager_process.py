"""A real Alertmanager with one receiver."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alerts.alert_stack import alertmanager_program
from engine.child_process import running
from engine.engine_process import free_port, http_status

_TIMING = {"group_wait": "1s", "group_interval": "1s", "repeat_interval": "1h"}


@contextmanager
def alertmanager(
    folder: Path, receiver: Mapping[str, Any] | None = None, name: str = "alertmanager"
) -> Iterator[str]:
    """Run one until the block ends; its URL."""
    address = f"127.0.0.1:{free_port()}"
    route = {"receiver": "slack", "group_by": ["model", "namespace"], **_TIMING}
    configuration = {"route": route, "receivers": [{"name": "slack", **(receiver or {})}]}
    (folder / "alertmanager.yml").write_text(json.dumps(configuration))
    command = [
        *("env", "-C", str(folder), str(alertmanager_program(folder, name))),
        *("--config.file=alertmanager.yml", "--storage.path=am-data", "--cluster.listen-address="),
        *(f"--web.listen-address={address}", "--log.level=warn"),
    ]
    with running(command, folder / "alertmanager.log", lambda: http_status(f"http://{address}/-/ready") == 200):
        yield f"http://{address}"
