"""Pictures of pages, taken with a headless Chromium of the machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_TIMEOUT_S: Final = 120
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class PictureError(RuntimeError):
    """No picture; one line."""


def browser(named: Path | None = None) -> Path:
    """The named program, or the first Chromium on the path.

    Raises:
        PictureError: there is none.
    """
    if named is not None:
        return named
    found = next((path for path in map(shutil.which, PROGRAMS) if path), None)
    if found is None:
        raise PictureError(f"none of {', '.join(PROGRAMS)} is on the path: install one or say where it is")
    return Path(found)


def take(program: Path, page: Path, picture: Path, width: int, height: int) -> None:
    """Take a picture of a local page.

    Raises:
        PictureError: the program cannot be started or made none.
    """
    with tempfile.TemporaryDirectory() as profile:
        size = f"--window-size={width},{height}"
        places = [f"--user-data-dir={profile}", f"--screenshot={picture}", page.absolute().as_uri()]
        try:
            done = subprocess.run(  # noqa: S603 - the program is the user's own
                [str(program), *_FLAGS, size, *places],
                capture_output=True,
                text=True,
                check=False,
                timeout=_TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PictureError(f"{program}: {getattr(error, 'strerror', None) or 'it took too long'}") from error
    if done.returncode or not picture.is_file():
        raise PictureError(f"{program} took no picture of {page.name}: {done.stderr.strip()[-200:]}")
