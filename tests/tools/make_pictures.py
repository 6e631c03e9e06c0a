"""Make the documentation's pictures from the running product: `make pictures`.

Plays the demonstration with its detectors and its fallback as `specwatch demo` does, and once longer without a
fallback, so that the stale draft serves for a whole minute; takes the pictures with headless Chromium.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from dashboards.preview.take_pictures import dashboard_pictures
from specwatch_deploy.demo_fallback import DemoFallback
from specwatch_detectors.demo_watch import demo_watch
from specwatch_exporters.demo.moment import Moment
from specwatch_exporters.demo.run import run_demo
from specwatch_exporters.demo.scenario import ACTS
from specwatch_exporters.demo.view import draw
from tools.tool_paths import ToolMissingError, find_tool

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
SECONDS = 120.0
SHOT_SHARE = 0.66
STALE_SECONDS = 230.0
JUDGED_S = 61.0
STATUS_HEIGHT = 1362
COLUMNS = 108
THEME = TerminalTheme(
    (22, 27, 34),
    (201, 209, 217),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
    [
        (110, 118, 129),
        (255, 161, 152),
        (86, 211, 100),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (86, 212, 221),
        (240, 246, 252),
    ],
)
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px DejaVu Sans Mono, monospace; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
<rect fill="#161b22" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>"""


def chromium() -> Path:
    """The machine's Chromium, or the one that `make pictures` fetched."""
    on_path = shutil.which("chromium")
    return Path(on_path) if on_path else find_tool("chromium")


def shoot(url: str, width: int, height: int, picture: Path, scale: float = 1.5) -> None:
    """Take a picture of a page.

    Raises:
        RuntimeError: Chromium made none; the message has its last words.
    """
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with tempfile.TemporaryDirectory() as profile:
        size = [f"--window-size={width},{height}", f"--force-device-scale-factor={scale}"]
        command = [str(chromium()), *flags, *size, f"--user-data-dir={profile}", f"--screenshot={picture}", url]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if not picture.is_file():
        raise RuntimeError(f"Chromium took no picture of {url}: {done.stderr.strip()[-300:]}")


def terminal_svg(moment: Moment) -> str:
    """The live view of a moment as SVG with the machine's own fonts."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(draw(moment))
    return console.export_svg(theme=THEME, code_format=SVG)


class Photographer:
    """Takes the status page once a stale draft has served for a minute, and the terminal once traffic has moved.

    Args:
        wanted: names of the pictures.
    """

    def __init__(self, *wanted: str) -> None:
        self.wanted = set(wanted)

    @contextmanager
    def frames(self) -> Iterator[Callable[[Moment], None]]:
        """What the demonstration shows its moments to."""
        yield self.show

    def show(self, moment: Moment) -> None:
        """One moment; each picture is taken once."""
        judged = moment.judgement
        drifted = judged is not None and judged.state == "drifted" and (judged.since_s or 0.0) >= JUDGED_S
        if drifted and "status-page.png" in self.wanted:
            self.wanted.remove("status-page.png")
            shoot(moment.status_url, 390, STATUS_HEIGHT, PICTURES / "status-page.png")
        if moment.elapsed_s >= SECONDS * SHOT_SHARE and "demo.png" in self.wanted:
            self.wanted.remove("demo.png")
            with tempfile.TemporaryDirectory() as folder:
                drawing = Path(folder) / "demo.svg"
                drawing.write_text(terminal_svg(moment))
                width, height = re.findall(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', drawing.read_text())[0]
                shoot(drawing.as_uri(), ceil(float(width)), ceil(float(height)), PICTURES / "demo.png")


def main() -> int:
    PICTURES.mkdir(parents=True, exist_ok=True)
    try:
        chromium()
    except ToolMissingError as error:
        print(error, file=sys.stderr)
        return 1
    terminal, page = Photographer("demo.png"), Photographer("status-page.png")
    print(f"playing the demonstration, {SECONDS:.0f} s, {len(ACTS)} acts", flush=True)
    run_demo(None, SECONDS, judges=demo_watch, fallback=DemoFallback(), frames=terminal.frames)
    print(f"and without a fallback, {STALE_SECONDS:.0f} s", flush=True)
    run_demo(None, STALE_SECONDS, judges=demo_watch, frames=page.frames)
    print("playing the scene of the dashboards, five minutes", flush=True)
    dashboard_pictures(PICTURES, chromium())
    missing = sorted(terminal.wanted | page.wanted)
    for name in missing:
        print(f"{name} was not taken: its moment did not come", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
