"""Whatever happens in whatever order: at the end each group has one message, and it says what is true."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.slack.slack_rig import Rig, alert
from alerts.slack.slack_server import Fault, SlackServer, serving

GROUPS = ("a", "b")
PODS = ("x", "y", "z")


class KilledError(BaseException):
    """The process is gone at this point."""


@dataclass(frozen=True)
class Act:
    """One thing that happens.

    Attributes:
        kind: change, repeat, wait, step, fault, outage, kill, or restart.
        group: which group changes.
        pod: which alert of it.
        number: how long, or which fault.
    """

    kind: str
    group: str
    pod: str
    number: int


KINDS = ("change", "change", "change", "repeat", "wait", "step", "step", "fault", "outage", "kill", "restart")
ACTS = st.lists(
    st.builds(Act, st.sampled_from(KINDS), st.sampled_from(GROUPS), st.sampled_from(PODS), st.integers(0, 4)),
    max_size=30,
)
FAULTS = (
    Fault(429, "ratelimited", {"Retry-After": "7"}),
    Fault(503),
    Fault(loses=True, method="chat.postMessage"),
    Fault(loses=True, method="chat.update"),
    Fault(error="internal_error"),
)


@pytest.fixture(scope="module")
def server() -> Iterator[SlackServer]:
    with serving() as found:
        yield found


class World:
    """What is true, beside what the receiver knows."""

    def __init__(self, slack: SlackServer, folder: Path) -> None:
        self.slack = slack
        self.rig = Rig(slack, folder)
        self.alerts: dict[str, dict[str, dict[str, Any]]] = {group: {} for group in GROUPS}
        self._starts: dict[tuple[str, str], float] = {}

    def play(self, act: Act) -> None:
        getattr(self, act.kind)(act)

    def change(self, act: Act) -> None:
        """An alert begins or ends, and Alertmanager tells its group."""
        self.rig.now += 1.0
        known = self.alerts[act.group].get(act.pod)
        fires = known is not None and known["status"] == "firing"
        start = self.rig.now if not fires else self._starts[act.group, act.pod]
        self._starts[act.group, act.pod] = start
        end = self.rig.now if fires else None
        self.alerts[act.group][act.pod] = alert(act.pod, start, end, model=act.group)
        self.repeat(act)

    def repeat(self, act: Act) -> None:
        if self.alerts[act.group]:
            self.rig.deliver(*self.alerts[act.group].values(), group=act.group)

    def wait(self, act: Act) -> None:
        self.rig.now += 10.0**act.number / 10.0

    def step(self, _act: Act) -> None:
        self.rig.now += max(0.01, self.rig.sender.step())

    def fault(self, act: Act) -> None:
        self.slack.faults.append(FAULTS[act.number])

    def outage(self, _act: Act) -> None:
        self.slack.down = not self.slack.down

    def restart(self, _act: Act) -> None:
        self.rig = self.rig.restarted()

    def kill(self, act: Act) -> None:
        """The process dies where its next record would be made."""

        def killed(*_: object) -> None:
            raise KilledError

        for name in ("posted_root", "posted_reply", "updated"):
            setattr(self.rig.outbox, name, killed)
        try:
            for _ in range(1 + act.number):
                self.step(act)
        except KilledError:
            self.restart(act)
        for name in ("posted_root", "posted_reply", "updated"):
            self.rig.outbox.__dict__.pop(name, None)

    def settle(self) -> None:
        self.slack.down = False
        self.rig.run(7200)

    def firing(self, group: str) -> int:
        return sum(one["status"] == "firing" for one in self.alerts[group].values())


@settings(max_examples=80)
@given(ACTS)
def test_each_group_has_one_message_that_tells_the_truth(server: SlackServer, acts: list[Act]) -> None:
    server.messages, server.faults, server.down, server._last_post = [], [], False, float("-inf")
    with tempfile.TemporaryDirectory() as folder:
        world = World(server, Path(folder))
        for act in acts:
            world.play(act)
        world.settle()
        assert world.rig.depth() == 0
        for group in GROUPS:
            check(world, group)
        world.rig.close()


def check(world: World, group: str) -> None:
    roots = [root for root in world.slack.roots() if f"· {group} ·" in root.title]
    if not world.alerts[group]:
        assert roots == []
        return
    last = roots[-1]
    assert f"{world.firing(group)} firing" in str(last.body["blocks"])
    assert ("RESOLVED" in last.title) == (world.firing(group) == 0)
    keys = [root.body["metadata"]["event_payload"]["key"] for root in roots]
    assert len(set(keys)) == len(keys)  # more than one only where the group was over for half an hour in between
    replies = [
        one.body["metadata"]["event_payload"]["key"] for root in roots for one in world.slack.replies(root.ts)
    ]
    assert len(set(replies)) == len(replies)
