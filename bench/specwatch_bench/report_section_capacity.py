"""The section about memory."""

from __future__ import annotations

from typing import Final

from specwatch_bench.capacity_plan import CARDS, Wish
from specwatch_bench.capacity_tables import comparison_table, seen_table
from specwatch_bench.report_blocks import Block, Bullets, Section, Text
from specwatch_bench.report_prose import sentence, sentences

_CASES: Final = (
    ("Llama 3.3 70B, bf16", "llama-3.3-70b", "bf16", None),
    ("Llama 3.3 70B, FP8, EAGLE-3", "llama-3.3-70b", "fp8", "llama-3.3-70b-eagle3"),
    ("Llama 3.3 70B, AWQ INT4, EAGLE-3", "llama-3.3-70b-awq", "awq", "llama-3.3-70b-eagle3"),
    ("Qwen3-Coder-30B-A3B, bf16, EAGLE-3", "qwen3-coder-30b-a3b", "bf16", "qwen3-coder-30b-a3b-eagle3"),
    ("Qwen3-Coder-30B-A3B, FP8, EAGLE-3", "qwen3-coder-30b-a3b", "fp8", "qwen3-coder-30b-a3b-eagle3"),
    ("GPT-OSS-120B, MXFP4, EAGLE-3", "gpt-oss-120b", "mxfp4", "gpt-oss-120b-eagle3"),
)


def capacity_section() -> Section:
    """What a replica holds on each card, and how far the arithmetic is from what engines said."""
    wish = Wish()
    cards = "; ".join(f"{card.name}: {card.gib:.2f} GiB ({card.source})" for card in CARDS)
    asked = {"utilisation": wish.utilisation, "concurrency": wish.concurrency, "context": f"{wish.context:,}"}
    blocks: list[Block] = [
        Text(sentence("capacity_lead", **asked)),
        comparison_table(_CASES, wish),
        Text("The same arithmetic for every start that was made, beside vLLM's own lines at that start:"),
        seen_table(),
        Bullets(sentences("capacity", cards=cards)),
    ]
    return Section("capacity", "What fits on a GPU", blocks)
