"""The parts of a runbook: sections, queries, commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from specwatch_alerts.origin import Origin
from specwatch_alerts.runbook_files import runbook_text

HEADINGS = ("What it means", "Impact", "Confirm", "Likely causes", "What to do", "Undo", "Escalate")
_FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w+)\n(?P<body>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
_BARE = "### Without the sidecar\n"
_ENGINES = {Origin.VLLM: "vLLM", Origin.SGLANG: "SGLang"}
_ENDS = frozenset({"|", ">", "&", "&&", ";", "||"})


@dataclass(frozen=True)
class RunbookPage:
    """A runbook by the name of its alert."""

    name: str

    @cached_property
    def text(self) -> str:
        return runbook_text(self.name)

    @cached_property
    def sections(self) -> dict[str, str]:
        """Text by heading, in the page's order."""
        _, *parts = re.split(r"^## (.+)\n", self.text, flags=re.MULTILINE)
        return dict(zip(parts[::2], parts[1::2], strict=True))

    def fenced(self, kind: str, text: str | None = None) -> list[str]:
        found = _FENCE.finditer(self.text if text is None else text)
        return [block["body"].strip() for block in found if block["kind"] == kind]

    @property
    def queries(self) -> list[str]:
        """Queries that confirm, on the sidecar's series where engines have series for it, too."""
        return self.fenced("promql", self.sections["Confirm"].partition(_BARE)[0])

    @property
    def engine_queries(self) -> dict[Origin, list[str]]:
        """Queries that confirm on an engine's own series; only of engines that the page has."""
        bare = self.sections["Confirm"].partition(_BARE)[2]
        found = {}
        for origin, title in _ENGINES.items():
            _, here, text = bare.partition(f"{title}:\n") if f"{title}:\n" in bare else bare.partition(f"{title}, ")
            if here:
                rest = re.split(rf"^(?:{'|'.join(_ENGINES.values())})[:,]", text, flags=re.MULTILINE)[0]
                found[origin] = self.fenced("promql", rest)
        return found

    @property
    def prose(self) -> str:
        return _FENCE.sub("", self.text)

    def commands(self) -> Iterator[list[str]]:
        """Words of each command in a block, cut at pipes and redirections."""
        for block in self.fenced("sh"):
            for line in block.replace("\\\n", " ").splitlines():
                yield from split_commands(line)

    def mentioned(self) -> Iterator[list[str]]:
        """Words of each `specwatch ...` command that is named in the prose."""
        for code in re.findall(r"`([^`\n]+)`", self.prose):
            if code.startswith("specwatch "):
                yield shlex.split(code)


def split_commands(line: str) -> Iterator[list[str]]:
    """Words of the commands of a line of shell."""
    lexer = shlex.shlex(line.strip(), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    skip = False
    for word in lexer:
        if word in _ENDS:
            if words:
                yield words
            words, skip = [], word == ">"
        elif skip:
            skip = False
        else:
            words.append(word)
    if words:
        yield words
