"""One run of another benchmark: its figures in this project's terms, and its requests where it kept them."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_bench.figures import Figures, figures
from specwatch_bench.request_record import RequestRecord
from specwatch_exporters.bench_run import BenchRun, Times


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """One run.

    Attributes:
        tool: that measured it.
        run: its figures; `tpot` is a request's time per token after the first, `itl` the gap that its user saw.
        e2e: end-to-end latency, milliseconds.
        input_tokens: prompt tokens of all requests, as the engine counts them where it says so.
        rate: requests per second of an open loop; None for a closed one, or where the file does not say.
        records: one for each request, in the order of sending; empty where the tool kept none.
        placed: whether it is known when each request was sent.
        chunked: whether the records have the chunks that came, and not only the first and last token.
        remarks: what this tool measures otherwise, and what was corrected.
    """

    tool: str
    run: BenchRun
    e2e: Times = Times()  # noqa: RUF009 - immutable
    input_tokens: int | None = None
    rate: float | None = None
    records: tuple[RequestRecord, ...] = ()
    placed: bool = False
    chunked: bool = True
    remarks: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """How long the run took: as stated, else to the end of its last request."""
        return self.run.duration_s or max((record.sent + record.ended for record in self.records), default=0) / 1e6

    @property
    def said(self) -> tuple[str, ...]:
        """What a reader of the figures must know, of this tool and of this run."""
        failed, run = self.run.failed or 0, self.run
        lost = f"{run.name}: {failed} of {(run.requests or 0) + failed} requests failed: no figure counts them"
        own = (f"{run.name} ({self.tool}): {remark}." for remark in self.remarks)
        return (*([f"{lost}."] if failed else []), *(notice.message for notice in run.notices()), *own)

    @property
    def figures(self) -> Figures | None:
        """Figures by the records; None without any, and no throughput where it is not known when they were sent."""
        if not self.records:
            return None
        return figures(self.records, self.seconds)
