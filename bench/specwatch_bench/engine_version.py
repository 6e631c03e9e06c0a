"""Which version an engine says it is."""

from __future__ import annotations

import aiohttp

from specwatch_exporters.json_text import decode


async def version_of(url: str) -> str | None:
    """What the engine says of itself at `/version` (vLLM, TensorRT-LLM) or `/server_info` (SGLang), else None."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5.0)) as session:
        for path in ("/version", "/server_info"):
            try:
                async with session.get(f"{url}{path}") as response:
                    body = decode(await response.text())
            except (aiohttp.ClientError, TimeoutError, OSError):
                continue
            version = body.get("version") if isinstance(body, dict) else None
            if isinstance(version, str):
                return version
    return None
