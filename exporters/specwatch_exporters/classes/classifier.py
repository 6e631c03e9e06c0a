"""What the request sidecar needs of a classifier."""

from __future__ import annotations

from typing import Protocol


class Classifier(Protocol):
    """Gives a prompt its traffic class.

    An implementation is called from several threads at once, keeps nothing of the text, costs about the same for a
    prompt of 10 MiB as for one of 4,000 characters, and never raises on a `str`.
    """

    def classify(self, text: str) -> str:
        """Return the traffic class of a prompt, one of a fixed, small set of names."""
        ...
