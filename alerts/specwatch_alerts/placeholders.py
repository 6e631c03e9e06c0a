"""The one substitution of the data files: `@{name}`. A name that does not exist is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from specwatch_alerts.origin import Origin
from specwatch_alerts.values import Values

_PLACEHOLDER: Final = re.compile(r"@\{([^}]*)\}")
WHERE: Final = "{{ $labels.model }}{{ with $labels.namespace }} in {{ . }}{{ end }}"
POD: Final = "{{ with $labels.pod }}pod {{ . }}{{ else }}{{ $labels.instance }}{{ end }}"


class PlaceholderError(ValueError):
    """A data file uses a placeholder that does not exist; the message is one line."""


def fill(text: str, known: Mapping[str, str], where: str) -> str:
    """The text with every `@{name}` replaced.

    Raises:
        PlaceholderError: a name is not among the known.
    """

    def value(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in known:
            raise PlaceholderError(f"{where}: unknown placeholder @{{{name}}}")
        return known[name]

    return _PLACEHOLDER.sub(value, text)


def query_texts(values: Values, origin: Origin) -> dict[str, str]:
    """What placeholders stand for inside a query: every parameter, and the matchers of the scope.

    Texts are escaped for a string in double quotes; numbers are as Prometheus reads them.
    """
    known = {name: _in_query(value) for name, value in values.flat.items() if not isinstance(value, list)}
    namespace = _matcher("namespace", known["scope.namespaces"])
    known["namespace_scope"] = namespace
    known["exported_namespace_scope"] = _matcher("exported_namespace", known["scope.namespaces"])
    patient = known["queue.patient_classes"]
    known["impatient"] = f'traffic_class!~"{patient}", ' if patient else ""
    known["scope"] = _joined(namespace, _matcher(origin.model_label, known["scope.models"]))
    known["model_scope"] = _joined(namespace, _matcher("model", known["scope.models"]))
    return known


def prose_texts(values: Values) -> dict[str, str]:
    """What placeholders stand for in annotations: every parameter, and the words for where it is."""
    known = {name: _plain(value) for name, value in values.flat.items() if not isinstance(value, list)}
    return {**known, "where": WHERE, "pod": POD}


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _in_query(value: object) -> str:
    return _plain(value) if not isinstance(value, str) else value.replace("\\", "\\\\").replace('"', '\\"')


def _matcher(label: str, pattern: str) -> str:
    return f'{label}=~"{pattern}"' if pattern else ""


def _joined(*matchers: str) -> str:
    return ", ".join(matcher for matcher in matchers if matcher)
