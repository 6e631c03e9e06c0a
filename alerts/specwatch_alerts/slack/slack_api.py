"""Slack's Web API as the sender needs it: each call is done, or raises a `CallError` that says what became of it.

Needs slack-sdk (`pip install '.[slack]'`). Its own retries are off: they sleep within the call, and repeat posts
whose first try may have worked (slack-sdk 3.48, http_retry/builtin_handlers.py).
"""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.error import URLError

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from specwatch_alerts.slack.call_error import CallError, Fate, advice, fate_of
from specwatch_alerts.slack.message import Message
from specwatch_alerts.slack.secret_file import SecretError, SecretFile

API: Final = "https://slack.com/api/"
EVENT: Final = "specwatch_alert"
_PAGE: Final = 100
_MOST_PAGES: Final = 30
_QUIET: Final = logging.getLogger("specwatch.slack.sdk")
_QUIET.setLevel(logging.CRITICAL)  # it logs each failure, and bodies at DEBUG; we tell failures ourselves


class SlackApi:
    """Calls Slack.

    Args:
        token: the bot token's file.
        base_url: of the Web API.
        timeout_s: seconds of silence after which a call is given up.
        count: told the method and the outcome of each call.
    """

    def __init__(
        self,
        token: SecretFile,
        base_url: str = API,
        timeout_s: float = 10.0,
        count: Callable[[str, str], None] = lambda _method, _outcome: None,
    ) -> None:
        self._token = token
        self._base_url = base_url
        self._timeout = max(1, round(timeout_s))
        self._count = count

    def post(self, channel: str, message: Message, key: str, thread: str = "", *, broadcast: bool = False) -> str:
        """Post a message, or a reply to one; its `ts`."""
        more: dict[str, Any] = {"thread_ts": thread, "reply_broadcast": broadcast} if thread else {}
        metadata = {"event_type": EVENT, "event_payload": {"key": key}}
        answer = self._call(
            "chat.postMessage",
            {
                "channel": channel,
                **_content(message),
                **more,
                "metadata": metadata,
                "unfurl_links": False,
                "unfurl_media": False,
            },
        )
        ts = answer.get("ts")
        if not isinstance(ts, str) or not ts:
            raise CallError(Fate.UNCERTAIN, "no_ts", "Slack's answer to chat.postMessage has no ts")
        return ts

    def update(self, channel: str, ts: str, message: Message, key: str) -> None:
        """Make a message say something else."""
        metadata = {"event_type": EVENT, "event_payload": {"key": key}}
        self._call("chat.update", {"channel": channel, "ts": ts, **message.arguments(), "metadata": metadata})

    def find(self, channel: str, key: str, since: float, thread: str = "") -> str | None:
        """`ts` of the message with this key that was posted after `since` (epoch seconds), or None."""
        method = "conversations.replies" if thread else "conversations.history"
        arguments: dict[str, Any] = {
            "channel": channel,
            "oldest": f"{since:.6f}",
            "limit": _PAGE,
            "include_all_metadata": True,
            **({"ts": thread} if thread else {}),
        }
        for _ in range(_MOST_PAGES):
            answer = self._call(method, arguments, as_form=True)
            for message in answer.get("messages") or []:
                if _key(message) == key:
                    return str(message.get("ts"))
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return None
            arguments["cursor"] = cursor
        return None

    def upload(self, channel: str, thread: str, picture: bytes, name: str, title: str, words: str) -> None:
        """Attach a picture to a thread."""
        self._counted(
            "files_upload_v2",
            lambda client: client.files_upload_v2(
                filename=name, content=picture, title=title, alt_txt=words, channel=channel, thread_ts=thread
            ),
        )

    def tell(self, channel: str, user: str, text: str) -> None:
        """Tell one person in a channel."""
        self._call("chat.postEphemeral", {"channel": channel, "user": user, "text": text})

    def _call(self, method: str, arguments: Mapping[str, Any], *, as_form: bool = False) -> Mapping[str, Any]:
        given = dict(arguments)
        if as_form:
            return self._counted(method, lambda client: client.api_call(method, params=given))
        return self._counted(method, lambda client: client.api_call(method, json=given))

    def _counted(self, method: str, call: Callable[[WebClient], Any]) -> Mapping[str, Any]:
        try:
            data = call(self._client()).data
        except CallError as error:
            self._count(method, error.code)
            raise
        except (SlackClientError, OSError, ValueError) as error:
            failure = _failure(error)
            self._count(method, failure.code if failure.fate is not Fate.OTHER else "other")
            raise failure from None
        self._count(method, "ok")
        return data if isinstance(data, Mapping) else {}

    def _client(self) -> WebClient:
        try:
            token = self._token.read()
        except SecretError as error:
            raise CallError(Fate.TOKEN, "token_file", str(error)) from None
        return WebClient(
            token=token, base_url=self._base_url, timeout=self._timeout, retry_handlers=[], logger=_QUIET
        )


def _content(message: Message) -> dict[str, Any]:
    return message.arguments() if message.blocks else {"text": message.text}


def _key(message: Mapping[str, Any]) -> str:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != EVENT:
        return ""
    return str((metadata.get("event_payload") or {}).get("key", ""))


def _failure(error: Exception) -> CallError:
    if isinstance(error, SlackApiError):
        return _refusal(error)
    if isinstance(error, SlackClientError):
        return CallError(Fate.OTHER, "sdk", _one_line(error))
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)):
        return CallError(Fate.UNREACHED, "unreached", f"Slack cannot be reached: {_one_line(cause)}")
    return CallError(Fate.UNCERTAIN, "no_answer", f"Slack's answer was lost: {_one_line(cause)}")


def _refusal(error: SlackApiError) -> CallError:
    response: Any = error.response
    status = int(getattr(response, "status_code", 0) or 0)
    if status == 429:
        return CallError(Fate.REFUSED_NOW, "ratelimited", "", _seconds(response.headers))
    if status >= 500:
        return CallError(Fate.UNCERTAIN, f"http_{status}", f"Slack answers {status}")
    data = response.data if isinstance(response.data, Mapping) else {}
    code = str(data.get("error") or f"http_{status}")
    if len(code) > 60 or not code.replace("_", "").isalnum():
        return CallError(Fate.UNCERTAIN, "no_json", "the answer is not Slack's: is something else in between?")
    words = advice(code)
    if code == "missing_scope" and data.get("needed"):
        words = f"{words}; needed: {str(data['needed'])[:80]}"
    return CallError(fate_of(code), code, words or "see Slack's documentation of this error")


def _seconds(headers: Mapping[str, Any]) -> float:
    found = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    text = str(found[0] if isinstance(found, list) and found else found)
    return float(text) if text.isdecimal() else 30.0


def _one_line(error: object) -> str:
    return " ".join(str(error).split())[:160]
