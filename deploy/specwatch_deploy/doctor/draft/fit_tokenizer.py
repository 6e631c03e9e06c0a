"""Tokenizer, special tokens and chat template: a draft without them uses the target's, and nothing is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from specwatch_deploy.doctor.draft.draft_pair import DraftPair
from specwatch_deploy.doctor.draft.json_file import key_line
from specwatch_deploy.doctor.draft.tokenizer_files import SETTINGS, TOKENIZER, TokenizerFiles, read_tokenizer
from specwatch_deploy.doctor.finding import Finding, Place, Severity, found


def tokenizer(pair: DraftPair) -> Iterator[Finding]:
    """Everything about the tokenizers of both folders."""
    here, there = pair.draft.folder.path, pair.target.folder.path
    if pair.in_one_folder:
        return
    mine, its = read_tokenizer(here), read_tokenizer(there)
    for path, files in ((here, mine), (there, its)):
        for fault in files.faults:
            yield found("draft-folder-incomplete", Place(str(path)), fault)
    yield from _vocabulary(pair, mine, its)
    yield from _special(here, mine, its)
    yield from _template(pair, mine, its)


def _vocabulary(pair: DraftPair, mine: TokenizerFiles, its: TokenizerFiles) -> Iterator[Finding]:
    request = pair.request
    if not mine.tokens or not its.tokens or (request is not None and request.config.get("use_heterogeneous_vocab")):
        return
    place = Place(str(pair.draft.folder.path / TOKENIZER))
    digests = f"SHA-256 {mine.digest}... against {its.digest}..."
    other = _first_other(mine.tokens, its.tokens)
    if other is not None:
        number, count = other
        yield found(
            "draft-tokenizer",
            place,
            f"{count:,} tokens are not the target's: number {number} is {mine.tokens[number]!r} in the draft and "
            f"{its.tokens[number]!r} in the target",
            evidence=digests,
        )
        return
    lacking = sorted(set(its.tokens) - set(mine.tokens))
    beyond = sorted(set(mine.tokens) - set(its.tokens))
    if lacking:
        yield found(
            "draft-tokenizer",
            place,
            f"the draft's tokenizer lacks {len(lacking):,} tokens of the target, {its.tokens[lacking[0]]!r} among "
            "them: it never proposes them",
            evidence=digests,
            severity=Severity.WARNING,
        )
    if beyond:
        yield found(
            "draft-tokenizer",
            place,
            f"the draft's tokenizer has {len(beyond):,} tokens that the target has not, {mine.tokens[beyond[0]]!r} "
            "among them: what it proposes of them is never kept",
            evidence=digests,
            severity=Severity.WARNING,
        )


def _first_other(mine: Mapping[int, str], its: Mapping[int, str]) -> tuple[int, int] | None:
    """The first number that means something else, and how many do."""
    others = [number for number, token in mine.items() if its.get(number, token) != token]
    return (min(others), len(others)) if others else None


def _special(path: Path, mine: TokenizerFiles, its: TokenizerFiles) -> Iterator[Finding]:
    for role, token in mine.special.items():
        other = its.special.get(role, token)
        if other != token:
            yield found(
                "draft-special-tokens",
                Place(str(path / SETTINGS), key_line(path / SETTINGS, role), role),
                f"the draft's {role} is {token!r}, and the target's is {other!r}",
            )


def _template(pair: DraftPair, mine: TokenizerFiles, its: TokenizerFiles) -> Iterator[Finding]:
    """Heads are trained on texts in their target's template; a draft model needs its markers only."""
    if not mine.template or not its.template or mine.template == its.template:
        return
    place = Place(str(pair.draft.folder.path), 0, "chat_template")
    if mine.markers != its.markers:
        only_mine, only_its = sorted(mine.markers - its.markers), sorted(its.markers - mine.markers)
        yield found(
            "draft-chat-template",
            place,
            "the chat templates of draft and target mark turns differently, so that the draft sees texts of a form "
            "that it was not trained on",
            evidence=f"only in the draft's: {_some(only_mine)}; only in the target's: {_some(only_its)}",
        )
    elif pair.draft.kind.reads_hidden:
        yield found(
            "draft-chat-template",
            place,
            "the chat template beside the draft is not the target's, though the markers are the same",
            severity=Severity.INFO,
        )


def _some(markers: list[str]) -> str:
    return ", ".join(markers[:4]) if markers else "none"
