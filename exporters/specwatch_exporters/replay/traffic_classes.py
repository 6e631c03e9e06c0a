"""Traffic classes of the replay engine and the acceptance that each has by default.

The defaults are published values, not measurements of this project: per-position acceptance at temperature
0 of Llama-3.1-8B-Instruct with its EAGLE head and with prompt lookup, from the SpecDecode-Bench simulator's
traces (arXiv:2601.11580) on instructcoder (code), ShareGPT (chat) and GSM8K (math). Another target with
another draft has other values, so they are illustrative for the profiles' models. P-EAGLE has no published
per-position values; it takes the EAGLE head's at K=5.
"""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_exporters.replay.chain import Rates

CLASS_HEADER = "x-specwatch-class"


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """One kind of request.

    Attributes:
        name: label that a request carries in its header, `user` or `metadata`.
        mean_output_tokens: mean natural length, end token included, of a request that may stop by itself;
            lengths are geometric.
        spread: standard deviation, in log-odds, of what each request adds to its conditional acceptance.
            0 gives pure chains; real traffic is spread (0.5 widens a request's rate by about 0.1).
    """

    name: str
    mean_output_tokens: float = 200.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if self.mean_output_tokens < 1:
            raise ValueError(f"class {self.name!r}: mean_output_tokens must be at least 1")
        if self.spread < 0:
            raise ValueError(f"class {self.name!r}: spread must not be negative")


DEFAULT_CLASSES: tuple[TrafficClass, ...] = (
    TrafficClass("code", mean_output_tokens=260),
    TrafficClass("chat", mean_output_tokens=180),
    TrafficClass("math", mean_output_tokens=220),
)

_EAGLE: dict[str, Rates] = {
    "code": (0.6357, 0.4241, 0.3012),
    "chat": (0.6234, 0.3823, 0.2523),
    "math": (0.6848, 0.4430, 0.2834),
}
_EAGLE_DEEP: dict[str, Rates] = {
    "code": (0.6145, 0.3939, 0.2727, 0.2043, 0.1571),
    "chat": (0.6066, 0.3617, 0.2340, 0.1625, 0.1185),
    "math": (0.6776, 0.4380, 0.2784, 0.1834, 0.1153),
}
_NGRAM: dict[str, Rates] = {
    "code": (0.3752, 0.3432, 0.3172),
    "chat": (0.1605, 0.1285, 0.1067),
    "math": (0.0853, 0.0495, 0.0304),
}
_BY_METHOD = {"eagle3": _EAGLE, "peagle": _EAGLE_DEEP, "ngram": _NGRAM}


def default_acceptance(method: str, name: str) -> Rates:
    """Acceptance of a class under a drafter; a class without its own values has those of `chat`.

    Returns:
        Unconditional acceptance per position; empty when speculation is off.
    """
    table = _BY_METHOD.get(method)
    if table is None:
        return ()
    return table.get(name, table["chat"])
