"""From 0.32 on vLLM counts an n-gram draft at every step, with filler where nothing matches."""

from __future__ import annotations

from specwatch_exporters.method_name import spelling
from specwatch_exporters.notices import Notice


def ngram_notice(method: str | None, version: str | None) -> Notice | None:
    """The notice for vLLM's n-gram drafts from 0.32 on (V2 model runner), or None."""
    if spelling(method or "") != "ngram" or not _from_0_32(version):
        return None
    return Notice(
        "ngram_counts_all",
        "vLLM 0.32 and newer draft at every n-gram step, match or not: drafts jump with the upgrade "
        "and acceptance drops, without a regression.",
    )


def _from_0_32(version: str | None) -> bool:
    parts = (version or "").split(".")
    return (
        len(parts) > 1 and all(part.isdigit() for part in parts[:2]) and (int(parts[0]), int(parts[1])) >= (0, 32)
    )
