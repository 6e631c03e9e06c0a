"""Vocabulary, special tokens and chat template of a folder, from its tokenizer's files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specwatch_deploy.doctor.draft.json_file import DraftError, Json, json_object

TOKENIZER: Final = "tokenizer.json"
SETTINGS: Final = "tokenizer_config.json"
_MARKER: Final = re.compile(
    r"<[|\uff5c][^|\uff5c>\s]{1,40}[|\uff5c]>|\[/?INST\]|<<?/?SYS>?>|</?s>|<(?:start|end)_of_turn>"
)
_ROLES: Final = ("bos_token", "eos_token")


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """What the files say; empty where there are none.

    Attributes:
        digest: first 12 digits of the SHA-256 of `tokenizer.json`.
        tokens: by their number.
        special: text of the special tokens, by `bos_token` and `eos_token`.
        template: chat template.
        faults: files that cannot be read, one line each.
    """

    digest: str
    tokens: Mapping[int, str]
    special: Mapping[str, str]
    template: str
    faults: tuple[str, ...] = ()

    @property
    def markers(self) -> frozenset[str]:
        """Texts in the chat template that look like special tokens."""
        return frozenset(_MARKER.findall(self.template))


def read_tokenizer(path: Path) -> TokenizerFiles:
    """The tokenizer of a folder; broken files are told in `faults`."""
    faults: list[str] = []
    digest, tokens = "", {}
    try:
        if (path / TOKENIZER).is_file():
            digest = hashlib.sha256((path / TOKENIZER).read_bytes()).hexdigest()[:12]
            tokens = _tokens(path / TOKENIZER)
    except (DraftError, OSError) as error:
        faults.append(str(error))
    settings: Json = {}
    try:
        if (path / SETTINGS).is_file():
            settings = json_object(path / SETTINGS)
    except DraftError as error:
        faults.append(str(error))
    special = {role: text for role in _ROLES if (text := _text(settings.get(role)))}
    return TokenizerFiles(digest, tokens, special, _template(path, settings), tuple(faults))


def _tokens(path: Path) -> dict[int, str]:
    """Tokens by number: of the model, and those added to it.

    Raises:
        DraftError: the file has not the form of Hugging Face's tokenizers.
    """
    rows = json_object(path)
    try:
        vocabulary: Any = rows["model"]["vocab"]
        listed = (
            {token: number for number, (token, _) in enumerate(vocabulary)} if isinstance(vocabulary, list) else {}
        )
        by_text = listed or dict(vocabulary)
        added = {int(one["id"]): str(one["content"]) for one in rows.get("added_tokens") or ()}
        return {int(number): str(token) for token, number in by_text.items()} | added
    except (KeyError, TypeError, ValueError) as error:
        raise DraftError(f"{path} has not the form of a tokenizer: no model with a vocabulary") from error


def _template(path: Path, settings: Json) -> str:
    own = path / "chat_template.jinja"
    if own.is_file():
        return own.read_text(encoding="utf-8", errors="replace").strip()
    found = settings.get("chat_template")
    if isinstance(found, list):
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
        found = named.get("default")
    return found.strip() if isinstance(found, str) else ""


def _text(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""
