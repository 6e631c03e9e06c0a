"""Whether the draft was made for this target: its name, its architecture, its version, its revision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specwatch_deploy.doctor.draft.draft_pair import DraftPair, config_place
from specwatch_deploy.doctor.draft.model_name import Likeness, likeness, parse_name
from specwatch_deploy.doctor.finding import Finding, found

_SAVED_AS: Final = "_name_or_path"
"""Where transformers writes the name under which a configuration was loaded before it was saved again."""
_OF_DRAFTS: Final = frozenset({"assistant", "dflash", "draft", "eagle", "head", "medusa", "speculator", "spec"})


def architecture(pair: DraftPair) -> Iterator[Finding]:
    """The architecture that the draft names must be the target's."""
    named, here = pair.draft.verifier.architectures, pair.target.architecture
    if named and here and here not in named:
        yield found(
            "draft-other-target",
            config_place(pair.draft.folder, "verifier"),
            f"the draft was made for {named[0]}, and the target is {here}",
        )


def name(pair: DraftPair) -> Iterator[Finding]:
    """The model that the draft names must be the target, in its version."""
    named = pair.draft.verifier.name or trained_from(pair)
    here, sure = _target_name(pair)
    if not named or not here:
        return
    like = likeness(named, here)
    sure = sure and bool(pair.draft.verifier.name)
    place = config_place(pair.draft.folder, "name_or_path" if pair.draft.verifier.name else _SAVED_AS)
    evidence = "" if pair.draft.verifier.name else f"{_SAVED_AS}: of that model's configuration the head's was made"
    if like is Likeness.OTHER and (sure or _same_family(named, here)):
        message = f"the draft was made for {named}, and the target is {here}"
        yield found("draft-other-target", place, message, evidence=evidence)
    elif like in {Likeness.OLDER, Likeness.NEWER}:
        order = "behind" if like is Likeness.OLDER else "ahead of"
        yield found(
            "draft-behind-target",
            place,
            f"the draft is a version {order} its target: it was made for {named}, and the target is {here}",
            evidence=evidence,
        )
    elif like is Likeness.SAME:
        yield from _revision(pair, named)


def _revision(pair: DraftPair, named: str) -> Iterator[Finding]:
    mine, here = pair.draft.verifier.revision, pair.target.folder.revision
    here = here or (pair.request.revision if pair.request is not None else "")
    if mine and here and not mine.startswith(here) and not here.startswith(mine):
        yield found(
            "draft-behind-target",
            config_place(pair.draft.folder, "verifier"),
            f"the draft was made for revision {mine[:12]} of {named}, and the target is revision {here[:12]}",
        )


def trained_from(pair: DraftPair) -> str:
    """The model of whose configuration a plain head was made, if `_name_or_path` tells; empty if not."""
    if not pair.draft.kind.reads_hidden or pair.in_one_folder:
        return ""
    saved = str(pair.draft.config.get(_SAVED_AS) or "")
    words = parse_name(saved).words
    return saved if _comparable(saved) and not _OF_DRAFTS.intersection(words) else ""


def _comparable(name: str) -> bool:
    parts = parse_name(name)
    return bool(parts.words and parts.sizes)


def _target_name(pair: DraftPair) -> tuple[str, bool]:
    """The target's name, and whether it is sure; the name of a folder is a hint only."""
    folder = pair.target.folder
    asked = pair.request.model if pair.request is not None else ""
    for known in (
        pair.target_name,
        folder.hub_name,
        asked if "/" in asked and not asked.startswith(("/", ".")) else "",
    ):
        if known:
            return known, True
    saved = str(folder.config.get(_SAVED_AS) or "")
    return (saved if not _comparable(folder.name) and _comparable(saved) else folder.name), False


def _same_family(named: str, here: str) -> bool:
    """Whether a folder's name can be compared at all: both names begin alike and have a size."""
    mine, its = parse_name(named), parse_name(here)
    return bool(mine.sizes and its.sizes and mine.words[:1] == its.words[:1] and mine.words)
