"""The closed choices of the public functions, for type checkers: each is a text, and no other is accepted."""

from __future__ import annotations

from typing import Final, Literal, TypedDict

AdviceKind = Literal[
    "unused_mcp_servers", "unused_tools", "unused_skills", "failing_command", "repeated_denial", "cache_habit"
]
"""The kinds of advice."""

CacheBreakCause = Literal[
    "tools_changed",
    "system_changed",
    "messages_changed",
    "model_changed",
    "idle_over_5m",
    "idle_over_1h",
    "compaction",
    "context_edited",
    "rewind",
    "resume",
    "agent_start",
    "settings_changed",
    "shortened",
    "partly_cached",
    "unknown",
]
"""Why a request had to write again what was cached."""
CAUSE_WORDS: dict[str, str] = {
    "tools_changed": "tools changed",
    "system_changed": "system prompt changed",
    "messages_changed": "earlier messages changed",
    "model_changed": "model switched",
    "idle_over_5m": "idle over 5 minutes",
    "idle_over_1h": "idle over an hour",
    "compaction": "compacted",
    "context_edited": "old results cleared",
    "rewind": "rewound",
    "resume": "resumed",
    "agent_start": "agent started",
    "settings_changed": "effort, thinking or speed changed",
    "shortened": "prompt became shorter",
    "partly_cached": "only an earlier part was cached",
    "unknown": "cause unknown",
}
"""The cause of a cache break in words."""

CacheGrouping = Literal[
    "cause",
    "session",
    "project",
    "model",
    "agent",
    "thread",
    "day",
    "week",
    "month",
    "weekday",
    "hour",
]
"""The groups of cache breaks."""

CallState = Literal["running", "done", "failed", "denied", "interrupted"]
"""How a call ended."""
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
DENIED: Final = "denied"
INTERRUPTED: Final = "interrupted"
CALL_STATES = (RUNNING, DONE, FAILED, DENIED, INTERRUPTED)

EXIT, TIMEOUT = "exit ", "timeout"
"""The kinds of failure that tell that a command was run: it ended with a code, or took too long."""


def has_run(failure: str | None) -> bool:
    """True if a command that failed was run at all, by the kind of its failure.

    Else it may be that the program that uses the SDK said no, which older clients record as any other error.
    """
    return failure is not None and (failure == TIMEOUT or failure.startswith(EXIT))


DeniedBy = Literal["person", "rule", "hook"]
"""Who denied a call: a person who was asked, a permission rule or the lack of one, or a hook."""
PERSON: Final = "person"
RULE: Final = "rule"
HOOK: Final = "hook"

RequestProof = Literal["verified", "no_digest", "incomplete", "different"]
"""Whether the client's digest proves a request: it does; there is none; parts are missing; or it is another one."""

SearchKind = Literal["prompts", "text", "thinking", "inputs", "results", "notices", "titles", "requests"]
"""The kinds of text that a search can be limited to."""

SearchOrder = Literal["relevance", "newest"]
"""The order of the hits of a search."""

SelectedParts = Literal["prompts", "answers", "text", "tools"]
"""The limits of a view or an export: prompts, prompts and final answers, prompts and all answers, or tools."""

StatsGrouping = Literal[
    "tool",
    "failure",
    "state",
    "file",
    "skill",
    "mcp_server",
    "agent",
    "agent_type",
    "thread",
    "model",
    "session",
    "project",
    "person",
    "machine",
    "team",
    "day",
    "week",
    "month",
    "weekday",
    "hour",
]
"""The groups of statistics."""

UsageGrouping = Literal[
    "day",
    "week",
    "month",
    "weekday",
    "hour",
    "session",
    "project",
    "repository",
    "model",
    "branch",
    "agent",
    "thread",
    "agent_type",
    "block",
    "person",
    "machine",
    "team",
]
"""The groups of usage."""

UsageOrder = Literal["group", "cost", "tokens", "responses"]
"""The orders of the rows of a usage report."""


class SelectionOptions(TypedDict, total=False):
    """The selection of an export, as keywords: the same as in every view."""

    turns: tuple[int, int | None]
    """The first and last turn, counted from 1; None for the end. A negative first turn counts from the end."""
    path: int | None
    """The number of a path through the conversation; None for the active one."""
    thinking: bool
    """Whether thoughts are exported."""
    tools: bool
    """Whether tool calls are exported."""
    only: SelectedParts | None
    """Only these parts; None for everything."""
    tool_names: tuple[str, ...]
    """Only calls of these tools, as glob patterns in any case."""
    files: tuple[str, ...]
    """Only calls that name one of these files: a path, its end, or a glob pattern."""
    calls: tuple[str, ...]
    """Only calls with these ids."""
    errors: bool
    """Only what failed."""
    full: bool
    """Whether long output is exported in full."""
    images: bool
    """Whether an HTML page contains its pictures."""
