"""The arguments that an engine is asked to speculate with: vLLM's and SGLang's, in the same words.

Sources: vLLM 0.32 `config/speculative.py` and `engine/arg_utils.py`; SGLang 0.5.23 `arg_groups/`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specwatch_deploy.actuators.spec_args import meaning
from specwatch_deploy.actuators.spec_flags import SGLANG, VLLM
from specwatch_deploy.doctor.draft.json_file import DraftError, Json

_SHORT: Final = {
    "--spec-method": "method",
    "--spec-model": "model",
    "--spec-tokens": "num_speculative_tokens",
}
_ADAPTERS: Final = ("--lora-modules", "--lora-paths", "--enable-lora")


@dataclass(frozen=True, slots=True)
class SpecRequest:
    """What is asked for; None or empty where nothing is said.

    Attributes:
        engine: `vllm` or `sglang`.
        config: vLLM's `--speculative-config`, or SGLang's `--speculative-*` by their names without that prefix.
        model: name or path of the target.
        revision: of the target.
        length: longest context to serve, in tokens.
        parallel: tensor parallel size of the target.
        adapters: the argument that puts LoRA adapters on the target; empty if there is none.
    """

    engine: str
    config: Mapping[str, Any]
    model: str = ""
    revision: str = ""
    length: int | None = None
    parallel: int = 1
    adapters: str = ""

    @property
    def method(self) -> str:
        """The method (vLLM) or algorithm (SGLang); empty if none is given."""
        return str(self.config.get("method" if self.engine == "vllm" else "algorithm") or "")

    @property
    def draft_model(self) -> str:
        """Name or path of the draft, as it is asked for."""
        return str(self.config.get("model" if self.engine == "vllm" else "draft-model-path") or "")

    @property
    def tokens(self) -> int | None:
        """Tokens to draft in a row."""
        return self.number("num_speculative_tokens" if self.engine == "vllm" else "num-steps")

    def number(self, key: str) -> int | None:
        """A whole number of the speculative part.

        Raises:
            DraftError: it is something else.
        """
        value = self.config.get(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise DraftError(f"--args: {key} is {value!r} and not a whole number")


def read_request(text: str) -> SpecRequest:
    """The request in a command line, a part of one, or vLLM's JSON alone.

    Raises:
        DraftError: it says nothing of speculation, or what it says cannot be read.
    """
    words = ["--speculative-config", text] if text.lstrip().startswith("{") else _words(text)
    said = meaning(words, VLLM)
    config = _vllm(said)
    if config is not None:
        return _request("vllm", config, words, ("--max-model-len",), ("--tensor-parallel-size", "-tp"))
    config = {
        flag.removeprefix("--speculative-"): True if value is None else value
        for flag, value in meaning(words, SGLANG).items()
    }
    if not config:
        raise DraftError(
            "--args has neither --speculative-config (vLLM) nor --speculative-algorithm (SGLang); give the "
            "engine's arguments as they stand in the manifest"
        )
    if "draft-model" in config:
        config["draft-model-path"] = config.pop("draft-model")
    return _request("sglang", config, words, ("--context-length",), ("--tp-size", "--tensor-parallel-size", "--tp"))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=False)
    except ValueError as error:
        raise DraftError(f"--args cannot be read as a command line: {error}") from error


def _vllm(said: Mapping[str, Any]) -> Json | None:
    """The speculative configuration, its JSON and its dotted and short flags together."""
    found: Json = {}
    seen = False
    for flag, value in said.items():
        name, _, key = flag.partition(".")
        if name in {"--speculative-config", "-sc"}:
            seen = True
            if key:
                found[key] = value
            elif isinstance(value, dict):
                found |= value
            else:
                raise DraftError(
                    f"--speculative-config is no JSON object but {_shown(value)}; quote it as one argument"
                )
        elif name in _SHORT:
            seen = True
            found[_SHORT[name]] = value
    return found if seen else None


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _request(
    engine: str, config: Json, words: Sequence[str], length: tuple[str, ...], parallel: tuple[str, ...]
) -> SpecRequest:
    return SpecRequest(
        engine=engine,
        config=config,
        model=_model(words),
        revision=_value(words, ("--revision",)) or "",
        length=_tokens(_value(words, length)),
        parallel=_whole(parallel[0], _value(words, parallel)) or 1,
        adapters=next((one for one in _ADAPTERS if any(word.partition("=")[0] == one for word in words)), ""),
    )


def _model(words: Sequence[str]) -> str:
    named = _value(words, ("--model", "--model-path"))
    if named is None and "serve" in words[:-1]:
        after = words[words.index("serve") + 1]
        named = None if after.startswith("-") else after
    return named or ""


def _value(words: Sequence[str], flags: tuple[str, ...]) -> str | None:
    """Value of the last of these flags, spelled as the engines take it."""
    found = None
    for name, value in _pairs(words):
        if (name.replace("_", "-") if name.startswith("--") else name) in flags:
            found = value
    return found


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals:
            yield name, value
        elif at + 1 < len(words):
            yield word, words[at + 1]


def _tokens(text: str | None) -> int | None:
    """A length: 8192, or 8k (1000) and 8K (1024) as vLLM reads them; None for auto and -1."""
    if text is None or text in {"auto", "-1"}:
        return None
    factor = {"k": 1000, "K": 1024, "m": 10**6, "M": 2**20}.get(text[-1:], 1)
    number = text if factor == 1 else text[:-1]
    try:
        return int(float(number) * factor)
    except ValueError as error:
        raise DraftError(f"--args: a context length of {text!r} is no number") from error


def _whole(flag: str, text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError as error:
        raise DraftError(f"--args: {flag} is {text!r} and not a whole number") from error
