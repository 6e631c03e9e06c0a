"""The dashboards of a running Grafana as documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote

from specwatch_alerts.slack.secret_file import SecretError, SecretFile
from specwatch_dashboards.push_api import GrafanaApi, PushError
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.input_error import InputError

_PAGE: Final = 1000


def grafana_documents(
    url: str, token: SecretFile, api: Callable[[str, SecretFile], GrafanaApi] = GrafanaApi
) -> Iterator[Document]:
    """All dashboards that a service account may see.

    Args:
        url: without `/api`.
        token: of the account; Viewer is enough.
        api: makes the client.

    Raises:
        InputError: Grafana cannot be asked.
    """
    try:
        grafana = api(url, token)
        for found in _listed(grafana):
            body = grafana.get(f"/dashboards/uid/{quote(str(found['uid']), safe='')}")
            where = f"{grafana.display}/d/{found['uid']}"
            yield Document(where, body)
    except (PushError, SecretError) as error:
        raise InputError(f"--grafana: {error}") from error
    except (KeyError, TypeError) as error:
        raise InputError(f"--grafana: {url} does not answer as Grafana does") from error
    except ValueError as error:
        raise InputError(f"--grafana: {error}") from error


def _listed(grafana: GrafanaApi) -> Iterator[dict[str, Any]]:
    page = 1
    while True:
        found = grafana.get(f"/search?type=dash-db&limit={_PAGE}&page={page}")
        yield from found
        if len(found) < _PAGE:
            return
        page += 1
