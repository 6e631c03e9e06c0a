"""Everything that scales by a series or a query, in the same words: KEDA, HPAs, and kinds of their own."""

from __future__ import annotations

from collections.abc import Iterator

from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_kinds import kind_triggers
from specwatch_deploy.doctor.scaler_trigger import Trigger, keda_and_hpa


def triggers(inputs: Inputs) -> Iterator[Trigger]:
    """All signals whose threshold means something by itself."""
    yield from keda_and_hpa(inputs)
    for document in inputs.documents:
        yield from kind_triggers(document)
