"""Writes docs/reference.md from the docstrings, docs/commands.md from the help, docs/json.md from the schema of
`show --json`, the tools in docs/format.md, the columns in docs/tables.md and the formats in docs/formats.md."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
import msgspec

import reread
from reread import tool_types
from reread.base import choices
from reread.base.addons import GROUP, addons
from reread.cli import all_verbs, headed_verbs
from reread.cli import reread as group
from reread.cli._exit_codes import BY_VERB, EVERY_VERB
from reread.dataset.schema import TABLES
from reread.reader.export_formats import all_formats
from reread.records.blocks import Block, union_members
from reread.render.json_values import STRUCTS, VERSION, session_schema
from reread.tools import all_tools

SESSION_ARGUMENT = """\
A SESSION is a path, a session id or the beginning of one, or `latest`; without one, most verbs take the latest, and
with `--project shop` the latest of that project. Verbs that only read a session also take `-`, standard input, except
`serve`, `stats` and `advise`. Sessions are those in `$CLAUDE_CONFIG_DIR` or, if it is not set, in `~/.claude` and
`~/.config/claude`, those of the Claude desktop app and Cowork (not with `REREAD_DESKTOP=0`), and those that were
[kept](keep.md) or [captured](capturing.md). `--root DIR` reads those in DIR or a bucket
instead, and `--demo` the bundled samples. Both may come before or after the verb. `reread-claude` is [a
fake `claude`](fake-claude.md) for the tests of programs that run it.

| option | means in every verb |
|---|---|
| `--project` | only sessions of this folder and those in it, or of the project with this name; repeatable |
| `--since`, `--until` | only what happened then: `7d`, `yesterday`, `tuesday`, `2026-11-09`, `2026-11-09T14:30` |
| `--tool`, `--file`, `--errors` | only sessions or calls with this tool, this file, an error |
| `--by` | group by one or several of the words in the verb's help, joined by commas |
| `-n` | at most so many rows; in `tail`, the last so many turns |
| `--json` | one JSON document on standard output, even if nothing is found; notices go to standard error |
| `-o` | write to this file or folder; a file is written whole or not at all |
| `--dry-run`, `-y` | only say what would be done; do not ask |"""
DOCS = Path(__file__).parent.parent / "docs"

PUBLIC = frozenset(dir(reread)) - {"__version__", "plugins", "tool_types", "value_types"}
MODEL = tuple(
    f"value_types.{name}"
    for name in ("Turn", "Message", "Call", "Agent", "Branch", "Compaction", "Conversation", "Fate", "Record", "Line")
)
BLOCKS = sorted(
    (
        thing
        for thing in vars(reread.value_types).values()
        if inspect.isclass(thing) and thing.__module__ == Block.__module__
    ),
    key=lambda struct: inspect.getsourcelines(struct)[1],
)
"""The content blocks and their parts, in the order in which they are defined."""
CHOICES = sorted(name for name, thing in vars(choices).items() if get_origin(thing) is Literal)
"""The closed choices of arguments."""
ORDER = {
    "Reading": (
        "open",
        "Session",
        "value_types.Address",
        "sessions",
        "value_types.Header",
        "tag_sessions",
        "archive_sessions",
    ),
    "Searching": ("search", "value_types.Hits", "value_types.Hit"),
    "The model": (*MODEL, "value_types.ApiFacts", "plugins.Outcome"),
    "Files": (
        "files",
        "value_types.FileHistory",
        "value_types.FileVersion",
        "value_types.FileText",
        "plugins.Hunk",
        "file",
        "value_types.FileAt",
        "diff",
        "value_types.SessionDiff",
        "value_types.FileDifference",
        "value_types.DiffSide",
        "value_types.TurnComparison",
        "value_types.ComparedTurn",
        "value_types.ComparedItem",
        "value_types.ComparedText",
        "value_types.ComparedPart",
        "blame",
        "value_types.BlamedLine",
        "review",
        "value_types.Review",
        "value_types.ReviewCommit",
        "value_types.ReviewPart",
        "value_types.ReviewFile",
        "value_types.ReviewLines",
        "value_types.ReviewTurn",
        "notes",
        "value_types.CommitNote",
        "value_types.NotedLines",
    ),
    "Playing again": (
        "rerun",
        *(f"addons.rerun.playing.{name}" for name in ("Rerun",)),
        *(f"addons.rerun.comparison.{name}" for name in ("PlayedCall", "PlayedFile")),
        *(f"reports.two_runs.{name}" for name in ("PlayedRequest", "PartChange")),
        "addons.rerun.clients.Client",
        "fake_api",
        *(f"addons.rerun.fake_api.{name}" for name in ("FakeApi", "AskedRequest")),
        "addons.rerun.cassette.ApiFault",
    ),
    "Requests": (
        "value_types.Requests",
        "value_types.Request",
        "value_types.RequestChange",
        "records.types.CacheMark",
        "context",
        "value_types.Context",
        "value_types.ContextPart",
        "value_types.ContextFills",
        "value_types.ContextFill",
        "value_types.ContextDrop",
    ),
    "Tools": ("tool_types",),
    "Blocks": tuple(f"value_types.{struct.__name__}" for struct in BLOCKS),
    "Live": ("follow", "value_types.ChangeStream", "value_types.Change", "Decoder", "now", "value_types.LiveSession"),
    "Every morning": (
        "budgets",
        "value_types.BudgetState",
        "digest",
        "brief",
        "value_types.Brief",
        "value_types.BriefFile",
        "value_types.Digest",
        "value_types.DigestProject",
        "value_types.DigestSession",
        "value_types.DigestFile",
        "value_types.DigestCommit",
        "value_types.DigestPull",
        "value_types.DigestTest",
        "value_types.DigestFailure",
    ),
    "Teams": (
        "team",
        "addons.team.reports.Team",
        *(f"addons.team.values.{name}" for name in ("TeamDigest", "Writer")),
        "dataset.chain.ChainFinding",
    ),
    "Checking": ("check", "value_types.Finding"),
    "Counting": (
        "usage",
        "value_types.Report",
        "value_types.ReportColumn",
        "value_types.Row",
        "cache_breaks",
        "value_types.CacheBreak",
        "value_types.Usage",
        "value_types.Prices",
        "value_types.PricedModel",
        "value_types.Price",
        "value_types.Tier",
        "value_types.Rates",
        "value_types.ModelName",
    ),
    "Statistics": (
        "stats",
        "advise",
        "value_types.AdviceReport",
        "value_types.Advice",
        "value_types.AdvicePlace",
        "value_types.Commit",
        "value_types.PullRequest",
    ),
    "Tables": ("tables", "value_types.Tables", "value_types.TablesReport", "sql", "value_types.QueryRows"),
    "Sharing": (
        "export",
        "redact",
        "value_types.Redaction",
        "value_types.SensitiveText",
        "value_types.Occurrence",
        "value_types.RemovalManifest",
        "value_types.Removal",
        "value_types.Omission",
        "value_types.DropCounts",
        "secrets",
        "value_types.SecretsReport",
        "value_types.FileSecrets",
        "value_types.Secret",
    ),
    "Keeping": (
        "keep",
        "Archive",
        "value_types.KeepReport",
        "value_types.FileOutcome",
        "value_types.KeptEntry",
        "value_types.KeptProblem",
        "value_types.KeptVersion",
        "value_types.PruneOutcome",
        "value_types.RestoredFile",
        "value_types.AtRisk",
        "value_types.Retention",
        "resume",
        "value_types.Continuation",
        "value_types.PlacedFile",
        "delete",
        "undo_delete",
        "value_types.Deletion",
        "value_types.DeletedLine",
        "trash",
        "value_types.TrashEntry",
        "value_types.TrashedFile",
        "value_types.RemovedLines",
        "capture",
        "value_types.Capture",
        "Store",
        "RereadSessionStore",
        "value_types.StoredConversation",
        "value_types.CaptureRun",
        "value_types.ConversationWriter",
        "replay",
        "value_types.StoredLine",
        "adopt",
        "value_types.AdoptedSession",
    ),
    "Parts": (
        "value_types.PromptText",
        "value_types.PromptCommand",
        "value_types.Aside",
        "value_types.TurnResult",
        "value_types.Metadata",
        "value_types.Ledger",
        "value_types.Records",
        "value_types.Lines",
        "value_types.Entry",
        "value_types.Node",
    ),
    "Choices": (
        "value_types.SelectionOptions",
        "value_types.ScopeOptions",
        *(f"value_types.{name}" for name in CHOICES),
    ),
    "Errors": ("RereadError", "NotFound", "Ambiguous", "Misuse", "Undecided", "Unreadable", "Unwritable"),
}
"""The public names by what they are for, and the types that they give."""
INTERNAL = {
    "Redaction": "store",
    "FakeApi": "answer cassette player session start stop token",
    "Client": "words",
    "Message": "bodies partial prints rows seen usage_records usage_rows",
    "Call": "answer bodies deny for_tool linked_agents place result_place set_agents set_result tool_call use",
    "Agent": "call_id depth from_progress name_call set_lines set_meta stats",
    "Conversation": "bodies branch_turns inline_agents is_on link_agents marks messages_by_id owner request_parts "
    "set_agents tool_call tree usage_rows",
    "Requests": "parts",
    "Record": "envelope",
    "FileHistory": "last",
    "FileVersion": "load load_before load_hunks step",
    "ChangeStream": "start",
    "Stats": "add_call add_response add_turn",
    "Metadata": "note note_state",
    "Ledger": "add change code explain_agent explain_attached explain_call explain_message explain_record "
    "explain_repeat",
    "Records": "add origin",
}
"""Members that only other modules of the package use, by class."""


ALIASES = """\
| argument | means in every function |
|---|---|
| `root` | folders, archives or buckets to look for sessions in, one or several, instead of those of this machine |
| `project` | only sessions of these folders and those in them, or of projects with these names |
| `since`, `until` | only what happened then; a day, week or month given as `until` is included |
| `tz` | the time zone of days and weeks: None or `local`, `UTC`, `+02:00`, `Europe/Berlin` or a `tzinfo` |
| `model` | only what this model or family (`opus`) wrote |
| `person`, `machine` | only their sessions, by name or pattern (`ann-*`) |
| `cache` | False to read all files again, and store nothing |
| `dry_run` | write nothing, and return what would be done |

| in signatures | stands for |
|---|---|
| `TimeLike` | `str \\| datetime \\| date`: a time, a day, or a text such as `7d`, `yesterday` or `2026-11-09T14:30` |
| `Source` | `str \\| os.PathLike[str]`: a session or a folder; for `usage` also bytes, a binary file or a Session |
| `Position` | `float \\| datetime`: seconds since the start of a recording, or a time |
| `Progress` | `Callable[[int], None]`: called with the number of bytes (by `search`, `usage` and archives), files or \
sessions read since the last call; by `open`, with the number of bytes read so far |
| `Waiting` | `Callable[[], None]`: called once if another process is writing |
| `TypedResult` | `Struct \\| list[Struct] \\| None`: structs of `reread.tool_types` |
| `Content` | a string, a block or a list of blocks, as written |
| `Raw` | `msgspec.Raw`: JSON that is not decoded |
"""
"""The names in signatures that are no classes."""


def is_internal(thing: type, member: str) -> bool:
    """True if only other modules of the package use a member of a class."""
    return any(member in INTERNAL.get(base.__name__, "").split() for base in thing.__mro__)


def reference() -> str:
    """The library, name by name."""
    lines = [
        "# The library",
        "",
        "Made from the docstrings by `scripts/make_docs.py`. Every name is `reread.NAME`. `reread.value_types` has",
        "the types that are only returned, for annotations and `isinstance`. Records are described in",
        "[the format](format.md), nodes in [extending](extending.md). `from reread import *` leaves out `open`, to",
        "keep Python's own.",
        "",
        ALIASES,
    ]
    for title, names in ORDER.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += [*_entry(name, _named(name)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _named(name: str) -> Any:
    home, _, own = name.rpartition(".")
    if not home and own not in PUBLIC:
        return importlib.import_module(f"reread.{own}")
    return getattr(importlib.import_module(f"reread.{home}") if home else reread, own)


def _entry(name: str, thing: Any) -> Iterator[str]:
    yield f"### {thing.__name__ if inspect.ismodule(thing) else name}"
    yield ""
    if inspect.ismodule(thing):
        yield _doc(thing)
        return
    if inspect.isclass(thing):
        yield from _class(thing)
        return
    if get_origin(thing) is Literal:
        nodes = itertools.pairwise(ast.parse(inspect.getsource(choices)).body)
        said = {ast.unparse(node.targets[0]): _stated(after) for node, after in nodes if isinstance(node, ast.Assign)}
        values = ", ".join(f"`{value}`" for value in get_args(thing))
        yield f"{said[name.removeprefix('value_types.')]} One of {values}."
        return
    yield "```python"
    yield _signature(thing)
    yield "```"
    yield ""
    yield _doc(thing)


def _class(thing: type) -> Iterator[str]:
    yield _doc(thing)
    above = thing.__bases__[0].__name__
    stated = {row[0].partition("(")[0]: row for row in _members(thing)}  # a class states again what differs in it
    rows = [row for name, row in stated.items() if not is_internal(thing, name)]
    if above in PUBLIC and rows:
        yield from ("", f"What a [{above}](#{above.lower()}) has, and:")
    plain = [f"`{name}` {kind}" for name, kind, text in rows if not text]
    if plain:
        yield from ("", *_wrapped(", ".join(plain)))
    if len(plain) < len(rows):
        yield from ("", "| name | type | what it is |", "|---|---|---|")
        yield from (f"| `{_cell(name)}` | `{_cell(kind)}` | {_cell(text)} |" for name, kind, text in rows if text)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def _members(thing: type) -> Iterator[tuple[str, str, str]]:
    """Yield fields, attributes, properties and methods, those of internal base classes included."""
    for base in thing.__bases__:
        if base.__module__.startswith("reread.") and base.__name__ not in PUBLIC:
            yield from ((name, _with_arguments(kind, thing), text) for name, kind, text in _members(base))
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    assert isinstance(tree, ast.ClassDef)
    for node, after in itertools.pairwise([*tree.body, ast.Pass()]):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            yield from _attributes(node)
        elif isinstance(node, ast.FunctionDef) and (node.name == "__call__" or not node.name.startswith("_")):
            name = node.name.removeprefix("__call__")
            shown = name if _is_property(node) else f"{name}({_arguments(node, thing)})"
            yield shown, _type(node.returns), ast.get_docstring(node) or ""
        elif isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
            name = ast.unparse(node.target)
            tag = getattr(node.value, "value", None) if name == "type" else None
            yield name, _spelled(node.annotation, thing), _stated(after) or (f"`{tag}`" if tag else "")


def _spelled(annotation: ast.expr, thing: type) -> str:
    """Return the type of a field, without the names that only its module has."""
    kind = re.sub(r"\bNeeded\[(\w+)\]", r"\1", re.sub(r"\bName\b", "str", _type(annotation)))
    alias = getattr(sys.modules[thing.__module__], kind, None)
    if get_origin(alias) is Literal and kind not in CHOICES:
        return str(alias).removeprefix("typing.")
    return kind


def _with_arguments(kind: str, thing: type) -> str:
    """Return a type of a generic base with what a class puts for the type variables."""
    for base in vars(thing).get("__orig_bases__", ()):
        for variable, given in zip(getattr(get_origin(base), "__parameters__", ()), get_args(base), strict=False):
            kind = re.sub(rf"\b{variable.__name__}\b", getattr(given, "__forward_arg__", "") or given.__name__, kind)
    return kind


def _attributes(init: ast.FunctionDef) -> Iterator[tuple[str, str, str]]:
    """What an object is given at its start, where a docstring below says what it is."""
    taken = {argument.arg: argument.annotation for argument in [*init.args.args, *init.args.kwonlyargs]}
    for node, after in itertools.pairwise([*init.body, ast.Pass()]):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Attribute) and not target.attr.startswith("_") and _stated(after):
            kind = getattr(node, "annotation", None) or _given(getattr(node, "value", None), taken)
            yield target.attr, _type(kind), _stated(after)


def _given(value: ast.expr | None, taken: dict[str, ast.expr | None]) -> ast.expr | None:
    """Return the type of an attribute that is set to an argument, a constant or a new object."""
    if isinstance(value, ast.Name):
        return taken.get(value.id)
    if isinstance(value, ast.Constant):
        return ast.Name(type(value.value).__name__)
    return value.func if isinstance(value, ast.Call) else None


_INNER_MODULES = re.compile(r"\b(?:restoring|tools|update)\.(?=[A-Z])")
"""Modules that signatures name, and that a reader need not know."""


def _type(annotation: ast.expr | None) -> str:
    assert annotation is not None, "annotate every public attribute, so that the reference can show its type"
    return _INNER_MODULES.sub("", ast.unparse(annotation))


def _stated(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def _arguments(node: ast.FunctionDef, thing: type) -> str:
    """As they are written, but for the defaults, which are values and not their names."""
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    for default in defaults:
        if isinstance(default, ast.Name):
            default.id = repr(getattr(sys.modules[thing.__module__], default.id))
    return ast.unparse(node.args).removeprefix("self").removeprefix("cls").removeprefix(", ")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _doc(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def _signature(thing: Any) -> str:
    """As it is written, but for the defaults, which are values and not their names."""
    signature = inspect.signature(thing)
    given, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.kind == parameter.KEYWORD_ONLY and not starred:
            given, starred = [*given, "*"], True
        starred = starred or parameter.kind == parameter.VAR_POSITIONAL
        default = parameter.default
        shown = getattr(default, "__qualname__", None) or repr(default)
        given.append(str(parameter.replace(default=parameter.empty)).replace("'", "") + _default(parameter, shown))
    given = [_INNER_MODULES.sub("", part) for part in given]
    returns = f" -> {signature.return_annotation}"
    line = f"{thing.__name__}({', '.join(given)}){returns}"
    if len(line) <= 100:
        return line
    filled = _wrapped(", ".join(part.replace(" ", "\0") for part in given) + ",")  # a parameter stays on its line
    return "\n".join([f"{thing.__name__}(", *(f"    {line}".replace("\0", " ") for line in filled), f"){returns}"])


def _default(parameter: inspect.Parameter, shown: str) -> str:
    return "" if parameter.default is parameter.empty else f" = {shown}"


def commands() -> str:
    """The command line, verb by verb, in its own words."""
    lines = ["# The command line", "", "What `--help` says, made by `scripts/make_docs.py`.", ""]
    lines += ["```", _help(group, "reread"), "```", "", SESSION_ARGUMENT, ""]
    known = {verb: _verb(verb) for verb in all_verbs()}
    for heading, verbs in headed_verbs().items():
        lines += [f"| {heading} | |", "|---|---|"]
        lines += [f"| [`{verb}`](#reread-{verb}) | {known[verb].get_short_help_str(200)} |" for verb in verbs] + [""]
    lines += [*_exit_codes(), ""]
    for verb, command in known.items():
        lines += [f"## reread {verb}", "", "```", _help(command, f"reread {verb}"), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _verb(name: str) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def _exit_codes() -> Iterator[str]:
    yield from ("## Exit codes", "", "| verb | code | means |", "|---|---|---|")
    yield from (f"| all | {code} | {meaning} |" for code, meaning in EVERY_VERB.items())
    for verb, codes in BY_VERB.items():
        yield from (f"| {verb} | {code} | {meaning} |" for code, meaning in codes.items())
    yield from ("", "A verb that finds nothing still prints valid JSON with `--json`.")


def _help(command: click.Command, path: str) -> str:
    settings = group.context_settings
    with click.Context(command, info_name=path, max_content_width=100, terminal_width=100, **settings) as context:
        return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


TOOLS_BEGIN = "<!-- The tools: made by scripts/make_docs.py. -->\n"
TOOLS_END = "<!-- End of the tools. -->\n"


def file_format() -> str:
    """The format as it is written, with the section on tools made anew."""
    text = (DOCS / "format.md").read_text()
    before, _, rest = text.partition(TOOLS_BEGIN)
    return f"{before}{TOOLS_BEGIN}\n{tool_section()}\n{TOOLS_END}{rest.partition(TOOLS_END)[2]}"


COLUMNS_BEGIN = "<!-- The columns: made by scripts/make_docs.py. -->\n"
COLUMNS_END = "<!-- End of the columns. -->\n"


def tables_page() -> str:
    """The page on tables as it is written, with the section on columns made anew."""
    before, _, rest = (DOCS / "tables.md").read_text().partition(COLUMNS_BEGIN)
    return f"{before}{COLUMNS_BEGIN}\n{column_section()}\n{COLUMNS_END}{rest.partition(COLUMNS_END)[2]}"


FORMATS_BEGIN = "<!-- The formats: made by scripts/make_docs.py. -->\n"
FORMATS_END = "<!-- End of the formats. -->\n"


def formats_page() -> str:
    """The page on formats as it is written, with the list of formats made anew."""
    before, _, rest = (DOCS / "formats.md").read_text().partition(FORMATS_BEGIN)
    rows = [f"| `{name}` | {form.about} | {form.readers} |" for name, form in all_formats().items()]
    table = "\n".join(["| format | what it is | who reads it |", "|---|---|---|", *rows])
    return f"{before}{FORMATS_BEGIN}\n{table}\n\n{FORMATS_END}{rest.partition(FORMATS_END)[2]}"


def column_section() -> str:
    """Every table with its columns."""
    lines: list[str] = []
    for table in TABLES.values():
        lines += [f"### `{table.name}`", "", table.doc, "", "| column | type | meaning |", "|---|---|---|"]
        for column in table.columns:
            kind = f"{column.type}, text" if column.text else column.type
            lines.append(f"| `{column.name}` | {kind} | {column.doc} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def tool_section() -> str:
    """The tools with the types of their inputs and results, and the fields of each type."""
    known = {id(tool): tool for tool in all_tools().values() if tool.input is not None or tool.result is not None}
    lines = ["| tool, and its earlier names | input | result |", "|---|---|---|"]
    for tool in sorted(known.values(), key=lambda tool: tool.names[0].lower()):
        names = ", ".join(f"`{name}`" for name in tool.names)
        lines.append(f"| {names} | {_hint(tool.input)} | {_hint(tool.result)} |")
    for name in tool_types.__all__:
        struct = getattr(tool_types, name)
        fields = [_field(field) for field in msgspec.structs.fields(struct)]
        lines += ["", *_wrapped(" ".join([f"**`{name}`** {_doc(struct)}", ", ".join(fields)]))]
    return "\n".join(lines) + "\n"


def _field(field: msgspec.structs.FieldInfo) -> str:
    return f"`{field.encode_name}` {_hint(field.type)}"


def _hint(hint: Any) -> str:
    """A type in the words of JSON."""
    options = [option for option in union_members(hint) if option is not type(None)]
    words = [_JSON_TYPES.get(option) or _nested(option) for option in options]
    return " or ".join(dict.fromkeys(words)) if hint is not None else "anything"


_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", Any: "anything"}


def _nested(option: Any) -> str:
    arguments = get_args(option)
    if get_origin(option) is list:
        return f"list of {_hint(arguments[0])}"
    if get_origin(option) is dict:
        return "object" if arguments[1] is Any else f"object of {_hint(arguments[1])}"
    return f"`{option.__name__}`" if inspect.isclass(option) else "text or blocks"


def session_page() -> str:
    """The JSON of a session, type by type, from its schema."""
    schema = session_schema()
    definitions = schema["$defs"]
    names = [struct.__name__ for struct in STRUCTS] + ["ContentBlock"]
    lines = ["# The JSON of a session", "", JSON_INTRO.format(version=VERSION), ""]
    for name in names:
        lines += [f"## {name}", "", definitions[name]["description"], "", *_json_fields(definitions[name]), ""]
    lines += ["## Node", "", "How a call is drawn: each node has its type in `node`.", ""]
    for name in sorted(definitions.keys() - {*names, "Node"}):
        lines += [f"### {name}", "", definitions[name]["description"], "", *_json_fields(definitions[name]), ""]
    return "\n".join(lines).rstrip() + "\n"


JSON_INTRO = """`reread show --json` and `reread export -f json` write one object, a [SessionValue](#sessionvalue).
`reread tail --format json` prints a [ChangeValue](#changevalue) on each line. `reread show --schema` prints the JSON
Schema of both. The JSON is encoded from the types that this page and the schema are made from.

`version` is {version}. A new field does not change it; a field that is removed or changes its meaning does. So ignore
fields that you do not know. Every field is present, unless its meaning says when it is absent, and is `null` if it is
unknown. `--turns`, `--omit`, `--only` and the other options of `show` choose what the lists hold.

```
reread show latest --json | jq '.turns[].prompt.text'
reread show latest --json | jq '.calls[] | select(.state == "failed") | .title'
```"""


def _json_fields(definition: dict[str, Any]) -> Iterator[str]:
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for name, field in definition["properties"].items():
        yield f"| `{name}` | {_cell(_json_type(field))} | {_cell(field.get('description', ''))} |"


def _json_type(field: dict[str, Any]) -> str:
    """The type of a field in the words of JSON, with links to the other types."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_json_type(option) for option in field["anyOf"])
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    match field.get("type"):
        case "array":
            return f"list of {_json_type(field['items'])}" if field.get("items") else "list"
        case "object" if field.get("additionalProperties"):
            return f"object of {_json_type(field['additionalProperties'])}"
        case "string" if field.get("format") == "date-time":
            return "time"
        case None:
            return "anything"
        case kind:
            return str(kind)


PAGES = {
    "reference.md": reference,
    "commands.md": commands,
    "json.md": session_page,
    "format.md": file_format,
    "tables.md": tables_page,
    "formats.md": formats_page,
}


if __name__ == "__main__":
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]
    if not project["entry-points"][GROUP].keys() <= addons().keys():
        sys.exit("Install reread again, so that all its add-ons are known: python -m pip install --editable .")
    for name, make in PAGES.items():
        (DOCS / name).write_text(make())
