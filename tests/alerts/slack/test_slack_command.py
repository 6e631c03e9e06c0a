from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alerts.slack.slack_blocks_check import refusal
from alerts.slack.slack_server import CHANNEL, TOKEN, SlackServer
from specwatch_cli.errors import UserError
from specwatch_cli.main import command_line


def ran(*arguments: str) -> tuple[int, str]:
    """Exit status and output, with the line of a user's mistake."""
    found = CliRunner().invoke(command_line(), ["slack", *arguments])
    if isinstance(found.exception, UserError):
        return found.exception.exit_code, str(found.exception)
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.output


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    return path


def test_a_dry_run_draws_the_message_and_sends_nothing() -> None:
    code, shown = ran("test", "--dry-run")
    assert code == 0
    assert "PAGE DraftDriftedNotPaying · llama-3.3-70b · chat" in shown
    code, written = ran("test", "--dry-run", "--json", "--resolved")
    assert code == 0
    assert refusal(json.loads(written)) == ""


def test_the_sample_is_sent(slack: SlackServer, token: Path) -> None:
    code, told = ran("test", "--channel", CHANNEL, "--token-file", str(token), "--api-url", slack.url)
    assert code == 0
    assert told.startswith(f"Sent to {CHANNEL}")
    assert len(slack.roots()) == 1


@pytest.mark.parametrize(
    ("channel", "scope", "words"),
    [
        ("C0NOWHERE", "", "channel_not_found: there is no such channel"),
        (CHANNEL, "chat:write", "missing_scope: the token lacks a permission"),
    ],
)
def test_what_slack_refuses_is_one_line(
    slack: SlackServer, token: Path, channel: str, scope: str, words: str
) -> None:
    slack.scopes.discard(scope)
    code, told = ran("test", "--channel", channel, "--token-file", str(token), "--api-url", slack.url)
    assert code == 1
    assert words in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--channel", "alerts"], "no channel ID"),
        (["--channel", "page=C0PAGES"], "one ID for all"),
        (["--channel", CHANNEL, "--channel", "C0OTHER"], "one ID for all"),
        (["--channel", CHANNEL, "--listen", "nowhere"], "--listen 'nowhere'"),
        (["--channel", CHANNEL, "--prometheus", "prometheus:9090"], "--prometheus: its scheme"),
        (["--channel", CHANNEL, "--operator", "somebody"], "no user ID"),
        (["--channel", CHANNEL, "--operator", "U0OPERATOR"], "need --signing-secret-file"),
        (["--channel", CHANNEL, "--signing-secret-file", "x"], "need each other"),
        (["--channel", CHANNEL, "--log-level", "loud"], "--log-level 'loud'"),
        (["--channel", CHANNEL, "--token-file", "/nowhere"], "No such file"),
        (["--channel", CHANNEL, "--fallback", "/nowhere.toml"], "/nowhere.toml"),
    ],
)
def test_a_wrong_setting_is_one_line(token: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    code, told = ran("run", "--token-file", str(token), "--database", str(tmp_path / "queue.db"), *arguments)
    assert code == 2
    assert words in told
    assert "\n" not in told


@pytest.mark.parametrize("content", ["", "two words", "é"])
def test_a_token_file_without_a_token_is_refused_without_its_content(
    token: Path, tmp_path: Path, content: str
) -> None:
    token.write_text(content)
    code, told = ran("run", "--token-file", str(token), "--database", str(tmp_path / "q.db"), "--channel", CHANNEL)
    assert code == 2
    assert "--token-file" in told
    assert not content or content not in told


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at" * 40])
def test_a_database_that_is_none_is_refused(token: Path, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "queue.db"
    path.write_bytes(content)
    code, told = ran("run", "--token-file", str(token), "--database", str(path), "--channel", CHANNEL)
    assert code == 1
    assert "not a database" in told
    assert path.read_bytes() == content
