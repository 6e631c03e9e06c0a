"""One run of the doctor, from what the user names to the findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specwatch_alerts.slack.secret_file import SecretFile
from specwatch_deploy.doctor.cluster import cluster_documents, open_cluster
from specwatch_deploy.doctor.engine import SPELLINGS, Engine, newest
from specwatch_deploy.doctor.examination import examine
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.gathering import Gathered, gather, inputs_of
from specwatch_deploy.doctor.grafana import grafana_documents
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.package_metrics import package_engine
from specwatch_deploy.doctor.prometheus import LivePrometheus

__all__ = ["InputError", "Outcome", "Wanted", "run"]


_MOST_NOTES: Final = 10
"""Files that are named one by one; a folder of chart templates has hundreds."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look at; see the command's options.

    Attributes:
        files: files, folders, `-`.
        engines: sources of engines.
        package: folder of an installed vLLM, or None.
        queries: PromQL.
        prometheus: URL, or None.
        prometheus_token: file of a bearer token, or None.
        grafana: URL, or None.
        grafana_token: file of a token, or None.
        cluster: whether to look into a cluster.
        context: of the kubeconfig.
        namespace: the only one; empty for all.
        scrape_s: scrape interval in seconds.
        reach: whether addresses in configurations may be connected to.
        skip_unknown: whether files that cannot be used are left out, although they were named.
    """

    files: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    package: Path | None = None
    queries: tuple[str, ...] = ()
    prometheus: str | None = None
    prometheus_token: Path | None = None
    grafana: str | None = None
    grafana_token: Path | None = None
    cluster: bool = False
    context: str = ""
    namespace: str = ""
    scrape_s: float = 15.0
    reach: bool = False
    skip_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        findings: sorted.
        head: what was looked at, in one line.
    """

    findings: list[Finding]
    head: str


def run(wanted: Wanted, note: Callable[[str], None]) -> Outcome:
    """Read everything and examine it.

    Args:
        wanted: what to look at.
        note: told of what was left out.

    Raises:
        InputError: something that was named cannot be used.
    """
    found = gather(wanted.files, wanted.engines, skip_unknown=wanted.skip_unknown)
    for line in found.skipped[:_MOST_NOTES]:
        note(f"left out: {line}")
    if len(found.skipped) > _MOST_NOTES:
        note(f"left out: {len(found.skipped) - _MOST_NOTES} more files that cannot be read or hold nothing known")
    if wanted.package is not None:
        found.engines.append(package_engine(wanted.package))
    if wanted.grafana is not None:
        if wanted.grafana_token is None:
            raise InputError("--grafana needs --grafana-token-file")
        found.documents += grafana_documents(
            wanted.grafana, SecretFile(wanted.grafana_token, "--grafana-token-file")
        )
    if wanted.cluster:
        found.documents += cluster_documents(open_cluster("", wanted.context), wanted.namespace, note)
    inputs = inputs_of(
        found, wanted.queries, prometheus=_prometheus(wanted), scrape_s=wanted.scrape_s, reach=wanted.reach
    )
    if not (inputs.documents or inputs.queries or wanted.grafana or wanted.cluster or wanted.skip_unknown):
        raise InputError(
            "these are an engine's series only: name dashboards, rules, scalers or queries to hold against them "
            "(specwatch inspect says what a page means)"
        )
    return Outcome(examine(inputs), _head(found, inputs))


def _prometheus(wanted: Wanted) -> LivePrometheus | None:
    if wanted.prometheus is None:
        return None
    token = wanted.prometheus_token
    live = LivePrometheus(
        wanted.prometheus, None if token is None else SecretFile(token, "--prometheus-token-file")
    )
    live.check()
    return live


def _known(engine: Engine) -> str:
    """The engine, and how far the tables go where it is outside of them."""
    version, table = engine.version, engine.table
    if version is not None and version > table.newest:
        return (
            f"{engine.title} (newer than {table.newest}, the last one that is known: what it changed is not seen)"
        )
    if version is not None and version < table.first:
        return f"{engine.title} (older than {table.first}, the first one that is known: what it lacks is not told)"
    return engine.title


def _head(found: Gathered, inputs: Inputs) -> str:
    files = len({document.file for document in found.documents})
    queries = len(inputs.queries)
    looked = f"{files} {'file' if files == 1 else 'files'}, {queries} {'query' if queries == 1 else 'queries'}"
    if found.engines:
        return f"{looked}, against {', '.join(_known(engine) for engine in found.engines)}"
    read = [name for name, own in SPELLINGS.items() if any(own[0] in query.text for query in inputs.queries)]
    assumed = ", ".join(newest(name).title for name in read)
    return (
        f"{looked}, against the newest that is known: {assumed} (--engine says which one runs)" if read else looked
    )
