"""The public names, and how little importing them loads."""

import ast
import inspect
import runpy
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from modules import imported_modules

import reread
import reread.plugins
import reread.records.types
import reread.types

SAMPLES = Path(reread.__file__).parent / "samples"
DOCS = runpy.run_path(str(Path(__file__).parent.parent / "scripts" / "make_docs.py"))
DOCUMENTED = [*reread.__all__, *(f"types.{name}" for name in reread.types.__all__)]
PUBLIC = {*reread.__all__, *reread.types.__all__, *reread.plugins.__all__, *vars(reread.records.types)}


def test_the_public_names_are_sorted_and_exist() -> None:
    assert reread.__all__ == sorted(reread.__all__)
    for name in reread.__all__:
        assert getattr(reread, name) is not None
    assert len(reread.__all__) <= 44


def test_every_public_name_has_a_docstring() -> None:
    for name in reread.__all__:
        assert getattr(reread, name).__doc__, name


def test_no_submodule_shadows_a_public_function() -> None:
    assert list(imported_modules())
    for name in reread.__all__:
        assert callable(getattr(reread, name)), f"reread.{name} is shadowed by a module"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = reread.nonsense


def modules_after(code: str) -> set[str]:
    """The modules that a fresh process has loaded after running this."""
    probe = f"{code}\nimport sys; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_library_loads_little() -> None:
    unwanted = {"msgspec", "click", "rich", "watchfiles", "asyncio", "json"}
    assert unwanted.isdisjoint(modules_after("import reread"))


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        ("--help", {"msgspec", "rich", "watchfiles", "asyncio", "reread.session"}),
        ("--demo ls", {"watchfiles", "asyncio", "tantivy", "reread.session", "reread.redaction", "reread.reports"}),
        ("--demo search jitter", {"rich", "watchfiles", "asyncio", "reread.redaction", "reread.reports"}),
    ],
)
def test_verbs_load_only_what_they_need(words: str, unwanted: set[str]) -> None:
    run = f"import sys; sys.argv = ['reread', *{words.split()}]\nfrom reread import cli\n"
    assert unwanted.isdisjoint(modules_after(f"{run}try: cli.main()\nexcept SystemExit: pass"))


def annotations(thing: object) -> Iterator[str]:
    """Yield the names in the annotations of a function, or of the public members of a class."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    if isinstance(tree, ast.ClassDef):
        for base in thing.__bases__:
            if base.__module__.startswith("reread."):
                yield from annotations(base)
    nodes = tree.body if isinstance(tree, ast.ClassDef) else [tree]
    for node in nodes:
        name = getattr(node, "name", None) or ast.unparse(getattr(node, "target", ast.Name("_")))
        if name.startswith("_") or name in DOCS["INTERNAL"]:
            continue
        found = [node.annotation] if isinstance(node, ast.AnnAssign) else []
        if isinstance(node, ast.FunctionDef):
            found += [node.returns, *(argument.annotation for argument in [*node.args.args, *node.args.kwonlyargs])]
        for annotation in filter(None, found):
            yield from (part.id for part in ast.walk(annotation) if isinstance(part, ast.Name))


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_type_that_a_public_name_mentions_is_public(name: str) -> None:
    thing = DOCS["_named"](name)
    module = sys.modules[thing.__module__]
    homes = {word: getattr(getattr(module, word, None), "__module__", "") for word in annotations(thing)}
    ours = {word for word, home in homes.items() if home.startswith("reread.")}
    assert ours <= PUBLIC, "add it to reread.types, or to INTERNAL in scripts/make_docs.py"


def test_types_are_sorted_and_do_not_repeat_the_public_names() -> None:
    assert sorted(reread.types.__all__) == reread.types.__all__
    assert set(reread.types.__all__).isdisjoint(reread.__all__)


def test_a_header_is_taken_wherever_a_path_is(tmp_path: Path) -> None:
    headers = list(reread.sessions(root=SAMPLES))
    assert len(headers) > 5
    for header in headers:
        session = reread.open(header, root=SAMPLES)
        assert session.path == Path(header)
        assert reread.usage(header, root=SAMPLES, cache=False).totals == session.usage
    assert reread.usage(headers, root=SAMPLES).totals == reread.usage(root=SAMPLES).totals
    assert list(reread.check(headers[0])) == reread.open(headers[0]).problems
    assert reread.export(headers[0]) == reread.export(headers[0].path)
