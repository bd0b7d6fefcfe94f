"""The server: the answers as tools and resources of the Model Context Protocol, over standard input and output."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import Field

from reread.addons.mcp import answers
from reread.addons.mcp.asking_session import CALL_KEY, AskingSession
from reread.addons.mcp.pages import MOST_TOKENS, NOTE, quoted
from reread.base.scope_options import OF_LISTS, OF_RESPONSES, SCOPE_OPTIONS
from reread.base.structs import build_types
from reread.base.version import __version__
from reread.errors import RereadError
from reread.index.search_process import SearchProcesses
from reread.tools import all_tools

INSTRUCTIONS = f"""Past sessions of Claude Code on this machine, read-only. Search them, list them, read turns of one,
get a brief of one to go on from, see how sessions changed a file, and count tokens. {NOTE}
Cite what you use by its reread:// address."""
READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

OF_TOOLS = {"search": OF_LISTS, "sessions": OF_LISTS, "usage": OF_RESPONSES}
"""The options of a scope that tools have."""
TOOLS = {
    "search": answers.search_answer,
    "sessions": answers.sessions_answer,
    "read": answers.turns_answer,
    "brief": answers.brief_answer,
    "file_history": answers.file_answer,
    "usage": answers.usage_answer,
}
"""The answer that each tool gives. Its docstring and its parameters describe the tool."""


def make_server(roots: Sequence[str | Path] | None = None, processes: SearchProcesses | None = None) -> MCPServer[Any]:
    """Return a server for the sessions below some folders, by default of this machine.

    With `processes`, those search.
    """
    asking = AskingSession(roots)
    known: dict[str, Callable[[Context[Any, Any]], Any]] = {
        "roots": lambda _: roots,
        "without": lambda ctx: asking.ids(_call_id(ctx)),
        "processes": lambda _: processes,
    }
    server: MCPServer[Any] = MCPServer(
        "reread",
        title="reread",
        version=__version__,
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        tools=[_tool(name, function, known) for name, function in TOOLS.items()],
    )

    @server.resource("reread://session/{session}/turn/{turn}", mime_type="text/markdown")
    @functools.partial(_guarded, error=ResourceNotFoundError)
    def turn(session: str, turn: str) -> str:
        """One turn of a session as Markdown."""
        return answers.turns_answer(answers.SCHEME + session, turns=turn, max_tokens=MOST_TOKENS, roots=roots)

    return server


def _call_id(ctx: Context[Any, Any]) -> str | None:
    meta: Any = ctx.request_context.meta or {}
    call = meta.get(CALL_KEY)
    return call if isinstance(call, str) else None


def _scope_parameter(name: str) -> inspect.Parameter:
    """Return a parameter for an option of a scope."""
    option = SCOPE_OPTIONS[name]
    type, default = (str | None, None) if option.metavar else (bool, False)
    annotation = Annotated[type, Field(description=option.help)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _tool(name: str, function: Callable[..., str], known: Mapping[str, Callable[[Context[Any, Any]], Any]]) -> Tool:
    """Return a tool that gives an answer. It has no arguments for what is known here, and refuses those it has not."""
    signature = inspect.signature(function, eval_str=True)
    own = [one for one in signature.parameters.values() if one.name not in known and one.kind != one.VAR_KEYWORD]
    own += [_scope_parameter(option) for option in OF_TOOLS.get(name, ())]

    def call(ctx: Context[Any, Any], **options: Any) -> str:
        return function(**options, **{key: value(ctx) for key, value in known.items() if key in signature.parameters})

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Any, Any])
    vars(call)["__signature__"] = signature.replace(parameters=[*own, context])
    tool = Tool.from_function(
        _guarded(call, ToolError), name, description=function.__doc__, annotations=READ_ONLY, structured_output=False
    )

    class Arguments(tool.fn_metadata.arg_model, extra="forbid"):
        pass

    Arguments.__name__ = f"{name}Arguments"
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
