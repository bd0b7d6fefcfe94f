"""Progress of running calls, by type."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from reread.records.blocks import Number
from reread.records.types.base import Entry, NestedEntry, ProgressPayload, TreeRecord, declare
from reread.records.types.registry import PAYLOADS, PROGRESS, to_entry

AnyProgress: TypeAlias = Annotated[
    Any, Meta(extra={"contains": "progress"}, extra_json_schema={"$ref": "#/$defs/AnyProgress"})
]
"""One of the structs in PROGRESS, by its `type`."""


class Progress(TreeRecord, frozen=True, kw_only=True):
    """The progress of a running call (2.1.12 to 2.1.81)."""

    type: str = "progress"
    data: AnyProgress = None
    toolUseID: str | None = None


_progress = partial(declare, ProgressPayload, __name__)
_progress(
    "bash_progress",
    "The output of a command so far.",
    "output fullOutput taskId",
    elapsedTimeSeconds=Number,
    totalLines=int,
    totalBytes=int,
    timeoutMs=Number,
)
_progress("hook_progress", "A hook that is running.", "hookEvent hookName command")


class AgentProgress(ProgressPayload, frozen=True, kw_only=True):
    """A message of a running agent."""

    type: str = "agent_progress"
    message: NestedEntry = None
    """A complete record of the agent."""
    normalizedMessages: NestedEntry = None
    prompt: str | None = None
    agentId: str | None = None

    @property
    def entry(self) -> Entry:
        """The agent's own record."""
        return to_entry(self.message)


_progress("mcp_progress", "The progress of an MCP call.", "status serverName toolName", elapsedTimeMs=Number)
_progress("query_update", "The query of a running web search.", "query")
_progress("search_results_received", "The number of results of a web search.", "query", resultCount=int)
_progress("waiting_for_task", "The task that a call waits for.", "taskDescription taskType")


PAYLOADS[Progress] = ("data", PROGRESS)
