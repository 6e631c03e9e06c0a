"""A contender in a run: where it listens, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench_proxy.load_job import Figures, Phase
from bench_proxy.processes import with_descendants


@dataclass
class Entry:
    """One column of the table.

    Attributes:
        name: its title.
        version: what runs; empty for `direct`.
        reason: why it takes no part, or no part any more; None while it does.
        port: where it listens.
        pid: its first process, 0 for `direct`.
        found: the figures of each phase, one a round.
    """

    name: str
    version: str = ""
    reason: str | None = None
    port: int = 0
    pid: int = 0
    found: dict[Phase, list[Figures]] = field(default_factory=dict)

    def drop_last(self, phase: Phase) -> None:
        """Forget the last figures of a phase, if there are any."""
        del self.found.get(phase, [])[-1:]

    def pids(self) -> tuple[int, ...]:
        """All its processes."""
        return tuple(with_descendants(self.pid)) if self.pid else ()
