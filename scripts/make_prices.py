"""Make `src/reread/accounting/prices.json` from the package `genai-prices` and the supplement beside this script.

    python -m pip install genai-prices
    python scripts/make_prices.py            # writes the file
    python scripts/make_prices.py --check    # exits 1 if the file differs

`genai-prices` has prices, tiers and dates; the supplement has what it lacks. A test makes the table again and compares
it with the committed one.
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
"""Our names of the token classes, and the names in genai-prices."""


def table() -> dict[str, Any]:
    """Return the whole price table."""
    supplement = json.loads(SUPPLEMENT.read_text())
    models = {model_name(model.id): convert_model(model) for model in claude_models()}
    for name, fields in supplement["models"].items():
        models[name] = {**models.get(name, {"aliases": []}), **fields}
    for name, model in models.items():
        model["fast"] = supplement["fast"].get(name)
        model["us_inference"] = name in supplement["us_inference_models"]
        model["regional"] = name in supplement["regional_models"]
    return {
        "as_of": supplement["as_of"],
        "sources": [f"genai-prices {version('genai-prices')}", f"supplement of {supplement['as_of']}"],
        "unit": "USD per million tokens; web_searches: USD per thousand; the rest are factors",
        **{name: supplement[name] for name in ("web_searches", "batch", "us_inference", "regional")},
        "models": dict(sorted(models.items())),
    }


def claude_models() -> list[Any]:
    """Return the models of genai-prices that have a cache price: Claude Code uses no others."""
    from genai_prices.data_snapshot import get_snapshot

    provider = next(p for p in get_snapshot().providers if p.id == "anthropic")
    return [model for model in provider.models if "cache_read" in convert_prices(model)[-1]]


def convert_model(model: Any) -> dict[str, Any]:
    """Convert a model of genai-prices to our format."""
    name = model_name(model.id)
    aliases = {model_name(alias) for alias in matched_names(model.match)} - {name}
    return {"aliases": sorted(aliases), "window": model.context_window, "prices": convert_prices(model)}


def matched_names(match: Any) -> list[str]:
    """Return the names in a match clause."""
    if hasattr(match, "or_"):
        return [name for clause in match.or_ for name in matched_names(clause)]
    return [getattr(match, kind) for kind in ("equals", "starts_with") if hasattr(match, kind)]


def model_name(name: str) -> str:
    """Return a name without its date, and with dashes for dots."""
    return re.sub(r"(-latest|-20\d{2,6}|@.*)$", "", name).replace(".", "-")


def convert_prices(model: Any) -> list[dict[str, Any]]:
    """Return the prices of a model, oldest first."""
    if not isinstance(model.prices, list):
        return [convert_price(model.prices)]
    out: list[dict[str, Any]] = []
    for conditional in model.prices:
        start = getattr(conditional.constraint, "start_date", None)
        out.append({**({"from": start.isoformat()} if start else {}), **convert_price(conditional.prices)})
    return out


def convert_price(price: Any) -> dict[str, Any]:
    """Return one set of prices, with the tier for long prompts if there is one."""
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
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file differs")
    if parser.parse_args().check:
        sys.exit(text() != TARGET.read_text())
    TARGET.write_text(text())
    print(f"{TARGET}: {len(table()['models'])} models")


if __name__ == "__main__":
    main()
