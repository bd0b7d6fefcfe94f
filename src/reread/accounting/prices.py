"""Token prices by model and day, read from a table that is data."""

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
from reread.base.late_pattern import late_pattern
from reread.base.text import short_cache
from reread.disk.layout import expand_path
from reread.errors import Misuse
from reread.storage.safe_open import read_settings

VARIABLE = "REREAD_PRICES"
"""Environment variable with the path of a price file that overrides the bundled prices."""
BUNDLED_FILE = Path(__file__).with_name("prices.json")

FAST, US, BATCH = 1, 2, 4
"""Request modes that change the price, as bits: fast mode, inference in the US, batch processing."""

PICOS_PER_TOKEN = 10**6
"""One dollar per million tokens, in pico-dollars per token."""
PICOS_PER_SEARCH = 10**9
"""One dollar per thousand web searches, in pico-dollars per search."""

_MODEL_ID = late_pattern(
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
"""Cache prices as multiples of the input price, for price files that do not state them."""


class Tier(msgspec.Struct, frozen=True):
    """Prices for the whole of a request whose prompt has more than `over` tokens."""

    over: int
    input: Decimal
    output: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal


class Price(msgspec.Struct, frozen=True):
    """Prices of a model from some day on, in USD per million tokens."""

    input: Decimal
    output: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal
    long: Tier | None = None
    start: str | None = msgspec.field(default=None, name="from")


class PricedModel(msgspec.Struct, frozen=True):
    """A model with its prices, oldest first."""

    prices: list[Price]
    aliases: list[str] = []
    window: int | None = None
    """Size of the context window in tokens."""
    fast: Decimal | None = None
    """Price factor of fast mode; None if the model has no such mode."""
    us_inference: bool = False
    """True if inference in the US costs more."""
    regional: bool = False
    """True if a regional endpoint costs more."""


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
    """The parts of a model id: which model, and how it was reached."""

    model: str
    regional: bool = False
    """True if the id names a regional Bedrock endpoint."""
    first_party: bool = True
    """False if the model was reached through Bedrock or Vertex."""


class Rates(msgspec.Struct, frozen=True, gc=False):
    """Prices of one request, in pico-dollars per token or search."""

    input: int
    output: int
    write_5m: int
    write_1h: int
    read: int
    search: int
    over: int = 0
    """Prompts with more tokens are billed at the `long` rates; 0 if there are none."""
    long: Rates | None = None

    def cost(self, input: int, output: int, write_5m: int, write_1h: int, read: int, searches: int) -> int:
        """Return the cost of these tokens and searches in pico-dollars."""
        return (
            input * self.input
            + output * self.output
            + write_5m * self.write_5m
            + write_1h * self.write_1h
            + read * self.read
            + searches * self.search
        )


class Prices:
    """Looks up a price table by model id, day and request mode."""

    def __init__(self, table: PriceTable) -> None:
        self.table = table
        self._aliases = {alias: name for name, model in table.models.items() for alias in model.aliases}
        self._rates: dict[tuple[str | None, int | None, int], Rates | None] = {}

    def model(self, model_id: str | None) -> PricedModel | None:
        """Return the model with this id; None if the table lacks it: no other model is ever used in its place."""
        name = self.name(model_id)
        return self.table.models.get(name.model) if name else None

    @cached_property
    def thresholds(self) -> frozenset[int]:
        """The prompt lengths above which some model has higher prices."""
        prices = (price for model in self.table.models.values() for price in model.prices)
        return frozenset(price.long.over for price in prices if price.long is not None)

    @cached_property
    def starts(self) -> frozenset[int]:
        """The days from 1970-01-01 on which some price changed."""
        prices = (price for model in self.table.models.values() for price in model.prices)
        return frozenset(_days(price.start) for price in prices if price.start is not None)

    def name(self, model_id: str | None) -> ModelName | None:
        """Return the name in the table of the model with this id; None if the table lacks it."""
        if not model_id:
            return None
        if model_id in self.table.models:
            return ModelName(model_id)
        parsed = parse_model_id(model_id)
        model = self._aliases.get(parsed.model, parsed.model)
        return msgspec.structs.replace(parsed, model=model) if model in self.table.models else None

    def rates(self, model_id: str | None, day: int | None, mode: int = 0) -> Rates | None:
        """Return the rates of a request on a day, counted from 1970-01-01 (UTC); None if the model is unknown."""
        key = (model_id, day, mode)
        if key not in self._rates:
            self._rates[key] = self._compute_rates(model_id, day, mode)
        return self._rates[key]

    def _compute_rates(self, model_id: str | None, day: int | None, mode: int) -> Rates | None:
        name = self.name(model_id)
        if name is None:
            return None
        model = self.table.models[name.model]
        price = price_on(model, day)
        factor = self._factor(model, name, mode)
        search = int(self.table.web_searches * PICOS_PER_SEARCH)
        if price.long is None:
            return _to_rates(price, factor, search)
        long = _to_rates(price.long, factor, search)
        return msgspec.structs.replace(_to_rates(price, factor, search), over=price.long.over, long=long)

    def _factor(self, model: PricedModel, name: ModelName, mode: int) -> Decimal:
        """Return the product of all price factors that apply to a request."""
        table = self.table
        factors = (
            (mode & FAST and model.fast is not None, model.fast or Decimal(1)),
            (mode & US and model.us_inference and name.first_party, table.us_inference),
            (mode & BATCH, table.batch),
            (name.regional and model.regional, table.regional),
        )
        product = Decimal(1)
        for applies, factor in factors:
            product *= factor if applies else 1
        return product


def price_on(model: PricedModel, day: int | None) -> Price:
    """Return the price in force on a day; the newest if the day is unknown."""
    if day is None:
        return model.prices[-1]
    started = [price for price in model.prices if price.start is None or _days(price.start) <= day]
    return started[-1] if started else model.prices[0]


def _days(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def _to_rates(price: Price | Tier, factor: Decimal, search: int) -> Rates:
    def rate(amount: Decimal) -> int:
        return round(amount * factor * PICOS_PER_TOKEN)

    return Rates(
        input=rate(price.input),
        output=rate(price.output),
        write_5m=rate(price.cache_write_5m),
        write_1h=rate(price.cache_write_1h),
        read=rate(price.cache_read),
        search=search,
    )


@short_cache(1024)
def parse_model_id(model_id: str) -> ModelName:
    """Strip provider, region, date and context size from a model id; the result need not be in any table."""
    last = model_id.strip().lower().rsplit("/", 1)[-1]
    found = _MODEL_ID.fullmatch(last)
    if found is None:
        return ModelName(model_id)
    third_party = bool(found["bedrock"] or found["vertex"])
    regional = bool(found["bedrock"] and found["region"] and found["region"] != GLOBAL)
    return ModelName(found["name"].replace(".", "-"), regional=regional, first_party=not third_party)


def model_text(id: str | None) -> str:
    """Return the short name of a model, without vendor, date and provider."""
    return parse_model_id(id).model.removeprefix("claude-") if id else ""


@cache
def bundled_prices() -> Prices:
    """Return the prices that come with this package."""
    return Prices(msgspec.json.decode(BUNDLED_FILE.read_bytes(), type=PriceTable))


def read_price_file(path: str | Path) -> Prices:
    """Return the bundled prices overridden by those of a file.

    The file has the shape of the bundled one. A model may also be just `{"input": 1, "output": 5}`.
    """
    try:
        value: Any = jsontext.loads(read_settings(expand_path(path)))
        if not isinstance(value, dict):
            raise Misuse(f"Invalid price file {path}: expected a JSON object.")
        content = cast(dict[str, Any], value)
        models: dict[str, Any] = content.get("models", {})
        own = {name: msgspec.convert(_expand_model(model), PricedModel, strict=False) for name, model in models.items()}
        base = bundled_prices().table
        names = ("as_of", "web_searches", "batch", "us_inference", "regional")
        settings = {name: content[name] for name in names if name in content}
        parsed = msgspec.convert({"as_of": base.as_of, "models": {}, **settings}, PriceTable, strict=False)
    except OSError as error:
        reason = error.strerror or error
        raise Misuse(f"Cannot read price file {path}: {reason}; check {VARIABLE}.") from error
    except KeyError as error:
        raise Misuse(f"Invalid price file {path}: a price has no {error}.") from error
    except (ValueError, ArithmeticError, AttributeError, TypeError) as error:
        raise Misuse(f"Invalid price file {path}: {error}.") from error
    changes = {name: getattr(parsed, name) for name in settings}
    sources = [*base.sources, str(path)]
    return Prices(msgspec.structs.replace(base, models={**base.models, **own}, sources=sources, **changes))


def _expand_model(model: Any) -> Any:
    """Return a model of a price file with a list of prices, each one complete."""
    fields = cast(dict[str, Any], model)
    if "prices" not in fields:
        about = {name: fields[name] for name in ("aliases", "window", "fast") if name in fields}
        fields = {**about, "prices": [{name: value for name, value in fields.items() if name not in about}]}
    return {**fields, "prices": [_complete_price(price) for price in fields["prices"]]}


def _complete_price(price: dict[str, Any]) -> dict[str, Any]:
    """Return a price with the cache prices it does not state."""
    input_price = Decimal(str(price["input"]))
    cache_prices = {name: str(input_price * factor) for name, factor in CACHE_FACTORS.items()}
    complete = {**cache_prices, **{name: _exact(value) for name, value in price.items()}}
    if isinstance(price.get("long"), dict):
        complete["long"] = _complete_price(price["long"])
    return complete


def _exact(value: Any) -> Any:
    """Return a number as its digits, to keep floats out of the conversion to Decimal."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def current_prices(path: str | Path | None = None) -> Prices:
    """Return the prices to count with: of this file, else of the file in the environment, else the bundled ones."""
    given = path or os.environ.get(VARIABLE)
    return _read_once(str(given), _modified(given)) if given else bundled_prices()


@lru_cache(maxsize=8)
def _read_once(path: str, modified: int) -> Prices:
    return read_price_file(path)


def _modified(path: str | Path) -> int:
    try:
        return expand_path(path).stat().st_mtime_ns
    except OSError:
        return 0
