"""The server: the answers as tools and resources of the Model Context Protocol, over standard input and output."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import Field

from reread.base.struct_types import build_types
from reread.base.version import __version__
from reread.errors import RereadError
from reread.index.search_process import SearchProcesses
from reread.mcp_server import answers
from reread.mcp_server.asking_session import CALL_KEY, AskingSession
from reread.mcp_server.pages import MOST_TOKENS, NOTE, TOKENS, quoted
from reread.tools import all_tools

INSTRUCTIONS = f"""Past sessions of Claude Code on this machine, read-only. Search them, list them, read turns of one,
see how sessions changed a file, and count tokens. {NOTE} Cite what you use by its reread:// address."""
READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Project = Annotated[str | None, Field(description="Only this project: its name or folder.")]
Since = Annotated[str | None, Field(description="Only from this time on: 7d, tuesday, last week, 2026-11, 2026-11-01.")]
Until = Annotated[str | None, Field(description="Only before this time; a day, week or month is included.")]
Limit = Annotated[int, Field(description=f"How many to show, at most {answers.MOST}.")]
Tokens = Annotated[int, Field(description=f"How long the answer may be, at most {MOST_TOKENS} tokens.")]
Page = Annotated[int, Field(description="Which page of a long answer, from 1.")]


def make_server(roots: Sequence[str | Path] | None = None, processes: SearchProcesses | None = None) -> MCPServer[Any]:
    """Return a server for the sessions below some folders, by default of this machine.

    With `processes`, those search.
    """
    asking = AskingSession(roots)

    def without(ctx: Context[Any, Any]) -> set[str]:
        meta: Any = ctx.request_context.meta or {}
        call = meta.get(CALL_KEY)
        return asking.ids(call if isinstance(call, str) else None)

    def search(
        query: Annotated[
            str,
            Field(
                description='Words, "exact phrases", prefixes (handl*), AND, OR, -not, parentheses, and fields: '
                "tool:bash file:src/app.py is:error before:tuesday."
            ),
        ],
        ctx: Context[Any, Any],
        project: Project = None,
        since: Since = None,
        until: Until = None,
        kinds: Annotated[
            str | None,
            Field(description="Only these kinds: prompts, text, thinking, inputs, results, notices, titles, requests."),
        ] = None,
        tool: Annotated[str | None, Field(description="Only calls of this tool.")] = None,
        file: Annotated[str | None, Field(description="Only calls about this file, or a part of its path.")] = None,
        errors: Annotated[bool, Field(description="Only what failed.")] = False,
        newest: Annotated[bool, Field(description="The newest matches first instead of the best.")] = False,
        model: Annotated[str | None, Field(description="Only what this model or family (opus) wrote.")] = None,
        branch: Annotated[str | None, Field(description="Only what was said on this git branch.")] = None,
        regex: Annotated[bool, Field(description="The query is a regular expression.")] = False,
        fixed: Annotated[bool, Field(description="Find the query as it stands, with its signs and capitals.")] = False,
        strict: Annotated[bool, Field(description="Only texts that have all words; nothing is guessed.")] = False,
        limit: Limit = 10,
        max_tokens: Tokens = TOKENS,
        page: Page = 1,
    ) -> str:
        """Find where something was said in past sessions: prompts, answers, thinking, commands, output, files."""
        return answers.search_answer(
            query,
            project=project,
            since=since,
            until=until,
            kinds=kinds,
            tool=tool,
            file=file,
            model=model,
            branch=branch,
            errors=errors,
            newest=newest,
            regex=regex,
            fixed=fixed,
            strict=strict,
            limit=limit,
            tokens=max_tokens,
            page=page,
            roots=roots,
            without=without(ctx),
            processes=processes,
        )

    def sessions(
        ctx: Context[Any, Any],
        project: Project = None,
        since: Since = None,
        until: Until = None,
        limit: Limit = 20,
        max_tokens: Tokens = TOKENS,
        page: Page = 1,
    ) -> str:
        """List past sessions, newest first: title, project, git branch, model, time and size."""
        return answers.sessions_answer(
            project=project,
            since=since,
            until=until,
            limit=limit,
            tokens=max_tokens,
            page=page,
            roots=roots,
            without=without(ctx),
        )

    def read(
        ctx: Context[Any, Any],
        session: Annotated[
            str, Field(description="A session's id, its beginning, its reread:// address, or latest.")
        ] = "latest",
        turns: Annotated[
            str | None, Field(description="Which turns: 3, 3-9, 3-, or -5 for the last five (the default).")
        ] = None,
        branch: Annotated[int | None, Field(description="An abandoned branch, by its number in a hit.")] = None,
        only: Annotated[
            str | None,
            Field(description="prompts, answers (with the final answers), text (with all answers) or tools."),
        ] = None,
        thinking: Annotated[bool, Field(description="With the model's thinking.")] = False,
        full: Annotated[bool, Field(description="With long output in full.")] = False,
        max_tokens: Tokens = TOKENS,
        page: Page = 1,
    ) -> str:
        """Read turns of a past session as Markdown: prompts, answers, calls of tools and what came of them."""
        return answers.turns_answer(
            session,
            turns=turns,
            branch=branch,
            only=only,
            thinking=thinking,
            full=full,
            tokens=max_tokens,
            page=page,
            roots=roots,
            without=without(ctx),
        )

    def file_history(
        path: Annotated[str, Field(description="A file's path, or the end of it.")],
        ctx: Context[Any, Any],
        diffs: Annotated[bool, Field(description="With what each change did, as a diff.")] = False,
        limit: Limit = 20,
        max_tokens: Tokens = TOKENS,
        page: Page = 1,
    ) -> str:
        """See how past sessions changed a file: when, in which session and turn, and by how much."""
        return answers.file_answer(
            path, diffs=diffs, limit=limit, tokens=max_tokens, page=page, roots=roots, without=without(ctx)
        )

    def usage(
        by: Annotated[
            str,
            Field(description="day, week, month, session, project, repository, model, branch, agent; or several."),
        ] = "day",
        since: Since = None,
        until: Until = None,
        project: Project = None,
        model: Annotated[str | None, Field(description="Only this model or family (opus).")] = None,
        max_tokens: Tokens = TOKENS,
        page: Page = 1,
    ) -> str:
        """Count the tokens and cost of sessions, each response once."""
        return answers.usage_answer(
            by=by, since=since, until=until, project=project, model=model, tokens=max_tokens, page=page, roots=roots
        )

    server: MCPServer[Any] = MCPServer(
        "reread",
        title="reread",
        version=__version__,
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        tools=[_tool(function) for function in (search, sessions, read, file_history, usage)],
    )

    @server.resource("reread://session/{session}/turn/{turn}", mime_type="text/markdown")
    @functools.partial(_guarded, error=ResourceNotFoundError)
    def turn(session: str, turn: str) -> str:
        """One turn of a session as Markdown."""
        return answers.turns_answer(answers.SCHEME + session, turns=turn, tokens=MOST_TOKENS, roots=roots)

    return server


def _tool(function: Callable[..., str]) -> Tool:
    """Return a tool that refuses arguments which it does not know, instead of leaving them out."""
    tool = Tool.from_function(_guarded(function, ToolError), annotations=READ_ONLY, structured_output=False)
    known = tool.fn_metadata.arg_model

    class Arguments(known, extra="forbid"):
        pass

    Arguments.__name__ = known.__name__
    tool.fn_metadata.arg_model = Arguments
    tool.parameters = Arguments.model_json_schema(by_alias=True)
    return tool


def _guarded(function: Callable[..., str], error: type[Exception]) -> Callable[..., str]:
    """Return a function that fails in words; these may name titles, and so are quoted, on lines of their own."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> str:
        try:
            return function(*args, **options)
        except (RereadError, OSError) as failure:
            raise error("\n".join(["", *quoted(str(failure))])) from failure

    return call


def run(roots: Sequence[str | Path] | None = None) -> None:
    """Serve over standard input and output until the client goes."""
    all_tools()
    build_types()  # tools are called in threads
    with closing(SearchProcesses()) as processes:
        make_server(roots, processes).run("stdio")
