"""Records to work on, all made up here: logs, tables, JSON events, order forms (synthetic)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from classes_corpus.phrases import fill, lines_of, slots
from classes_corpus.prompt import Prompt

_LEVELS = ("INFO", "INFO", "WARN", "ERROR", "DEBUG")
_MESSAGES = (
    *("connection closed by peer", "request finished in {n} ms", "retrying in {n} s", "user {n} logged in"),
    *("disk usage at {n} %", "cache miss for key item-{n}", "job {n} started", "health check passed"),
    *("payment {n} accepted", "timeout after {n} ms", "queue length {n}", "config reloaded"),
)
_COLUMNS = ("id", "date", "city", "item", "quantity", "price", "status", "country", "total", "customer")
_STATES = ("open", "paid", "shipped", "cancelled", "pending", "active", "closed")


def records(_cache: Path, rng: Random) -> Iterator[Prompt]:
    """Made-up logs, tables, JSON events and forms, with a request or bare (synthetic)."""
    asks = lines_of("other_asks")
    for number in range(1000):
        kind = rng.choice(KINDS)
        yield Prompt(fill(rng.choice(asks), rng, document=kind(rng)), f"record {number}")


def _log(rng: Random) -> str:
    return "\n".join(
        f"{_date(rng)}T{rng.randint(10, 23)}:{rng.randint(10, 59)}:{rng.randint(10, 59)}Z {rng.choice(_LEVELS)} "
        f"[worker-{rng.randint(1, 9)}] {rng.choice(_MESSAGES).format(n=rng.randint(1, 9000))}"
        for _ in range(rng.randint(4, 25))
    )


def _access_log(rng: Random) -> str:
    return "\n".join(
        f"192.0.2.{rng.randint(1, 254)} - - [{rng.randint(1, 28)}/Mar/2026:10:{rng.randint(10, 59)}:07 +0000] "
        f'"GET /{rng.choice(_COLUMNS)}/{rng.randint(1, 99)} HTTP/1.1" {rng.choice((200, 200, 304, 404, 500))} '
        f"{rng.randint(100, 9999)}"
        for _ in range(rng.randint(4, 20))
    )


def _table(rng: Random) -> str:
    columns = rng.sample(_COLUMNS, rng.randint(3, 6))
    mark = rng.choice((",", ",", ";", "\t", " | "))
    rows = [[_cell(column, rng) for column in columns] for _ in range(rng.randint(3, 20))]
    return "\n".join(mark.join(row) for row in [columns, *rows])


def _events(rng: Random) -> str:
    rows = [{column: _cell(column, rng) for column in rng.sample(_COLUMNS, 4)} for _ in range(rng.randint(1, 8))]
    return json.dumps(rows, indent=rng.choice((None, 2)))


def _form(rng: Random) -> str:
    return "\n".join(
        f"{column.title()}: {_cell(column, rng)}" for column in rng.sample(_COLUMNS, rng.randint(4, 9))
    )


def _cell(column: str, rng: Random) -> str:
    words = {"city": "city", "country": "country", "item": "thing", "customer": "job"}
    if column in words:
        return rng.choice(slots()[words[column]])
    if column == "date":
        return _date(rng)
    if column == "status":
        return rng.choice(_STATES)
    if column in {"price", "total"}:
        return f"{rng.uniform(1, 900):.2f}"
    return str(rng.randint(1, 9999))


def _date(rng: Random) -> str:
    return f"20{rng.randint(18, 26)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


KINDS: tuple[Callable[[Random], str], ...] = (_log, _access_log, _table, _table, _events, _form)
