"""Small pages for reader tests, and a short way to read them."""

from __future__ import annotations

from typing import Any

from specwatch_exporters.inspection import Content, inspect

PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"


def read(text: str, since: str | None = None, **kwargs: str) -> dict[str, Any]:
    """Inspect a page, or the span since an earlier one."""
    earlier = None if since is None else Content("earlier", since.encode())
    return inspect(Content("page", text.encode(), **kwargs), earlier).to_json()


def codes(report: dict[str, Any]) -> set[str]:
    """Codes of all warnings."""
    return {warning["code"] for warning in report["warnings"]}


def sample(name: str, value: object, **labels: str) -> str:
    """One line of a page, of model m unless another is given."""
    pairs = ",".join(f'{label}="{text}"' for label, text in {"model_name": "m", **labels}.items())
    return f"{name}{{{pairs}}} {value}\n"


def vllm(
    drafts: float, drafted: float, accepted: float, *, engine: str = "0", tokens: float = 0, more: str = ""
) -> str:
    labels = f'{{engine="{engine}",model_name="m"}}'
    return (
        f"vllm:spec_decode_num_drafts_total{labels} {drafts}\n"
        f"vllm:spec_decode_num_draft_tokens_total{labels} {drafted}\n"
        f"vllm:spec_decode_num_accepted_tokens_total{labels} {accepted}\n"
        f"vllm:generation_tokens_total{labels} {tokens}\n{more}"
    )


def positions(*counts: tuple[int, int]) -> str:
    return "".join(f'{PER_POSITION}{{model_name="m",engine="0",position="{p}"}} {n}\n' for p, n in counts)
