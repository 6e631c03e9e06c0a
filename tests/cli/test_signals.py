from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import logging
from specwatch_cli.signals import block_signals, wait_for_stop
logging.basicConfig(format="%(message)s")
block_signals()
print("ready", flush=True)
wait_for_stop(accept={accept})
print("stopped", flush=True)
"""


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("accept", "said"),
    [("lambda: print('accepted', flush=True)", "accepted"), ("None", "no detectors run here")],
)
def test_a_signal_accepts_and_another_stops(accept: str, said: str, stop: signal.Signals) -> None:
    command = [sys.executable, "-c", PROGRAM.format(accept=accept)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR1)
        assert said in process.stdout.readline()
        process.send_signal(stop)
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == 0
