"""Golden renders of the values in ci/: `PYTHONPATH=tests python -m deploy.chart.golden_renders` writes them.

Rules and dashboards are files with tests of their own; here a word stands for them. The labels that all objects
share are left out as well: a test checks them, and a new version of the chart then changes no golden file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from deploy.chart.helm_chart import VALUES, Object, template

FOLDER = Path(__file__).parent / "golden"
SHARED = tuple(f"app.kubernetes.io/{name}" for name in ("name", "instance", "version", "part-of", "managed-by"))
SHARED_LABELS = (*SHARED, "helm.sh/chart")


def golden_text(values: Path) -> str:
    """Objects in order of kind and name, keys as they were written."""
    objects = sorted(
        template(values).objects, key=lambda one: (one["kind"], one["apiVersion"], one["metadata"]["name"])
    )
    return "---\n".join(_yaml(_short(one)) for one in objects)


def golden_file(values: Path) -> Path:
    """Where the render of a file of values is kept."""
    return FOLDER / values.name.replace("-values", "")


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, short collections on one line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _yaml(one: Object) -> str:
    return yaml.dump(one, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=140, allow_unicode=True)


def _short(one: Object) -> dict[str, Any]:
    one = {**one, "metadata": _own(one["metadata"])}
    if one["kind"] == "Deployment":
        pod = one["spec"]["template"]
        one["spec"] = {**one["spec"], "template": {**pod, "metadata": _own(pod["metadata"])}}
    if one["kind"] == "PrometheusRule":
        one["spec"] = "rules"
    if one["kind"] == "ConfigMap":
        files = (".json", ".yml")
        one["data"] = {name: "a file" if name.endswith(files) else text for name, text in one["data"].items()}
    return one


def _own(metadata: Object) -> Object:
    labels = {key: value for key, value in metadata.get("labels", {}).items() if key not in SHARED_LABELS}
    return {**metadata, "labels": labels}


def main() -> None:
    """Write all."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.yaml"):
        path.unlink()
    for values in VALUES:
        golden_file(values).write_text(golden_text(values))


if __name__ == "__main__":
    main()
