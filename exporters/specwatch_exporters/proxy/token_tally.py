"""Tokens of one streamed answer: those that its chunks tell, and those that only its end tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specwatch_exporters.proxy.response_reading import Chunk
from specwatch_exporters.proxy.token_gaps import TokenGaps, TokenSample
from specwatch_exporters.request_labels import BATCH_LABELS

_INDEX: Final = {label: index for index, label in enumerate(BATCH_LABELS)}


class TokenTally:
    """Counts tokens chunk by chunk; gaps of chunks that do not tell are kept until the usage does.

    The first token of an answer has no gap before it; those that come in the same read as it have none either, so
    the samples of an answer are one fewer than its tokens, and their sum is the time from the first to the last.
    A first event whose tokens are not told counts as one: the step that reads the prompt verifies no draft.
    """

    __slots__ = ("_firsts", "_gaps", "_told")

    def __init__(self) -> None:
        self._gaps = TokenGaps()
        self._told = 0
        self._firsts = 0

    def first(self, chunk: Chunk, batch: str) -> int:
        """A choice's first text came.

        Returns:
            Tokens that came with the first one, if that is told.
        """
        if chunk.tokens is not None:
            self._told += chunk.tokens
            return max(0, chunk.tokens - 1)
        self._firsts += 1
        if chunk.events > 1:
            self._gaps.add(0.0, chunk.events - 1, _INDEX[batch])
        return 0

    def more(self, chunk: Chunk, gap: float, batch: str) -> None:
        """More of a choice's text came, this long after the text before it."""
        if chunk.tokens is None:
            self._gaps.add(gap, chunk.events, _INDEX[batch])
        else:
            self._told += chunk.tokens

    def samples(self, total: int, per_step_accepted: Sequence[int]) -> list[TokenSample]:
        """Share out the tokens that no chunk told.

        Args:
            total: tokens of the whole answer.
            per_step_accepted: accepted tokens of each verify step, where the engine tells: with one event per step
                every chunk gets exactly its own.
        """
        steps = [accepted + 1 for accepted in per_step_accepted] if self._firsts == 1 else []
        return list(self._gaps.samples(total - self._told - self._firsts, steps))
