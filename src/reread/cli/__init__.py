"""The command line: each verb has a module of its name, and calls one public function; add-ons bring more verbs."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import re
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from reread.base.addons import addons, named_parts, parts
from reread.base.stdio import flush_or_discard, open_standard_streams
from reread.base.version import __version__
from reread.cli._exit_codes import FAILED, INTERRUPTED, OK, UNDECIDED
from reread.cli._options import ROOTS, root_options
from reread.cli._output import guard_output, print_notice, tell_secret
from reread.errors import RereadError, Undecided

if TYPE_CHECKING:
    from pathlib import Path

OUTPUT_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT)
"""An error with one of these and without a file name comes from standard output."""

HEADINGS: dict[str, tuple[str, ...]] = {
    "Read": ("serve", "ls", "search", "show", "context", "tail"),
    "Now": ("now", "statusline", "budget", "digest"),
    "Files": ("files", "file", "diff", "blame", "review"),
    "Count": ("usage", "stats", "advise", "sql", "tables", "check"),
    "Keep": ("keep", "resume", "delete", "archive", "tag"),
    "Share": ("share", "export", "brief"),
    "Run again": ("capture", "replay"),
    "Set up": ("completion",),
}
"""The verbs of the core under the headings of the help."""
VERBS: tuple[str, ...] = tuple(verb for verbs in HEADINGS.values() for verb in verbs)
ALIASES = {
    "grep": "search",
    "rg": "search",
    "find": "search",
    "log": "ls",
    "list": "ls",
    "sessions": "ls",
}
"""Words that run a verb and are not in the help."""
PASSING = {"ls", "search", "usage", "stats", "advise", "blame", "sql", "tables"}
"""Verbs over all sessions: in a terminal, the first of them has the rest derived that the others need."""
HELP, ALL = "help", "--all"
MERGED = {"secrets": "share --check", "note": "review --note show", "adopt": "capture --from"}
"""Verbs of earlier versions, and where to find what they did."""
RENAMED = {
    "--agent": "SESSION:AGENT",
    "--all": "--full",
    "--archived": "--only archived",
    "--at": "SESSION:TURN",
    "--branch": "SESSION@PATH",
    "--captured": "--only captured",
    "--first": "--turns",
    "--fixed": "--match exact",
    "--flat": "--sort updated",
    "--fsync": '`{"settings": {"fsync": …}}` in config.json',
    "--from": "--since",
    "--git-branch": "--branch",
    "--git-branches": '`reread sql "select session from messages group by 1 having count(distinct branch) > 1"`',
    "--in": "--only",
    "--instant": "--speed instant",
    "--keep": "--output",
    "--last": "--limit",
    "--max-size": "--size -MAX",
    "--min-cost": "--sort cost -n N",
    "--min-size": "--size MIN-",
    "--newest": "--sort newest",
    "--no-agents": "--omit agents",
    "--no-desktop": "REREAD_DESKTOP=0",
    "--no-images": "--omit images",
    "--no-pty": "a pipe, as in `reread capture -- COMMAND | cat`",
    "--no-thinking": "--omit thinking",
    "--no-tools": "--omit tools",
    "--once": "--no-pager",
    "--parquet": "--output",
    "--path": "SESSION@PATH",
    "--personal": "--full",
    "--pretty": "--format terminal",
    "--price-file": "REREAD_PRICES=FILE",
    "--print": "--dry-run",
    "--prompts": "--only prompts",
    "--proxy": "--sign-in HEADER@ADDRESS",
    "--queries": "`reread sql < FILE`",
    "--raw": "--format raw",
    "--regex": "--match regex",
    "--request": "SESSION:req4",
    "--starred": "--only starred",
    "--strict": "--match all",
    "--tables": "--from",
    "--text": "--format answers",
    "--tokens": "--limit",
    "--trash": "--only trash",
    "--try-model": "--model",
    "--verify": "--check",
    "--verbose": "--full",
    "--workspace": "--conversation WORKSPACE/AGENT/ID",
    "budget --all": "`reread budget remove all`",
    "capture --agent": "--conversation WORKSPACE/AGENT/ID",
    "check -v": "--full",
    "replay --run": "--since and --until",
    "replay --to": "--until",
    "search -F": "--match exact",
    "sql -f": "`reread sql < FILE`",
}
"""Options of earlier versions, some of one verb, and what says the same now."""
DROPPED = {
    "--no-cache": "what changed is read again",
    "brief --redact": "that is the default",
    "capture --keep-input": "input is recorded if the command reads it as messages",
    "capture --no-keep-input": "input is recorded only if the command reads it as messages",
    "digest --redact": "that is the default",
}
"""Options of earlier versions that nobody needs any more, and why."""
SYNONYMS = {
    "history": "ls",
    "cat": "show",
    "less": "show",
    "print": "show",
    "read": "show",
    "view": "show",
    "open": "serve",
    "browse": "serve",
    "ui": "serve",
    "web": "serve",
    "follow": "tail",
    "watch": "tail",
    "status": "now",
    "budgets": "budget",
    "limit": "budget set",
    "report": "digest",
    "standup": "digest",
    "ps": "now",
    "top": "now",
    "annotate": "blame",
    "prompts": "review",
    "compare": "diff",
    "validate": "check",
    "lint": "check",
    "cost": "usage",
    "costs": "usage",
    "price": "usage",
    "prices": "usage --prices",
    "spend": "usage",
    "tokens": "usage",
    "summary": "stats",
    "advice": "advise",
    "insights": "advise",
    "tools": "stats",
    "parquet": "tables",
    "query": "sql",
    "duckdb": "sql",
    "backup": "keep",
    "sync": "keep",
    "unarchive": "archive --undo",
    "label": "tag",
    "verify": "keep --check",
    "prune": "keep --prune",
    "restore": "keep --restore",
    "record": "capture",
    "run": "capture",
    "import": "capture --from",
    "continue": "resume",
    "rm": "delete",
    "remove": "delete",
    "trash": "ls --only trash",
    "undelete": "delete --undo",
    "play": "replay",
    "html": "export",
    "markdown": "export",
    "save": "export",
    "redact": "share",
    "scan": "share --check",
    "version": "--version",
}
"""Words of other programs, and what to type instead."""


def headed_verbs() -> dict[str, list[str]]:
    """Return all verbs under the headings of the help, with those of add-ons."""
    found = {heading: list(verbs) for heading, verbs in HEADINGS.items()}
    for verb, part in sorted(named_parts("verbs").items()):
        if verb not in VERBS:
            found.setdefault(part.heading, []).append(verb)
    return found


def all_verbs() -> list[str]:
    """Return the names of all verbs."""
    return [verb for verbs in headed_verbs().values() for verb in verbs]


def _own_command(verb: str) -> click.Command:
    """Return the command of a verb of the core."""
    return getattr(importlib.import_module(f"reread.cli.{verb}"), verb)


@cache
def _whole_command(verb: str) -> click.Command:
    """Return it with the options that add-ons bring for it."""
    from copy import copy  # loaded late: the help of all verbs does without

    command = copy(_own_command(verb))
    command.params = [*command.params]
    for part in parts("options"):
        if part.name == verb:
            part.load()(command)
    return command


def _has_options(command: click.Command, words: Iterable[str]) -> bool:
    """True if a command itself has all options that some words name."""
    own = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    return all(word.partition("=")[0] in own for word in words if word.startswith("--") or word == "-h")


@contextmanager
def _closed_pipe_is_ok() -> Generator[None]:
    """Exit normally if the reader of a pipe closes it; click would report a failure."""
    try:
        yield
    except BrokenPipeError:
        raise click.exceptions.Exit(OK) from None


class VerbGroup(click.Group):
    """A group that imports the module of a verb when the verb is used."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _closed_pipe_is_ok():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _closed_pipe_is_ok():
            try:
                answer = super().invoke(ctx)
            except click.exceptions.Exit:  # the answer is that there is nothing
                _begin_pass(ctx)
                raise
            _begin_pass(ctx)
            return answer

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take --all, which says how much the help tells, out of `--help --all` and `help --all`."""
        words = {HELP, *ctx.help_option_names}
        if ALL in args and words.intersection(args) and {args[0], args[-1]} <= {ALL, *words}:
            ctx.meta[ALL] = True
            args = [word for word in args if word != ALL]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == HELP:
            if args[1:] in ([], [HELP]):
                click.echo(ctx.get_help())
                ctx.exit()
            args = [args[1], "--help"]
        args = [ALIASES.get(args[0], args[0]), *args[1:]]
        verb, *words = args
        if verb in VERBS and not ctx.resilient_parsing and _has_options(command := _own_command(verb), words):
            return verb, command, words  # no add-on has to be asked
        if not verb.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, verb) is None:
            raise click.UsageError(_unknown_verb(verb), ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return all_verbs()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in VERBS:
            return _whole_command(cmd_name)
        part = named_parts("verbs").get(cmd_name)
        return part.load() if part is not None else None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        formatter.write_text("--root DIR reads elsewhere, --demo samples; `reread --help --all` says more.")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name the verbs, a line for each heading, which fits a screen and loads no verb; with --all, describe each."""
        if ctx.meta.get(ALL):
            for heading, verbs in headed_verbs().items():
                with formatter.section(heading):
                    commands = {verb: self.get_command(ctx, verb) for verb in verbs}
                    formatter.write_dl([(verb, one.get_short_help_str(200)) for verb, one in commands.items() if one])
            return
        formatter.write_paragraph()
        formatter.write_dl(
            [(f"{heading}:", "  ".join(verbs)) for heading, verbs in headed_verbs().items()], col_spacing=1
        )


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, "-V", "--version", prog_name="reread")
@root_options
@click.pass_context
def reread(ctx: click.Context, root: tuple[Path, ...]) -> None:
    """Find, read, understand and continue Claude Code sessions.

    \b
    reread                         read all sessions in the browser
    reread ls                      list them, newest first
    reread search login timeout    find what you half remember
    reread show                    read the newest one in the terminal
    reread now                     see what runs, and who waits for you
    reread usage --by cache        count tokens and cost, and say why
    reread blame src/app.py        see which prompt wrote each line
    reread resume 8c1f             continue a session, from anywhere
    reread share -o it.html        write one without secrets, to show it
    reread keep                    copy sessions before they are deleted
    """
    ctx.obj = list(root)
    if ctx.invoked_subcommand is not None:
        return
    if sys.stdout.isatty():
        from reread.cli.serve import serve

        ctx.invoke(serve)
    else:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line; print an error as one line that says what to do."""
    open_standard_streams()
    guard_output()
    try:
        code = reread.main(prog_name="reread", standalone_mode=False)
        if not sys.stdout.closed:  # as the language server leaves it
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        code = OK
    except (click.ClickException, RereadError, OSError, MemoryError) as error:
        _print_error(error)
        code = UNDECIDED if isinstance(error, Undecided) else FAILED
    flush_or_discard(sys.stdout)
    tell_secret()
    flush_or_discard(sys.stderr)
    if "_duckdb" not in sys.modules:  # which reports what is left at the end as leaks
        gc.freeze()  # the system frees a large session faster than the interpreter does
    sys.exit(code if isinstance(code, int) else OK)


def _begin_pass(ctx: click.Context) -> None:
    """After a verb over all sessions, have everything derived in the background, if it was not done lately.

    Where nobody reads the answer, as in a script, nothing is left running.
    """
    is_over_all = ctx.invoked_subcommand in PASSING and ctx.meta.get(ROOTS) == []
    if not (is_over_all and sys.stdout.isatty() and sys.stderr.isatty()):
        return
    from reread.session.pass_process import VARIABLE, begin_pass, pass_is_due

    with suppress(OSError):  # no cache: nothing can be prepared
        if pass_is_due() and begin_pass():
            print_notice(
                "Now reading all sessions once in the background, so that search, stats and blame answer at once; "
                f"{VARIABLE}=off prevents that."
            )


def _unknown_verb(name: str) -> str:
    """Return an error about a word that is no verb, with what may have been meant."""
    import difflib

    if name in MERGED:
        return f"`reread {name}` is `reread {MERGED[name]}` now."
    verbs = all_verbs()
    synonyms = {**SYNONYMS, **{word: verb for addon in addons().values() for word, verb in addon.synonyms.items()}}
    meant = [synonyms[name]] if name in synonyms else difflib.get_close_matches(name, (*verbs, HELP), n=1)
    if meant:
        return f"No command {name!r}; did you mean `reread {meant[0]}`?"
    if os.path.exists(name) or any(character.isdigit() for character in name):
        return f"No command {name!r}; to read a session, use `reread show {name}`."
    return f"No command {name!r}; use {', '.join(verbs[:-1])} or {verbs[-1]}."


def _print_error(error: Exception) -> None:
    """Print an error to standard error as one paragraph, without control characters."""
    from reread.base.sanitize import safe

    with suppress(OSError):  # standard error is closed or full
        click.echo(safe(f"reread: {_error_text(error)}"), err=True)


def _error_text(error: Exception) -> str:
    if isinstance(error, click.ClickException):
        return _usage_text(error)
    if isinstance(error, MemoryError):
        return "Not enough memory; close other programs, or choose fewer or smaller sessions."
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or error
    if error.filename is not None:
        return f"Cannot use {os.fsdecode(error.filename)}: {reason}."
    if error.errno in OUTPUT_ERRORS:
        return f"Cannot write to standard output: {reason}."
    return f"The system reported an error: {reason}."


def _renamed(error: click.NoSuchOption) -> str:
    """Return what to do without an option of an earlier version, if its verb can; else an empty text."""
    if error.ctx is None:
        return ""
    for name in (f"{error.ctx.info_name} {error.option_name}", error.option_name):
        if name in DROPPED:
            return f"leave it out: {DROPPED[name]}"
        own = {word for param in error.ctx.command.params for word in param.opts}
        if name in RENAMED and own.issuperset(re.findall(r"--[a-z-]+", RENAMED[name])):
            return f"use {RENAMED[name]}"
    return ""


def _takes_query(command: click.Command) -> bool:
    return any(isinstance(param, click.Argument) and param.name == "query" for param in command.params)


def _usage_text(error: click.ClickException) -> str:
    """Return click's message as a sentence, with the help that lists what is allowed."""
    if isinstance(error, click.NoSuchOption) and (now := _renamed(error)):
        return f"No option {error.option_name} any more; {now}."
    if isinstance(error, click.NoSuchOption) and error.ctx is not None and _takes_query(error.ctx.command):
        known = f" Did you mean {' or '.join(error.possibilities)}?" if error.possibilities else ""
        return f"No option {error.option_name}; to search for it, write `--` in front of the query.{known}"
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        return f"No option {error.option_name}; did you mean {' or '.join(error.possibilities)}?"
    text = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    sentence = text if text.endswith((".", "?", ".)", "`")) else f"{text}."
    if context is None or sentence.endswith(("?", "`.", " now.")):
        return sentence
    return f"{sentence} Run `{context.command_path} --help` for help."
