"""An upgrade leaves alone what Kubernetes lets nobody change, and what somebody else keeps in an object."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from deploy.chart.helm_chart import CHART, VALUES, Object, of_kind, template

KEPT = Path(__file__).parent / "immutable.yaml"
"""What was released, by file of values. Only add to it: a changed entry is an upgrade that Kubernetes refuses."""

each_mode = pytest.mark.parametrize("values", VALUES, ids=lambda path: path.name.removesuffix("-values.yaml"))


def immutable(objects: list[Object]) -> dict[str, object]:
    """Fields that cannot be changed, by kind and name."""
    found: dict[str, object] = {}
    for one in of_kind(objects, "Deployment", "PersistentVolumeClaim", "RoleBinding", "Service"):
        spec = one.get("spec", {})
        fields = {
            "Deployment": lambda: spec["selector"]["matchLabels"],  # noqa: B023 - called at once
            "PersistentVolumeClaim": lambda: spec,  # noqa: B023
            "RoleBinding": lambda: one["roleRef"],  # noqa: B023
            "Service": lambda: spec.get("clusterIP", ""),  # noqa: B023
        }
        found[f"{one['kind']} {one['metadata']['name']}"] = fields[one["kind"]]()
    return found


@each_mode
def test_what_was_released_stays(values: Path) -> None:
    released = yaml.safe_load(KEPT.read_text())[values.name]
    now = immutable(template(values).objects)
    changed = {key: (was, now[key]) for key, was in released.items() if key in now and now[key] != was}
    assert changed == {}
    assert set(released) <= set(now), "an object that was released is gone or has another name"


@each_mode
def test_neither_versions_nor_labels_nor_images_are_in_what_stays(values: Path, tmp_path: Path) -> None:
    newer = tmp_path / "specwatch"
    shutil.copytree(CHART, newer)
    file = newer / "Chart.yaml"
    file.write_text(file.read_text().replace("0.1.0", "9.9.9"))
    upgraded = template(values, "labels.more=yes", "image.tag=v9", chart=newer).objects
    assert immutable(upgraded) == immutable(template(values).objects)
    labels = upgraded[0]["metadata"]["labels"]
    assert (labels["helm.sh/chart"], labels["more"]) == ("specwatch-9.9.9", "yes")
