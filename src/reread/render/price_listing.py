"""The price list as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from reread.accounting.prices import Price, Prices, Tier, price_on
from reread.base.sanitize import safe_line
from reread.base.text import pad
from reread.render.text_table import PLAIN, STRONG, Styled


def price_lines(prices: Prices, day: int) -> Iterator[Styled]:
    """Yield the prices in force on a day."""
    table = prices.table
    yield STRONG, f"Prices of {table.as_of}, in USD per million tokens ({'; '.join(table.sources)})"
    headers = ("input", "output", "write 5m", "write 1h", "read")
    yield STRONG, f"{'model':24}" + "".join(f"{header:>9}" for header in headers)
    for name, model in table.models.items():
        price = price_on(model, day)
        yield PLAIN, pad(safe_line(name), 24) + _prices(price) + (f"  fast × {model.fast}" if model.fast else "")
        if price.long is not None:
            yield PLAIN, f"{f'  prompt over {price.long.over:,}':24}" + _prices(price.long)
    yield (
        PLAIN,
        (
            f"Web search ${table.web_searches} per 1,000; batch × {table.batch}; US inference × {table.us_inference}; "
            f"regional × {table.regional}"
        ),
    )


def _prices(price: Price | Tier) -> str:
    amounts = (price.input, price.output, price.cache_write_5m, price.cache_write_1h, price.cache_read)
    return "".join(f"{amount.normalize():>9f}" for amount in amounts)
