"""Which parts of documents are queries, and which checks are run: written out, sorted by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from specwatch_deploy.doctor.adapter_rules import adapter_queries
from specwatch_deploy.doctor.alertmanager_inhibition import dead_inhibitions, inhibits_all
from specwatch_deploy.doctor.alertmanager_receivers import receivers, unreachable
from specwatch_deploy.doctor.check_scrapes import scraped_twice
from specwatch_deploy.doctor.dashboard_queries import dashboard_queries
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.perses_queries import perses_queries
from specwatch_deploy.doctor.query import Query
from specwatch_deploy.doctor.query_checks import check_queries
from specwatch_deploy.doctor.query_list import listed_queries
from specwatch_deploy.doctor.rule_queries import rule_queries
from specwatch_deploy.doctor.scaler_answer import answers
from specwatch_deploy.doctor.scaler_elements import several_elements
from specwatch_deploy.doctor.scaler_kinds import kind_queries
from specwatch_deploy.doctor.scaler_names import adapted_names
from specwatch_deploy.doctor.scaler_object import (
    addresses,
    bounds,
    fallbacks,
    formulas,
    misplaced,
    names,
    pods_values,
)
from specwatch_deploy.doctor.scaler_owners import two_owners, two_servers
from specwatch_deploy.doctor.scaler_reach import thresholds
from specwatch_deploy.doctor.scaler_served import served
from specwatch_deploy.doctor.scaler_signal import blind_at_zero, null_as_zero, seen_at_end
from specwatch_deploy.doctor.scaler_slots import slots
from specwatch_deploy.doctor.scaler_target import fixed_replicas, no_selector, of_kserve
from specwatch_deploy.doctor.scaler_trigger import pods_queries, scaler_queries
from specwatch_deploy.doctor.scaler_wrong import wrong_signals

EXTRACTORS: Final[tuple[Callable[[Document], Iterator[Query]], ...]] = (
    adapter_queries,
    dashboard_queries,
    kind_queries,
    listed_queries,
    perses_queries,
    pods_queries,
    rule_queries,
    scaler_queries,
)
"""Each gives the queries of the documents that it knows, and none of others."""

CHECKS: Final[tuple[Callable[[Inputs], Iterator[Finding]], ...]] = (
    adapted_names,
    addresses,
    answers,
    blind_at_zero,
    bounds,
    check_queries,
    dead_inhibitions,
    fallbacks,
    fixed_replicas,
    formulas,
    inhibits_all,
    misplaced,
    names,
    no_selector,
    null_as_zero,
    of_kserve,
    pods_values,
    receivers,
    scraped_twice,
    seen_at_end,
    served,
    several_elements,
    slots,
    thresholds,
    two_owners,
    two_servers,
    unreachable,
    wrong_signals,
)
"""Each looks at everything, and finds what it knows."""
