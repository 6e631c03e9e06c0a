"""How a call to Slack can fail, what that means for the queue, and what a person must do.

Names of errors: the lists in https://docs.slack.dev/reference/methods of chat.postMessage, chat.update,
conversations.history and files.getUploadURLExternal.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Fate(StrEnum):
    """What became of a call."""

    REFUSED_NOW = "rate_limited"
    """Not done; Slack says when to ask again."""
    UNREACHED = "unreached"
    """Not done: there was no connection."""
    UNCERTAIN = "uncertain"
    """Done or not: the answer was lost, or Slack failed while at it."""
    GONE = "message_gone"
    """The message is not there any more."""
    UNFIT = "unfit"
    """Slack takes no message of this form or length."""
    TOKEN = "token"  # noqa: S105 - a word
    """Nothing works with this token."""
    CHANNEL = "channel"
    """Nothing works in this channel."""
    SCOPE = "missing_scope"
    """The token lacks a permission."""
    OTHER = "other"
    """An answer that is not known here."""


_FATES: Final = {
    "ratelimited": Fate.REFUSED_NOW,
    "rate_limited": Fate.REFUSED_NOW,
    "message_limit_exceeded": Fate.REFUSED_NOW,
    "internal_error": Fate.UNCERTAIN,
    "fatal_error": Fate.UNCERTAIN,
    "service_unavailable": Fate.UNCERTAIN,
    "request_timeout": Fate.UNCERTAIN,
    "message_not_found": Fate.GONE,
    "thread_not_found": Fate.GONE,
    "cant_update_message": Fate.GONE,
    "edit_window_closed": Fate.GONE,
    "is_inactive": Fate.GONE,
    "cannot_reply_to_message": Fate.GONE,
    "msg_too_long": Fate.UNFIT,
    "msg_blocks_too_long": Fate.UNFIT,
    "invalid_blocks": Fate.UNFIT,
    "invalid_blocks_format": Fate.UNFIT,
    "invalid_metadata_format": Fate.UNFIT,
    "no_text": Fate.UNFIT,
    "invalid_auth": Fate.TOKEN,
    "not_authed": Fate.TOKEN,
    "account_inactive": Fate.TOKEN,
    "token_revoked": Fate.TOKEN,
    "token_expired": Fate.TOKEN,
    "not_allowed_token_type": Fate.TOKEN,
    "no_permission": Fate.TOKEN,
    "ekm_access_denied": Fate.TOKEN,
    "team_access_not_granted": Fate.TOKEN,
    "org_login_required": Fate.TOKEN,
    "channel_not_found": Fate.CHANNEL,
    "not_in_channel": Fate.CHANNEL,
    "is_archived": Fate.CHANNEL,
    "restricted_action": Fate.CHANNEL,
    "restricted_action_read_only_channel": Fate.CHANNEL,
    "restricted_action_thread_only_channel": Fate.CHANNEL,
    "missing_scope": Fate.SCOPE,
}

_ADVICE: Final = {
    "invalid_auth": "the token is not valid (any more): write the app's bot token (xoxb-...) into the token file;"
    " it is read again for each call",
    "not_authed": "the token is empty: write the app's bot token (xoxb-...) into the token file",
    "account_inactive": "the app's user was removed: install the app again and write its token into the token file",
    "token_revoked": "the token was revoked: install the app again and write its token into the token file",
    "token_expired": "the token has expired: turn token rotation off for the app, or renew the token file in time",
    "not_allowed_token_type": "this kind of token cannot post: a bot token (xoxb-...) can",
    "channel_not_found": "there is no such channel, or it is private and the app is not in it: give the channel's"
    " ID (C...), and invite the app there",
    "not_in_channel": "the app is not in the channel: /invite it there, or add the scope chat:write.public",
    "is_archived": "the channel is archived: unarchive it or give another one",
    "restricted_action": "the workspace does not let the app post there: its administrators decide",
    "missing_scope": "the token lacks a permission: add it under OAuth & Permissions and install the app again",
}


class CallError(Exception):
    """A call that gave nothing usable.

    Attributes:
        fate: what became of it.
        code: Slack's name of the error, or ours in one word.
        words: one line for people, with what to do where that is known.
        retry_after: seconds that Slack wants to be left alone, or 0.
    """

    def __init__(self, fate: Fate, code: str, words: str = "", retry_after: float = 0.0) -> None:
        super().__init__(f"{code}: {words or advice(code)}".rstrip(": "))
        self.fate = fate
        self.code = code
        self.words = words or advice(code)
        self.retry_after = retry_after


def fate_of(code: str) -> Fate:
    """What Slack's error means."""
    return _FATES.get(code, Fate.OTHER)


def advice(code: str) -> str:
    """What a person can do about it, or empty."""
    return _ADVICE.get(code, "")
