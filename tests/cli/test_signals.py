from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

BEGIN = """
import logging, sys, time
from specwatch_cli.signals import block_signals, on_another_stop, wait_for_stop
logging.basicConfig(format="%(message)s")
block_signals(accepting={accepting})
print("ready", flush=True)
"""
ACCEPTS = """
from specwatch_cli.exporter import _nothing_to_accept
wait_for_stop({accept})
print("stopped", flush=True)
"""
ENDS = """
def hurry():
    print("hurrying", flush=True)
    sys.exit(0)
wait_for_stop()
print("stopping", flush=True)
on_another_stop(hurry)
time.sleep(60)
"""
STOPS = [signal.SIGTERM, signal.SIGINT]


@contextmanager
def started(program: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert line(process) == "ready"
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize(
    ("accept", "said"),
    [("lambda: print('accepted', flush=True)", "accepted"), ("_nothing_to_accept", "no detectors run here")],
)
def test_a_signal_accepts_and_another_stops(accept: str, said: str, stop: signal.Signals) -> None:
    with started((BEGIN + ACCEPTS).format(accepting=True, accept=accept)) as process:
        process.send_signal(signal.SIGUSR1)
        assert said in line(process)
        process.send_signal(stop)
        assert line(process) == "stopped"
        assert process.wait() == 0


@pytest.mark.parametrize("stop", STOPS)
def test_a_command_that_has_nothing_to_accept_does_not_take_the_signal(stop: signal.Signals) -> None:
    with started(BEGIN.format(accepting=False) + ENDS) as process:
        process.send_signal(stop)
        assert line(process) == "stopping"
        process.send_signal(signal.SIGUSR1)
        assert process.wait() == -signal.SIGUSR1


def test_a_second_stop_is_told_while_the_first_is_under_way() -> None:
    with started(BEGIN.format(accepting=False) + ENDS) as process:
        process.send_signal(signal.SIGTERM)
        assert line(process) == "stopping"
        process.send_signal(signal.SIGTERM)
        assert line(process) == "hurrying"
        assert process.wait() == 0
