"""Pictures of the dashboards for the documentation: plays the demonstration and draws what its Prometheus says."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from dashboards.preview.demo_scene import CAPTION, PAGES_SHORTER, SCRAPE_S, Scene, playing
from dashboards.short_windows import shortened
from specwatch_dashboards.build import build
from specwatch_dashboards.preview.look import Look
from specwatch_dashboards.preview.page_style import WIDTH_PX
from specwatch_dashboards.preview.picture import take
from specwatch_dashboards.preview.preview_set import Order, preview
from specwatch_dashboards.preview.prometheus_api import PrometheusApi
from specwatch_dashboards.source import Source

SECONDS: Final = 300.0
# When each is at its most telling: while the stale draft is in use, or once it is over.
MOMENTS: Final = (
    (0.66, ("specwatch-speculation", "specwatch-draft")),
    (1.0, ("specwatch-latency", "specwatch-fallback", "specwatch-capacity")),
)
DARK: Final = frozenset({"specwatch-fallback"})


def picture_name(uid: str) -> str:
    """File in docs/pictures of a dashboard."""
    return f"dashboard-{uid.removeprefix('specwatch-')}.png"


def dashboard_pictures(pictures: Path, browser: Path, seconds: float = SECONDS) -> list[Path]:
    """Take a picture of each dashboard.

    Args:
        pictures: folder to write into.
        browser: a Chromium.
        seconds: length of the scene.
    """
    taken = []
    with tempfile.TemporaryDirectory(prefix="specwatch-scene-") as folder:
        data = Path(folder) / "prometheus"
        data.mkdir()
        with playing(seconds, data) as scene:
            for share, uids in MOMENTS:
                scene.play(share * seconds)
                taken += [_taken(uid, scene, Path(folder), pictures, browser) for uid in uids]
    return taken


def _taken(uid: str, scene: Scene, folder: Path, pictures: Path, browser: Path) -> Path:
    boards = shortened(build(Source.SIDECAR), PAGES_SHORTER)
    look = Look.DARK if uid in DARK else Look.LIGHT
    order = Order(time.time(), since_s=scene.elapsed_s, scrape_s=SCRAPE_S, look=look, caption=CAPTION)
    pages = {drawn.path.stem: drawn for drawn in preview(boards, PrometheusApi(scene.url), folder, order)}
    picture = pictures / picture_name(uid)
    take(browser, pages[uid].path, picture, WIDTH_PX, pages[uid].height)
    return picture
