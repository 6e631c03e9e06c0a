"""Versions as engines tell them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from specwatch_bench.engine_version import version_of


@pytest.mark.parametrize(
    ("pages", "version"),
    [
        ({"/version": {"version": "0.25.1"}}, "0.25.1"),
        ({"/server_info": {"model_path": "m", "version": "0.5.17"}}, "0.5.17"),
        ({"/version": {"version": 1}, "/server_info": ["x"]}, None),
        ({}, None),
    ],
)
def test_the_version_is_what_the_engine_says(pages: dict[str, Any], version: str | None) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response(pages[request.path])

    async def asked() -> str | None:
        app = web.Application()
        for path in pages:
            app.router.add_get(path, answer)
        async with TestServer(app) as server:
            return await version_of(str(server.make_url("")).rstrip("/"))

    assert asyncio.run(asked()) == version


def test_nobody_there_is_no_version() -> None:
    assert asyncio.run(version_of("http://127.0.0.1:9")) is None
