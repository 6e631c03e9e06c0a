"""Loads dashboards into a Grafana over its HTTP API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from specwatch_dashboards.push_api import GrafanaApi, PushError

Json = Mapping[str, Any]
_PAGE: Final = 1000
_CONFLICTS: Final = {409, 412}


@dataclass(frozen=True, slots=True)
class PushOrder:
    """How to load them.

    Attributes:
        message: in the dashboards' history.
        folder: title of the folder, which is made if need be; empty for the top.
        datasource: uid of the data source that the variable `datasource` is set to; empty leaves Grafana's default.
        overwrite: replace what is there.
        dry_run: change nothing, and say what would be done.
    """

    message: str
    folder: str = ""
    datasource: str = ""
    overwrite: bool = False
    dry_run: bool = False


def push(dashboards: Mapping[str, Json], api: GrafanaApi, order: PushOrder) -> Iterator[str]:
    """Load all; says each step in one line when it is done.

    Raises:
        PushError: Grafana refuses or cannot be reached; those before it are loaded.
        SecretError: the token's file holds no token.
    """
    source = _datasource(api, order.datasource)
    folder = ""
    if order.folder:
        folder, made = _folder(api, order)
        yield made
    for uid, one in dashboards.items():
        body = pointed(one, *source) if source else one
        yield _planned(api, uid, order) if order.dry_run else _loaded(api, uid, body, folder, order)


def pointed(dashboard: Json, name: str, uid: str) -> Json:
    """The dashboard with its variable `datasource` at a data source."""
    chosen = {"selected": True, "text": name, "value": uid}
    variables = [
        {**one, "current": chosen} if one.get("type") == "datasource" else one
        for one in dashboard["templating"]["list"]
    ]
    return {**dashboard, "templating": {**dashboard["templating"], "list": variables}}


def _datasource(api: GrafanaApi, uid: str) -> tuple[str, str] | None:
    """Name and uid; a token that may not read data sources is no reason to stop."""
    if not uid:
        return None
    try:
        found = api.get(f"/datasources/uid/{quote(uid, safe='')}")
    except PushError as error:
        if error.status == 403:
            return uid, uid
        if error.status == 404:
            raise PushError(f"{api.display} has no data source with the uid {uid!r}", 404) from None
        raise
    if found.get("type") != "prometheus":
        raise PushError(f"the data source {uid!r} is of the type {found.get('type')!r}, not prometheus")
    return str(found.get("name") or uid), uid


def _folder(api: GrafanaApi, order: PushOrder) -> tuple[str, str]:
    """The folder's uid, and what was done."""
    uid = _folder_named(api, order.folder)
    if uid is not None:
        return uid, f"folder {order.folder!r} is there"
    if order.dry_run:
        return "", f"would make the folder {order.folder!r}"
    try:
        made = api.post("/folders", {"title": order.folder})
    except PushError as error:
        uid = _folder_named(api, order.folder) if error.status in _CONFLICTS else None
        if uid is None:
            raise
        return uid, f"folder {order.folder!r} is there"
    return str(made["uid"]), f"made the folder {order.folder!r}"


def _folder_named(api: GrafanaApi, title: str) -> str | None:
    page = 1
    while True:
        found = api.get(f"/folders?limit={_PAGE}&page={page}")
        uids = [str(one["uid"]) for one in found if one.get("title") == title]
        if len(uids) > 1:
            raise PushError(f"{api.display} has {len(uids)} folders called {title!r}: rename one")
        if uids:
            return uids[0]
        if len(found) < _PAGE:
            return None
        page += 1


def _planned(api: GrafanaApi, uid: str, order: PushOrder) -> str:
    try:
        found = api.get(f"/dashboards/uid/{quote(uid, safe='')}")
    except PushError as error:
        if error.status == 404:
            return f"would load {uid}, which is new there"
        raise
    if found.get("meta", {}).get("provisioned"):
        return f"could not load {uid}: it is provisioned there, from a file or a ConfigMap"
    version = found.get("dashboard", {}).get("version")
    if order.overwrite:
        return f"would replace {uid}, version {version}"
    return f"would not load {uid}: version {version} is there, and --overwrite is not given"


def _loaded(api: GrafanaApi, uid: str, dashboard: Json, folder: str, order: PushOrder) -> str:
    # Without a version Grafana takes a dashboard for no edit of what it has: it refuses unless told to overwrite.
    body = {key: value for key, value in dashboard.items() if key != "version"}
    sent = {"dashboard": {**body, "id": None}, "overwrite": order.overwrite, "message": order.message}
    if folder:
        sent["folderUid"] = folder
    try:
        done = api.post("/dashboards/db", sent)
    except PushError as error:
        raise PushError(f"{uid}: {_why(error)}", error.status, error.kind) from None
    return f"loaded {uid}, version {done.get('version')}: {api.display}/d/{uid}"


def _why(error: PushError) -> str:
    if error.status != 412:
        return str(error)
    if error.kind == "version-mismatch":
        return "it is there already; --overwrite replaces it"
    if error.kind == "name-exists":
        return "another dashboard in that folder has its title; --overwrite replaces that one"
    return str(error)
