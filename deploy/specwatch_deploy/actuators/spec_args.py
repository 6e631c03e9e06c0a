"""Change the speculative arguments of a command line and no others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from specwatch_deploy.actuators.spec_flags import SpecFlags


def speculative(args: Sequence[str], flags: SpecFlags) -> list[str]:
    """The speculative arguments, in their order."""
    return [args[at] for span in flags.spans(args) for at in span]


def with_speculative(args: Sequence[str], wanted: Sequence[str], flags: SpecFlags) -> list[str]:
    """The command line with other speculative arguments: where the first of the old ones was, else at the end.

    All others stay byte for byte and in their order.
    """
    spans = flags.spans(args)
    gone = {at for span in spans for at in span}
    first = spans[0].start if spans else len(args)
    return [*args[:first], *wanted, *(arg for at, arg in enumerate(args) if at > first and at not in gone)]


def meaning(args: Sequence[str], flags: SpecFlags) -> dict[str, Any]:
    """What the speculative arguments say, whatever their order and spelling: by flag, JSON values parsed."""
    said: dict[str, Any] = {}
    for span in flags.spans(args):
        first = args[span.start]
        flag, equals, value = first.partition("=")
        key = flags.name(first) + "".join(flag.partition(".")[1:])
        raw: str | None = value if equals else (args[span.start + 1] if len(span) == 2 else None)
        said[key] = _parsed(raw)
    return said


def _parsed(value: str | None) -> Any:
    try:
        return None if value is None else json.loads(value)
    except ValueError:
        return value
