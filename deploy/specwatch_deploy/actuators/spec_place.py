"""Where a Deployment says how to speculate: in the arguments of a container, or in a file from a ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, Protocol

from specwatch_deploy.actuators.cluster import Json
from specwatch_deploy.actuators.managed_fields import FieldPath
from specwatch_deploy.actuators.spec_args import meaning, speculative, with_speculative
from specwatch_deploy.actuators.spec_flags import SpecFlags
from specwatch_detectors.fallback.actuator import ActuatorError
from specwatch_detectors.fallback.level import Level

POD: Final = ("f:spec", "f:template", "f:spec")
SHELLS: Final = frozenset({"sh", "bash", "ash", "dash", "zsh"})
LISTS: Final = ("command", "args")


class SpecPlace(Protocol):
    """The place; every method raises ActuatorError where the Deployment is not as expected."""

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels that have a setting."""

    def level(self, deployment: Json) -> Level:
        """The level that is set."""

    def field(self, deployment: Json) -> FieldPath:
        """What moves, as managers hold it."""

    def former(self, deployment: Json) -> Json:
        """What is set now, to put back."""

    def pod(self, deployment: Json, level: Level) -> Json:
        """What to apply to the pod's spec for a level."""

    def restored(self, deployment: Json, former: Json) -> Json:
        """What to apply to the pod's spec to have the former setting back."""


class ContainerArgs:
    """A `SpecPlace`: the speculative flags in `args` or `command` of one container.

    Args:
        container: its name.
        arguments: by level, its speculative arguments; none for no speculation.
        flags: which arguments are speculative.

    Raises:
        ValueError: an argument of a level is not a speculative one.
    """

    def __init__(self, container: str, arguments: Mapping[Level, Sequence[str]], flags: SpecFlags) -> None:
        for level, args in arguments.items():
            if speculative(args, flags) != list(args):
                strange = next(arg for arg in args if arg not in speculative(args, flags))
                raise ValueError(f"arguments of {level.value}: {strange} is no speculative flag of {flags.engine}")
        self._name = container
        self._arguments = {level: list(arguments[level]) for level in Level if level in arguments}
        self._flags = flags

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels that have arguments."""
        return tuple(self._arguments)

    def level(self, deployment: Json) -> Level:
        """The level whose arguments mean the same as those that are set."""
        found = self._lists(deployment)[self._where(deployment)]
        set_now = meaning(found, self._flags)
        for level, args in self._arguments.items():
            if meaning(args, self._flags) == set_now:
                return level
        shown = " ".join(speculative(found, self._flags)) or "no speculation"
        raise ActuatorError(f"container {self._name} runs with {shown}, which is no level's", retry=False)

    def field(self, deployment: Json) -> FieldPath:
        """The whole list, which is atomic (core/v1 types)."""
        return (*POD, "f:containers", f'k:{{"name":"{self._name}"}}', f"f:{self._where(deployment)}")

    def former(self, deployment: Json) -> Json:
        """The list as it is."""
        where = self._where(deployment)
        return {where: self._lists(deployment)[where]}

    def pod(self, deployment: Json, level: Level) -> Json:
        """The list with the level's arguments."""
        where = self._where(deployment)
        changed = with_speculative(self._lists(deployment)[where], self._arguments[level], self._flags)
        return self._container_with(where, changed)

    def restored(self, deployment: Json, former: Json) -> Json:
        """The very list that was there, unless somebody has changed other arguments since: these are kept."""
        where, args = next((name, list(former[name])) for name in LISTS if name in former)
        now = self._lists(deployment)[where]
        others = with_speculative(now, [], self._flags) == with_speculative(args, [], self._flags)
        kept = args if others else with_speculative(now, speculative(args, self._flags), self._flags)
        return self._container_with(where, kept)

    def _container_with(self, where: str, args: Sequence[str]) -> Json:
        return {"containers": [{"name": self._name, where: list(args)}]}

    def _where(self, deployment: Json) -> str:
        """The list that holds the flags; `args` if neither does, for it follows `command`."""
        holding = [name for name, args in self._lists(deployment).items() if self._flags.spans(args)]
        if len(holding) > 1:
            raise ActuatorError(
                f"container {self._name} has speculative flags in command and in args: put them into one",
                retry=False,
            )
        return holding[0] if holding else "args"

    def _lists(self, deployment: Json) -> dict[str, list[str]]:
        containers = deployment["spec"]["template"]["spec"]["containers"]
        found = next((one for one in containers if one["name"] == self._name), None)
        if found is None:
            names = ", ".join(one["name"] for one in containers)
            raise ActuatorError(f"there is no container {self._name}; there are: {names}", retry=False)
        lists: dict[str, list[str]] = {name: list(found.get(name) or []) for name in LISTS}
        self._check(lists)
        return lists

    def _check(self, lists: Mapping[str, list[str]]) -> None:
        whole = [*lists["command"], *lists["args"]]
        if not whole:
            raise ActuatorError(
                f"container {self._name} has neither command nor args: its image's own cannot be read from here;"
                " write them into the Deployment",
                retry=False,
            )
        shell = PurePosixPath(whole[0]).name in SHELLS and any(
            arg.startswith("-") and "c" in arg for arg in whole[1:3]
        )
        if shell:
            raise ActuatorError(
                f"container {self._name} starts its engine through a shell: give the arguments as a list, then one"
                " of them can be changed",
                retry=False,
            )


class ConfigMapVolume:
    """A `SpecPlace`: one ConfigMap per level, mounted as the same volume (TensorRT-LLM's options file).

    Args:
        volume: name of the volume in the pod.
        names: by level, name of its ConfigMap.
    """

    def __init__(self, volume: str, names: Mapping[Level, str]) -> None:
        self._volume = volume
        self._names = {level: names[level] for level in Level if level in names}

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels that have a ConfigMap."""
        return tuple(self._names)

    def level(self, deployment: Json) -> Level:
        """The level whose ConfigMap is mounted."""
        name = self._mounted(deployment)
        found = next((level for level, one in self._names.items() if one == name), None)
        if found is None:
            raise ActuatorError(f"volume {self._volume} mounts ConfigMap {name}, which is no level's", retry=False)
        return found

    def field(self, deployment: Json) -> FieldPath:
        """The name of the volume's ConfigMap."""
        del deployment
        return (*POD, "f:volumes", f'k:{{"name":"{self._volume}"}}', "f:configMap", "f:name")

    def former(self, deployment: Json) -> Json:
        """The name as it is."""
        return {"configMap": self._mounted(deployment)}

    def pod(self, deployment: Json, level: Level) -> Json:
        """The volume with the level's ConfigMap."""
        self._mounted(deployment)
        return self._volume_with(self._names[level])

    def restored(self, deployment: Json, former: Json) -> Json:
        """The volume with the former ConfigMap."""
        self._mounted(deployment)
        return self._volume_with(former["configMap"])

    def _volume_with(self, name: str) -> Json:
        return {"volumes": [{"name": self._volume, "configMap": {"name": name}}]}

    def _mounted(self, deployment: Json) -> str:
        volumes: list[Any] = deployment["spec"]["template"]["spec"].get("volumes") or []
        found = next((one for one in volumes if one["name"] == self._volume and "configMap" in one), None)
        if found is None:
            raise ActuatorError(f"the pod has no volume {self._volume} from a ConfigMap", retry=False)
        return str(found["configMap"]["name"])
