"""Writes objects as YAML: texts of several lines as blocks, so that a dashboard's JSON stays readable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

_HEADER: Final = "# Made by: specwatch dashboards deliver\n"


class _Dumper(yaml.SafeDumper):
    """As above."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_file(data: Mapping[str, Any]) -> str:
    """One document."""
    return _HEADER + yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, width=1_000_000, allow_unicode=True)
