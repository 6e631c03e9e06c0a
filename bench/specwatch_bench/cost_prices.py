"""Prices of GPU hours and of vendors' tokens, each with where and when it was seen."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.yaml_fields import Fields

_SHIPPED: Final = Path(__file__).parent / "cost_prices.toml"


@dataclass(frozen=True, slots=True)
class VendorPrice:
    """A list price in US dollars per million tokens.

    Attributes:
        source: address of the page that says it.
        seen: when it was read there.
        note: what else belongs to it.
    """

    name: str
    model: str
    input_usd: float
    output_usd: float
    source: str
    seen: date
    note: str

    def of_mix(self, prompt_per_output: float) -> float:
        """Dollars for a million output tokens with the prompts that belong to them."""
        return self.output_usd + prompt_per_output * self.input_usd


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """A list price of one GPU for one hour in US dollars; see `VendorPrice` for the rest."""

    name: str
    usd_hour: float
    source: str
    seen: date
    note: str


@dataclass(frozen=True, slots=True)
class PriceList:
    """All of one file."""

    vendors: tuple[VendorPrice, ...]
    gpus: tuple[GpuPrice, ...]


def load_prices(path: Path | None = None) -> PriceList:
    """Read a price list; the shipped one without a path.

    Raises:
        BenchError: it is not TOML, a member is missing or unknown, or a row has no source.
    """
    path = path or _SHIPPED
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: cannot be read as TOML: {error}") from error
    fields = Fields(body, str(path))
    vendors = tuple(
        _vendor(item, f"{path}: vendor {at}") for at, item in enumerate(fields.items("vendor"), start=1)
    )
    gpus = tuple(_gpu(item, f"{path}: gpu {at}") for at, item in enumerate(fields.take("gpu", []), start=1))
    fields.finish()
    return PriceList(vendors, gpus)


def _vendor(item: Any, where: str) -> VendorPrice:
    fields = Fields(item, where)
    found = VendorPrice(
        name=fields.text("name"),
        model=fields.text("model"),
        input_usd=fields.number("input_usd", -1.0),
        output_usd=fields.number("output_usd", -1.0),
        source=fields.text("source"),
        seen=_day(fields, where),
        note=str(fields.take("note", "")),
    )
    fields.finish()
    return found


def _gpu(item: Any, where: str) -> GpuPrice:
    fields = Fields(item, where)
    found = GpuPrice(
        name=fields.text("name"),
        usd_hour=fields.number("usd_hour", -1.0),
        source=fields.text("source"),
        seen=_day(fields, where),
        note=str(fields.take("note", "")),
    )
    fields.finish()
    return found


def _day(fields: Fields, where: str) -> date:
    value = fields.take("seen")
    if type(value) is not date:
        raise BenchError(f"{where}: seen must be a day such as 2026-11-30, not {value!r}")
    return value
