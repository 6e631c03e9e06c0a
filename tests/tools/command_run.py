"""The command line as a user starts it, in this process."""

from __future__ import annotations

import pytest

from specwatch_cli import main


def status_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Exit status of `specwatch` with these arguments; what it prints is for `capsys`."""
    monkeypatch.setattr("sys.argv", ["specwatch", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.run()
    return int(ended.value.code or 0)
