"""What a real browser makes of a page: which texts lie over each other or stick out of their panel."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from html import unescape
from pathlib import Path

# Runs in a copy of the page that has no content policy.
_SCRIPT = Path(__file__).with_name("page_faults.js")
Geometry = dict[str, object]


def geometry(browser: Path, page: Path) -> Geometry:
    """Faults, number of panels, and the size of the page as the browser lays it out."""
    text = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text()).replace(
        "</body>", f'<pre id="faults"></pre><script>{_SCRIPT.read_text()}</script></body>'
    )
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "page.html"
        copy.write_text(text)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1464,2000"]
        command = [str(browser), *flags, f"--user-data-dir={folder}/profile", "--dump-dom", copy.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    found = re.search(r'<pre id="faults">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stderr[-500:]
    answer: Geometry = json.loads(unescape(found[1]))
    return answer
