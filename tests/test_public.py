"""The public names, and how little importing them loads."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import reread


def test_the_public_names_are_sorted_and_exist() -> None:
    assert reread.__all__ == sorted(reread.__all__)
    for name in reread.__all__:
        assert getattr(reread, name) is not None
    assert len(reread.__all__) <= 31


def test_every_public_name_has_a_docstring() -> None:
    for name in reread.__all__:
        assert getattr(reread, name).__doc__, name


def test_no_submodule_shadows_a_public_function() -> None:
    for module in pkgutil.walk_packages(reread.__path__, "reread."):
        importlib.import_module(module.name)
    for name in reread.__all__:
        assert callable(getattr(reread, name)), f"reread.{name} is shadowed by a module"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = reread.nonsense


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import reread", {"msgspec", "click", "rich", "watchfiles", "asyncio", "json"}),
        (
            "import sys; sys.argv = ['reread', '--help']\n"
            "from reread import cli\n"
            "try: cli.main()\nexcept SystemExit: pass",
            {"msgspec", "rich", "watchfiles", "asyncio", "reread.session"},
        ),
    ],
    ids=["import", "help"],
)
def test_import_and_help_load_only_what_they_need(code: str, unwanted: set[str]) -> None:
    probe = f"{code}\nimport sys; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert unwanted.isdisjoint(done.stdout.splitlines()[-1].split())
