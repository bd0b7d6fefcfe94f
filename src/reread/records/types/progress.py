"""Progress of running calls, by type."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from reread.records.blocks import Number
from reread.records.types.base import Entry, NestedEntry, ProgressPayload, TreeRecord
from reread.records.types.convert import to_entry
from reread.records.types.registry import PAYLOADS, PROGRESS

AnyProgress: TypeAlias = Annotated[
    Any, Meta(extra={"contains": "progress"}, extra_json_schema={"$ref": "#/$defs/AnyProgress"})
]
"""One of the structs in PROGRESS, by its `type`."""


class Progress(TreeRecord, frozen=True, kw_only=True):
    """The progress of a running call (2.1.12 to 2.1.81)."""

    type: str = "progress"
    data: AnyProgress = None
    toolUseID: str | None = None


class BashProgress(ProgressPayload, frozen=True, kw_only=True):
    """The output of a command so far."""

    type: str = "bash_progress"
    output: str | None = None
    fullOutput: str | None = None
    elapsedTimeSeconds: Number | None = None
    totalLines: int | None = None
    totalBytes: int | None = None
    timeoutMs: Number | None = None
    taskId: str | None = None


class HookProgress(ProgressPayload, frozen=True, kw_only=True):
    """A hook that is running."""

    type: str = "hook_progress"
    hookEvent: str | None = None
    hookName: str | None = None
    command: str | None = None


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


class McpProgress(ProgressPayload, frozen=True, kw_only=True):
    """The progress of an MCP call."""

    type: str = "mcp_progress"
    status: str | None = None
    serverName: str | None = None
    toolName: str | None = None
    elapsedTimeMs: Number | None = None


class QueryUpdateProgress(ProgressPayload, frozen=True, kw_only=True):
    """The query of a running web search."""

    type: str = "query_update"
    query: str | None = None


class SearchResultsReceivedProgress(ProgressPayload, frozen=True, kw_only=True):
    """The number of results of a web search."""

    type: str = "search_results_received"
    resultCount: int | None = None
    query: str | None = None


class WaitingForTaskProgress(ProgressPayload, frozen=True, kw_only=True):
    """The task that a call waits for."""

    type: str = "waiting_for_task"
    taskDescription: str | None = None
    taskType: str | None = None


PAYLOADS[Progress] = ("data", PROGRESS)
