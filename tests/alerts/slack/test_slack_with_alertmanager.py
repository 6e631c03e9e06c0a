"""A real Alertmanager posts to a real receiver, which posts to the tests' Slack."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alerts.alert_stack import ALERTMANAGERS
from alerts.slack.alertmanager_process import alertmanager
from alerts.slack.receiver_process import receiving
from alerts.slack.slack_server import SlackServer

LABELS = {"alertname": "SpecwatchTTFTBurn", "severity": "page", "model": "m", "namespace": "chat"}


def eventually(true: Callable[[], bool]) -> None:
    for _ in range(900):
        if true():
            return
        time.sleep(0.05)
    assert true()


def post(url: str, pods: int, *, over: bool = False) -> None:
    now = time.time()
    ends = {"endsAt": datetime.fromtimestamp(now - 1, UTC).isoformat()} if over else {}
    starts = datetime.fromtimestamp(now - 60, UTC).isoformat()
    alerts = [
        {
            "labels": {**LABELS, "pod": f"vllm-{number}"},
            "annotations": {"impact": "Slow."},
            "startsAt": starts,
            **ends,
        }
        for number in range(pods)
    ]
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(
        urllib.request.Request(f"{url}/api/v2/alerts", json.dumps(alerts).encode(), headers)
    ).close()


def hook(url: str, token: Path) -> dict[str, Any]:
    return {"webhook_configs": [{"url": url, "http_config": {"authorization": {"credentials_file": str(token)}}}]}


@pytest.mark.parametrize("name", ALERTMANAGERS)
def test_from_firing_to_resolved(slack: SlackServer, name: str, tmp_path: Path) -> None:
    slack.now = time.time
    token = tmp_path / "hook"
    token.write_text("hook-token")
    with (
        receiving(slack, tmp_path, "--webhook-token-file", str(token)) as receiver,
        alertmanager(tmp_path, hook(f"{receiver.url}/alertmanager", token), name) as url,
    ):
        post(url, 2)
        # Alerts that began before the group's wait are told at once, one by one if they come so.
        eventually(lambda: len(slack.roots()) == 1 and "2 firing" in str(slack.roots()[0].body["blocks"]))
        post(url, 3)
        eventually(lambda: "3 firing" in str(slack.roots()[0].body["blocks"]))
        post(url, 3, over=True)
        eventually(lambda: "RESOLVED" in slack.roots()[0].title)
        eventually(lambda: receiver.value("specwatch_slack_queue_depth") == 0.0)
    (root,) = slack.roots()
    assert root.title == ":large_green_circle: RESOLVED TTFTBurn · m · chat"
    assert "#/silences/new" not in str(root.body["blocks"])
    firing = [line for reply in slack.replies(root.ts) for line in reply.text.splitlines() if "Firing:" in line]
    assert [line.count("TTFTBurn on vllm-2") for line in firing].count(1) == 1
    assert "All resolved" in slack.replies(root.ts)[-1].text
