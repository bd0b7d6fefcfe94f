"""What to install for an extra, told as the environment needs it."""

import sys
import tomllib
from pathlib import Path

import pytest

from reread.base.optional_dependencies import install_command


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/ann/shop/.venv", "pip install 'reread[tables]'"),
        ("/home/ann/.local/share/pipx/venvs/reread", "pipx inject reread 'duckdb>=1.3' 'pyarrow>=17'"),
        ("/home/ann/.local/share/uv/tools/reread", "uv tool install --force 'reread[tables]'"),
    ],
)
def test_the_command_fits_what_installed_reread(prefix: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert install_command("tables") == command


def test_pipx_is_told_all_that_an_extra_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/ann/.local/pipx/venvs/reread")
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    for extra, libraries in project["optional-dependencies"].items():
        assert all(library in install_command(extra) for library in libraries)
