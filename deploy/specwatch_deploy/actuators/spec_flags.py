"""Which command-line arguments of an engine decide about speculation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_NEXT_FLAG: Final = re.compile(r"--?[A-Za-z]")


@dataclass(frozen=True, slots=True)
class SpecFlags:
    """Speculative flags of one engine.

    Attributes:
        engine: name.
        exact: flags.
        prefixes: of flags.
        switches: those of them that take no value.
    """

    engine: str
    exact: frozenset[str]
    prefixes: tuple[str, ...] = ()
    switches: frozenset[str] = frozenset()

    def spans(self, args: Sequence[str]) -> list[range]:
        """Where the speculative arguments are: one range per flag, with its value."""
        found: list[range] = []
        at = 0
        while at < len(args):
            size = self._size(args, at)
            if size:
                found.append(range(at, at + size))
            at += max(1, size)
        return found

    def name(self, argument: str) -> str:
        """The flag of an argument, as the engine spells it; empty for what is no speculative flag.

        `--flag=value` and `--flag_name` are read as the engines read them, and `--flag.key` as a part of `--flag`.
        """
        if not argument.startswith("-"):
            return ""
        flag = argument.partition("=")[0].partition(".")[0]
        flag = flag.replace("_", "-") if flag.startswith("--") else flag
        return flag if flag in self.exact or flag.startswith(self.prefixes) else ""

    def _size(self, args: Sequence[str], at: int) -> int:
        """Number of arguments of the flag here, 0 if there is none."""
        flag = self.name(args[at])
        if not flag:
            return 0
        last = at + 1 == len(args)
        alone = "=" in args[at] or flag in self.switches or last or bool(_NEXT_FLAG.match(args[at + 1]))
        return 1 if alone else 2


VLLM: Final = SpecFlags(
    "vllm",
    # vllm/engine/arg_utils.py 0.32 (the last three are a short form of the first); the prefixes are of 0.6/0.7
    frozenset({"--speculative-config", "-sc", "--spec-method", "--spec-model", "--spec-tokens"}),
    ("--speculative-", "--num-speculative-tokens", "--ngram-prompt-lookup-", "--spec-decoding-"),
    frozenset({"--speculative-disable-mqa-scorer"}),
)
SGLANG: Final = SpecFlags(
    "sglang",
    frozenset(),
    ("--speculative-",),  # server_args.py 0.4 to 0.5.23: every speculative flag begins so
    frozenset({"--speculative-adaptive"}),
)
ENGINES: Final = {flags.engine: flags for flags in (VLLM, SGLANG)}
"""TensorRT-LLM is not here: its speculation is in a file, see `spec_place.ConfigMapVolume`."""
