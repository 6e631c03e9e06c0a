"""Make the worked example of docs/detect.md anew, its picture included: `python -m tools.drift_example`.

Runs the documented commands on synthetic traffic and puts what they print between the page's marks. With `--check`
it only compares the text.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from specwatch_cli.detect import app

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "detect.md"
PICTURE = ROOT / "docs" / "pictures" / "drift-replay.png"
COMMANDS = {
    "stale-draft": (
        "example stale.csv --kind stale-draft",
        "replay stale.csv --change-at 2026-03-02T04:00:00Z --picture drift.png",
    ),
    "mix-shift": ("example mix.csv --kind mix-shift", "replay mix.csv"),
    "calibrate": ("example week.csv --kind quiet --length 192h --interval 60s", "calibrate week.csv"),
}
PART = re.compile(r"(<!-- begin: (?P<name>[a-z-]+) -->\n).*?(<!-- end: (?P=name) -->)", re.DOTALL)


def printed(name: str) -> str:
    """The commands of a part and what they print, as a block; files go to the current folder."""
    lines = []
    for command in COMMANDS[name]:
        result = CliRunner().invoke(app, command.split())
        if result.exit_code != 0:
            raise RuntimeError(f"{command}: {result.exception or result.output}")
        lines += [f"$ specwatch detect {command}", *result.output.rstrip().splitlines(), ""]
    return "```\n" + "\n".join(lines).rstrip() + "\n```\n"


def rendered(text: str) -> str:
    """The page with every part made anew."""
    return PART.sub(lambda found: found.group(1) + printed(found.group("name")) + found.group(3), text)


def main(arguments: list[str]) -> int:
    text, before = PAGE.read_text(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            new = rendered(text)
        finally:
            os.chdir(before)
        if "--check" in arguments:
            if new != text:
                print("docs/detect.md is not up to date; run PYTHONPATH=tests python -m tools.drift_example")
            return int(new != text)
        PAGE.write_text(new)
        PICTURE.write_bytes((Path(folder) / "drift.png").read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
