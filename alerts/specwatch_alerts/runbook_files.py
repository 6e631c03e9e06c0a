"""Where the runbooks are, and the text of one: a page per alert, of the same name.

In a checkout they lie in `alerts/runbooks/`, in an installed wheel inside this package.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Final

_INSTALLED: Final = Path(__file__).parent / "runbooks"
_CHECKOUT: Final = Path(__file__).parents[1] / "runbooks"
_PREFIX: Final = "Specwatch"


class RunbookError(LookupError):
    """There is no such runbook; the message names the nearest ones.

    Attributes:
        nearest: names that are spelled alike, best first; may be empty.
    """

    def __init__(self, message: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.nearest = nearest


def runbook_folder() -> Path:
    """The folder of the runbooks, in either layout."""
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def runbook_names() -> tuple[str, ...]:
    """Names of all runbooks, which are those of the alerts, sorted."""
    return tuple(sorted(path.stem for path in runbook_folder().glob(f"{_PREFIX}*.md")))


def runbook_text(name: str) -> str:
    """The Markdown of a runbook.

    Args:
        name: of the alert, in any case, with or without `Specwatch` before it.

    Raises:
        RunbookError: there is none of that name.
    """
    names = {own.casefold(): own for own in runbook_names()}
    wanted = name.strip().casefold().removesuffix(".md")
    own = names.get(wanted) or names.get(_PREFIX.casefold() + wanted)
    if own is None:
        raise _unknown(name, names)
    return (runbook_folder() / f"{own}.md").read_text(encoding="utf-8")


def _unknown(name: str, names: dict[str, str]) -> RunbookError:
    """What to say of a name that no runbook has: prefixes aside, all names would look alike."""
    prefix = _PREFIX.casefold()
    short = {key.removeprefix(prefix): own for key, own in names.items()}
    wanted = name.strip().casefold().removeprefix(prefix)
    inside = [own for key, own in short.items() if len(wanted) > 1 and wanted in key]
    alike = [short[key] for key in get_close_matches(wanted, short, n=3, cutoff=0.5)]
    nearest = tuple(dict.fromkeys([*inside, *alike]))[:3]
    hint = f"nearest: {', '.join(nearest)}" if nearest else "`specwatch alerts list` names all alerts"
    return RunbookError(f"no runbook {name!r}; {hint}", nearest)
