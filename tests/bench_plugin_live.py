"""The plugin's cost on two engines that run already, one with it and one without, and whether the counts agree.

    python tests/bench_plugin_live.py --with URL --without URL [--sidecar URL] [--concurrency 32] [--rounds 6]

Rounds alternate between the engines, so both see the same machine. Standard library only, so that it runs on a GPU
machine that has nothing else. `--sidecar` is a scrape sidecar of the engine with the plugin: its counts, the
plugin's and vLLM's own must be equal once the load has ended.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

PROMPT_TOKENS, OUTPUT_TOKENS = 128, 192
COUNTS = {
    "drafts": ("vllm:spec_decode_num_drafts_total", "specwatch_drafts_total"),
    "draft tokens": ("vllm:spec_decode_num_draft_tokens_total", "specwatch_draft_tokens_total"),
    "accepted tokens": ("vllm:spec_decode_num_accepted_tokens_total", "specwatch_accepted_tokens_total"),
    "output tokens": ("vllm:generation_tokens_total", "specwatch_generation_tokens_total"),
}


def complete(url: str, model: str, seed: int) -> None:
    """One completion of a fixed length."""
    prompt = [10 + (seed * 7919 + i * 104729) % 20_000 for i in range(PROMPT_TOKENS)]
    body = {"model": model, "prompt": prompt, "max_tokens": OUTPUT_TOKENS, "temperature": 0, "ignore_eos": True}
    request = urllib.request.Request(
        f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        answer.read()


def tokens_per_second(url: str, model: str, concurrency: int, seed: int) -> float:
    """Output tokens per second of three waves at a fixed concurrency."""
    count = 3 * concurrency
    began = time.perf_counter()
    with ThreadPoolExecutor(concurrency) as pool:
        list(pool.map(lambda index: complete(url, model, seed * 10_000 + index), range(count)))
    return count * OUTPUT_TOKENS / (time.perf_counter() - began)


def total(url: str, name: str) -> float:
    """Sum of a series on a page."""
    page = urllib.request.urlopen(f"{url}/metrics", timeout=10).read().decode()
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", page, re.MULTILINE))


def agreement(engine: str, sidecar: str | None) -> list[str]:
    """One row per count: vLLM's own, the plugin's, the sidecar's."""
    time.sleep(3.0)
    rows = ["| count | vLLM | plugin | sidecar |", "|---|---|---|---|"]
    for what, (own, canonical) in COUNTS.items():
        plugin = total(engine, canonical)
        shown = f"{plugin:.0f}" if plugin else "not counted"
        beside = "not run" if sidecar is None else f"{total(sidecar, canonical):.0f}"
        rows.append(f"| {what} | {total(engine, own):.0f} | {shown} | {beside} |")
    return rows


def measure(urls: Mapping[str, str], concurrency: int, rounds: int) -> list[str]:
    """Warm up, alternate, and say what the plugin costs."""
    models = {
        name: json.load(urllib.request.urlopen(f"{url}/v1/models", timeout=10))["data"][0]["id"]
        for name, url in urls.items()
    }
    found: dict[str, list[float]] = {name: [] for name in urls}
    for name, url in urls.items():
        tokens_per_second(url, models[name], concurrency, seed=0)
    for round_ in range(1, rounds + 1):
        order = list(urls) if round_ % 2 else list(reversed(list(urls)))
        for name in order:
            found[name].append(tokens_per_second(urls[name], models[name], concurrency, round_))
    ratios = [left / right for left, right in zip(found["with"], found["without"], strict=True)]
    return [
        f"concurrency {concurrency}, {rounds} paired rounds of {3 * concurrency} requests, {OUTPUT_TOKENS} tokens",
        f"tokens/s with the plugin    {' '.join(f'{value:.0f}' for value in found['with'])}",
        f"tokens/s without it         {' '.join(f'{value:.0f}' for value in found['without'])}",
        f"with / without: median {statistics.median(ratios):.4f}, from {min(ratios):.4f} to {max(ratios):.4f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with", dest="with_plugin", required=True)
    parser.add_argument("--without", required=True)
    parser.add_argument("--sidecar")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[32])
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    for concurrency in given.concurrency:
        urls = {"with": given.with_plugin, "without": given.without}
        print("\n".join(measure(urls, concurrency, given.rounds)), end="\n\n", flush=True)
    print("\n".join(agreement(given.with_plugin, given.sidecar)), flush=True)


if __name__ == "__main__":
    main()
