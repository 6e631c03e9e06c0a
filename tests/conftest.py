"""Settings of all tests: no test judges by the clock, so hypothesis has no deadline and calls nothing too slow.

A run by hand looks at new examples each time. Where a run must say something of the change alone, as in continuous
integration, HYPOTHESIS_PROFILE=same-examples takes the same ones every time.

The end of a run says which program the tests would have liked and did not have.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tools.tool_paths import BIN_FOLDER, is_program

_WELCOME = {
    "promtool-3": "rules ran on promtool 2.x alone",
    "alertmanager-new": "routing and Slack ran with this system's Alertmanager alone",
    "amtool-new": "Alertmanager's configuration was checked by this system's amtool alone",
}

_NO_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("new-examples", _NO_CLOCK)
settings.register_profile("same-examples", _NO_CLOCK, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "new-examples"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was tested on the older of two versions alone."""
    for name, lost in _WELCOME.items():
        if not is_program(BIN_FOLDER / name):
            terminalreporter.write_line(
                f"{name} could not be had (make tools asks Debian unstable): {lost}.", yellow=True
            )
