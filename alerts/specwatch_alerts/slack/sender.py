"""Brings Slack up to what the queue knows, one call at a time.

A group's message is posted, then edited; changes go into its thread. Slack knows no idempotency key for
chat.postMessage. A post is therefore written down before it is made, and carries its key as message metadata; when
nobody knows how it ended, the channel's history is searched for the key before it is posted again.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from typing import Final, Protocol

from specwatch_alerts.slack import group_identity
from specwatch_alerts.slack.call_error import CallError, Fate
from specwatch_alerts.slack.evidence import Evidence
from specwatch_alerts.slack.group_view import GroupView
from specwatch_alerts.slack.job import Intent, Job
from specwatch_alerts.slack.message import Message, compose
from specwatch_alerts.slack.outbox import Outbox
from specwatch_alerts.slack.sender_settings import SenderSettings
from specwatch_alerts.slack.slack_api import SlackApi
from specwatch_alerts.slack.thread_note import broadcast, note_text
from specwatch_alerts.slack.trouble_board import TroubleBoard

LOG = logging.getLogger("specwatch.slack")
_LONGEST_PAUSE_S: Final = 60.0
_CONFIGURATION_PAUSE_S: Final = 30.0
_LOOK_BACK_S: Final = 600.0
_LEANEST: Final = 2
_PATIENCE: Final = 3


class EvidenceSource(Protocol):
    """Where evidence and pictures come from."""

    def gather(self, view: GroupView) -> Evidence:
        """Evidence, or why there is none; never raises, never takes long."""

    def picture(self, view: GroupView) -> bytes | None:
        """A PNG of the acceptance, or None."""


class Sender:
    """Sends what is queued.

    Args:
        outbox: the queue.
        api: Slack.
        evidence: what to add.
        settings: how.
        clock: epoch seconds.
        troubles: where failures are told.

    Attributes:
        idle: whether the last step found nothing to do: then something new need not wait for the pace.
    """

    def __init__(
        self,
        outbox: Outbox,
        api: SlackApi,
        evidence: EvidenceSource,
        settings: SenderSettings,
        clock: Callable[[], float],
        troubles: TroubleBoard,
    ) -> None:
        self._outbox = outbox
        self._api = api
        self._evidence = evidence
        self._settings = settings
        self._clock = clock
        self._troubles = troubles
        self._paused_until = 0.0
        self._failures = 0
        self.idle = True

    def step(self) -> float:
        """Make one call, if one is to be made now; seconds until the next step has something to do."""
        now = self._clock()
        if now < self._paused_until:
            self.idle = False
            return self._paused_until - now
        job = self._outbox.next()
        self.idle = job is None
        if job is None:
            due = self._outbox.next_due()
            return self._settings.idle_s if due is None else min(self._settings.idle_s, max(0.0, due - now))
        try:
            self._work(job)
        except sqlite3.Error:
            raise  # the queue, not this group
        except Exception as error:  # noqa: BLE001 - logged in _own; the groups behind this one must go out
            self._failed(job, error if isinstance(error, CallError) else _own(error))
            return max(self._settings.pace_s, self._paused_until - self._clock())
        self._failures = 0
        return self._settings.pace_s

    def _work(self, job: Job) -> None:
        if job.intent is not None:
            self._settle(job, job.intent)
        elif not job.root:
            self._post_root(job)
        elif job.shown < job.revision:
            self._update(job)
        elif job.changes:
            self._reply(job)
        self._troubles.clear("token", "slack", f"channel {self._channel(job)}", f"group {job.view.group}")

    def _post_root(self, job: Job) -> None:
        key = group_identity.root_key(job.view.group, job.episode, job.roots)
        intent = Intent(key, self._clock(), job.revision, job.upto, reply=False, channel=self._channel(job))
        message = self._message(job)
        ts = self._post(job, intent, message)
        self._outbox.posted_root(job, intent, ts)
        self._attach(job, intent.channel, ts)

    def _update(self, job: Job) -> None:
        key = group_identity.root_key(job.view.group, job.episode, job.roots)
        self._api.update(job.channel, job.root, self._message(job), key)
        self._outbox.updated(job, self._clock() + self._settings.update_every_s)

    def _reply(self, job: Job) -> None:
        root = group_identity.root_key(job.view.group, job.episode, job.roots)
        key = group_identity.reply_key(root, job.upto)
        intent = Intent(key, self._clock(), job.revision, job.upto, reply=True, channel=job.channel)
        message = Message(note_text(job.view, job.changes), ())
        self._post(job, intent, message, thread=job.root, loud=broadcast(job.view, job.changes))
        self._outbox.posted_reply(job, intent)

    def _post(self, job: Job, intent: Intent, message: Message, *, thread: str = "", loud: bool = False) -> str:
        """Post, written down before; what was certainly not posted is struck out."""
        self._outbox.begin(job, intent)
        try:
            return self._api.post(intent.channel, message, intent.key, thread, broadcast=loud)
        except CallError as error:
            if error.fate is not Fate.UNCERTAIN:
                self._outbox.forget_intent(job)
            raise

    def _settle(self, job: Job, intent: Intent) -> None:
        """Find out whether a post was made; if it was not, it is tried again in the next step."""
        now = self._clock()
        if now < intent.at + self._settings.settle_s:
            self._paused_until = intent.at + self._settings.settle_s
            return
        thread = job.root if intent.reply else ""
        try:
            ts = self._api.find(intent.channel, intent.key, intent.at - _LOOK_BACK_S, thread)
        except CallError as error:
            if error.fate not in {Fate.SCOPE, Fate.CHANNEL, Fate.OTHER}:
                raise
            self._troubles.tell("history", f"cannot see whether a post was made, so it may come twice ({error})")
            ts = None
        if ts is None:
            self._outbox.forget_intent(job)
        elif intent.reply:
            self._outbox.posted_reply(job, intent)
        else:
            self._outbox.posted_root(job, intent, ts)
            self._attach(job, intent.channel, ts)

    def _attach(self, job: Job, channel: str, ts: str) -> None:
        """Add the picture to a new message, at most once; a picture that fails is no alert that fails."""
        if job.pictured or not self._settings.pictures or not job.view.firing:
            return
        self._outbox.picture_tried(job)
        try:
            picture = self._evidence.picture(job.view)
        except Exception:
            LOG.exception("a picture could not be drawn")
            return
        if picture is None:
            return
        model = job.view.label("model") or "model"
        try:
            self._api.upload(
                channel, ts, picture, "acceptance.png", f"Acceptance of {model}", "Acceptance length over time"
            )
        except CallError as error:
            self._troubles.tell("picture", f"no picture was attached ({error})")
        else:
            self._troubles.clear("picture")

    def _message(self, job: Job) -> Message:
        return compose(job.view, self._gathered(job), self._clock(), offered=self._settings.offered, lean=job.lean)

    def _gathered(self, job: Job) -> Evidence:
        """Evidence; whatever goes wrong with it, the alert goes out."""
        if job.lean > 0:
            return Evidence()
        try:
            return self._evidence.gather(job.view)
        except Exception:
            LOG.exception("evidence failed")
            return Evidence(problem="Evidence is missing: an error, see the receiver's log.")

    def _channel(self, job: Job) -> str:
        return job.channel or self._settings.channel(job.view.receiver)

    def _failed(self, job: Job, error: CallError) -> None:
        """Nothing is given up: each failure says when to try again."""
        now = self._clock()
        if error.fate in {Fate.REFUSED_NOW, Fate.UNREACHED, Fate.UNCERTAIN}:
            self._failures += 1
            wait = max(error.retry_after, 0.0 if error.retry_after else self._backoff(self._failures))
            self._paused_until = now + wait
            self._troubles.tell("slack", f"{error}; trying again in {wait:.0f} s")
        elif error.fate is Fate.GONE:
            self._outbox.forget_root(job)
            LOG.warning("the message of group %s is gone (%s); it is posted anew", job.view.group, error.code)
        elif error.fate is Fate.UNFIT and job.lean < _LEANEST:
            self._outbox.leaner(job)
            LOG.warning("Slack refuses the form of a message (%s); it is sent with less in it", error.code)
        elif error.fate in {Fate.TOKEN, Fate.SCOPE}:
            self._paused_until = now + _CONFIGURATION_PAUSE_S
            self._troubles.tell("token", f"nothing can be posted ({error})")
        elif error.fate is Fate.CHANNEL:
            self._outbox.defer_receiver(job.view.receiver, now + _CONFIGURATION_PAUSE_S)
            channel = self._channel(job)
            self._troubles.tell(f"channel {channel}", f"channel {channel} cannot be used ({error})")
        elif job.failures >= _PATIENCE and job.lean < _LEANEST:
            self._outbox.leaner(job)
            LOG.warning("a message is refused again and again (%s); it is sent with less in it", error)
        else:
            self._outbox.defer(job, now + self._backoff(job.failures + 3))
            self._troubles.tell(f"group {job.view.group}", f"a message cannot be sent ({error})")

    def _backoff(self, failures: int) -> float:
        return min(_LONGEST_PAUSE_S, 2.0 ** min(failures - 1, 10)) * self._settings.jitter()


def _own(error: Exception) -> CallError:
    LOG.error("a message could not be made", exc_info=error)
    return CallError(Fate.OTHER, "internal", f"{type(error).__name__}, see the log")
