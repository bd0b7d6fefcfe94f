"""Make `src/reread/accounting/prices.json` from the package `genai-prices` and the supplement beside this script.

    python -m pip install genai-prices
    python scripts/make_prices.py            # writes the file
    python scripts/make_prices.py --check    # exits 1 where the file differs

`genai-prices` knows prices, tiers and dates; the supplement holds what it lacks. A test makes the table again and
compares it with the one that is committed.
"""

import argparse
import json
import re
import sys
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "reread" / "accounting" / "prices.json"
SUPPLEMENT = HERE / "prices_supplement.json"
CLASSES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "cache_read": "cache_read_mtok",
}
"""Our names of the token classes, and those of genai-prices."""


def table() -> dict[str, Any]:
    """The whole price table."""
    more = json.loads(SUPPLEMENT.read_text())
    models = {model_name(model.id): described(model) for model in claude_models()}
    for name, given in more["models"].items():
        models[name] = {**models.get(name, {"aliases": []}), **given}
    for name, model in models.items():
        model["fast"] = more["fast"].get(name)
        model["us_inference"] = name in more["us_inference_models"]
        model["regional"] = name in more["regional_models"]
    return {
        "as_of": more["as_of"],
        "sources": [f"genai-prices {version('genai-prices')}", f"supplement of {more['as_of']}"],
        "unit": "USD per million tokens; web_searches: USD per thousand; the rest are factors",
        **{name: more[name] for name in ("web_searches", "batch", "us_inference", "regional")},
        "models": dict(sorted(models.items())),
    }


def claude_models() -> list[Any]:
    """The models of genai-prices that have a price for the cache: Claude Code uses no others."""
    from genai_prices.data_snapshot import get_snapshot

    provider = next(p for p in get_snapshot().providers if p.id == "anthropic")
    return [model for model in provider.models if "cache_read" in dated(model)[-1]]


def described(model: Any) -> dict[str, Any]:
    """One model of genai-prices in our shape."""
    name = model_name(model.id)
    aliases = {model_name(alias) for alias in named(model.match)} - {name}
    return {"aliases": sorted(aliases), "window": model.context_window, "prices": dated(model)}


def named(match: Any) -> list[str]:
    """The names that a match clause lists."""
    if hasattr(match, "or_"):
        return [name for clause in match.or_ for name in named(clause)]
    return [getattr(match, kind) for kind in ("equals", "starts_with") if hasattr(match, kind)]


def model_name(name: str) -> str:
    """A name without its date and with dashes for dots."""
    return re.sub(r"(-latest|-20\d{2,6}|@.*)$", "", name).replace(".", "-")


def dated(model: Any) -> list[dict[str, Any]]:
    """The prices of a model, the oldest first."""
    if not isinstance(model.prices, list):
        return [priced(model.prices)]
    out: list[dict[str, Any]] = []
    for conditional in model.prices:
        start = getattr(conditional.constraint, "start_date", None)
        out.append({**({"from": start.isoformat()} if start else {}), **priced(conditional.prices)})
    return out


def priced(price: Any) -> dict[str, Any]:
    """One set of prices, with the tier for long prompts where there is one."""
    found = {ours: getattr(price, theirs, None) for ours, theirs in CLASSES.items()}
    found = {name: value for name, value in found.items() if value is not None}
    out: dict[str, Any] = {name: number(getattr(value, "base", value)) for name, value in found.items()}
    tiers = {name: value.tiers for name, value in found.items() if hasattr(value, "tiers")}
    if tiers:
        starts = {tier.start for several in tiers.values() for tier in several}
        assert len(starts) == 1, f"more than one tier: {starts}"
        out["long"] = {"over": starts.pop(), **{name: number(t[0].price) for name, t in tiers.items()}}
    return out


def number(value: Decimal) -> int | float:
    return int(value) if value == int(value) else float(value)


def text() -> str:
    return json.dumps(table(), indent=1) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the file differs")
    if parser.parse_args().check:
        sys.exit(text() != TARGET.read_text())
    TARGET.write_text(text())
    print(f"{TARGET}: {len(table()['models'])} models")


if __name__ == "__main__":
    main()
