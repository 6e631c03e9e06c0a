"""Controllers over files, closed when a test is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from detectors.fallback.controller_rig import NewRig, Rig, rig


@pytest.fixture
def new_rig(tmp_path: Path) -> Iterator[NewRig]:
    made: list[Rig] = []

    def make(*values: Any, **rules: Any) -> Rig:
        made.append(rig(tmp_path, *values, **rules))
        return made[-1]

    yield make
    for own in made:
        own.controller.close()
