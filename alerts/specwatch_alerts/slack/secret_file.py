"""A secret in a file: read again for each use, so that a new one needs no restart, and never printed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_MOST: Final = 8192


class SecretError(ValueError):
    """The file holds no secret; one line, without its content."""


class SecretFile:
    """One secret.

    Args:
        path: of the file; space around the secret is ignored.
        what: the secret in words, for messages.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what

    def __repr__(self) -> str:
        return f"SecretFile({str(self.path)!r})"

    def read(self) -> str:
        """The secret as it is now.

        Raises:
            SecretError: the file cannot be read, is empty, or holds more than one word.
        """
        try:
            with self.path.open("rb") as file:
                text = file.read(_MOST).decode("ascii").strip()
        except OSError as error:
            raise SecretError(f"{self._what} {self.path}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise SecretError(f"{self._what} {self.path} holds characters that no secret has") from None
        if not text or len(text.split()) != 1:
            raise SecretError(f"{self._what} {self.path} must hold one word: the secret and nothing else")
        return text
