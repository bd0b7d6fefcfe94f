"""The public names, and how little importing them loads."""

import ast
import builtins
import collections.abc
import inspect
import re
import runpy
import subprocess
import sys
import textwrap
import typing
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import get_args

import pytest
from batches import table
from effort import one_in
from modules import imported_modules

import reread
import reread.plugins
import reread.records.types
import reread.value_types
from reread.base import choices
from reread.base.addons import parts
from reread.cli import all_verbs
from reread.index import answer, query
from reread.render import selection
from reread.reports import stats_report, usage_report
from reread.reports.usage_report import usage_of

SAMPLES = Path(reread.__file__).parent / "samples"
DOCS = runpy.run_path(str(Path(__file__).parent.parent / "scripts" / "make_docs.py"))
FUNCTIONS_AND_CLASSES = sorted([*reread.__all__, "open"])
DOCUMENTED = [*FUNCTIONS_AND_CLASSES, *(f"value_types.{name}" for name in reread.value_types.__all__)]
PUBLIC = {*FUNCTIONS_AND_CLASSES, *reread.value_types.__all__, *reread.plugins.__all__, *vars(reread.records.types)}


def test_the_public_names_are_sorted_and_exist() -> None:
    assert reread.__all__ == sorted(reread.__all__)
    for name in FUNCTIONS_AND_CLASSES:
        assert getattr(reread, name) is not None
    assert len(reread.__all__) <= MOST_AT_THE_TOP
    assert len({*reread.__all__, *reread.value_types.__all__, *reread.plugins.__all__}) <= MOST


MOST_AT_THE_TOP, MOST = 45, 260
"""Public names: what one calls, and with the types of what it returns and what add-ons draw; 0.3 had 408."""


TWINS = {"budget": "budgets", "ls": "sessions", "show": "open", "tail": "follow", "share": "redact"}
TWINS |= {"tag": "tag_sessions", "archive": "archive_sessions"}
"""The functions that do what verbs of another name do."""
OPTIONS = {"undo_delete", "trash", "cache_breaks", "team", "adopt", "notes", "secrets"}
"""The functions that do what an option does: `delete --undo`, `ls --only trash`, `usage --by cache`, `usage --team`,
`capture --from`, `review --note`, `share --check`."""
PROGRAMS = {"serve", "statusline", "mcp", "lsp", "completion"}
"""The verbs that start a program, a server or a shell, or speak to one."""


def test_every_verb_has_a_function_and_every_function_a_verb() -> None:
    functions = {name for name in FUNCTIONS_AND_CLASSES if inspect.isfunction(getattr(reread, name))}
    brought = {part.name for part in parts("names")}
    twins = {TWINS.get(verb, verb) for verb in all_verbs() if verb not in PROGRAMS}
    assert functions == (twins | OPTIONS) - brought


def test_type_checkers_are_told_of_the_same_names() -> None:
    source = Path(reread.__file__).read_text()
    told = {
        name: module for module, name in re.findall(r"^    from reread\.([\w.]+) import \w+ as (\w+)", source, re.M)
    }
    brought = {part.name: part.place.partition(":")[0].removeprefix("reread.") for part in parts("names")}
    assert told == {**vars(reread)["_MODULES"], **brought}, (
        "a public name has a row in _MODULES, or in the `names` of an add-on, and a line under TYPE_CHECKING in "
        "reread/__init__.py"
    )


def test_a_star_imports_everything_that_replaces_nothing_of_python() -> None:
    names: dict[str, object] = {}
    exec("from reread import *", names)
    assert {*names} - {"__builtins__"} == {*reread.__all__}
    assert not {*reread.__all__} & {*dir(builtins)}
    assert {*dir(reread)} >= {*FUNCTIONS_AND_CLASSES, "value_types", "tool_types", "plugins"}


def test_the_public_modules_need_no_import_of_their_own() -> None:
    said = "import reread; print(reread.value_types.Hit.__name__, reread.plugins.__name__, reread.tool_types.__name__)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Hit", "reread.plugins", "reread.tool_types"]


REFERENCE = Path(__file__).parent.parent / "docs" / "reference.md"


def reference_sections() -> dict[str, str]:
    """What the reference says of each name: below a heading, or in an item of a list."""
    found = re.findall(
        r"^(?:### (?P<headed>\S+)|- \*\*`(?P<listed>\S+)`\*\*)(.*?)(?=^##|^- \*\*`|\Z)",
        REFERENCE.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    sections = {headed or listed: said for headed, listed, said in found}
    assert len(sections) == len(found)
    return sections


def test_every_public_name_and_every_field_is_in_the_reference() -> None:
    sections = reference_sections()
    assert {*DOCUMENTED} <= sections.keys()
    for name in DOCUMENTED:
        thing = DOCS["_named"](name)
        fields = {field for field in getattr(thing, "__struct_fields__", ()) if not DOCS["is_internal"](thing, field)}
        above = {field for base in getattr(thing, "__bases__", ()) if base.__name__ in PUBLIC for field in dir(base)}
        stated = {field for field in fields - above if not field.startswith("_")}
        missing = {field for field in stated if not re.search(rf"`{field}(?:` |: )", sections[name])}
        assert not missing, name


OF_OTHERS = {*dir(builtins), *vars(typing), *vars(collections.abc)}
OF_OTHERS |= {"AbstractContextManager", "Decimal", "Event", "Path", "PathLike", "RecordBatchReader", "Struct"}


def test_the_reference_states_each_member_once_and_explains_each_type() -> None:
    page = REFERENCE.read_text()
    sections = reference_sections()
    explained = {name.rpartition(".")[2] for name in sections} | {*re.findall(r"^\| `([A-Z]\w+)` \|", page, re.M)}
    for name, section in sections.items():
        rows = re.findall(r"^\| `(\w+).*?` \| `(.*?)` \|", section, re.M)
        rows += re.findall(r"`(\w+)(?:\([^`]*\))?(?:: | -> )([^`]*)`", section)
        assert len({*map(itemgetter(0), rows)}) == len(rows), name
        kinds = " ".join([*map(itemgetter(1), rows), *re.findall(r"```python(.*?)```", section, re.S)])
        assert {*re.findall(r"\b[A-Z]\w+", re.sub(r"'.*?'", "", kinds))} <= explained | OF_OTHERS, name


def test_every_public_name_has_a_docstring() -> None:
    for name in FUNCTIONS_AND_CLASSES:
        assert getattr(reread, name).__doc__, name


def test_no_submodule_shadows_a_public_function() -> None:
    assert list(imported_modules())
    for name in FUNCTIONS_AND_CLASSES:
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


@one_in(2)
@pytest.mark.parametrize(
    ("words", "most", "unwanted"),
    [
        (
            "--help",
            34,
            {"msgspec", "rich", "json", "dataclasses", "pathlib", "reread.session", "reread.disk", "reread.recording"},
        ),
        (
            "--demo ls",
            66,
            {"tantivy", "lzma", "reread.session", "reread.reports", "reread.model", "reread.records"},
        ),
        (
            "--demo search jitter",
            134,
            {"rich", "subprocess", "reread.reports", "reread.records.types", "reread.model.conversation"},
        ),
        (
            "--demo show d2a94e17",
            200,
            {"tantivy", "importlib.metadata", "hashlib", "reread.index", "reread.history", "reread.reports"}
            | {
                "reread.records.types",
                "reread.session.rules",
                "reread.session.context_parts",
                "pygments.lexers.python",
            },
        ),
        (f"check {SAMPLES}", 200, {"rich", "tantivy", "reread.reports.secrets_report"}),
        *(
            (verb, most, {"rich", "hashlib", "tempfile", "reread.session", "reread.model", "reread.tools"})
            for verb, most in (
                ("--demo stats", 94),
                ("--demo usage --by cache", 93),
                ("--demo advise", 115),
            )
        ),
        ("--demo usage", 93, {"tantivy", "hashlib", "reread.session", "reread.model", "reread.records.decode"}),
        (
            "--demo usage --json",
            92,
            {
                "rich",
                "tantivy",
                "socket",
                "reread.storage.bucket",
                "reread.session",
                "reread.model",
                "reread.records.decode",
            },
        ),
    ],
)
def test_verbs_load_only_what_they_need(words: str, most: int, unwanted: set[str]) -> None:
    """Each verb, run again, loads at the most so many modules of reread, and none of the unwanted."""
    run = f"import sys; sys.argv = ['reread', *{words.split()}]\nfrom reread import cli\n"
    never = {"watchfiles", "asyncio", "starlette", "reread.redaction.likely", "reread.redaction.vendors"}
    never |= {"reread.storage.services"}
    never |= {"click.shell_completion", "reread.storage.bucket"}
    code = f"{run}try: cli.main()\nexcept SystemExit: pass"
    modules_after(code)  # derives what it needs
    loaded = modules_after(code)
    assert (unwanted | never) & loaded == set()
    assert len({name for name in loaded if name.startswith("reread.")}) <= most


def annotations(thing: object, owner: object = None) -> Iterator[str]:
    """Yield the names in the annotations of a function, or of the public members of a class, or of one below it."""
    owner = owner or thing
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    if isinstance(tree, ast.ClassDef):
        for base in thing.__bases__:
            if base.__module__.startswith("reread."):
                yield from annotations(base, owner)
    nodes = tree.body if isinstance(tree, ast.ClassDef) else [tree]
    for node in nodes:
        name = getattr(node, "name", None) or ast.unparse(getattr(node, "target", ast.Name("_")))
        if name.startswith("_") or (inspect.isclass(owner) and DOCS["is_internal"](owner, name)):
            continue
        found = [node.annotation] if isinstance(node, ast.AnnAssign) else []
        if isinstance(node, ast.FunctionDef):
            found += [node.returns, *(argument.annotation for argument in [*node.args.args, *node.args.kwonlyargs])]
        for annotation in filter(None, found):
            yield from (part.id for part in ast.walk(annotation) if isinstance(part, ast.Name))


@table("name", [name for name in DOCUMENTED if get_args(DOCS["_named"](name)) == ()])
def test_every_type_that_a_public_name_mentions_is_public(name: str) -> None:
    thing = DOCS["_named"](name)
    module = sys.modules[thing.__module__]
    homes = {word: getattr(getattr(module, word, None), "__module__", "") for word in annotations(thing)}
    ours = {word for word, home in homes.items() if home.startswith("reread.")}
    assert ours <= PUBLIC, "add it to reread.value_types, or to INTERNAL in scripts/make_docs.py"


def test_the_closed_choices_are_those_that_are_accepted() -> None:
    accepted = {
        choices.CallState: choices.CALL_STATES,
        choices.SearchKind: query.KIND_WORDS,
        choices.SearchOrder: (answer.RELEVANCE, answer.NEWEST),
        choices.SelectedParts: selection.ONLY,
        choices.StatsGrouping: stats_report.GROUPS,
        choices.UsageGrouping: usage_report.GROUPS,
        choices.UsageOrder: (usage_report.GROUP, *usage_report.ORDERS),
    }
    for choice, values in accepted.items():
        assert set(get_args(choice)) == set(values)
    types = {name for name in vars(choices) if name[0].isupper() and not name.isupper()}
    assert types - {"Final", "Literal", "TypedDict"} <= {*reread.value_types.__all__}
    assert choices.SelectionOptions.__annotations__.keys() == {*selection.Selection.__struct_fields__}


def test_types_are_sorted_and_do_not_repeat_the_public_names() -> None:
    assert sorted(reread.value_types.__all__) == reread.value_types.__all__
    assert set(reread.value_types.__all__).isdisjoint(reread.__all__)


TAKES_A_SESSION = {
    "open": lambda source: reread.open(source, root=SAMPLES).id,
    "check": lambda source: list(reread.check(source, root=SAMPLES)),
    "files": lambda source: [history.path for history in reread.files(source, root=SAMPLES)],
    "file": lambda source: reread.file("backoff.py", source, root=SAMPLES).text,
    "diff": lambda source: reread.diff(source, root=SAMPLES),
    "diff of two": lambda source: reread.diff(source, "b90c6f28", root=SAMPLES),
    "diff with it": lambda source: reread.diff("b90c6f28", source, root=SAMPLES),
    "export": lambda source: reread.export(source, root=SAMPLES),
    "redact": lambda source: len(reread.redact(source, root=SAMPLES).findings),
    "replay": lambda source: [line.raw for line in reread.replay(source, speed=float("inf"), root=SAMPLES)],
    "follow": lambda source: reread.follow(source, root=SAMPLES).close(),
    "usage": lambda source: reread.usage(source, root=SAMPLES, cache=False).totals,
    "stats": lambda source: reread.stats(source, root=SAMPLES, cache=False).totals,
    "secrets": lambda source: reread.secrets(source, root=SAMPLES).totals,
}
"""What each public function gives for a session."""


@one_in(3)
@pytest.mark.parametrize("name", TAKES_A_SESSION)
def test_a_session_is_taken_however_it_is_given(name: str) -> None:
    (header,) = [header for header in reread.sessions(root=SAMPLES) if header.id.startswith("8c1f0b52")]
    given = ["8c1f0b52", header.path, Path(header.path), header, reread.open(header)]
    results = [TAKES_A_SESSION[name](source) for source in given]
    assert all(result == results[0] for result in results), name


def test_a_session_without_a_file_is_refused_where_one_is_needed() -> None:
    line = b'{"type":"user","uuid":"a"}'
    for function in (reread.stats, reread.secrets):
        for source in (line, reread.open(line)):
            with pytest.raises(reread.Misuse, match="has no file"):
                function(source)


def test_sql_gives_rows_by_name() -> None:
    pytest.importorskip("duckdb")
    rows = reread.sql("select tool, count(*) as n from calls group by all order by n desc, tool", root=SAMPLES)
    assert (rows.names, rows[0], rows[-1]) == (["tool", "n"], {"tool": "Bash", "n": 48}, list(rows)[-1])
    assert len(rows) == len(list(rows)) == rows.arrow.num_rows and rows[1:3] == list(rows)[1:3]
    assert list(reread.sql("select 1 where false", root=SAMPLES)) == []
    with pytest.raises(reread.Misuse, match="2 queries"):
        reread.sql("select 1; select 2", root=SAMPLES)


def test_sql_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(reread.Misuse, match=r"need duckdb; install it with .*reread\[tables\]"):
        reread.sql("select 1", root=SAMPLES)


def test_a_header_is_taken_wherever_a_path_is(tmp_path: Path) -> None:
    headers = list(reread.sessions(root=SAMPLES))
    assert len(headers) > 5
    for header in headers:
        session = reread.open(header, root=SAMPLES)
        assert session.path == Path(header)
        assert usage_of(reread.usage(header, root=SAMPLES, cache=False).totals) == session.usage
    assert reread.usage(headers, root=SAMPLES).totals == reread.usage(root=SAMPLES).totals
    assert list(reread.check(headers[0])) == reread.open(headers[0]).problems
    assert reread.export(headers[0]) == reread.export(headers[0].path)


def test_no_module_of_ours_hides_one_of_python() -> None:
    """Python puts the folder in which it starts first: `types` would not be Python's own in `src/reread`."""
    names = {path.stem for path in Path(reread.__file__).parent.iterdir() if path.suffix in ("", ".py")}
    assert not names & set(sys.stdlib_module_names)
