"""Our YAML is read as the same value by a YAML library."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from specwatch_deploy.actuators.yaml_text import yaml_text

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.text(max_size=12)
    | st.sampled_from(["yes", "No", "1", "1e3", "0x1", "~", "", "- a", "a: b", "#", "{}", "2026-01-01", "="])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
)


@given(VALUES)
def test_round_trip(value: object) -> None:
    assert yaml.safe_load(yaml_text(value)) == value


def test_it_looks_as_people_write_it() -> None:
    value = {"kind": "Role", "rules": [{"apiGroups": [""], "verbs": ["get", "list"]}], "empty": {}, "n": 1}
    assert yaml_text(value) == (
        'kind: Role\nrules:\n- apiGroups:\n  - ""\n  verbs:\n  - get\n  - list\nempty: {}\n"n": 1\n'
    )


def test_what_is_no_json_value() -> None:
    with pytest.raises(TypeError):
        yaml_text({"a": object()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        yaml_text(float("nan"))
