"""Settings of all tests: no test judges by the clock, so hypothesis has no deadline either."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("specwatch", deadline=None)
settings.load_profile("specwatch")
