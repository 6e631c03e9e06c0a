"""What can be said of deploy/Containerfile without building it: no container engine can be had here or in CI."""

from __future__ import annotations

import re
import shlex
import tomllib
from typing import NamedTuple

import yaml

from deploy.chart.helm_chart import ROOT, containers, pods, template
from deploy.chart.helm_chart import VALUES as CI_VALUES

FILE = ROOT / "deploy" / "Containerfile"
INSTRUCTIONS = {"ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "LABEL", "RUN", "USER", "WORKDIR"}


class Instruction(NamedTuple):
    """One instruction and what follows it."""

    word: str
    rest: str


def instructions() -> list[Instruction]:
    text = "\n".join(line for line in FILE.read_text().splitlines() if not line.startswith("#"))
    lines = [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]
    return [Instruction(*line.split(maxsplit=1)) for line in lines]


def last_stage() -> list[Instruction]:
    known = instructions()
    begin = max(number for number, one in enumerate(known) if one.word == "FROM")
    return known[begin:]


def locked(name: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements" / name).read_text(), re.MULTILINE))


def test_instructions_are_known_and_every_line_of_shell_can_be_split() -> None:
    assert {one.word for one in instructions()} <= INSTRUCTIONS
    assert all(shlex.split(one.rest) for one in instructions() if one.word == "RUN")


def test_the_base_is_pinned_and_the_same_in_all_stages() -> None:
    (argument,) = [one.rest for one in instructions() if one.word == "ARG"]
    assert re.fullmatch(r"PYTHON=python:3\.1[123]-slim", argument)
    assert {one.rest.split()[0] for one in instructions() if one.word == "FROM"} == {"${PYTHON}"}


def test_what_is_copied_is_there_and_let_through() -> None:
    ignored = (ROOT / "deploy" / "Containerfile.dockerignore").read_text().splitlines()
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    assert ignored[0] == "*"
    copied = [
        source
        for one in instructions()
        if one.word == "COPY" and "--from" not in one.rest
        for source in one.rest.split()[:-1]
    ]
    assert not [source for source in copied if not (ROOT / source).exists()]
    assert set(copied) == let_through


def test_every_package_of_the_wheel_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    copied = " ".join(one.rest for one in instructions() if one.word == "COPY")
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    parts = [*wheel["packages"], *wheel.get("force-include", {})]
    assert not [part for part in parts if part not in copied.split() and part.split("/")[0] not in copied.split()]


def test_only_locked_packages_are_installed() -> None:
    installs = [one.rest for one in instructions() if "pip install" in one.rest or "pip wheel" in one.rest]
    assert len(installs) == 3
    assert all("--require-hashes" in one or ("--no-index" in one and "--no-deps" in one) for one in installs)


def test_the_locks_hold_what_the_parts_need_and_nothing_of_the_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["detect"], *extras["kube"], *extras["slack"]]
    names = {re.split(r"[<>=\[;! ]", one)[0].lower() for one in wanted}
    assert names <= locked("image.txt")
    assert not {"pytest", "mypy", "ruff", "grafanalib", "vllm"} & locked("image.txt")
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {one.partition("==")[0] for one in build} <= locked("build.txt")
    assert all(one in (ROOT / "requirements" / "build.txt").read_text() for one in build)


def test_it_is_run_as_the_charts_user_and_opens_the_charts_ports() -> None:
    stage = {one.word: one.rest for one in last_stage()}
    assert yaml.safe_load(stage["ENTRYPOINT"]) == ["specwatch"]
    user, group = map(int, stage["USER"].split(":"))
    for values in CI_VALUES:
        for _, pod in pods(template(values).objects):
            assert pod["spec"]["securityContext"]["runAsUser"] == user > 0
            assert pod["spec"]["securityContext"]["runAsGroup"] == group
            ours = [one for one in containers(pod) if one["name"] != "engine"]
            opened = {port["containerPort"] for one in ours for port in one["ports"]}
            assert opened <= {*map(int, stage["EXPOSE"].split()), 9482}
