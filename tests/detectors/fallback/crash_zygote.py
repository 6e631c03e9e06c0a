"""Runs a controller's life in forked processes that are killed at a chosen boundary.

Usage: `crash_zygote.py`. Each line of its input is a folder, a boundary number, and a life's name. It runs the
life in that folder, kills it (SIGKILL) at that boundary if there is one so high, and runs it again until it ends;
then it answers with the number of boundaries that the first process passed, and whether it was killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from detectors.fallback.controller_rig import ROUND_S, START, Rig, rig
from specwatch_detectors.fallback.actuator import ActuatorError, Health, Plan, Position
from specwatch_detectors.fallback.audit_log import AuditLog, read_log
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.operator_command import Order
from specwatch_detectors.fallback.transition import same_shares

LIVES = {"there_and_back": 26, "undone": 12, "by_hand": 16, "refused": 20, "overtaken": 9}


class Boundaries:
    """Counts what is passed; at the chosen one the process ends as by `kill -9`."""

    def __init__(self, deadly: int) -> None:
        self.passed = 0
        self._deadly = deadly

    def passing(self) -> None:
        self.passed += 1
        if self.passed == self._deadly:
            os.kill(os.getpid(), signal.SIGKILL)


class MortalLog(AuditLog):
    """Before, in the middle of, and after each entry there is a boundary."""

    boundaries: Boundaries

    def append(self, entry: Mapping[str, Any]) -> None:
        self.boundaries.passing()
        super().append(entry)
        self.boundaries.passing()

    def _write(self, data: bytes) -> None:
        boundaries = self.boundaries
        boundaries.passed += 1
        if boundaries.passed == boundaries._deadly:
            super()._write(data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        super()._write(data)


def mortal_files(boundaries: Boundaries) -> None:
    """Renaming and removing files, as when a full log is put aside, are boundaries too."""
    for call in ("rename", "unlink"):
        setattr(os, call, mortal(getattr(os, call), boundaries))


def mortal(call: Callable[..., None], boundaries: Boundaries) -> Callable[..., None]:
    def called(*arguments: Any, **more: Any) -> None:
        boundaries.passing()
        call(*arguments, **more)
        boundaries.passing()

    return called


def life(folder: Path, name: str, boundaries: Boundaries) -> Rig:
    """A deployment whose draft is bad for a while, and what else its name says happens to it.

    undone: the fallback's requests fail at first. by_hand: a person brings it home. refused: the lever refuses for
    a while. overtaken: somebody else moves the lever at rest, and in the middle of a movement.
    """
    bad = 900.0 if name == "refused" else 300.0
    own = rig(folder, lambda now: 0.8 if now < START + bad else 1.8)
    own.controller.close()
    MortalLog.boundaries = boundaries
    own.log = MortalLog(own.path, max_bytes=20_000)
    lever, world = own.lever, own.world
    for call in ("apply", "undo"):
        setattr(lever, call, mortal(getattr(lever, call), boundaries))
    if name == "undone":
        lever.healthy = lambda: Health(ok=own.now > START + 240.0, reason="12 % of requests failed")
    if name == "refused":
        lever.apply = refusing(own, lever.apply)  # type: ignore[method-assign,assignment]
    if name == "overtaken":
        lever.verify = unsettled(own, lever.verify)  # type: ignore[method-assign,assignment]
    from specwatch_detectors.fallback.controller import Controller  # noqa: PLC0415 - after the log was replaced

    own.controller = Controller(own.rules, lever, world, own.log, lambda: own.now)
    return own


def refusing(own: Rig, apply: Callable[[Plan], None]) -> Callable[[Plan], None]:
    """A lever that first refuses for good, and when it is asked again is busy for a while."""

    def applied(plan: Plan) -> None:
        if own.now < START + 90.0:
            raise ActuatorError("403: forbidden", retry=False)
        if own.now < START + 400.0:
            raise ActuatorError("429: later", retry=True)
        apply(plan)

    return applied


def unsettled(own: Rig, verify: Callable[[Plan], Position]) -> Callable[[Plan], Position]:
    """A lever whose first step takes more than a round."""
    return lambda plan: replace(verify(plan), settled=own.now > START + 3 * ROUND_S)


def happening(own: Rig, name: str) -> None:
    """What others do between two rounds; the same again if the process was killed before it was noticed."""
    rounds = round((own.now - START) / ROUND_S)
    if name == "by_hand" and rounds >= 9:
        own.command(Order.UNLATCH if rounds < 10 else Order.RETURN, "1" if rounds < 10 else "2")
    if name == "overtaken":
        own.lever.foreign = "argocd" if rounds >= 2 else ""
        if rounds == 2 and same_shares(own.lever.shares, {Level.DRAFT: 0.95, Level.NGRAM: 0.05}):
            own.lever.set({Level.OFF: 1.0})
        if rounds == 5 and same_shares(own.lever.shares, {Level.OFF: 1.0}):
            own.lever.set({Level.NGRAM: 1.0})


def run(folder: Path, name: str, deadly: int) -> int:
    """One process's part of a life: it goes on at the round in which the one before it was killed."""
    boundaries = Boundaries(deadly)
    mortal_files(boundaries)
    entries = read_log(folder / "fallback.jsonl").entries
    own = life(folder, name, boundaries)
    own.now = START if not entries else entries[-1]["at"] - ROUND_S
    while own.now < START + LIVES[name] * ROUND_S:
        happening(own, name)
        own.rounds(1)
    own.controller.close()
    return boundaries.passed


def forked(folder: Path, name: str, deadly: int) -> tuple[int, bool]:
    """Boundaries passed, and whether it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        passed = run(folder, name, deadly)
        os.write(writer, str(passed).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return deadly, True
    if status:
        raise SystemExit(f"a life ended with status {status}")
    return int(text), False


def unsynced(fd: int) -> None:
    """A killed process loses nothing that it wrote; only a machine without power does."""


def main() -> None:
    os.fsync = unsynced  # type: ignore[assignment]
    for line in sys.stdin:
        folder, deadly, name = line.split("\t")
        passed, killed = forked(Path(folder), name.strip(), int(deadly))
        if killed:
            forked(Path(folder), name.strip(), 0)
        sys.stdout.write(f"{passed} {int(killed)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
