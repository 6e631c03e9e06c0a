"""JSON files of a model folder, with one clear line for what cannot be read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from specwatch_deploy.doctor.input_error import InputError

Json = dict[str, Any]


class DraftError(InputError):
    """A folder or an argument cannot be used; the message is one line that says why and what to do."""


def json_object(path: Path) -> Json:
    """The object in a JSON file.

    Raises:
        DraftError: there is none, or it is no whole JSON object.
    """
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise DraftError(f"{path}: there is no such file") from error
    except OSError as error:
        raise DraftError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        said = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise DraftError(f"{path} is no whole JSON ({said}); was it copied to its end?") from error
    if not isinstance(found, dict):
        raise DraftError(f"{path} holds no JSON object")
    return found


def key_line(path: Path, key: str) -> int:
    """Line of the first `"key":` in a JSON file, from 1; 0 if it has none."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    match = re.search(rf'"{re.escape(key)}"\s*:', text)
    return 0 if match is None else text.count("\n", 0, match.start()) + 1
