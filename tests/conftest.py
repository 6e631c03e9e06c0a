"""Settings of all tests: no test judges by the clock, so hypothesis has no deadline either.

The end of a run says which program the tests would have liked and did not have.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from tools.tool_paths import BIN_FOLDER, is_program

settings.register_profile("specwatch", deadline=None)
settings.load_profile("specwatch")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that rules were tested on Prometheus 2.x alone."""
    if not is_program(BIN_FOLDER / "promtool-3"):
        terminalreporter.write_line(
            "promtool 3.x could not be had (make tools asks Debian unstable): rules ran on promtool 2.x alone.",
            yellow=True,
        )
