from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from alerts.slack.receiver_process import ReceiverProcess, receiving
from alerts.slack.slack_rig import T0, alert, body
from alerts.slack.slack_server import TOKEN, SlackServer


def eventually(true: Callable[[], bool]) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    assert true()


@pytest.fixture
def workspace(slack: SlackServer) -> SlackServer:
    slack.now = time.time
    return slack


def test_a_kill_between_the_post_and_its_record_posts_nothing_twice(workspace: SlackServer, tmp_path: Path) -> None:
    with receiving(workspace, tmp_path) as first:

        def killed() -> None:
            workspace.after_post = lambda: None
            os.kill(first.process.pid, signal.SIGKILL)
            first.process.wait()

        workspace.after_post = killed
        assert first.deliver(body(alert()))[0] == 200
        eventually(lambda: first.process.poll() is not None)
    assert len(workspace.roots()) == 1
    with receiving(workspace, tmp_path) as second:
        eventually(lambda: second.value("specwatch_slack_queue_depth") == 0.0)
        second.deliver(body(alert(end=T0 + 60)))
        eventually(lambda: workspace.roots()[0].edits > 0)
        assert second.stop() == 0
    assert len(workspace.roots()) == 1
    assert "conversations.history" in workspace.methods()


def test_a_kill_before_the_post_loses_nothing(workspace: SlackServer, tmp_path: Path) -> None:
    workspace.down = True
    with receiving(workspace, tmp_path) as first:
        assert first.deliver(body(alert()))[0] == 200
        first.kill()
    workspace.down = False
    with receiving(workspace, tmp_path):
        eventually(lambda: len(workspace.roots()) == 1)


def test_of_two_receivers_on_one_database_one_sends_and_the_other_takes_over(
    workspace: SlackServer, tmp_path: Path
) -> None:
    with receiving(workspace, tmp_path) as one, receiving(workspace, tmp_path) as other:
        eventually(lambda: one.value("specwatch_slack_sending") + other.value("specwatch_slack_sending") == 1.0)
        sender, standby = (one, other) if one.value("specwatch_slack_sending") else (other, one)
        groups = [body(alert(model=f"m{number}"), group=f"m{number}") for number in range(6)]
        threads = [
            threading.Thread(target=receiver.deliver, args=(group,))
            for group in groups
            for receiver in (one, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        eventually(lambda: len(workspace.roots()) >= 2)
        sender.kill()
        eventually(lambda: standby.value("specwatch_slack_queue_depth") == 0.0)
        assert standby.value("specwatch_slack_sending") == 1.0
    assert len({root.title for root in workspace.roots()}) == len(workspace.roots()) == 6


def test_health_metrics_and_answers(workspace: SlackServer, tmp_path: Path) -> None:
    with receiving(workspace, tmp_path) as receiver:
        assert receiver.deliver(b"{")[0] == 400
        status, words = receiver.deliver(body(alert(), version="3"))
        assert (status, words) == (400, "version is '3'; only '4' is understood\n")
        assert receiver.deliver(b"x" * (17 * 1024 * 1024))[0] == 413
        assert receiver.deliver(body(alert(), notification_reason="new in 0.33", anything=[1]))[0] == 200
        assert receiver.deliver(body(alert()))[1] == "0 firing, 0 resolved, 1 repeated\n"
        assert receiver.page("/healthz") == "alive\n"
        assert receiver.page("/readyz").startswith("ready, ")
        page = receiver.page("/metrics")
        assert 'specwatch_slack_deliveries_total{outcome="accepted"} 2.0' in page
        assert 'specwatch_slack_deliveries_total{outcome="malformed"} 2.0' in page
        assert 'specwatch_slack_alerts_total{turn="repeated"} 1.0' in page
        assert receiver.stop() == 0


def test_the_webhook_may_want_a_token(workspace: SlackServer, tmp_path: Path) -> None:
    secret = tmp_path / "webhook"
    secret.write_text("hook-secret")
    with receiving(workspace, tmp_path, "--webhook-token-file", str(secret)) as receiver:
        assert receiver.deliver(body(alert()))[0] == 401
        assert receiver.deliver(body(alert()), Authorization="Bearer wrong")[0] == 401
        assert receiver.deliver(body(alert()), Authorization="Bearer hook-secret")[0] == 200
        secret.write_text("another")
        assert receiver.deliver(body(alert()), Authorization="Bearer hook-secret")[0] == 401
        secret.unlink()  # not the sender's fault: it must send again, and a 4xx would be dropped
        assert receiver.deliver(body(alert()), Authorization="Bearer another")[0] == 503


def test_no_secret_is_ever_logged(workspace: SlackServer, tmp_path: Path) -> None:
    secrets = {"webhook": "hook-secret-1", "signing": "signing-secret-2", "prometheus": "prometheus-secret-3"}
    for name, secret in secrets.items():
        (tmp_path / name).write_text(secret)
    more = [
        *("--webhook-token-file", str(tmp_path / "webhook"), "--signing-secret-file", str(tmp_path / "signing")),
        *("--interactive-listen", "127.0.0.1:0", "--prometheus-token-file", str(tmp_path / "prometheus")),
        *("--prometheus", "http://user:url-secret-4@127.0.0.1:9", "--log-level", "debug"),
    ]
    with receiving(workspace, tmp_path, *more) as receiver:
        _fail_in_every_way(receiver, workspace)
        receiver.stop()
        told = "".join(receiver.log)
    assert "invalid_auth" in told
    assert "Evidence is missing" not in told
    for secret in (*secrets.values(), TOKEN, "url-secret-4", "wrong-secret-5"):
        assert secret not in told
        assert secret not in "".join(str(call) for call in workspace.calls)


def _fail_in_every_way(receiver: ReceiverProcess, workspace: SlackServer) -> None:
    receiver.deliver(body(alert()), Authorization="Bearer wrong-secret-5")
    workspace.down = True
    receiver.deliver(body(alert()), Authorization="Bearer hook-secret-1")
    eventually(lambda: len(workspace.calls) >= 2)
    workspace.down, workspace.token = False, "xoxb-another"
    eventually(lambda: 'kind="token"' in receiver.page("/metrics"))
