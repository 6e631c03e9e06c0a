"""Draft counts per traffic class: what the engine knows and vLLM's page does not show."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ClassTally:
    """Draft steps of one class since the start.

    Attributes:
        per_position: accepted tokens at each position, as many entries as the configured K.
    """

    drafts: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    per_position: list[int] = field(default_factory=list)

    @classmethod
    def of_depth(cls, depth: int) -> ClassTally:
        """An empty tally for K positions."""
        return cls(per_position=[0] * depth)

    def note(self, drafted: int, kept: int) -> None:
        """Add one draft step."""
        self.drafts += 1
        self.draft_tokens += drafted
        self.accepted_tokens += kept
        for position in range(kept):
            self.per_position[position] += 1
