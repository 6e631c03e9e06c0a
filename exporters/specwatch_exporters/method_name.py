"""Names of speculation methods, as people, engines and profiles spell them."""

from __future__ import annotations

from collections.abc import Iterable


def spelling(name: str) -> str:
    """What two spellings of one method share: `P-EAGLE` and `peagle`, `draft-model` and `draft_model`."""
    return name.replace("-", "").replace("_", "").casefold()


def same_method(name: str, known: Iterable[str]) -> str | None:
    """The known name of a method, however it is spelled; None if it is none of them."""
    names = tuple(known)
    if name in names:
        return name
    return next((one for one in names if spelling(one) == spelling(name)), None)
