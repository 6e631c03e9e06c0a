"""What the operator declares about the engine, laid over what the page says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from specwatch_exporters.ngram_counts import ngram_notice
from specwatch_exporters.page import UNKNOWN_MODEL, Declared, Page
from specwatch_exporters.sidecar.version_probe import EngineFacts

OFF = "off"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Declaration:
    """Settings that no engine page tells for certain.

    Attributes:
        method: speculation method as configured (`eagle3`, `ngram`, ...), `off`, or None if not declared.
        speculative_tokens: K as configured, or None.
        model: name for series that carry no model label, or None.
    """

    method: str | None = None
    speculative_tokens: int | None = None
    model: str | None = None

    def name_model(self, page: Page) -> None:
        """Give the declared name to series that carry no model label (TensorRT-LLM's JSON, Ray)."""
        if self.model is not None and UNKNOWN_MODEL in page.models():
            _rename(page, self.model)

    def apply(self, page: Page, facts: EngineFacts) -> None:
        """Complete a page: the declaration wins over the engine's endpoints, and those over inference."""
        method = self.method or facts.method
        for model in page.models():
            if method is not None and method != OFF:
                page.methods[model] = method
            changed = ngram_notice(method, facts.version) if page.engine == "vllm" else None
            if changed is not None:
                page.note(changed.code, changed.message)
            depth = self.speculative_tokens or facts.speculative_tokens
            if depth is not None:
                page.speculative_tokens[model] = depth
            self._check(page, model, facts)

    def _check(self, page: Page, model: str, facts: EngineFacts) -> None:
        """A declared method and a page without speculative series contradict each other: that is unknown."""
        if page.declared.get(model) is Declared.UNKNOWN:
            page.declared[model] = facts.declared
        if self.method == OFF:
            page.declared[model] = Declared.OFF
        elif self.method is not None and page.declared.get(model) is Declared.OFF:
            page.declared[model] = Declared.UNKNOWN


def _rename(page: Page, name: str) -> None:
    page.counters = {
        id_._replace(model=name) if id_.model == UNKNOWN_MODEL else id_: value
        for id_, value in page.counters.items()
    }
    page.gauges = {
        id_._replace(model=name) if id_.model == UNKNOWN_MODEL else id_: value for id_, value in page.gauges.items()
    }
    _move(page.declared, name)
    _move(page.reported, name)
    _move(page.speculative_tokens, name)
    _move(page.methods, name)
    _move(page.facts, name)
    if UNKNOWN_MODEL in page.speculative:
        page.speculative = page.speculative - {UNKNOWN_MODEL} | {name}


def _move(table: dict[str, T], name: str) -> None:
    if UNKNOWN_MODEL in table:
        table[name] = table.pop(UNKNOWN_MODEL)
