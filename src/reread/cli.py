"""The command line: every verb is one public function."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread import __version__
from reread.errors import Misuse, RereadError

if TYPE_CHECKING:
    from reread.headers import Header
    from reread.prices import Prices
    from reread.session import Session
    from reread.views.parts import Choice

OK, FOUND_ERRORS, MISUSED = 0, 1, 2
SAMPLES = Path(__file__).parent / "samples"
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def _root_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--root",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Look for sessions here instead: a configuration or projects folder. Repeatable.",
    )(command)


def _json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


class Verbs(click.Group):
    """The verbs in the order of the day, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="reread")
@_root_option
@click.option("--demo", is_flag=True, help="Use the bundled sample sessions.")
@click.pass_context
def reread(ctx: click.Context, root: tuple[Path, ...], demo: bool) -> None:
    """Read, check and follow Claude Code sessions.

    \b
    reread ls                      sessions, newest first
    reread show latest             read one
    reread tail 3f2a               follow one while it is written
    reread export latest -o it.md  write one to a file
    reread check ~/.claude         validate everything
    reread usage --since 30d       tokens and cost
    reread --demo show latest      try it without sessions of your own

    A SESSION is a path, a session id or the beginning of one, "latest", or "-" for standard input.
    """
    ctx.obj = [SAMPLES] if demo else list(root)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _roots(ctx: click.Context, root: tuple[Path, ...]) -> list[Path]:
    return [*ctx.obj, *root]


@reread.command()
@click.option("--project", metavar="DIR", help="Only sessions that worked in this folder or below.")
@click.option("--since", metavar="WHEN", help="Only sessions written to since then: 7d, yesterday, 2026-11-15.")
@click.option("--min-size", metavar="SIZE", help="Only files of at least this size: 500k, 10M.")
@click.option("--tool", metavar="NAME", help="Only sessions that called this tool (reads the files).")
@click.option("--errors", is_flag=True, help="Only sessions in which something failed (reads the files).")
@click.option("--branches", is_flag=True, help="Only sessions on several git branches (reads the files).")
@click.option("-n", "--limit", type=int, help="At most so many.")
@_json_option
@_root_option
@click.pass_context
def ls(
    ctx: click.Context,
    project: str | None,
    since: str | None,
    min_size: str | None,
    tool: str | None,
    errors: bool,
    branches: bool,
    limit: int | None,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """List sessions by project, newest first.

    \b
    reread ls --project . --since 7d
    reread ls --tool WebFetch --errors --json
    """
    from reread.headers import sessions
    from reread.when import parse_when

    roots = _roots(ctx, root)
    headers = sessions(project=project, since=parse_when(since) if since else None, root=roots or None)
    if min_size is not None:
        least = _parse_size(min_size)
        headers = (header for header in headers if header.size >= least)
    if tool or errors or branches:
        headers = _reading(headers, lambda session: _fits(session, tool, errors, branches))
    if limit is not None:
        headers = (header for header, _ in zip(headers, range(limit), strict=False))
    if as_json:
        _print_json(list(headers))
    else:
        _print_headers(list(headers), roots)


def _reading(headers: Iterable[Header], fits: Callable[[Session], bool]) -> Iterator[Header]:
    """The sessions that fit once they have been read, with progress on a terminal."""
    from reread.session import open  # noqa: A004

    everything = list(headers)
    with _progress("reading", len(everything)) as step:
        for header in everything:
            if fits(open(Path(header.path))):
                yield header
            step(1)


def _fits(session: Session, tool: str | None, errors: bool, branches: bool) -> bool:
    talks = [session.conversation, *session.agents.values()]
    calls = [call for talk in talks for call in talk.calls]
    if tool and not any(call.name == tool for call in calls):
        return False
    if branches and len(set(session.facts.git_branches)) < 2:
        return False
    return (
        not errors
        or any(any(message.kind == "error" for message in talk.messages) for talk in talks)
        or any(call.ok is False for call in calls)
    )


def _print_headers(headers: Sequence[Header], roots: Sequence[Path]) -> None:
    from reread.views.listings import header_lines

    if not headers:
        where = ", ".join(map(str, roots)) or "CLAUDE_CONFIG_DIR, ~/.claude and ~/.config/claude"
        click.echo(f"No sessions in {where}. `reread --demo ls` shows the samples.", err=True)
    for line in header_lines(headers):
        click.echo(line)


def _choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What of a session is shown: the same options for every view."""
    for option in reversed(
        [
            click.option("--turns", metavar="RANGE", help="Only these turns: 3-9, 3, 3-, -5 for the last five."),
            click.option("--branch", type=int, metavar="N", help="Another branch than the active one."),
            click.option("--no-thinking", is_flag=True, help="Leave thinking out."),
            click.option("--no-tools", is_flag=True, help="Leave tool calls out."),
            click.option("--only", type=click.Choice(["prompts", "text", "tools"]), help="Only one kind of thing."),
            click.option("--full", is_flag=True, help="Show long output whole, and all that was recorded."),
        ]
    ):
        command = option(command)
    return command


def _choice(options: dict[str, Any]) -> Choice:
    from reread.views.parts import Choice, parse_turns

    return Choice(
        turns=parse_turns(options["turns"]) if options["turns"] else (1, None),
        branch=options["branch"],
        thinking=not options["no_thinking"],
        tools=not options["no_tools"],
        only=options["only"],
        full=options["full"],
    )


@reread.command()
@click.argument("session")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "json"]),
    default="terminal",
    show_default=True,
    help="How to print it.",
)
@_choice_options
@click.option("--raw", is_flag=True, help="Print the file's own bytes.")
@click.option("--no-pager", is_flag=True, help="Print straight to the terminal.")
@_root_option
@click.pass_context
def show(
    ctx: click.Context, session: str, form: str, raw: bool, no_pager: bool, root: tuple[Path, ...], **options: Any
) -> None:
    """Read a session in the terminal.

    \b
    reread show latest
    reread show 3f2a --turns -3 --full
    reread show 3f2a --format markdown > session.md
    reread show 3f2a --format json | jq '.turns[].prompt.text'
    """
    opened = _open(ctx, session, root)
    choice = _choice(options)
    if raw:
        sys.stdout.buffer.writelines(line.raw for line in opened.lines)
    elif form == "json":
        from reread.views.values import session_json

        sys.stdout.buffer.writelines(session_json(opened))
    elif form == "markdown":
        from reread.views.markdown import session_markdown

        for line in session_markdown(opened, choice):
            click.echo(line)
    else:
        from reread.views.pictures import protocol
        from reread.views.terminal import TerminalView

        pictures = protocol() if no_pager and sys.stdout.isatty() else None
        _print_drawn(TerminalView(choice, pictures=pictures).session(opened), pager=not no_pager)


def _print_drawn(drawn: Iterator[Any], *, pager: bool) -> None:
    """Print what a view drew: through a pager on a terminal, plainly in a pipe."""
    from reread.views.terminal import make_console

    console = make_console()

    def pages() -> Iterator[str]:
        for item in drawn:
            with console.capture() as captured:
                console.print(item)
            yield "\n".join(line.rstrip() for line in captured.get().split("\n"))

    if pager and sys.stdout.isatty():
        os.environ.setdefault("LESS", "FRX")
        click.echo_via_pager(pages(), color=True)
    else:
        for page in pages():
            click.echo(page, nl=False, color=True)


def _open(ctx: click.Context, session: str, root: tuple[Path, ...]) -> Session:
    from reread.session import open  # noqa: A004

    return open(session, root=_roots(ctx, root) or None)


@reread.command()
@click.argument("session")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@click.option("-n", "--last", type=int, default=1, help="How many turns to show first.", show_default=True)
@click.option("--full", is_flag=True, help="Show long output whole.")
@_root_option
@click.pass_context
def tail(ctx: click.Context, session: str, form: str, last: int, full: bool, root: tuple[Path, ...]) -> None:
    """Follow a session while it is written, agents included, until Ctrl-C.

    With --format json, each line is one change: the fate of a record, and the message or call it changed.

    \b
    reread tail latest
    reread tail ./session.jsonl --format json
    """
    from reread.live import follow

    opened = _open(ctx, session, root) if not _is_missing_path(session) else None
    if form == "json":
        from reread import jsontext
        from reread.views.values import change_value

        for change in follow(opened or session):
            click.echo(jsontext.dumps(change_value(change)))
            sys.stdout.flush()
        return
    from reread.views.parts import Choice, parts
    from reread.views.pictures import protocol
    from reread.views.terminal import TerminalView, make_console, watch_change

    pictures = protocol() if sys.stdout.isatty() else None
    console, view = make_console(), TerminalView(Choice(full=full), pictures=pictures)
    if opened is not None and last > 0:
        for part in parts(opened.conversation, Choice(turns=(-last, None), full=full)):
            for item in view.part(part):
                console.print(item)
    for change in follow(opened or session):
        for item in watch_change(change, view):
            console.print(item, end=getattr(item, "end", "\n"))


@reread.command()
@click.argument("session")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="What to write.",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to; - for standard output, the default.")
@_choice_options
@_root_option
@click.pass_context
def export(ctx: click.Context, session: str, form: str, output: str, root: tuple[Path, ...], **options: Any) -> None:
    """Write a session to a file to keep or share.

    \b
    reread export latest -o session.md
    reread export 3f2a -f json -o session.json
    """
    from reread.views.exports import FORMATS

    pieces = FORMATS[form](_open(ctx, session, root), _choice(options))
    if output == "-":
        sys.stdout.buffer.writelines(pieces)
        return
    try:
        with Path(output).open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise Misuse(f"{output}: cannot be written: {error.strerror or error}") from error


@reread.command()
@click.argument("paths", nargs=-1, metavar="PATH…")
@_json_option
@click.option("--drift", is_flag=True, help="Only what the types do not know yet: new types, subtypes and fields.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of all records and stop.")
@click.option("-v", "--verbose", is_flag=True, help="Also what is merely worth knowing.")
@_root_option
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[str, ...],
    as_json: bool,
    drift: bool,
    schema: bool,
    verbose: bool,
    root: tuple[Path, ...],
) -> None:
    """Validate sessions, files or folders; exit 1 where there are errors.

    A PATH is a session, or a folder, which stands for every .jsonl file below it.

    \b
    reread check latest
    reread check ~/.claude/projects --json
    reread check ~/.claude --drift
    """
    if schema:
        from reread.records import json_schema

        return _print_json(json_schema())
    if not paths:
        raise Misuse("name something to check: a session, a file or a folder; or `--schema`")
    from reread.reports import report

    with _progress("checking", None) as step:
        checked = report(paths, root=_roots(ctx, root) or None, progress=lambda _: step(1))
    if as_json:
        _print_json(checked)
    else:
        from reread.views.listings import drift_lines, report_lines

        for line in drift_lines(checked) if drift else report_lines(checked, verbose=verbose):
            click.echo(line)
    return ctx.exit(FOUND_ERRORS if checked.totals.errors else OK)


@reread.command()
@click.argument("sessions", nargs=-1, metavar="[SESSION|DIR|FILE]...")
@click.option("--by", default="day", show_default=True, metavar="GROUP,...", help="What to group by.")
@click.option("--since", metavar="WHEN", help="Only what was spent since then: 7d, yesterday, 2026-11-15.")
@click.option("--until", metavar="WHEN", help="Only what was spent until then; a day is in to its end.")
@click.option("--tz", metavar="ZONE", help="Whose days: local (default), UTC, +02:00, Europe/Berlin.")
@click.option("--project", multiple=True, metavar="DIR", help="Only in this folder or below. Repeatable.")
@click.option("--model", multiple=True, metavar="MODEL", help="Only this model or family (opus). Repeatable.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--prices", is_flag=True, help="Show the price table in force, and stop.")
@click.option("--price-file", type=click.Path(), metavar="FILE", help="Prices that go before the bundled ones.")
@click.option("--no-cache", is_flag=True, help="Read every file; keep nothing.")
@click.option(
    "--keep-deleted",
    is_flag=True,
    envvar="REREAD_KEEP_DELETED",
    help="Count files that are gone and were counted once.",
)
@_json_option
@_root_option
@click.pass_context
def usage(
    ctx: click.Context,
    sessions: tuple[str, ...],
    root: tuple[Path, ...],
    as_json: bool,
    as_csv: bool,
    prices: bool,
    no_cache: bool,
    price_file: str | None,
    **options: Any,
) -> None:
    """Tokens and cost, each response once.

    Groups: day, week, month, session, project, model, branch, agent, thread (main or subagents), block (5 hours);
    several with commas. Without arguments, all your sessions.

    \b
    reread usage --since 30d
    reread usage --by project,model --json
    reread usage ./run.jsonl latest
    """
    from reread.accounts import report_value
    from reread.accounts import usage as count
    from reread.prices import in_force
    from reread.views.usage_table import usage_csv, usage_lines

    table = in_force(price_file)
    if prices:
        _print_prices(table, as_json)
        return
    with _progress("reading", None) as step:
        report = count(
            *sessions, root=_roots(ctx, root) or None, prices=table, cache=not no_cache, progress=step, **options
        )
    if as_json:
        _print_json(report_value(report))
    elif as_csv:
        click.echo(usage_csv(report), nl=False)
    else:
        _print_styled(usage_lines(report, width=_table_width()))


def _print_prices(table: Prices, as_json: bool) -> None:
    import time

    from reread.views.usage_table import price_lines

    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.Encoder(decimal_format="number").encode(table.table)))
    else:
        _print_styled(price_lines(table, int(time.time() // 86400)))


def _table_width() -> int:
    import shutil

    return max(80, min(120, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else 80


def _print_styled(lines: Iterator[tuple[str, str]]) -> None:
    looks: dict[str, dict[str, Any]] = {"strong": {"bold": True}, "loud": {"fg": "yellow", "bold": True}}
    for style, line in lines:
        click.echo(click.style(line, **looks[style]) if style in looks else line)


def _is_missing_path(name: str) -> bool:
    """Whether this names a file that may still appear."""
    return ("/" in name or os.sep in name or name.endswith(".jsonl")) and not Path(name).exists()


def _parse_size(text: str) -> int:
    number, unit = text.strip().lower().rstrip("b"), ""
    if number and number[-1] in _SIZES:
        number, unit = number[:-1], number[-1]
    try:
        return int(float(number) * _SIZES[unit])
    except ValueError:
        raise Misuse(f"{text!r} is no size: say 500k, 10M or 1G") from None


def _print_json(value: Any) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value)))


@contextmanager
def _progress(label: str, length: int | None) -> Generator[Callable[[int], None]]:
    """A progress bar on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        task = bar.add_task(label, total=length)
        yield lambda steps: bar.advance(task, steps)


def main() -> None:
    """Run the command line; what went wrong is said in one line, with what to do."""
    try:
        code = reread.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = MISUSED
    except RereadError as error:
        click.echo(f"reread: {error}", err=True)
        code = MISUSED
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OK
    gc.freeze()  # the system takes a large session back faster than the interpreter takes it apart
    sys.exit(code if isinstance(code, int) else OK)
