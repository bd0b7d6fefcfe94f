"""The reader's TypeScript types are those of the Python values."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_types_are_up_to_date() -> None:
    if not (ROOT / "web").exists():
        pytest.skip("the reader's source is not here")
    made = runpy.run_path(str(ROOT / "scripts" / "make_types.py"))
    text = made["HEAD"] + "\n".join(made["declarations"]())
    assert (ROOT / "web" / "src" / "values.ts").read_text() == text, "run `python scripts/make_types.py`"
