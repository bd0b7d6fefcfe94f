"""The structure of the source: names, packages, module lengths and imports."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from re._parser import SubPattern
from re._parser import parse as parse_pattern
from typing import Any

import pytest

import reread
from reread.cli import VERBS

SOURCE = Path(reread.__file__).parent
ROOT = Path(__file__).parent.parent
FILES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 530
STRUCTS = ("records.blocks", "records.types.attachments", "records.types.system")
"""Modules that only declare one struct after another, and may be longer."""

CONVENTIONS = {
    r"tools\.\w+": r"\w*Input|\w*Output|(\w+_)?title|draw(_\w+)?",
    r"tools": r"title|draw",
    r"records\.dialects(\.\w+)?|addons\.\w+\.dialect": r"looks_like|translate",
    r"addons\.(atif\.trajectories|codex\.rollouts)": r"files|recognises|runs",
    r"cli\.\w+": "|".join(VERBS),
    r"addons\.(lsp|mcp)\.server": r"make_server|run",
    r"addons\.rerun\.verb": r"rerun",
    r"addons\.\w+\.options": r"extend_\w+",
    r".*": r"main",
}
"""Names that modules of one kind share, by module: a tool's types, title and drawing, a dialect's functions, the verbs
(each calls the public function of its name), servers on standard input, what add-ons do to verbs,
and entry points."""


def module_name(path: Path) -> str:
    """Return the dotted name of a module, relative to the package."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


MODULES = {module_name(path) for path in FILES}


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """The syntax of each module, which is large: it is let go of after these tests."""
    return {module_name(path): ast.parse(path.read_bytes()) for path in FILES}


def public_definitions(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the public classes and functions of a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node.name


def is_conventional(module: str, name: str) -> bool:
    """True if modules of this kind share the name."""
    return any(re.fullmatch(where, module) and re.fullmatch(names, name) for where, names in CONVENTIONS.items())


def imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of the package that a module imports, anywhere and for type checking too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            imported = [name if name.removeprefix("reread.") in MODULES else node.module or "" for name in submodules]
        else:
            continue
        yield from (name.removeprefix("reread").removeprefix(".") for name in imported if name.startswith("reread"))


def test_a_name_has_one_meaning(modules: dict[str, ast.Module]) -> None:
    definitions: dict[str, list[str]] = defaultdict(list)
    for module, tree in modules.items():
        for name in public_definitions(tree):
            if not is_conventional(module, name):
                definitions[name].append(module)
    assert {name: modules for name, modules in definitions.items() if len(modules) > 1} == {}


def test_every_module_is_in_a_package() -> None:
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py", "errors.py"}


def test_a_package_is_described_in_one_to_three_sentences(modules: dict[str, ast.Module]) -> None:
    told = {name: ast.get_docstring(modules[name]) or "" for name in map(module_name, SOURCE.rglob("__init__.py"))}
    assert {name: text for name, text in told.items() if not 1 <= len(re.findall(r"\.(?:\s|$)", text)) <= 3} == {}


def test_a_verb_has_the_module_of_its_name() -> None:
    assert {path.stem for path in (SOURCE / "cli").glob("[!_]*.py")} == set(VERBS)


def test_no_module_is_long() -> None:
    lengths = {module_name(path): len(path.read_bytes().splitlines()) for path in FILES}
    assert {module: lines for module, lines in lengths.items() if lines > MAX_LINES and module not in STRUCTS} == {}


def test_every_decoder_expects_all_errors_of_the_library() -> None:
    partial = [path for path in FILES if "msgspec.DecodeError" in path.read_text() and path.name != "jsontext.py"]
    assert not partial, "besides DecodeError, msgspec raises the others of jsontext.DECODE_ERRORS"


def test_a_python_that_is_started_imports_nothing_from_the_folder_it_is_started_in() -> None:
    unsafe = [path for path in FILES if re.search(r'sys\.executable,\s*"(?!-P")', path.read_text())]
    assert not unsafe, "without -P, a file of somebody's project would be run"


def test_imports_have_no_cycle(modules: dict[str, ast.Module]) -> None:
    try:
        TopologicalSorter({module: set(imports(tree)) - {module} for module, tree in modules.items()}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_packages_for_every_system_are_locked() -> None:
    """`npm ci` fails on a system whose binding is not in the lock."""
    packages = json.loads((SOURCE.parents[1] / "web" / "package-lock.json").read_text())["packages"]
    locked = {path.rpartition("node_modules/")[2] for path in packages}
    wanted = {name for package in packages.values() for name in package.get("optionalDependencies", {})}
    assert len(wanted) > 20
    assert wanted - locked == set()


@pytest.mark.skipif(not (ROOT / ".git").exists() or not shutil.which("git"), reason="needs a checkout")
def test_nothing_that_a_run_left_behind_is_tracked() -> None:
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    modes, _, tracked = zip(*(line.partition("\t") for line in listed.splitlines()), strict=True)
    assert {mode.split()[0] for mode in modes} <= {"100644", "100755"}, "a link"
    published = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]
    expected = [*published["include"], "/pyproject.toml", "/.ci", "/.github", "/.gitignore"]
    top = {"/" + name.partition("/")[0] for name in tracked}
    assert [name for name in sorted(top) if not any(fnmatch(name, pattern) for pattern in expected)] == []


def holds_what_fails(items: Any, inside: bool = False) -> bool:
    """True if a possessive group has something to look ahead for, or a choice with possessive parts."""
    for op, value in items:
        name = str(op)
        if inside and name in ("ASSERT", "ASSERT_NOT"):
            return True
        groups = [part for part in value if isinstance(part, SubPattern)] if isinstance(value, tuple) else []
        groups += value[1] if name == "BRANCH" else []
        if inside and name == "BRANCH" and any(str(part[0]) == "POSSESSIVE_REPEAT" for way in value[1] for part in way):
            return True
        if any(holds_what_fails(group, inside or name == "POSSESSIVE_REPEAT") for group in groups):
            return True
    return False


@pytest.mark.filterwarnings("ignore")
def test_possessive_groups_are_such_as_every_python_matches(modules: dict[str, ast.Module]) -> None:
    """Up to Python 3.11.4, which Debian 12 has an older one of, they fail to match (gh-106052)."""
    assert holds_what_fails(parse_pattern(r"(?:[^-]++|-(?!-))*+")) and not holds_what_fails(parse_pattern(r"a*+(?=b)"))
    texts = {
        node.value
        for tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"[*+?}]\+", node.value)
    }
    wrong: list[str] = []
    for text in texts:
        with suppress(re.error):  # a piece of a pattern, or no pattern at all
            wrong += [text] * holds_what_fails(parse_pattern(text))
    assert len(texts) > 30 and wrong == []


def test_every_guard_that_mutants_break_is_there() -> None:
    """Else `make mutants` tries nothing."""
    spec = importlib.util.spec_from_file_location("guards", ROOT / "scripts" / "guards.py")
    assert spec is not None
    assert spec.loader is not None
    guards = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guards)
    gone = [row for row in guards.GUARDS if row.old not in (SOURCE / row.file).read_text()]
    files = {word for row in guards.GUARDS for word in row.tests.split() if word.startswith("tests/")}
    assert gone == []
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []


@pytest.fixture(name="shared", scope="module")
def _shared() -> list[str]:
    return [os.environ[name] for name in ("REREAD_HOME", "REREAD_CACHE")]


def test_what_tests_share_lies_in_no_folder_of_this_machine(
    shared: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert all(Path(folder).is_relative_to(tmp_path_factory.getbasetemp()) for folder in shared)


def test_a_session_is_shown_by_few_functions_and_they_are_not_nested_deeply(tmp_path: Path) -> None:
    shutil.copytree(SOURCE / "samples" / "projects", tmp_path / "projects")
    environment = os.environ | {"CLAUDE_CONFIG_DIR": str(tmp_path), "REREAD_CACHE": str(tmp_path / "cache")}
    for _ in range(2):  # with nothing derived yet, and again
        ran = subprocess.run(
            [sys.executable, ROOT / "bench" / "calls.py", "show", "8c1f", "--no-pager"],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        counts = re.match(r"(\d+) functions of \d+ modules, (\d+) deep", ran.stderr)
        assert counts is not None and int(counts[1]) <= 1000 and int(counts[2]) <= 20, ran.stderr
