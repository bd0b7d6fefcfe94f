"""Prices: what a token of each model costs on each day, from a table that is data."""

from __future__ import annotations

import os
import re
from datetime import date
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.disk.layout import expand_path
from reread.errors import Misuse

VARIABLE = "REREAD_PRICES"
"""Names a file whose prices go before the bundled ones."""
BUNDLED = Path(__file__).with_name("prices.json")

FAST, US, BATCH = 1, 2, 4
"""What may be special about a request, as bits."""

PICO = 10**6
"""A dollar per million tokens is so many pico-dollars a token."""

_VARIANT = re.compile(
    r"""(?: (?P<region> [a-z]{2,6} (?:-gov)? ) \. )?      # us. eu. jp. au. global. : an inference profile
        (?P<bedrock> anthropic\. )?
        (?P<name> claude-[a-z0-9.-]+? )
        (?: -latest | -\d{8} | -\d{4}-\d{2}-\d{2} )?
        (?P<vertex> (?: -v\d+ )? @ [a-z0-9-]+ )?
        (?: -v\d+ (?: :\d+[a-z]* )* )?
        (?: \[ \w+ \] )?""",
    re.VERBOSE,
)
GLOBAL = "global"
CACHE_FACTORS = {"cache_write_5m": Decimal("1.25"), "cache_write_1h": Decimal(2), "cache_read": Decimal("0.1")}
"""What the cache costs, times the input price, where a table does not say."""


class Tier(msgspec.Struct, frozen=True):
    """What is billed for all of a request whose prompt is longer than so many tokens."""

    over: int
    input: Decimal
    output: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal


class Price(msgspec.Struct, frozen=True):
    """What a model costs from some day on, in USD per million tokens."""

    input: Decimal
    output: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal
    long: Tier | None = None
    start: str | None = msgspec.field(default=None, name="from")


class PricedModel(msgspec.Struct, frozen=True):
    """A model, its other names, and its prices, the oldest first."""

    prices: list[Price]
    aliases: list[str] = []
    window: int | None = None
    """How many tokens its context holds."""
    fast: Decimal | None = None
    """The factor of its fast mode, where it has one."""
    us_inference: bool = False
    regional: bool = False


class PriceTable(msgspec.Struct, frozen=True):
    """All prices, with the day they were looked up."""

    as_of: str
    models: dict[str, PricedModel]
    sources: list[str] = []
    unit: str = ""
    web_searches: Decimal = Decimal(10)
    """USD per thousand."""
    batch: Decimal = Decimal("0.5")
    us_inference: Decimal = Decimal("1.1")
    regional: Decimal = Decimal("1.1")


class ModelName(msgspec.Struct, frozen=True):
    """What a model's id says: which model, and through whose door."""

    model: str
    regional: bool = False
    first_party: bool = True


class Rates(msgspec.Struct, frozen=True, gc=False):
    """What one request is billed, in pico-dollars a token or search."""

    input: int
    output: int
    write_5m: int
    write_1h: int
    read: int
    search: int
    over: int = 0
    """Above so many prompt tokens, `long` holds; 0 where nothing does."""
    long: Rates | None = None

    def price(self, input: int, output: int, write_5m: int, write_1h: int, read: int, searches: int) -> int:
        """What so many tokens and searches cost."""
        return (
            input * self.input
            + output * self.output
            + write_5m * self.write_5m
            + write_1h * self.write_1h
            + read * self.read
            + searches * self.search
        )


class Prices:
    """A price table, looked up by a model's id as it is written, a day and what is special about the request."""

    def __init__(self, table: PriceTable) -> None:
        self.table = table
        self._names = {alias: name for name, model in table.models.items() for alias in model.aliases}
        self._rates: dict[tuple[str | None, int | None, int], Rates | None] = {}

    def model(self, id: str | None) -> PricedModel | None:
        """The model of that id, or None: an unknown one is never taken for its neighbour."""
        name = self.name(id)
        return self.table.models.get(name.model) if name else None

    @cached_property
    def thresholds(self) -> frozenset[int]:
        """The prompt lengths above which some model is dearer."""
        prices = (price for model in self.table.models.values() for price in model.prices)
        return frozenset(price.long.over for price in prices if price.long is not None)

    def name(self, id: str | None) -> ModelName | None:
        """The model that an id means, or None where the table has no such model."""
        if not id:
            return None
        if id in self.table.models:
            return ModelName(id)
        found = read_name(id)
        model = self._names.get(found.model, found.model)
        return msgspec.structs.replace(found, model=model) if model in self.table.models else None

    def rates(self, id: str | None, day: int | None, mode: int = 0) -> Rates | None:
        """What a request is billed; None where the model is not known. `day` counts from 1970-01-01 (UTC)."""
        key = (id, day, mode)
        if key not in self._rates:
            self._rates[key] = self._look_up(id, day, mode)
        return self._rates[key]

    def _look_up(self, id: str | None, day: int | None, mode: int) -> Rates | None:
        name = self.name(id)
        if name is None:
            return None
        model = self.table.models[name.model]
        price = price_on(model, day)
        factor = self._factor(model, name, mode)
        search = int(self.table.web_searches * 10**9)
        if price.long is None:
            return _rates(price, factor, search)
        long = _rates(price.long, factor, search)
        return msgspec.structs.replace(_rates(price, factor, search), over=price.long.over, long=long)

    def _factor(self, model: PricedModel, name: ModelName, mode: int) -> Decimal:
        table = self.table
        factors = (
            (mode & FAST and model.fast is not None, model.fast or Decimal(1)),
            (mode & US and model.us_inference and name.first_party, table.us_inference),
            (mode & BATCH, table.batch),
            (name.regional and model.regional, table.regional),
        )
        product = Decimal(1)
        for holds, factor in factors:
            product *= factor if holds else 1
        return product


def price_on(model: PricedModel, day: int | None) -> Price:
    """The price in force on a day; the newest where the day is not known."""
    if day is None:
        return model.prices[-1]
    started = [price for price in model.prices if price.start is None or _days(price.start) <= day]
    return started[-1] if started else model.prices[0]


def _days(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def _rates(price: Price | Tier, factor: Decimal, search: int) -> Rates:
    def rate(amount: Decimal) -> int:
        return round(amount * factor * PICO)

    return Rates(
        input=rate(price.input),
        output=rate(price.output),
        write_5m=rate(price.cache_write_5m),
        write_1h=rate(price.cache_write_1h),
        read=rate(price.cache_read),
        search=search,
    )


def read_name(id: str) -> ModelName:
    """A model's id without provider, region, date and context size; the name is that of no table yet."""
    last = id.strip().lower().rsplit("/", 1)[-1]
    found = _VARIANT.fullmatch(last)
    if found is None:
        return ModelName(id)
    door = bool(found["bedrock"] or found["vertex"])
    regional = bool(found["bedrock"] and found["region"] and found["region"] != GLOBAL)
    return ModelName(found["name"].replace(".", "-"), regional=regional, first_party=not door)


@cache
def bundled() -> Prices:
    """The prices that come with this package."""
    return Prices(msgspec.json.decode(BUNDLED.read_bytes(), type=PriceTable))


def prices_from(path: str | Path) -> Prices:
    """The bundled prices with those of a file before them.

    The file has the shape of the bundled one. A model may also be just `{"input": 1, "output": 5}`.
    """
    try:
        value: Any = jsontext.loads(expand_path(path).read_bytes())
        if not isinstance(value, dict):
            raise Misuse(f"{path}: a price file is a JSON object")
        given = cast(dict[str, Any], value)
        models: dict[str, Any] = given.get("models", {})
        own = {name: msgspec.convert(_whole(model), PricedModel, strict=False) for name, model in models.items()}
        base = bundled().table
        names = ("as_of", "web_searches", "batch", "us_inference", "regional")
        said = {name: given[name] for name in names if name in given}
        rest = msgspec.convert({"as_of": base.as_of, "models": {}, **said}, PriceTable, strict=False)
    except OSError as error:
        raise Misuse(f"{path}: {error.strerror or error}; a price file cannot be read") from error
    except (ValueError, ArithmeticError, AttributeError, KeyError, TypeError) as error:
        raise Misuse(f"{path}: not a price file: {error}") from error
    changed = {name: getattr(rest, name) for name in said}
    sources = [*base.sources, str(path)]
    return Prices(msgspec.structs.replace(base, models={**base.models, **own}, sources=sources, **changed))


def _whole(model: Any) -> Any:
    """A model with every price, where only some were given."""
    fields = cast(dict[str, Any], model)
    if "prices" not in fields:
        about = {name: fields[name] for name in ("aliases", "window", "fast") if name in fields}
        fields = {**about, "prices": [{k: v for k, v in fields.items() if k not in about}]}
    prices = [_filled(price) for price in fields["prices"]]
    return {**fields, "prices": prices}


def _filled(price: dict[str, Any]) -> dict[str, Any]:
    paid = Decimal(str(price["input"]))
    cached = {name: str(paid * factor) for name, factor in CACHE_FACTORS.items()}
    filled = {**cached, **{name: _text(value) for name, value in price.items()}}
    if isinstance(price.get("long"), dict):
        filled["long"] = _filled(price["long"])
    return filled


def _text(value: Any) -> Any:
    """A number as its digits, so that no float comes between the file and the price."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def in_force(path: str | Path | None = None) -> Prices:
    """The prices to count with: a given file's, else those that the environment names, else the bundled."""
    told = path or os.environ.get(VARIABLE)
    return _read_once(str(told), _changed(told)) if told else bundled()


@lru_cache(maxsize=8)
def _read_once(path: str, changed: int) -> Prices:
    return prices_from(path)


def _changed(path: str | Path) -> int:
    try:
        return expand_path(path).stat().st_mtime_ns
    except OSError:
        return 0
