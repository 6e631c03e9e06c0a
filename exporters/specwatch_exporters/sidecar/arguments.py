"""The sidecar's command line: parsing, `--help` and documentation, all from the table of options."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from specwatch_exporters.sidecar.options import BY_FLAG, OPTIONS, Option
from specwatch_exporters.sidecar.settings import SettingsError, SidecarSettings, load

USAGE = "specwatch exporter run --engine ADDRESS [options]"
HELP_FLAGS = frozenset({"--help", "-h"})
_WIDTH = 88


def parse(arguments: Sequence[str], environ: Mapping[str, str]) -> SidecarSettings:
    """Build settings from command-line arguments and the environment.

    Args:
        arguments: `--flag VALUE` or `--flag=VALUE`, without the program's name; the last of two wins.
        environ: the environment.

    Raises:
        SettingsError: unknown flag, missing value, or a wrong setting.
    """
    flags: dict[str, str | bool | None] = {}
    rest = list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        option = BY_FLAG.get(flag)
        if option is None:
            raise SettingsError(_unknown(flag))
        if not option.value and not equals:
            flags[option.field] = True
        elif equals:
            flags[option.field] = value
        elif rest:
            flags[option.field] = rest.pop(0)
        else:
            raise SettingsError(f"{flag}: its value is missing; accepted: {option.accepted}")
    return load(flags, environ)


def _unknown(argument: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake needs it

    shown = ascii(argument[:60])
    if not argument.startswith("--"):
        return f"unexpected argument {shown}; accepted: {USAGE}"
    near = get_close_matches(argument, list(BY_FLAG), n=1)
    hint = f"did you mean {near[0]}?" if near else f"accepted: {', '.join(BY_FLAG)}"
    return f"unknown option {shown}; {hint}"


def help_text() -> str:
    """What `--help` prints."""
    lines = [f"Usage: {USAGE}", "", "Scrape an engine, export one schema.", ""]
    for option in OPTIONS:
        lines.append(f"  {option.flag} {option.value}".rstrip())
        text = textwrap.fill(_description(option), _WIDTH, break_on_hyphens=False)
        lines.append(textwrap.indent(text, " " * 6))
    return "\n".join([*lines, ""])


def _description(option: Option) -> str:
    default = f" Default: {option.default_text}." if option.default_text else ""
    return f"{option.help} Accepted: {option.accepted}.{default} [{option.variable}]"


def docs_table() -> str:
    """The options as a Markdown table."""
    rows = ["| flag | variable | accepted | default | what it does |", "|---|---|---|---|---|"]
    for option in OPTIONS:
        flag = f"`{option.flag} {option.value}`" if option.value else f"`{option.flag}`"
        default = option.default_text or "required"
        rows.append(f"| {flag} | `{option.variable}` | {option.accepted} | {default} | {option.help} |")
    return "\n".join([*rows, ""])
