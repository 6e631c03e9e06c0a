"""The machine of a run: what it is, and who runs on which of its cores."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cores:
    """Who runs where.

    Attributes:
        proxy: the one core of every proxy.
        load: the cores of stub and load generator.
    """

    proxy: set[int]
    load: set[int]


def share_cores() -> Cores:
    """Give the proxies the last core that this process may use, and the others the rest."""
    usable = sorted(os.sched_getaffinity(0))
    return Cores(proxy={usable[-1]}, load=set(usable[:-1] or usable))


def describe_machine() -> str:
    """Processor, cores, kernel, Python."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, Linux {platform.release()}, Python {platform.python_version()}"


def load_average() -> float:
    """Runnable threads, averaged over the last minute."""
    return os.getloadavg()[0]
