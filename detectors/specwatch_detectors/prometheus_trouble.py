"""Why an API that speaks Prometheus gave no answer, in one line."""

from __future__ import annotations

import re
from typing import Final

from prometheus_api_client.exceptions import PrometheusApiClientException
from requests import RequestException
from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema

NO_ANSWER: Final = (PrometheusApiClientException, RequestException, KeyError, TypeError, ValueError)
"""What prometheus-api-client raises where there is none."""

_TOLD: Final = re.compile(r'"error"\s*:\s*"((?:[^"\\]|\\.)*)"')
_STATUS: Final = re.compile(r"^HTTP Status Code ")
_OBJECT: Final = re.compile(r"^\w+\([^)]*\): ")
_LONGEST: Final = 200


def trouble(error: Exception) -> str:
    """What the API said, or what went wrong on the way to it."""
    text = str(error)
    if isinstance(error, PrometheusApiClientException):
        told = _TOLD.search(text)
        words = text if told is None else f"{_STATUS.sub('', text).partition(' ')[0]}: {told.group(1)}"
    elif isinstance(error, InvalidSchema | InvalidURL | MissingSchema):
        words = text
    elif isinstance(error, RequestException) and not isinstance(error, ValueError):
        inner = error.args[0] if error.args else error
        words = _OBJECT.sub("", str(getattr(inner, "reason", inner)))
    else:
        words = "the answer is no JSON of a Prometheus API: check the address"
    return " ".join(words.split())[:_LONGEST]
