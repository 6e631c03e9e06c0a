"""KV cache by block count: enough to show usage and to run out."""

from __future__ import annotations

from specwatch_exporters.replay.sequence import Sequence


class KvCache:
    """Blocks of a fixed size, held by sequences.

    Args:
        tokens: size in tokens, rounded down to whole blocks.
        block_size: tokens per block.
    """

    def __init__(self, tokens: int, block_size: int) -> None:
        self._block_size = block_size
        self.blocks = tokens // block_size
        self.held = 0

    @property
    def usage(self) -> float:
        """Share of the blocks that are held, 0 to 1."""
        return self.held / self.blocks

    def grow(self, sequence: Sequence, tokens: int) -> bool:
        """Give a sequence room for `tokens` in all; False, and nothing changed, when blocks are lacking."""
        needed = -(-tokens // self._block_size)
        more = max(needed - sequence.blocks, 0)
        if self.held + more > self.blocks:
            return False
        sequence.blocks += more
        self.held += more
        return True

    def free(self, sequence: Sequence) -> None:
        """Take all blocks back."""
        self.held -= sequence.blocks
        sequence.blocks = 0
