"""Settings of all tests: no test judges by the clock, so hypothesis has no deadline and calls nothing too slow.

The end of a run says which program the tests would have liked and did not have.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tools.tool_paths import BIN_FOLDER, is_program

_WELCOME = {
    "promtool-3": "rules ran on promtool 2.x alone",
    "alertmanager-new": "routing and Slack ran with this system's Alertmanager alone",
    "amtool-new": "Alertmanager's configuration was checked by this system's amtool alone",
}

settings.register_profile("specwatch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("specwatch")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was tested on the older of two versions alone."""
    for name, lost in _WELCOME.items():
        if not is_program(BIN_FOLDER / name):
            terminalreporter.write_line(
                f"{name} could not be had (make tools asks Debian unstable): {lost}.", yellow=True
            )
