"""What `specwatch doctor draft` compared, as a table."""

from __future__ import annotations

from rich.table import Table

from specwatch_cli.plain_console import plain_console
from specwatch_deploy.doctor.draft.draft_pair import DraftPair
from specwatch_deploy.doctor.draft.facts import facts


def print_facts(pair: DraftPair) -> None:
    """One row per field: of the draft, of the target."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "draft", "target"):
        table.add_column(name, overflow="fold")
    for fact in facts(pair):
        table.add_row(fact.what, fact.draft, fact.target)
    plain_console().print(table)
