"""History from counters as Prometheus keeps them: a dump of its HTTP API, or chunks that were just asked for.

A dump is the JSON of `/api/v1/query_range` (or of `/api/v1/query` with a range selector), or a list of several.
Three spellings of names are read: specwatch's own (`specwatch_drafts_total`, ...; per class
`specwatch_request_drafts_total`, ...), vLLM's (`vllm:spec_decode_num_drafts_total`, ...), and, in a dump, SGLang's
(`sglang:spec_verify_calls_total`, ...). Raw counters are needed: not rates, not sums.

Increases are taken by the exporters' ledger, per pod and series, restarts aside, and only then added up. What a pod
counted before its first point belongs to no interval; increases over a silence of more than five minutes are left
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from specwatch_detectors.history import History, HistoryError, chosen_interval, silence, spacing
from specwatch_detectors.history_builder import HistoryBuilder
from specwatch_detectors.history_sglang import has_counters, specwatch_series
from specwatch_detectors.windows_of_counts import judgeable, model_windows
from specwatch_exporters import catalog, request_catalog
from specwatch_exporters.catalog import CATALOG
from specwatch_exporters.engines import vllm_v1
from specwatch_exporters.engines.intake import instance_name, model_name, strip_prefixes
from specwatch_exporters.json_text import decode
from specwatch_exporters.ledger import Ledger
from specwatch_exporters.page import Page, SeriesId

COUNTERS: Final = (
    catalog.DRAFTS,
    catalog.DRAFT_TOKENS,
    catalog.ACCEPTED_TOKENS,
    catalog.ACCEPTED_PER_POSITION,
    catalog.DRAFTED_PER_POSITION,
)
OF_REQUESTS: Final = {
    request_catalog.DRAFTS.name: catalog.DRAFTS.name,
    request_catalog.DRAFT_TOKENS.name: catalog.DRAFT_TOKENS.name,
    request_catalog.ACCEPTED_TOKENS.name: catalog.ACCEPTED_TOKENS.name,
    request_catalog.ACCEPTED_PER_POSITION.name: catalog.ACCEPTED_PER_POSITION.name,
    request_catalog.DRAFTED_PER_POSITION.name: catalog.DRAFTED_PER_POSITION.name,
}
FACTS: Final = (
    catalog.NUM_SPECULATIVE_TOKENS.name,
    catalog.SPECULATION_INFO.name,
    catalog.ENGINE_INFO.name,
    catalog.ENGINE_RESTARTS.name,
)
NAMES: Final = (*(metric.name for metric in COUNTERS), *OF_REQUESTS, *FACTS)
"""Names to ask a Prometheus for."""

_OWN: Final = {metric.name for metric in COUNTERS}
_LABELS: Final = frozenset({"__name__", *(label for metric in CATALOG for label in metric.labels)})
_VLLM_LABELS: Final = vllm_v1.DIALECT.known_labels() | {"__name__"}

Samples = Sequence[tuple[float, float]]


class _Stream(NamedTuple):
    """Counters that one process writes about one model (and class, for the request sidecar)."""

    model: str
    traffic_class: str
    pod: str


@dataclass(slots=True)
class _Track:
    """A stream's ledger and when it was last fed."""

    ledger: Ledger = field(default_factory=Ledger)
    seen: float = -math.inf


class PrometheusHistory:
    """Takes series chunk by chunk, in order of time.

    Args:
        interval_s: seconds of an interval.
    """

    def __init__(self, interval_s: float) -> None:
        self._builder = HistoryBuilder(interval_s)
        self._silence_s = silence(interval_s)
        self._tracks: dict[_Stream, _Track] = {}
        self._restarts: dict[str, float] = {}
        self._pods: dict[str, dict[str, float]] = {}
        self._notes: list[str] = []
        self._gauged = False

    def take(self, series: Iterable[Mapping[str, Any]]) -> None:
        """Take all series of a span of time in, as the API gives them: `metric` and `values`."""
        pages: dict[_Stream, dict[float, dict[SeriesId, float]]] = {}
        facts: list[tuple[float, str, Mapping[str, str], float]] = []
        own = [(one["metric"], one["values"]) for one in series]
        self._gauged |= any(labels.get("__name__") == catalog.NUM_SPECULATIVE_TOKENS.name for labels, _ in own)
        canonical = any(labels.get("__name__") in _OWN for labels, _ in own)
        for labels, values in own:
            name = labels.get("__name__", "")
            if name in FACTS:
                facts += [(at, name, labels, value) for at, value in _samples(values)]
                continue
            found = self._identify(name, labels, canonical=canonical)
            if found is not None:
                stream, identity = found
                rows = pages.setdefault(stream, {})
                for at, value in _samples(values):
                    rows.setdefault(at, {})[identity] = value
        for stream, rows in sorted(pages.items()):
            for at in sorted(rows):
                self._page(stream, at, rows[at])
        for at, name, labels, value in sorted(facts, key=lambda fact: fact[0]):
            self._fact(at, name, labels, value)

    def _identify(
        self, name: str, labels: Mapping[str, str], *, canonical: bool
    ) -> tuple[_Stream, SeriesId] | None:
        if name in _OWN or name in OF_REQUESTS:
            if not judgeable(labels.get("definition", vllm_v1.DEFINITION)):
                self._notes.append(f"counts defined as {labels['definition']} cannot be judged and were left out")
                return None
            model, engine = labels.get("model", ""), labels.get("engine", "")
            source = f"{labels.get('definition', '')}/{labels.get('speculation', '')}"
            stream = _Stream(model, labels.get("traffic_class", ""), instance_name(labels, _LABELS))
            metric = OF_REQUESTS.get(name, name)
            return stream, SeriesId(metric, model, engine, labels.get("position", ""), source)
        raw = strip_prefixes((name,), vllm_v1.PREFIXES).get(name)
        target = None if raw is None else vllm_v1.TARGETS.get(raw)
        if target is None or target.metric not in _OWN:
            return None
        if canonical:
            self._notes.append("vLLM's own series were left out: specwatch's are there, too")
            return None
        model = model_name(labels, vllm_v1.DIALECT.model_labels)
        rank = labels.get(vllm_v1.DIALECT.rank_label, "0")
        extra = labels.get(target.label, "") if target.label else ""
        return (
            _Stream(model, "", instance_name(labels, _VLLM_LABELS)),
            SeriesId(target.metric, model, rank, extra, ""),
        )

    def _page(self, stream: _Stream, at: float, counters: dict[SeriesId, float]) -> None:
        track = self._tracks.get(stream)
        if track is not None and at <= track.seen:
            return
        first = track is None
        track = self._tracks.setdefault(stream, _Track())
        gap, track.seen = at - track.seen, at
        increase = track.ledger.update(Page("prometheus", counters=counters))
        model, name, pod = stream
        if not name:
            self._pod(model, pod, at, restarted=bool(increase.restarted))
            if not self._gauged:
                self._positions(model, at, counters)
        if first or gap > self._silence_s:
            return
        window = model_windows(increase.by_key).get(model)
        if window is None:
            return
        if name:
            self._builder.of_class(model, name, at, window)
        else:
            self._builder.total(model, pod, at, window)

    def _pod(self, model: str, pod: str, at: float, *, restarted: bool) -> None:
        self._pods.setdefault(model, {}).setdefault(pod, at)
        if restarted:
            self._builder.restart(model, at, f"counters of {pod or 'the engine'}")

    def _positions(self, model: str, at: float, counters: Mapping[SeriesId, float]) -> None:
        """K from the positions on the page, unless drafts had more tokens; without any, from the tokens."""
        totals: dict[str, float] = {}
        depth = 0
        for series, value in counters.items():
            totals[series.metric] = totals.get(series.metric, 0.0) + value
            if series.metric == catalog.ACCEPTED_PER_POSITION.name and series.extra.isdecimal():
                depth = max(depth, int(series.extra) + 1)
        drafts, tokens = totals.get(catalog.DRAFTS.name, 0.0), totals.get(catalog.DRAFT_TOKENS.name, 0.0)
        if depth and drafts and tokens <= depth * drafts:
            self._builder.fact(model, "K", str(depth), at)
        elif not depth and drafts and tokens:
            self._builder.depth(model, math.ceil(tokens / drafts - 0.02))

    def _fact(self, at: float, name: str, labels: Mapping[str, str], value: float) -> None:
        pod = instance_name(labels, _LABELS)
        models = (
            [labels["model"]] if labels.get("model") else sorted(m for m, pods in self._pods.items() if pod in pods)
        )
        for model in models:
            if name == catalog.NUM_SPECULATIVE_TOKENS.name and value > 0:
                self._builder.fact(model, "K", f"{value:g}", at)
            elif name == catalog.SPECULATION_INFO.name and labels.get("method"):
                self._builder.fact(model, "method", labels["method"], at)
            elif name == catalog.ENGINE_INFO.name and labels.get("version"):
                self._builder.fact(model, "version", labels["version"], at)
            elif name == catalog.ENGINE_RESTARTS.name and value > self._restarts.get(pod, value):
                self._builder.restart(model, at, f"engine of {pod or 'the pod'}")
        if name == catalog.ENGINE_RESTARTS.name:
            self._restarts[pod] = value

    def build(self, source: str) -> History:
        """The history of what was taken in.

        Raises:
            HistoryError: nothing in it has drafts.
        """
        for model, pods in self._pods.items():
            for pod, at in pods.items():
                if at > min(pods.values()):
                    self._builder.restart(model, at, f"new pod {pod}")
        return self._builder.build(source, self._notes)


def _samples(values: Sequence[Sequence[Any]]) -> list[tuple[float, float]]:
    pairs = ((float(at), float(value)) for at, value in values)
    return [(at, value) for at, value in pairs if math.isfinite(value) and value >= 0.0]


def read_dump(text: str | bytes, source: str, interval_s: float | None = None) -> History:
    """Read a dump.

    Args:
        text: the JSON.
        source: its name, for messages.
        interval_s: seconds of an interval; the dump's own spacing if None.

    Raises:
        HistoryError: it is no answer of Prometheus, or has none of the series.
    """
    body = decode(text)
    if body is None:
        raise HistoryError(f"{source}: the JSON is cut or broken")
    series = _matrix(body, source)
    names = {str(one["metric"].get("__name__", "")) for one in series}
    times = ([float(at) for at, _ in one["values"][:200]] for one in series)
    history = PrometheusHistory(chosen_interval(spacing(times), interval_s, source))
    _refuse_foreign(names, source)
    try:
        history.take(series if names & _OWN or not has_counters(names) else [*series, *specwatch_series(series)])
    except (TypeError, ValueError) as error:
        raise HistoryError(f"{source}: a sample is not a pair of time and number ({error})") from error
    return history.build(source)


def _matrix(body: Any, source: str) -> list[Any]:
    """All series of one answer, or of a list of them."""
    found: list[Any] = []
    for answer in body if isinstance(body, list) else [body]:
        if not isinstance(answer, dict):
            raise HistoryError(f"{source}: not an answer of Prometheus's HTTP API")
        if "metric" in answer:
            found.append(answer)
            continue
        if answer.get("status") == "error":
            raise HistoryError(f"{source}: Prometheus answered with an error: {answer.get('error', 'unknown')}")
        data = answer.get("data", answer)
        result = data.get("result") if isinstance(data, dict) else None
        if not isinstance(result, list):
            raise HistoryError(f"{source}: no 'result' in it; save the answer of /api/v1/query_range as it is")
        found += result
    if not all(_is_series(one) for one in found):
        raise HistoryError(f"{source}: a result has no values over time; ask for a range, as docs/detect.md shows")
    return found


def _is_series(one: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("metric"), dict):
        return False
    values = one.get("values")
    return isinstance(values, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in values)


def _refuse_foreign(names: set[str], source: str) -> None:
    wanted = {name for name in names if name in _OWN or name in OF_REQUESTS}
    engine = {name for name in names if strip_prefixes((name,), vllm_v1.PREFIXES)}
    if wanted or engine or has_counters(names):
        return
    if any(name.startswith("sglang") for name in names):
        raise HistoryError(
            f"{source}: SGLang's acceptance can be judged from sglang:spec_verify_calls_total (0.5.13 and newer), "
            "sglang:generation_tokens_total and sglang:spec_num_draft_tokens together; ask for all of them, or use "
            "the specwatch_ series"
        )
    if any(name.startswith("trtllm") for name in names):
        raise HistoryError(f"{source}: TensorRT-LLM's own names are not read here; use the specwatch_ series")
    if names <= {""}:
        raise HistoryError(
            f"{source}: series without names: ask for the counters themselves, not for rates or sums"
        )
    raise HistoryError(
        f"{source}: no specwatch_drafts_total and no vllm:spec_decode_num_drafts_total, but e.g. {min(names)}"
    )
