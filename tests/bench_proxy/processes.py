"""What the kernel says about running processes: their children, processor time and memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def with_descendants(pid: int) -> list[int]:
    """The process and all that come from it, parents first."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found.extend(children.get(parent, ()))
    return found


def processor_seconds(pids: Iterable[int]) -> float:
    """Time that the processes have spent on a processor, user and system, in steps of a tick."""
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            fields = _stat(pid)
            ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS_A_SECOND


def resident_mib(pids: Iterable[int]) -> float:
    """Resident memory of the processes, added up; what they share counts in each."""
    kib = 0
    for pid in pids:
        with suppress(OSError):
            lines = (_PROC / str(pid) / "status").read_text().splitlines()
            kib += next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
    return kib / 1024


def busy_seconds() -> float:
    """Time that all processors together were busy since the machine started; what a hypervisor stole counts."""
    fields = (_PROC / "stat").read_text().partition("\n")[0].split()[1:]
    user, nice, system, _, _, irq, softirq, steal = (int(field) for field in fields[:8])
    return (user + nice + system + irq + softirq + steal) / _TICKS_A_SECOND


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; the name before them may hold spaces."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
