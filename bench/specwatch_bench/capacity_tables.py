"""The memory arithmetic as tables: for one model on all cards, and beside what engines said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specwatch_bench.capacity_plan import CARDS, Plan, Wish, plan
from specwatch_bench.capacity_seen import Seen, seen_starts
from specwatch_bench.capacity_shape import Shape, read_shape
from specwatch_bench.report_blocks import Block, Mark, Table, Text, Words

_COLUMNS = (
    "GPU", "weights", "draft", "overhead", "KV cache", "KB a token", "tokens", "requests at once", "headroom",
)  # fmt: skip


def capacity_blocks(shape: Shape, wish: Wish) -> Iterator[Block]:
    """What a replica of one model holds on each card.

    Raises:
        BenchError: a wish that makes no sense for this model.
    """
    plans = [plan(shape, card, wish) for card in CARDS]
    draft = "" if wish.draft is None else f", draft {wish.draft.name}"
    each = f"{wish.gpus} GPU{'s' if wish.gpus > 1 else ''} a replica"
    yield Text(
        f"{shape.name}, {shape.parameters / 1e9:.1f} billion parameters as {plans[0].quantisation}{draft}; {each}, "
        f"{wish.utilisation:.3g} of the memory, {wish.concurrency} requests of {wish.context:,} tokens wanted. "
        "GiB per GPU; headroom is what the KV cache holds beyond the tokens wanted."
    )
    yield Table(_COLUMNS, [_row(one.card.name, one) for one in plans])


def comparison_table(cases: Sequence[tuple[str, str, str | None, str | None]], wish: Wish) -> Table:
    """Headroom of several models on all cards.

    Args:
        cases: words, shape, quantisation, draft.
        wish: the same for all but those.
    """
    rows: list[list[Words]] = []
    for words, name, quantisation, draft in cases:
        own = Wish(
            quantisation=quantisation,
            draft=None if draft is None else read_shape(draft),
            utilisation=wish.utilisation,
            context=wish.context,
            concurrency=wish.concurrency,
        )
        plans = [plan(read_shape(name), card, own) for card in CARDS]
        rows.append([words, f"{plans[0].weights + plans[0].draft:.1f}", *map(_fits, plans)])
    return Table(("model", "weights, GiB", *(card.name for card in CARDS)), rows)


def seen_table() -> Table:
    """The arithmetic beside what vLLM said when it started."""
    return Table(
        ("start", "method", "weights said", "worked out", "error", "KV tokens said", "worked out", "error"),
        [_seen(one) for one in seen_starts()],
        words=2,
    )


def _seen(one: Seen) -> list[Words]:
    return [
        f"{one.shape}, {one.plan.quantisation}",
        one.method,
        f"{one.weights_gib:.2f} GiB",
        f"{one.plan.weights + one.plan.draft:.2f} GiB",
        f"{one.weights_error:+.1%}",
        f"{one.kv_tokens:,}",
        f"{one.plan.tokens:,}",
        f"{one.tokens_error:+.1%}",
    ]


def _row(name: str, one: Plan) -> list[Words]:
    fixed = [f"{one.weights:.1f}", f"{one.draft:.1f}", f"{one.overhead:.1f}", f"{one.kv:.1f}"]
    if one.kv <= 0:
        return [name, *fixed, "-", "-", "-", Mark("does not fit", "bad")]
    return [
        name,
        *fixed,
        f"{one.kv_token_bytes / 1000:.0f}",
        f"{one.tokens:,}",
        f"{one.requests:.1f}",
        _headroom(one),
    ]


def _headroom(one: Plan) -> Words:
    found = one.headroom
    if found is None:
        return Mark("does not fit", "bad")
    words = f"{found:+.0%}" if found < 10 else f"{found + 1:.0f}x"
    return Mark(words, "bad") if found < 0 else words


def _fits(one: Plan) -> Words:
    if one.kv <= 0:
        return Mark(f"does not fit, {-one.kv:.1f} GiB short", "bad")
    words = f"{one.tokens:,} tokens, {one.requests:.0f} requests"
    return Mark(f"{words}: too few", "bad") if one.tokens < one.needed else words
