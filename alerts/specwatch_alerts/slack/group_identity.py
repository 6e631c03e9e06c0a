"""What a group of alerts is called in the database and in Slack's message metadata."""

from __future__ import annotations

import hashlib

from specwatch_alerts.slack.payload import Delivery


def group_id(delivery: Delivery) -> str:
    """The same for the same receiver and group, whichever Alertmanager of a cluster delivers it.

    Alertmanager's address is left out on purpose: the members of a cluster have one each.
    """
    return hashlib.sha256(f"{delivery.receiver}\0{delivery.group_key}".encode()).hexdigest()[:32]


def root_key(group: str, episode: int, number: int) -> str:
    """Names a message of a group: the episode, and which message of it, for a deleted one is posted anew."""
    return f"{group}:{episode}:{number}"


def reply_key(root: str, last_change: int) -> str:
    """Names a reply in the message's thread by the last change that it tells."""
    return f"{root}:{last_change}"
