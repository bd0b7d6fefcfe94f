"""Add-ons that exist only in this process."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from reread import cli, tools
from reread.base import addons
from reread.base.addons import Addon
from reread.records import dialects


def installer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """A fixture that installs add-ons: declarations, with objects in place of where these are defined.

    The first `own` of them come with reread. They are named `a0`, `a1` and so on.
    """

    def forget() -> None:
        addons.addons.cache_clear()
        tools.all_tools.cache_clear()
        dialects.others.cache_clear()
        cli._whole_command.cache_clear()

    def install(*declared: dict[str, Any], own: int = 0) -> None:
        lines = [f"[{addons.GROUP}]"]
        for number, kinds in enumerate(declared):
            module = ModuleType(f"{'reread.' if number < own else ''}addon_{number}")
            made: dict[str, Any] = {}
            for kind, things in kinds.items():
                made[kind] = {name: f"{module.__name__}:{kind}_{place}" for place, name in enumerate(things)}
                vars(module).update({f"{kind}_{place}": thing for place, thing in enumerate(things.values())})
            module.ADDON = Addon(**made)  # pyright: ignore[reportAttributeAccessIssue]
            monkeypatch.setitem(sys.modules, module.__name__, module)
            lines.append(f"a{number} = {module.__name__}:ADDON")
        info = tmp_path / "installed" / "them-1.dist-info"
        info.mkdir(parents=True)
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.setattr(sys, "path", [str(info.parent)])
        forget()

    yield install
    monkeypatch.undo()
    forget()
