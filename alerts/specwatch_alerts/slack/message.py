"""The message of a group: what is wrong, what it costs, what changed, the evidence, where to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from specwatch_alerts.slack.block_limits import (
    TEXT,
    Block,
    acting_button,
    actions,
    asking_button,
    context,
    fitted,
    header,
    link_button,
    section,
)
from specwatch_alerts.slack.dashboard_link import dashboard_address
from specwatch_alerts.slack.evidence import Evidence
from specwatch_alerts.slack.evidence_text import evidence_blocks
from specwatch_alerts.slack.firing_list import firing_list
from specwatch_alerts.slack.group_view import GroupView
from specwatch_alerts.slack.mrkdwn import code, cut, escape, link, moment, span
from specwatch_alerts.slack.severity_sign import severity_sign

_RESOLVED: Final = ":large_green_circle:"
_MOST_PODS: Final = 3
_MOST_CHANGES: Final = 6

ACKNOWLEDGE: Final = "specwatch_acknowledge"
SILENCE: Final = "specwatch_silence"
RETURN: Final = "specwatch_fallback_return"
LEAVE: Final = "specwatch_fallback_leave"
UNLATCH: Final = "specwatch_fallback_unlatch"


@dataclass(frozen=True, slots=True)
class Message:
    """What Slack is sent.

    Attributes:
        text: for notifications and for those who see no blocks.
        blocks: the message; empty for one of text only.
    """

    text: str
    blocks: tuple[Block, ...]

    def arguments(self) -> dict[str, Any]:
        """As chat.postMessage and chat.update want it: an empty list takes earlier blocks away."""
        return {"text": self.text, "blocks": list(self.blocks)}


def compose(
    view: GroupView, evidence: Evidence, now: float, *, offered: frozenset[str] = frozenset(), lean: int = 0
) -> Message:
    """Make the message.

    Args:
        view: the group.
        evidence: what Prometheus says.
        now: epoch seconds.
        offered: actions that have a button, beside the links.
        lean: 1 leaves evidence out, 2 also the blocks: Slack refused the message otherwise.
    """
    title = _title(view)
    impact = _impact(view)
    text = cut(f"{escape(title)}. {impact}", TEXT)
    if lean >= 2:
        return Message(text, ())
    several = view.firing and view.names > 1
    blocks = [header(f"{_sign(view)} {title}"), firing_list(view) if several else section(impact, 600)]
    if lean == 0:
        blocks += _details(view, evidence)
    detail_count = len(blocks)
    blocks.append(context(_small_print(view, now)))
    buttons = _buttons(view, offered)
    if buttons:
        blocks.append(actions(buttons))
    return Message(text, tuple(fitted(blocks, range(detail_count - 1, 1, -1))))


def _title(view: GroupView) -> str:
    """State, alert, model and namespace; they must show on a locked phone."""
    state = "resolved" if not view.firing else view.severity or "firing"
    name = view.alerts[0].name if view.alerts else "alerts"
    more = f" and {view.names - 1} more" if view.names > 1 else ""
    where = " · ".join(part for part in (view.label("model"), view.label("namespace")) if part)
    return f"{state.upper()} {name}{more}" + (f" · {where}" if where else "")


def _sign(view: GroupView) -> str:
    if not view.firing:
        return _RESOLVED
    first = view.alerts[0] if view.alerts else None
    return severity_sign(first.labels, first.annotations) if first is not None else severity_sign({}, {})


def _impact(view: GroupView) -> str:
    """One line, the first that is there: impact, description, summary."""
    for name in ("impact", "description", "summary"):
        words = view.annotation(name)
        if words:
            return escape(words) if view.firing else f"Was: {escape(words)}"
    return f"{view.firing} alert{'' if view.firing == 1 else 's'} firing"


def _details(view: GroupView, evidence: Evidence) -> list[Block]:
    blocks = []
    described = view.annotation("description")
    if described and (view.annotation("impact") or view.names > 1):
        whose = f"*{escape(view.alerts[0].name)}:* " if view.names > 1 else ""
        blocks.append(section(f"{whose}{escape(described)}", 1200))
    cause = view.annotation("cause")
    changes = [*([cause] if cause else []), *evidence.changes][:_MOST_CHANGES]
    if changes:
        blocks.append(section("\n".join(["*What changed*", *(f"• {escape(line)}" for line in changes)]), 1500))
    blocks += evidence_blocks(evidence)
    if view.pods and not evidence.pods:
        more = view.pod_count - min(len(view.pods), _MOST_PODS)
        told = ", ".join(code(cut(pod, 80)) for pod in view.pods[:_MOST_PODS])
        blocks.append(section(f"*Pods* {told}" + (f" and {more:,} more" if more > 0 else ""), 600))
    return blocks


def _small_print(view: GroupView, now: float) -> list[str]:
    counted = f"{view.firing} firing, {view.resolved} resolved"
    if view.truncated:
        counted += f", {view.truncated} more left out by Alertmanager"
    if view.ended is not None:
        lasted = f"Resolved {moment(view.ended)} after {span(view.ended - view.began)}"
    else:
        lasted = f"Since {moment(view.began)} ({span(now - view.began)})"
    parts = [lasted, counted]
    if view.acknowledged:
        parts.append(f":eyes: <@{escape(view.acknowledged)}> looks at it")
    if view.silenced_until is not None and view.silenced_until > now:
        parts.append(f":no_bell: silenced until {moment(view.silenced_until)}")
    if view.external_url:
        parts.append(link(view.external_url, "Alertmanager"))
    return parts


def _buttons(view: GroupView, offered: frozenset[str]) -> list[Block]:
    links = [
        link_button("Dashboard", dashboard_address(view), "specwatch_dashboard"),
        link_button("Runbook", view.annotation("runbook_url"), "specwatch_runbook"),
    ]
    if view.firing and SILENCE not in offered:
        links.append(link_button("Silence", silence_address(view), "specwatch_silence_link"))
    buttons = [button for button in links if button is not None]
    return [*buttons, *_acting(view, offered)] if view.firing else buttons


def _acting(view: GroupView, offered: frozenset[str]) -> list[Block]:
    buttons = []
    if ACKNOWLEDGE in offered and not view.acknowledged:
        buttons.append(acting_button("Acknowledge", ACKNOWLEDGE, view.group))
    if SILENCE in offered:
        what = "This group's alerts notify nobody for an hour, here and everywhere else."
        buttons.append(asking_button("Silence 1 h", SILENCE, view.group, "Silence for an hour?", what))
    if LEAVE in offered and view.label("component") == "draft":
        what = "All traffic goes one level down, step by step, whether it pays or not. Probes bring it home."
        title = "Leave the drafter?"
        buttons.append(asking_button("Start the fallback", LEAVE, view.group, title, what, danger=True))
    if RETURN in offered and view.label("component") == "fallback":
        what = "All traffic goes back to the drafter, step by step, without waiting for probes."
        buttons.append(
            asking_button("End the fallback", RETURN, view.group, "Bring the traffic home?", what, danger=True)
        )
    if UNLATCH in offered and any(one.name == "FallbackLatched" for one in view.alerts):
        what = "The controller may switch again. You have looked at why it switched so often."
        buttons.append(asking_button("Unlatch", UNLATCH, view.group, "Allow switching again?", what, danger=True))
    return buttons


def silence_matchers(view: GroupView) -> Mapping[str, str]:
    """Labels that all alerts of the group share: what a silence of the group names."""
    return {**view.common_labels, **view.group_labels}


def silence_address(view: GroupView) -> str:
    """Alertmanager's form of a new silence, filled in; empty where its address or the labels are unknown."""
    matchers = silence_matchers(view)
    if not view.external_url or not matchers:
        return ""
    told = ",".join(f'{name}="{_quoted(value)}"' for name, value in sorted(matchers.items()))
    return f"{view.external_url.rstrip('/')}/#/silences/new?filter={quote('{' + told + '}', safe='')}"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
