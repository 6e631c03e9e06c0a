from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins

from specwatch_dashboards.build import build
from specwatch_dashboards.source import Source

with warnings.catch_warnings():
    # The module itself warns that there is a second format; ours is the first one on purpose.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.models.dashboard import Dashboard

# The SDK writes these defaults out where they are not given; nothing else may come.
DEFAULTS = {
    "allowCustomValue",
    "auto",
    "auto_count",
    "auto_min",
    "builtIn",
    "footer",
    "hidden",
    "includeAll",
    "multi",
    "perPage",
    "placement",
    "refresh_intervals",
    "repeatDirection",
    "selectionMode",
    "showTypeIcons",
}


def changes(before: Any, after: Any, where: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from (f"{where}/{key} is lost" for key in before.keys() - after.keys())
        yield from (f"{where}/{key} came" for key in after.keys() - before.keys() - DEFAULTS)
        for key in before.keys() & after.keys():
            yield from changes(before[key], after[key], f"{where}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from changes(old, new, f"{where}/{at}")
    elif before != after:
        yield f"{where}: {before!r} became {after!r}"


def round_trip(dashboard: dict[str, Any]) -> Any:
    register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))


@pytest.mark.parametrize("source", list(Source))
def test_grafanas_own_models_read_and_write_the_same(source: Source) -> None:
    for uid, dashboard in build(source).items():
        assert list(changes(dashboard, round_trip(dashboard))) == [], uid


def test_a_key_that_grafana_does_not_know_is_noticed() -> None:
    dashboard = build(Source.SIDECAR)["specwatch-speculation"]
    panel = dashboard["panels"][0]
    panel["options"]["justifyModes"] = "center"
    assert list(changes(dashboard, round_trip(dashboard))) == ["/panels/0/options/justifyModes is lost"]
