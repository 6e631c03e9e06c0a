"""What tells Grafana to read dashboards from a folder of its machine."""

from __future__ import annotations

from typing import Any, Final

_UPDATE_S: Final = 60


def provider(folder: str, path: str) -> dict[str, Any]:
    """A file for Grafana's `provisioning/dashboards`.

    Args:
        folder: title of the folder in Grafana.
        path: folder of the files on Grafana's machine.
    """
    return {
        "apiVersion": 1,
        "providers": [
            {
                "name": "specwatch",
                "orgId": 1,
                "folder": folder,
                "type": "file",
                "disableDeletion": False,
                "updateIntervalSeconds": _UPDATE_S,
                "allowUiUpdates": False,
                "options": {"path": path, "foldersFromFilesStructure": False},
            }
        ],
    }
