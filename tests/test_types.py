"""The TypeScript types of the web UI match the Python values."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_types_are_up_to_date() -> None:
    if not (ROOT / "web").exists():
        pytest.skip("the source of the web UI is not here")
    script = runpy.run_path(str(ROOT / "scripts" / "make_types.py"))
    text = script["HEADER"] + "\n".join(script["declarations"]())
    assert (ROOT / "web" / "src" / "data" / "values.ts").read_text() == text, "run `python scripts/make_types.py`"
    names = (ROOT / "src" / "reread" / "records" / "type_names.py").read_text()
    assert names == script["type_names"](), "run `python scripts/make_types.py`"
