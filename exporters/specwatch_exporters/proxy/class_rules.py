"""Rules that give a request its traffic class, from a TOML file.

    [[rule]]
    class = "code"
    path = "/v1/completions"
    model = "coder-*"

Every condition of a rule must hold: `path`, `model` and `lora` are patterns (`*`, `?`), `api_key_sha256` is the
SHA-256 of the key, in hexadecimal, as `printf %s "$KEY" | sha256sum` prints it. The first rule that fits wins.
There are places for 12 classes beside `default` and `other`.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from specwatch_exporters.classes.class_name import DEFAULT, MAX_CLASSES, OTHER, RULE, is_class_name

_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_KEYS: Final = frozenset({"class", "path", "model", "lora", "api_key_sha256"})
_MAX_FILE: Final = 1024 * 1024
_PLACES: Final = f"accepted: {MAX_CLASSES} at most beside {DEFAULT} and {OTHER}"


class RulesError(ValueError):
    """The file is no set of rules; the message names the file and the rule, and says what is accepted."""


class Traits(NamedTuple):
    """What rules look at.

    Attributes:
        path: of the request, without query.
        model: as asked for, or None.
        lora: adapter as asked for, or None.
        key_digest: SHA-256 of the API key in hexadecimal, or None without a key.
    """

    path: str
    model: str | None = None
    lora: str | None = None
    key_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; a condition that is None does not matter."""

    traffic_class: str
    path: str | None = None
    model: str | None = None
    lora: str | None = None
    key_digest: str | None = None

    def fits(self, traits: Traits) -> bool:
        """Whether every condition holds."""
        if self.key_digest is not None and self.key_digest != traits.key_digest:
            return False
        pairs = ((self.path, traits.path), (self.model, traits.model), (self.lora, traits.lora))
        return all(
            pattern is None or (found is not None and fnmatchcase(found, pattern)) for pattern, found in pairs
        )


def load_rules(path: Path) -> tuple[Rule, ...]:
    """Read a file of rules.

    Raises:
        RulesError: it cannot be read, holds something else, or has more classes than there are places.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_FILE + 1)
        document = tomllib.loads(text.decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise RulesError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    rules = document.get("rule")
    if len(text) > _MAX_FILE or set(document) != {"rule"} or not isinstance(rules, list) or not rules:
        raise RulesError(f"{path}: accepted: one or more [[rule]] tables and nothing else, up to 1 MiB")
    found = tuple(_rule(f"{path}: rule {number}", rule) for number, rule in enumerate(rules, start=1))
    count = _own_classes(rule.traffic_class for rule in found)
    if count > MAX_CLASSES:
        raise RulesError(f"{path}: {count} classes; {_PLACES}: let rules share a class")
    return found


def promised_classes(rules: Sequence[Rule], classifier: Sequence[str]) -> tuple[str, ...]:
    """Classes that requests can get without a header; each is to have a place before any client chooses one.

    Args:
        rules: in order.
        classifier: names that the classifier can return.

    Raises:
        RulesError: more than there are places; the message names no file.
    """
    names = (DEFAULT, *(rule.traffic_class for rule in rules), *classifier)
    count = _own_classes(names)
    if count > MAX_CLASSES:
        problem = f"{count} classes of the rules and the classifier; {_PLACES}"
        raise RulesError(f"{problem}: let rules share a class, or use no classifier")
    return tuple(dict.fromkeys(names))


def _own_classes(names: Iterable[str]) -> int:
    return len(set(names) - {DEFAULT, OTHER})


def key_digest(authorization: bytes | None, api_key: bytes | None) -> str | None:
    """SHA-256 of the key in `Authorization: Bearer KEY` or `x-api-key`; None without one. The key is not kept."""
    key = api_key
    if key is None and authorization is not None:
        scheme, _, rest = authorization.partition(b" ")
        key = rest if scheme.lower() == b"bearer" else authorization
    return hashlib.sha256(key.strip()).hexdigest() if key else None


def _rule(where: str, fields: Any) -> Rule:
    if not isinstance(fields, dict):
        raise RulesError(f"{where}: accepted: a table")
    unknown = sorted(set(fields) - _KEYS)
    if unknown:
        raise RulesError(f"{where}: {unknown[0]!r} is unknown; accepted: {', '.join(sorted(_KEYS))}")
    wrong = next((key for key, content in fields.items() if not isinstance(content, str) or not content), None)
    if wrong is not None:
        raise RulesError(f"{where}: {wrong} must be a string that is not empty")
    return Rule(
        _class_name(where, fields),
        path=fields.get("path"),
        model=fields.get("model"),
        lora=fields.get("lora"),
        key_digest=_digest(where, fields),
    )


def _class_name(where: str, fields: Mapping[str, str]) -> str:
    name = fields.get("class", "")
    if not is_class_name(name):
        raise RulesError(f"{where}: class must be {RULE}")
    if len(fields) == 1:
        raise RulesError(f"{where}: it has no condition; accepted: path, model, lora, api_key_sha256")
    return name


def _digest(where: str, fields: Mapping[str, str]) -> str | None:
    digest = fields.get("api_key_sha256")
    if digest is not None and not _DIGEST.fullmatch(digest):
        raise RulesError(f"{where}: api_key_sha256 must be 64 hexadecimal digits in lower case")
    return digest
