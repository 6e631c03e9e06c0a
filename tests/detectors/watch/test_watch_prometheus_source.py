from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from detectors.watch.fleet_history import BEGIN, SETTINGS, catch_up, eventful, new_rounds, plain
from detectors.watch.prometheus_api import Api, prometheus_api
from detectors.watch.sample_store import FakePod, SampleStore
from exporters.raw_server import answer, raw_server
from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_detectors.watch.prometheus_source import PrometheusSource
from specwatch_detectors.watch.source import SourceError
from specwatch_detectors.watch.watch_settings import make_rounds

DRAFTS = "specwatch_drafts_total"


@pytest.fixture
def api() -> Iterator[Api]:
    with prometheus_api(SampleStore()) as found:
        yield found


@pytest.fixture
def sources() -> Iterator[list[PrometheusSource]]:
    made: list[PrometheusSource] = []
    yield made
    for source in made:
        source.close()


def ask(sources: list[PrometheusSource], url: str, **more: object) -> list[object]:
    source = PrometheusSource(PrometheusAddress(url, **more))  # type: ignore[arg-type]
    sources.append(source)
    return list(source.fetch(DRAFTS, BEGIN, BEGIN + 10))


def test_raw_samples_are_asked_for_with_a_range_selector(api: Api, sources: list[PrometheusSource]) -> None:
    FakePod(api.samples, "a").scrape(BEGIN + 3.5)
    (row,) = ask(sources, f"{api.url}/", matchers='namespace="llm"')
    assert isinstance(row, dict)
    assert row["values"] == [[BEGIN + 3.5, "0.0"]]
    path, query, _ = api.seen[0]
    assert path == "/api/v1/query"
    assert query["query"] == f'{DRAFTS}{{namespace="llm"}}[10s]'
    assert float(query["time"]) == BEGIN + 10
    assert (query["partial_response"], query["deny_partial_response"]) == ("false", "1")


def test_headers_tenant_and_token_are_sent_and_the_token_is_read_again(
    api: Api, sources: list[PrometheusSource], tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    source = PrometheusSource(
        PrometheusAddress(api.url, {"X-Scope-OrgID": "team-a", "X-Other": "1"}, token_file=token)
    )
    sources.append(source)
    source.fetch(DRAFTS, BEGIN, BEGIN + 10)
    token.write_text("two")
    source.fetch(DRAFTS, BEGIN, BEGIN + 10)
    assert [headers["Authorization"] for _, _, headers in api.seen] == ["Bearer one", "Bearer two"]
    assert api.seen[0][2]["X-Scope-OrgID"] == "team-a"
    assert api.seen[0][2]["X-Other"] == "1"


def test_a_token_file_that_went_away_is_said(api: Api, sources: list[PrometheusSource], tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="token file"):
        ask(sources, api.url, token_file=tmp_path / "gone")
    assert api.seen == []


@pytest.mark.parametrize(
    ("status", "kind", "body", "words"),
    [
        (503, "text/plain", b"upstream is away", "503"),
        (422, "application/json", b'{"status":"error","error":"too many samples"}', "422: too many samples"),
        (400, "application/json", b'{"status":"error","error":"parse \\"x\\""}', "400: parse"),
        (401, "text/html", b"<html>Log in</html>", "401"),
        (200, "text/html", b"<html>Log in</html>", "no JSON"),
        (200, "application/json", b"", "no JSON"),
        (200, "application/json", b"[]", "no JSON"),
        (200, "application/json", b'{"status":"success"}', "no JSON"),
        (200, "application/json", b'{"data":{"result":3}}', "no matrix"),
        (200, "application/json", b'{"data":{"result":[{"metric":{},"value":[1,"1"]}]}}', "no matrix"),
        (200, "application/json", b'{"data":{"result":["x"]}}', "no matrix"),
    ],
)
def test_what_is_no_answer_is_said_in_one_line(
    api: Api, sources: list[PrometheusSource], status: int, kind: str, body: bytes, words: str
) -> None:
    api.answer = (status, kind, body)
    with pytest.raises(SourceError, match=words) as caught:
        ask(sources, api.url)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 250


def test_nobody_there_is_said(sources: list[PrometheusSource]) -> None:
    with pytest.raises(SourceError, match="Connection refused"):
        ask(sources, "http://127.0.0.1:1")


def test_an_address_that_is_none_is_said(sources: list[PrometheusSource]) -> None:
    with pytest.raises(SourceError, match=r"^Invalid URL 'prometheus/api/.*No scheme supplied"):
        ask(sources, "prometheus")


def test_an_answer_that_hangs_is_given_up(sources: list[PrometheusSource]) -> None:
    with raw_server(lambda visit: visit.hang()) as server, pytest.raises(SourceError, match="timed out"):
        ask(sources, f"http://127.0.0.1:{server.port}", timeout_s=0.2)


def test_half_an_answer_is_none(sources: list[PrometheusSource]) -> None:
    body = b'{"status":"success","data":{"result":['
    with (
        raw_server(answer(body, length=1000)) as server,
        pytest.raises(SourceError, match="ncomplete"),
    ):
        ask(sources, f"http://127.0.0.1:{server.port}")


def test_a_compressed_answer_is_read(sources: list[PrometheusSource]) -> None:
    body = gzip.compress(b'{"status":"success","data":{"resultType":"matrix","result":[]}}')
    head = ("Content-Type: application/json", "Content-Encoding: gzip")
    with raw_server(answer(body, *head)) as server:
        assert ask(sources, f"http://127.0.0.1:{server.port}") == []


def test_late_samples_and_duplicates_over_http_change_nothing() -> None:
    history, stored, rng = eventful(2, 300), SampleStore(), random.Random(5)
    arrivals = sorted(
        (at + rng.uniform(0, 9.9), metric, identity, at, value)
        for metric, series in history.series.items()
        for identity, samples in series.items()
        for at, value in samples
    )
    steady = new_rounds(history)(None)
    with prometheus_api(stored) as api:
        source = PrometheusSource(PrometheusAddress(api.url))
        watched = make_rounds(SETTINGS, source)(None)
        for now in range(BEGIN + 60, BEGIN + 300, 10):
            while arrivals and arrivals[0][0] <= now:
                _, metric, identity, at, value = arrivals.pop(0)  # a later sample may have come before it
                for _ in range(rng.choice((1, 1, 2))):
                    stored.add(metric, dict(identity), at, value)
            found, expected = catch_up(watched, now), catch_up(steady, now)
        source.close()
    assert plain(found) == plain(expected)
    assert watched.state() == steady.state()
