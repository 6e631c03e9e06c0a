"""Lines that the injection has added stand between two comments, by which they are found again."""

from __future__ import annotations

from typing import Final

from specwatch_deploy.inject.inject_error import InjectError

BEGIN: Final = "# specwatch inject: begin"
END: Final = "# specwatch inject: end"


def marked(lines: list[str], indent: int, newline: str) -> str:
    """The lines with a comment before and behind, all moved in by so many blanks."""
    return "".join(f"{' ' * indent}{line}{newline}" for line in (BEGIN, *lines, END))


def without_marked(text: str) -> str:
    """The text as it was before.

    Raises:
        InjectError: one of the comments has lost the other.
    """
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        word = line.strip()
        if word in {BEGIN, END}:
            if inside == (word == BEGIN):
                raise InjectError(f"the comments '{BEGIN}' and '{END}' do not come in pairs; mend them by hand")
            inside = word == BEGIN
        elif not inside:
            kept.append(line)
    if inside:
        raise InjectError(f"'{BEGIN}' has no '{END}'; mend them by hand")
    return "".join(kept)
