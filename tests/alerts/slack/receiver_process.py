"""`specwatch slack run` as a process, beside the tests' Slack."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alerts.slack.slack_server import CHANNEL, TOKEN, SlackServer

_COMMAND = (sys.executable, "-c", "from specwatch_cli.main import run; run()", "slack", "run")


class ReceiverProcess:
    """One running receiver.

    Attributes:
        process: the process.
        url: where it listens.
        interactive_url: where it takes buttons, or empty.
        log: what it wrote.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.log: list[str] = []
        ports = self._ports()
        self.url = f"http://127.0.0.1:{ports[0]}"
        self.interactive_url = f"http://127.0.0.1:{ports[1]}" if len(ports) > 1 else ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def deliver(self, body: bytes, **headers: str) -> tuple[int, str]:
        """Post a delivery; status and text."""
        return post(f"{self.url}/alertmanager", body, {"Content-Type": "application/json", **headers})

    def page(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def value(self, name: str) -> float:
        """A sample of /metrics without labels."""
        found = re.search(rf"^{name} (\S+)$", self.page("/metrics"), re.MULTILINE)
        assert found is not None, name
        return float(found.group(1))

    def kill(self) -> None:
        """As the kernel does it when memory runs out."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """As Kubernetes does it."""
        self.process.terminate()
        code = self.process.wait(20)
        self._reader.join(10)
        return code

    def _ports(self) -> list[int]:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"serving on port (\d+)(?: and (\d+))?", line)
            if found:
                return [int(port) for port in found.groups() if port]
        raise AssertionError("".join(self.log))

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    """Status and text of an answer."""
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def command(slack: SlackServer, folder: Path, *more: str) -> list[str]:
    """The command line."""
    token = folder / "token"
    if not token.exists():
        token.write_text(TOKEN)
    own = ["--channel", CHANNEL, "--token-file", str(token), "--database", str(folder / "queue.db")]
    return [*_COMMAND, *own, "--listen", "127.0.0.1:0", "--api-url", slack.url, *more]


@contextmanager
def receiving(slack: SlackServer, folder: Path, *more: str) -> Iterator[ReceiverProcess]:
    """Run one until the block ends."""
    with subprocess.Popen(command(slack, folder, *more), stderr=subprocess.PIPE, text=True) as process:
        try:
            yield ReceiverProcess(process)
        finally:
            if process.poll() is None:
                process.kill()


def as_json(text: str) -> Any:
    return json.loads(text)
