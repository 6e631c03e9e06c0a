"""Compare the request sidecar with other proxies, side by side in one run: `make bench-proxy`.

    PYTHONPATH=tests .venv/bin/python tests/bench_proxy/run.py

Every proxy has one core for itself; one stub upstream and one load generator share the others. All proxies are up
all the time, and every phase visits them one after the other in each round, so that what else the machine does hits
all alike. A second run waits until the first is over. docs/proxy-performance.md keeps a printed result and says how
to read it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from bench_proxy.aiohttp_contender import AIOHTTP
from bench_proxy.bench import Bench
from bench_proxy.comparison import DirectError, compare
from bench_proxy.contender import Contender, UnavailableError
from bench_proxy.litellm_contender import LITELLM
from bench_proxy.machine import share_cores
from bench_proxy.nginx_contender import NGINX
from bench_proxy.pinned_venv import FOLDER, provide_venv
from bench_proxy.plan import ROUNDS
from bench_proxy.router_contender import ROUTER
from bench_proxy.specwatch_contender import specwatch_contenders
from bench_proxy.start_up import StubError
from bench_proxy.table import report, report_json
from engine.setup_vllm import only_one

STOPPING = (signal.SIGINT, signal.SIGTERM)


def known_contenders() -> tuple[Contender, ...]:
    """The proxies in the order of the table; the last takes part only where it is named."""
    return (*specwatch_contenders(), NGINX, ROUTER, LITELLM, AIOHTTP)


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare the request sidecar with other proxies.")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"how often all is measured, {ROUNDS} if not given"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these contenders beside direct")
    parser.add_argument("--wait", type=float, default=300, metavar="SECONDS", help="patience with a busy machine")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="all figures, instead or into a file")
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1:
        parser.error("--rounds must be 1 or more")
    unknown = set(chosen.only) - {contender.name for contender in known_contenders()}
    if unknown:
        names = ", ".join(repr(contender.name) for contender in known_contenders())
        parser.error(f"no contender {min(unknown)!r}; there are {names}")
    return chosen


def say(line: str) -> None:
    """Tell the person how far it is, beside the result."""
    print(line, file=sys.stderr, flush=True)


def stop(number: int, frame: FrameType | None) -> None:
    """End everything that runs; a second signal does not disturb that."""
    del number, frame
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; return 1 and one line where nothing could be measured."""
    chosen = read_arguments(arguments)
    for each in STOPPING:
        signal.signal(each, stop)
    only = chosen.only or {each.name for each in known_contenders()} - {AIOHTTP.name}
    wanted = [each for each in known_contenders() if each.name in only]
    try:
        with only_one(FOLDER / "run.lock"), tempfile.TemporaryDirectory(prefix="bench-proxy-") as folder:
            bench = Bench(provide_venv("load") / "bin" / "python", share_cores(), Path(folder), say)
            entries, conditions = compare(bench, wanted, chosen.rounds, chosen.wait)
    except (UnavailableError, StubError, DirectError) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("stopped; nothing is left running")
        return 130
    found = json.dumps(report_json(entries, conditions), indent=1)
    if chosen.json not in {None, "-"}:
        Path(chosen.json).write_text(found + "\n")
    print(found if chosen.json == "-" else report(entries, conditions))
    return 0


if __name__ == "__main__":
    sys.exit(main())
