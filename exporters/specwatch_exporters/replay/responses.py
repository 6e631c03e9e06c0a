"""Bodies of completion and chat responses, whole and streamed, as vLLM 0.32 writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from specwatch_exporters.replay.request_metrics import without_nulls

FINGERPRINT = "vllm-0.32.0-replay"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all bodies of one response share.

    Attributes:
        created: whole seconds since the epoch.
    """

    response_id: str
    chat: bool
    model: str
    created: int
    prompt_tokens: int

    def usage(self, completion_tokens: int) -> dict[str, int]:
        """The usage object."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + completion_tokens,
            "completion_tokens": completion_tokens,
        }

    def role_chunk(self) -> dict[str, Any]:
        """A chat stream's first chunk: a role and no text; it comes with the first token, not before."""
        choice = {"index": 0, "delta": {"role": "assistant", "content": ""}}
        chunk = self._chunk([{**choice, "logprobs": None, "finish_reason": None}])
        return {**chunk, "prompt_token_ids": None, "prompt_text": None}

    def text_chunk(self, text: str, finish: str | None) -> dict[str, Any]:
        """One step's text."""
        if not self.chat:
            choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
            return self._chunk([{**choice, "stop_reason": None, "prompt_token_ids": None, "token_ids": None}])
        choice = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": finish}
        if finish is not None:
            choice["stop_reason"] = None
        return self._chunk([{**choice, "token_ids": None}])

    def usage_chunk(self, completion_tokens: int, metrics: dict[str, Any] | None) -> dict[str, Any]:
        """The last chunk of a stream with `include_usage`; nulls are left out."""
        chunk = self._chunk([])
        chunk["usage"] = self.usage(completion_tokens)
        self.stamp(chunk)
        if metrics is not None:
            chunk["metrics"] = without_nulls(metrics)
        return chunk

    def stamp(self, chunk: dict[str, Any]) -> None:
        """Put the fingerprint on the last chunk of all, as vLLM 0.32 does."""
        chunk["system_fingerprint"] = FINGERPRINT

    def whole(
        self, text: str, finish: str, completion_tokens: int, metrics: dict[str, Any] | None
    ) -> dict[str, Any]:
        """A response that is not streamed; nulls stay."""
        details = {"prompt_tokens_details": None, "completion_tokens_details": None}
        prompt = {"prompt_logprobs": None, "prompt_token_ids": None, "prompt_text": None} if self.chat else {}
        return {
            "id": self.response_id,
            "object": "chat.completion" if self.chat else "text_completion",
            "created": self.created,
            "model": self.model,
            "choices": [self._whole_choice(text, finish)],
            "service_tier": None,
            "system_fingerprint": FINGERPRINT,
            "usage": {**self.usage(completion_tokens), **details},
            **prompt,
            "kv_transfer_params": None,
            "ec_transfer_params": None,
            "metrics": metrics,
        }

    def _whole_choice(self, text: str, finish: str) -> dict[str, Any]:
        ending = {
            "logprobs": None,
            "finish_reason": finish,
            "stop_reason": None,
            "token_ids": None,
            "routed_experts": None,
        }
        if not self.chat:
            return {"index": 0, "text": text, **ending, "prompt_logprobs": None, "prompt_token_ids": None}
        message = {
            "role": "assistant",
            "content": text,
            "refusal": None,
            "annotations": None,
            "audio": None,
            "function_call": None,
            "reasoning": None,
        }
        return {"index": 0, "message": message, **ending}

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.response_id,
            "object": "chat.completion.chunk" if self.chat else "text_completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        }


def json_response(body: dict[str, Any], status: int = 200) -> web.Response:
    """A JSON response with the media type that vLLM's server writes."""
    return web.Response(body=_compact(body), status=status, headers={"Content-Type": "application/json"})


def event(body: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + _compact(body) + b"\n\n"


def _compact(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


DONE = b"data: [DONE]\n\n"
