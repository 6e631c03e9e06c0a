"""What `specwatch slack run` is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from specwatch_alerts.slack.order_desk import DeskSettings
from specwatch_alerts.slack.slack_api import API
from specwatch_exporters.sidecar.endpoint import Endpoint
from specwatch_exporters.sidecar.setting_values import Listen, listen

_CHANNEL: Final = re.compile(r"[CGD][A-Z0-9]{2,30}", re.ASCII)
_USER: Final = re.compile(r"[UW][A-Z0-9]{2,30}", re.ASCII)


class SettingError(ValueError):
    """A setting that cannot be used; one line that names its flag."""


@dataclass(frozen=True, slots=True)
class ReceiverSettings:
    """All of it.

    Attributes:
        channel: ID of the channel that messages go to.
        channels: IDs by Alertmanager's receiver.
        token_file: the app's bot token.
        database: the queue.
        listen: where Alertmanager and Prometheus come.
        webhook_token_file: what Alertmanager must show, or None.
        prometheus: URL of the API that evidence comes from, or empty.
        prometheus_token_file: its bearer token, or None.
        pictures: whether to attach pictures.
        api_url: Slack's Web API.
        signing_secret_file: the app's signing secret, or None: no buttons that act.
        interactive_listen: where Slack comes, or None.
        desk: what buttons may do.
    """

    channel: str
    token_file: Path
    database: Path
    channels: Mapping[str, str] = field(default_factory=dict)
    listen: Listen = field(default_factory=lambda: Listen("", 9481))
    webhook_token_file: Path | None = None
    prometheus: str = ""
    prometheus_token_file: Path | None = None
    pictures: bool = True
    api_url: str = API
    signing_secret_file: Path | None = None
    interactive_listen: Listen | None = None
    desk: DeskSettings = field(default_factory=DeskSettings)

    def checked(self) -> ReceiverSettings:
        """These, if they fit together.

        Raises:
            SettingError: they do not.
        """
        for flag, url in (
            ("--prometheus", self.prometheus),
            ("--alertmanager", self.desk.alertmanager),
            ("--api-url", self.api_url),
        ):
            if url:
                _web_address(flag, url)
        if (self.signing_secret_file is None) != (self.interactive_listen is None):
            raise SettingError("--signing-secret-file and --interactive-listen need each other")
        commands = self.desk.operators or self.desk.alertmanager or self.desk.fallback_commands
        if commands and self.signing_secret_file is None:
            raise SettingError("--operator, --alertmanager and --fallback need --signing-secret-file")
        if (self.desk.alertmanager or self.desk.fallback_commands) and not self.desk.operators:
            raise SettingError("--alertmanager and --fallback need an --operator who may use them")
        return self


def channels(values: Iterable[str]) -> tuple[str, dict[str, str]]:
    """The channel of all, and those by receiver, from `C0123` and `receiver=C0456`.

    Raises:
        SettingError: there is not exactly one for all, or one is no ID.
    """
    common, found = [], {}
    for value in values:
        receiver, named, channel = value.rpartition("=")
        if not _CHANNEL.fullmatch(channel):
            raise SettingError(
                f"--channel {value!r}: it is no channel ID such as C0123ABCD (in Slack: the channel's details,"
                " at the bottom)"
            )
        if named:
            found[receiver] = channel
        else:
            common.append(channel)
    if len(common) != 1:
        raise SettingError("--channel: give one ID for all messages; receiver=ID for those that go elsewhere")
    return common[0], found


def operators(values: Iterable[str]) -> frozenset[str]:
    """Slack's user IDs.

    Raises:
        SettingError: one is none.
    """
    found = frozenset(values)
    for value in sorted(found):
        if not _USER.fullmatch(value):
            raise SettingError(
                f"--operator {value!r}: it is no user ID such as U0123ABCD (in Slack: profile, copy ID)"
            )
    return found


def address(flag: str, text: str) -> Listen:
    """Where to listen.

    Raises:
        SettingError: it is no address.
    """
    try:
        return listen(text)
    except ValueError as error:
        raise SettingError(f"{flag} {text!r}: {error}") from None


def _web_address(flag: str, url: str) -> None:
    try:
        Endpoint.parse(url)
    except ValueError as error:
        raise SettingError(f"{flag}: {error}") from None
