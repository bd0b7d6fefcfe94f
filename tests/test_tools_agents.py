"""Every tool except those for files and commands: each result shape has the expected title and nodes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import msgspec
import pytest
from effort import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st

from reread import tools
from reread.records import blocks as b
from reread.tools import nodes as n
from reread.tools.outcome import DENIED, FAILED, INTERRUPTED, RUNNING, STATES, Outcome, outcome_of
from reread.tools.tool_call import AgentStats, ToolCall

FAMILIES = (
    "agent",
    "background",
    "claude_ai",
    "user_messages",
    "mcp",
    "plan",
    "question",
    "schedule",
    "tool_search",
    "server_tools",
    "skill",
    "tasks",
    "team",
    "todo",
    "web",
    "workflow",
    "worktree",
)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

Row = tuple[str, ToolCall, str, list[tuple[str, str]]]


def answered(
    name: str,
    given: Any = None,
    content: Any = None,
    data: Any = None,
    *,
    block: b.Block | None = None,
    is_error: bool = False,
    denial: str | None = None,
    **more: Any,
) -> ToolCall:
    """A call with a result."""
    block = block or b.ToolResult(content=content)
    outcome = outcome_of(block, data, is_error=is_error, denial=denial)
    return ToolCall(name, {} if given is None else given, result=block, data=data, outcome=outcome, **more)


def running(name: str, given: Any) -> ToolCall:
    """A call without a result yet."""
    return ToolCall(name, given)


def failed(name: str, given: Any, text: str) -> ToolCall:
    """A call that returned an error."""
    return answered(name, given, text, f"Error: {text}", is_error=True)


def todo(content: str, status: str, doing: str) -> dict[str, str]:
    """An item of a to-do list, as the client records it."""
    return {"content": content, "status": status, "activeForm": doing}


TODOS = [
    todo("Read", "completed", "Reading"),
    todo("Test", "in_progress", "Testing"),
    todo("Ship", "pending", "Shipping"),
]
TODO_ROWS: list[Row] = [
    (
        "todos, changes marked",
        answered(
            "TodoWrite",
            {"todos": TODOS},
            data={
                "oldTodos": [
                    todo("Read", "completed", "Reading"),
                    todo("Test", "pending", "Testing"),
                    todo("Dance", "pending", "Dancing"),
                ],
                "newTodos": TODOS,
            },
        ),
        "TodoWrite 1 of 3 done · Testing",
        [("checklist", "Read:done, Testing:active*, Ship:pending*, Dance:cancelled*(dropped)")],
    ),
    (
        "todos without a structured result",
        answered("TodoWrite", {"todos": TODOS}, "Todos have been modified"),
        "TodoWrite 1 of 3 done · Testing",
        [("checklist", "Read:done, Testing:active, Ship:pending")],
    ),
    (
        "early todos, with a priority",
        answered("TodoWrite", {"todos": [{"content": "A", "status": "pending", "id": "1", "priority": "high"}]}),
        "TodoWrite 0 of 1 done",
        [("checklist", "A:pending(high)")],
    ),
    (
        "todos read",
        answered("TodoRead", data=[{"content": "A", "status": "completed", "id": "1"}]),
        "TodoRead 1 of 1 done",
        [("checklist", "A:done")],
    ),
    (
        "a nudge to verify",
        answered("TodoWrite", {"todos": TODOS[:1]}, data={"newTodos": TODOS[:1], "verificationNudgeNeeded": True}),
        "TodoWrite 1 of 1 done",
        [("checklist", "Read:done"), ("note", "verify")],
    ),
    ("todos that are not a list", answered("TodoWrite", {"todos": "later"}), "TodoWrite", [("section", "later")]),
    (
        "a task created",
        answered(
            "TaskCreate",
            {"subject": "First", "description": "Do it", "activeForm": "Doing it"},
            data={"task": {"id": "1", "subject": "First"}},
        ),
        "TaskCreate #1 First",
        [("checklist", "#1 First:pending*"), ("prose", "Do it"), ("facts", "Doing it")],
    ),
    (
        "a task created, text only",
        answered("TaskCreate", {"subject": "First"}, "Task #7 created successfully: First"),
        "TaskCreate #7 First",
        [("checklist", "#7 First:pending*")],
    ),
    (
        "a task's status",
        answered(
            "TaskUpdate",
            {"taskId": "1", "status": "in_progress"},
            data={
                "success": True,
                "taskId": "1",
                "updatedFields": ["status"],
                "statusChange": {"from": "pending", "to": "in_progress"},
            },
        ),
        "TaskUpdate #1 pending → in progress",
        [("checklist", "#1:active*(was pending)")],
    ),
    (
        "a task deleted",
        answered("TaskUpdate", {"taskId": "1", "status": "deleted"}, "Updated task #1 deleted"),
        "TaskUpdate #1 deleted",
        [("checklist", "#1:cancelled*")],
    ),
    (
        "what blocks a task",
        answered("TaskUpdate", {"taskId": "2", "addBlockedBy": ["1", "3"]}, data={"success": True, "taskId": "2"}),
        "TaskUpdate #2 blocked by #1, #3",
        [("facts", "blocked by=#1, #3")],
    ),
    (
        "a missing task",
        answered(
            "TaskUpdate",
            {"taskId": "9", "status": "completed"},
            "Task not found",
            {"success": False, "taskId": "9", "updatedFields": [], "error": "Task not found"},
            is_error=True,
        ),
        "TaskUpdate #9 completed",
        [("checklist", "#9:done"), ("note", "error Task not found")],
    ),
    (
        "a task requested",
        answered(
            "TaskGet",
            {"taskId": "1"},
            data={
                "task": {
                    "id": "1",
                    "subject": "First",
                    "description": "Do it",
                    "status": "in_progress",
                    "blocks": ["2"],
                    "blockedBy": [],
                }
            },
        ),
        "TaskGet #1 First",
        [("checklist", "#1 First:active"), ("prose", "Do it"), ("facts", "#2")],
    ),
    (
        "no such task",
        answered("TaskGet", {"taskId": "9"}, "Task not found", {"task": None}),
        "TaskGet #9",
        [("prose", "Task not found")],
    ),
    (
        "all tasks",
        answered(
            "TaskList",
            data={
                "tasks": [
                    {"id": "1", "subject": "First", "status": "completed", "blockedBy": []},
                    {"id": "2", "subject": "Second", "status": "pending", "owner": "ada", "blockedBy": ["1"]},
                ]
            },
        ),
        "TaskList 1 of 2 done",
        [("checklist", "#1 First:done, #2 Second:pending(ada, blocked by #1)")],
    ),
    (
        "all tasks, text only",
        answered("TaskList", content="#1 [in_progress] First task\n#2 [pending] Second [blocked by #1]"),
        "TaskList 0 of 2 done",
        [("checklist", "#1 First task:active, #2 Second:pending(blocked by #1)")],
    ),
    ("no tasks", answered("TaskList", {}, "No tasks found", {"tasks": []}), "TaskList", [("prose", "No tasks found")]),
]

SHELL = {
    "shellId": "e86a72",
    "command": "make watch",
    "status": "running",
    "exitCode": None,
    "stdout": "tick 1",
    "stderr": "slow",
    "stdoutLines": 1,
    "stderrLines": 1,
    "timestamp": "2026-11-15T01:01:40.694Z",
}


def task(**more: Any) -> dict[str, Any]:
    """The result for a background task."""
    about = {"task_id": "b1", "task_type": "local_bash", "status": "completed", "description": "Build"}
    return {"retrieval_status": more.pop("retrieval_status", "success"), "task": {**about, "output": "built", **more}}


BACKGROUND_ROWS: list[Row] = [
    (
        "a running shell",
        answered("BashOutput", {"bash_id": "e86a72", "filter": "tick"}, data=SHELL),
        "BashOutput make watch · running",
        [
            ("terminal", "in make watch"),
            ("note", "still running at 2026-11-15T01:01:40.694Z"),
            ("terminal", "out tick 1"),
            ("terminal", "err slow"),
            ("facts", "tick"),
        ],
    ),
    (
        "a shell that failed",
        answered("BashOutput", {"bash_id": "x"}, data={**SHELL, "status": "failed", "exitCode": 2}, is_error=True),
        "BashOutput make watch · failed",
        [
            ("terminal", "in make watch"),
            ("note", "error failed with exit code 2"),
            ("terminal", "out tick 1"),
            ("terminal", "err slow"),
            ("facts", "e86a72"),
        ],
    ),
    (
        "a shell, text only",
        answered(
            "BashOutput",
            {"bash_id": "x"},
            "<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<stdout>\nall\ngood\n</stdout>",
        ),
        "BashOutput x · completed",
        [("note", "completed with exit code 0"), ("terminal", "out all\ngood"), ("facts", "x")],
    ),
    (
        "no such shell",
        failed("BashOutput", {"bash_id": "x"}, "No shell found with ID: x"),
        "BashOutput x",
        [("facts", "x"), ("note", "error failed: No shell found")],
    ),
    (
        "a finished task",
        answered("TaskOutput", {"task_id": "b1", "block": True, "timeout": 8000}, data=task(exitCode=0), seconds=1.5),
        "TaskOutput Build · completed",
        [("note", "completed with exit code 0"), ("terminal", "out built"), ("facts", "1.5 s")],
    ),
    (
        "a running task",
        answered("TaskOutput", {"task_id": "b1"}, data=task(retrieval_status="not_ready", status="running")),
        "TaskOutput Build · running",
        [("note", "still running"), ("terminal", "out built"), ("facts", "b1")],
    ),
    (
        "a task that was still running after the wait",
        answered("TaskOutput", {"task_id": "b1"}, data={"retrieval_status": "timeout", "task": None}, is_error=True),
        "TaskOutput b1 · timeout",
        [("note", "warning still running when the wait timed out"), ("facts", "b1")],
    ),
    (
        "a task that failed",
        answered("TaskOutput", {"task_id": "b1"}, data=task(status="failed", exitCode=1), is_error=True),
        "TaskOutput Build · failed",
        [("note", "error failed with exit code 1"), ("terminal", "out built"), ("facts", "local bash")],
    ),
    (
        "a task that failed, fetched by a call that did not",
        answered("TaskOutput", {"task_id": "b1"}, data=task(status="failed", exitCode=1)),
        "TaskOutput Build · failed",
        [("note", "error failed with exit code 1"), ("terminal", "out built"), ("facts", "local bash")],
    ),
    (
        "an agent's report, repeated",
        answered(
            "AgentOutputTool",
            {"agentId": "a1", "wait_up_to": 60},
            data=task(task_type="local_agent", task_id="a1", prompt="Look.", output="**Fine.**", result="**Fine.**"),
        ),
        "AgentOutputTool Build · completed",
        [("note", "completed"), ("section", "Look."), ("prose", "**Fine.**"), ("facts", "1 min")],
    ),
    (
        "a task, text only",
        answered(
            "TaskOutput",
            {"task_id": "b1"},
            "<retrieval_status>success</retrieval_status>\n\n<task_type>local_bash</task_type>\n\n"
            "<status>completed</status>\n\n<exit_code>3</exit_code>\n\n<output>\nbad\n</output>",
        ),
        "TaskOutput b1 · completed",
        [("note", "error completed with exit code 3"), ("terminal", "out bad"), ("facts", "local bash")],
    ),
    (
        "a shell killed",
        answered("KillShell", {"shell_id": "e8"}, data={"message": "Successfully killed shell: e8", "shell_id": "e8"}),
        "KillShell e8",
        [("facts", "e8"), ("note", "info Successfully killed")],
    ),
    (
        "a shell not killed",
        answered("KillBash", {"shell_id": "e8"}, data={"message": "already dead", "success": False}, is_error=True),
        "KillBash e8",
        [("facts", "e8"), ("note", "error already dead")],
    ),
    (
        "a task stopped",
        answered(
            "TaskStop",
            {"task_id": "b1"},
            '{"message":"Successfully stopped task: b1","task_id":"b1","task_type":"local_bash","command":"sleep 9"}',
        ),
        "TaskStop sleep 9",
        [("terminal", "in sleep 9"), ("facts", "local bash"), ("note", "Successfully stopped")],
    ),
    (
        "a monitor",
        answered(
            "Monitor",
            {"command": "tail -f log", "description": "errors", "timeout_ms": 4000, "persistent": False},
            data={"taskId": "b2", "timeoutMs": 4000, "persistent": False},
        ),
        "Monitor errors",
        [("terminal", "in tail -f log"), ("note", "as b2 for at most 4 s"), ("facts", "errors")],
    ),
    (
        "a persistent monitor on a socket",
        answered(
            "Monitor",
            {"ws": {"url": "wss://example.org/feed"}, "description": "feed", "timeout_ms": 0},
            data={"taskId": "b2", "timeoutMs": 0, "persistent": True},
        ),
        "Monitor feed",
        [("links", "wss://example.org/feed"), ("note", "until stopped"), ("facts", "feed")],
    ),
]

ASKED = {"description": "Look around", "prompt": "Look at **all**.", "subagent_type": "Explore"}
TOLD = {
    "status": "completed",
    "prompt": "Look at **all**.",
    "agentId": "a76c",
    "agentType": "Explore",
    "toolsUsed": ["Bash", "Read"],
    "content": [
        {"type": "text", "text": "<tools-used-before-summary>Bash, Read</tools-used-before-summary>\n"},
        {"type": "text", "text": "# Report"},
    ],
    "resolvedModel": "claude-opus-5-5",
    "totalDurationMs": 2883,
    "totalTokens": 13053,
    "totalToolUseCount": 2,
    "usage": {"input_tokens": 10, "output_tokens": 23, "cache_read_input_tokens": 11800},
    "toolStats": {"readCount": 1, "bashCount": 1, "linesAdded": 4},
    "worktreePath": "/tmp/wt",
}
AGENT_ROWS: list[Row] = [
    (
        "an agent done",
        answered("Agent", ASKED, [{"type": "text", "text": "# Report"}], TOLD),
        "Agent Look around · Explore",
        [
            ("section", "prompt Look at **all**."),
            ("prose", "# Report"),
            (
                "facts",
                "agent=a76c, type=Explore, model=claude-opus-5-5, worktree=/tmp/wt, tokens=13,053, tool calls=2, "
                "duration=2.9 s, usage=10 in, 23 out, 11,800 cache read, "
                "activity=1 read, 1 command, 4 lines added, tools used=Bash, Read",
            ),
        ],
    ),
    (
        "an agent of 1.0",
        answered(
            "Task",
            ASKED,
            data={
                "content": [{"type": "text", "text": "Done."}],
                "totalDurationMs": 90500,
                "totalTokens": 5,
                "totalToolUseCount": 0,
                "usage": {},
                "wasInterrupted": True,
            },
        ),
        "Task Look around · Explore",
        [
            ("section", "prompt"),
            ("note", "warning interrupted"),
            ("prose", "Done."),
            ("facts", "type=Explore, tokens=5, tool calls=0, duration=1 min 31 s"),
        ],
    ),
    (
        "an agent in the background",
        answered(
            "Agent",
            ASKED,
            "Async agent launched successfully.",
            {
                "isAsync": True,
                "status": "async_launched",
                "agentId": "a7",
                "description": "Look around",
                "prompt": "Look at **all**.",
                "outputFile": "/tmp/a7.output",
            },
            agent=AgentStats(id="a7", type="Explore", calls=3, tokens=1200),
        ),
        "Agent Look around · Explore · in the background",
        [
            ("section", "prompt"),
            ("note", "running in the background"),
            ("files", "/tmp/a7.output"),
            ("facts", "agent=a7, type=Explore, tokens=1,200, tool calls=3"),
        ],
    ),
    (
        "an agent in the cloud",
        answered(
            "Agent",
            ASKED,
            data={
                "status": "remote_launched",
                "taskId": "r1",
                "sessionUrl": "https://example.org/session",
                "description": "Look around",
                "prompt": "Look",
                "outputFile": "/tmp/r1",
            },
        ),
        "Agent Look around · Explore · in the cloud",
        [
            ("section", "prompt"),
            ("note", "cloud"),
            ("links", "https://example.org/session"),
            ("files", "/tmp/r1"),
            ("facts", "agent=r1"),
        ],
    ),
    (
        "a teammate",
        answered(
            "Task",
            {**ASKED, "name": "ada", "team_name": "crew"},
            data={
                "status": "teammate_spawned",
                "teammate_id": "ada@crew",
                "agent_id": "ada@crew",
                "agent_type": "Explore",
                "name": "ada",
                "color": "blue",
                "model": "claude-opus-4-6",
                "team_name": "crew",
                "tmux_session_name": "in-process",
                "tmux_window_name": "in-process",
                "tmux_pane_id": "%12",
                "is_splitpane": False,
            },
        ),
        "Task Look around · Explore · teammate",
        [
            ("section", "prompt"),
            ("note", "joined the team"),
            (
                "facts",
                "agent=ada@crew, type=Explore, name=ada, team=crew, color=blue, model=claude-opus-4-6, "
                "terminal=in-process %12",
            ),
        ],
    ),
    (
        "an agent that failed",
        answered(
            "Task",
            ASKED,
            "It broke.",
            {"status": "failed", "content": [{"type": "text", "text": "It broke."}]},
            is_error=True,
        ),
        "Task Look around · Explore · failed",
        [("section", "prompt"), ("note", "error the agent failed"), ("prose", "It broke."), ("facts", "Explore")],
    ),
    (
        "an agent that timed out",
        answered("Task", ASKED, "", {"status": "timeout", "content": [], "totalDurationMs": 600000}, is_error=True),
        "Task Look around · Explore · timed out",
        [("section", "prompt"), ("note", "error the agent timed out"), ("facts", "10 min")],
    ),
    (
        "an agent that could not start",
        failed("Agent", ASKED, "Agent type 'Explore' not found"),
        "Agent Look around · Explore",
        [("section", "prompt"), ("note", "error failed: Agent type"), ("facts", "Explore")],
    ),
    (
        "an agent inside an agent, text only",
        answered(
            "Agent",
            ASKED,
            [
                {"type": "text", "text": "Second report."},
                {
                    "type": "text",
                    "text": "agentId: a33 (use SendMessage)\n<usage>subagent_tokens: 1063\ntool_uses: 4\n"
                    "duration_ms: 26</usage>",
                },
            ],
        ),
        "Agent Look around · Explore",
        [
            ("section", "prompt"),
            ("prose", "Second report."),
            ("facts", "agent=a33, type=Explore, tokens=1,063, tool calls=4, duration=26 ms"),
        ],
    ),
    (
        "an agent's hand-back",
        answered(
            "Agent",
            ASKED,
            "  <tools-used-before-summary>Bash</tools-used-before-summary>\n  \n"
            "[Subagent hand-back] The report follows:\n  One.\n    Two.\nagentId: a33 (x)\n"
            "<usage>subagent_tokens: 7\ntool_uses: 1\nduration_ms: 9</usage>",
        ),
        "Agent Look around · Explore",
        [("section", "prompt"), ("prose", "One.\n  Two."), ("facts", "agent=a33")],
    ),
    (
        "an agent launched, text only",
        answered("Agent", ASKED, "Async agent launched successfully.\nagentId: a9 (internal)\noutput_file: /tmp/a9"),
        "Agent Look around · Explore · in the background",
        [("section", "prompt"), ("note", "background"), ("files", "/tmp/a9"), ("facts", "agent=a9")],
    ),
    (
        "a running agent",
        running("Agent", ASKED),
        "Agent Look around · Explore",
        [("section", "prompt"), ("note", "still running"), ("facts", "Explore")],
    ),
    (
        "a batch",
        answered(
            "Batch",
            {
                "description": "Both",
                "invocations": [
                    {"tool_name": "WebFetch", "input": {"url": "https://example.org"}},
                    {"tool_name": "Nameless", "input": {"a": "bcde"}},
                ],
            },
            data={
                "normalizedMessages": [],
                "orderedToolResults": [
                    {"type": "user", "message": {"content": [{"type": "tool_result", "content": "one"}]}},
                    {"type": "tool_result", "content": "two", "is_error": True},
                ],
                "resolvedInvocations": [],
                "totalDurationMs": 12,
                "totalTokens": 0,
                "totalToolCalls": 2,
            },
        ),
        "Batch Both · 2 calls",
        [
            ("section", "https://example.org one"),
            ("section", "error failed: two"),
            ("facts", "calls=2"),
        ],
    ),
]

PLAN = "# Retry with backoff\n1. Do it"
QUESTIONS = [
    {
        "question": "Which color?",
        "header": "Color",
        "multiSelect": False,
        "options": [
            {"label": "Red", "description": "warm", "preview": "rrr"},
            {"label": "Blue", "description": "cold"},
        ],
    },
    {
        "question": "Which sizes?",
        "header": "Size",
        "multiSelect": True,
        "options": [{"label": "S"}, {"label": "S, but wide"}, {"label": "L"}],
    },
]
TALK_ROWS: list[Row] = [
    (
        "entering plan mode",
        answered("EnterPlanMode", {}, "Entered plan mode. And more.", {"message": "Entered plan mode."}),
        "EnterPlanMode",
        [("note", "Entered plan mode.")],
    ),
    (
        "a plan approved",
        answered(
            "ExitPlanMode",
            {"plan": PLAN, "allowedPrompts": [{"tool": "Bash", "prompt": "run tests"}]},
            "User has approved",
            {"plan": None, "isAgent": False, "filePath": "/plans/a.md"},
        ),
        "ExitPlanMode Retry with backoff",
        [("prose", PLAN), ("files", "/plans/a.md"), ("table", "Bash|run tests"), ("note", "approved")],
    ),
    (
        "a plan edited by the user",
        answered("exit_plan_mode", {"plan": PLAN}, data={"plan": "# Other", "isAgent": False, "planWasEdited": True}),
        "exit_plan_mode Other",
        [("prose", "# Other"), ("section", f"proposed plan {PLAN}"), ("note", "edits by the user")],
    ),
    (
        "a plan waiting for approval",
        answered("ExitPlanMode", {}, data={"plan": PLAN, "isAgent": True, "awaitingLeaderApproval": True}),
        "ExitPlanMode Retry with backoff",
        [("prose", PLAN), ("note", "team leader")],
    ),
    (
        "a rejected plan",
        failed("ExitPlanMode", {"plan": PLAN}, "The user doesn't want to proceed with this tool use. STOP"),
        "ExitPlanMode Retry with backoff",
        [("prose", PLAN), ("note", "warning denied")],
    ),
    (
        "questions answered",
        answered(
            "AskUserQuestion",
            {"questions": QUESTIONS},
            data={
                "questions": QUESTIONS,
                "answers": {"Which color?": "Red", "Which sizes?": "S, but wide, L, XXL"},
                "annotations": {"Which color?": {"notes": "bright"}},
            },
        ),
        "AskUserQuestion Color: Red · Size: S, but wide, L, XXL",
        [
            ("choice", "Which color? (x)Red ( )Blue"),
            ("note", "bright"),
            ("choice", "Which sizes? [ ]S [x]S, but wide [x]L = XXL"),
        ],
    ),
    (
        "a question answered in free text",
        answered("AskUserQuestion", {"questions": QUESTIONS[:1]}, data={"answers": {"Which color?": "Green"}}),
        "AskUserQuestion Which color? → Green",
        [("choice", "Which color? ( )Red ( )Blue = Green")],
    ),
    (
        "answers, text only",
        answered(
            "AskUserQuestion",
            {"questions": QUESTIONS},
            'User has answered your questions: "Which color?"="Red", "Which sizes?"="S, L". You can now continue',
        ),
        "AskUserQuestion Color: Red · Size: S, L",
        [("choice", "(x)Red ( )Blue"), ("choice", "[x]S [ ]S, but wide [x]L")],
    ),
    (
        "a question skipped, and a reply instead",
        answered(
            "AskUserQuestion",
            {"questions": QUESTIONS[:1]},
            "ok",
            {
                "answers": {},
                "annotations": {"Which color?": {"unanswered": "skipped"}},
                "response": "Later.",
                "afkTimeoutMs": 60000,
            },
        ),
        "AskUserQuestion Which color?",
        [
            ("choice", "( )Red ( )Blue"),
            ("note", "skipped by the user"),
            ("prose", "Later."),
            ("note", "warning no answer within 1 min"),
            ("prose", "ok"),
        ],
    ),
    (
        "a single question without a list",
        running("AskUserQuestion", {"question": "Why?", "options": [{"label": "So"}]}),
        "AskUserQuestion Why?",
        [("choice", "Why? ( )So"), ("note", "still running")],
    ),
    (
        "a skill",
        answered(
            "Skill",
            {"skill": "demo", "args": "x y"},
            "Launching skill: demo",
            {
                "success": True,
                "commandName": "demo",
                "allowedTools": ["Read", "Bash"],
            },
        ),
        "Skill demo x y",
        [("facts", "name=demo, arguments=x y, allowed tools=Read, Bash"), ("prose", "Launching skill: demo")],
    ),
    (
        "a skill that ran as an agent",
        answered(
            "Skill",
            {"skill": "forked"},
            data={"success": True, "commandName": "forked", "status": "forked", "agentId": "a2", "result": "Hi."},
        ),
        "Skill forked",
        [("facts", "agent=a2"), ("prose", "Hi.")],
    ),
    (
        "a command",
        answered("SlashCommand", {"command": "/review now"}, "Launching command: /review"),
        "SlashCommand /review now",
        [("facts", "/review now"), ("prose", "Launching")],
    ),
    (
        "proposed skills",
        answered(
            "propose_skills",
            {
                "proposals": [
                    {"name": "ship", "kind": "new", "description": "Ships.", "skillMd": "# Ship"},
                    {
                        "name": "test",
                        "kind": "improvement",
                        "target": "tests",
                        "edits": [{"old_string": "a", "new_string": "b"}],
                    },
                ]
            },
            data={"proposalCount": 2},
        ),
        "propose_skills ship, test",
        [("section", "ship Ships. kind=new # Ship"), ("section", "test kind=improvement"), ("facts", "2 proposals")],
    ),
]

LINKS = [{"title": "One", "url": "https://example.com/"}, {"title": "Two", "url": "https://example.org/two"}]
WEB_ROWS: list[Row] = [
    (
        "a search",
        answered(
            "WebSearch",
            {"query": "tides", "allowed_domains": ["example.com"]},
            data={
                "query": "tides",
                "results": ["I'll search.", {"tool_use_id": "s1", "content": LINKS}, "**Two** were found."],
                "durationSeconds": 2.424,
                "searchCount": 1,
            },
        ),
        'WebSearch "tides" → 2 links',
        [
            ("facts", "query=tides, allowed domains=example.com"),
            ("prose", "I'll search."),
            ("links", "One https://example.com/ Two https://example.org/two"),
            ("prose", "**Two** were found."),
            ("facts", "searches=1, duration=2.4 s"),
        ],
    ),
    (
        "a search, text only",
        answered(
            "WebSearch",
            {"query": "tides"},
            'Web search results for query: "tides"\n\nLinks: '
            '[{"title":"One","url":"https://example.com/"}]\n\nA summary.',
        ),
        'WebSearch "tides" → 1 link',
        [("facts", "tides"), ("links", "One https://example.com/"), ("prose", "A summary.")],
    ),
    (
        "a detached search",
        answered("WebSearch", {"query": "tides"}, data={"detachedToolCall": True}),
        'WebSearch "tides" → 0 links',
        [("facts", "tides"), ("note", "continued in the background")],
    ),
    (
        "a page",
        answered(
            "WebFetch",
            {"url": "https://example.org", "prompt": "What?"},
            "It **says**.",
            {
                "bytes": 11100,
                "code": 200,
                "codeText": "OK",
                "result": "It **says**.",
                "durationMs": 341,
                "url": "https://example.org",
            },
        ),
        "WebFetch https://example.org → 200 OK",
        [
            ("links", "https://example.org"),
            ("facts", "prompt=What?"),
            ("prose", "It **says**."),
            ("facts", "status=200 OK, size=11.1 kB, duration=341 ms"),
        ],
    ),
    (
        "a missing page, redirected",
        answered(
            "WebFetch",
            {"url": "https://example.org"},
            data={
                "bytes": 0,
                "code": 404,
                "codeText": "Not Found",
                "result": "Nothing.",
                "url": "https://example.org/a",
            },
        ),
        "WebFetch https://example.org → 404 Not Found",
        [
            ("links", "https://example.org"),
            ("links", "redirected to https://example.org/a"),
            ("note", "error 404 Not Found"),
            ("prose", "Nothing."),
            ("facts", "404"),
        ],
    ),
    (
        "a page that failed",
        failed("WebFetch", {"url": "https://example.org", "prompt": "What?"}, "Request failed with status code 404"),
        "WebFetch https://example.org",
        [("links", "https://example.org"), ("facts", "What?"), ("note", "error failed: Request failed")],
    ),
    (
        "tools found",
        answered(
            "ToolSearch",
            {"query": "select:WebFetch", "max_results": 5},
            [{"type": "tool_reference", "tool_name": "WebFetch"}],
            {"matches": ["WebFetch"], "query": "select:WebFetch", "total_deferred_tools": 16},
        ),
        'ToolSearch "select:WebFetch" → 1 tool',
        [("facts", "query=select:WebFetch, max results=5, found=WebFetch, out of=16 tools")],
    ),
    (
        "tools found, text only",
        answered("ToolSearch", {"query": "a"}, [{"type": "tool_reference", "tool_name": "WebFetch"}]),
        'ToolSearch "a" → 1 tool',
        [("facts", "found=WebFetch")],
    ),
    (
        "no tools found",
        answered("ToolSearch", {"query": "a"}, "No matching deferred tools found", {"matches": []}),
        'ToolSearch "a" → 0 tools',
        [("facts", "a"), ("prose", "No matching")],
    ),
]

MCP_ROWS: list[Row] = [
    (
        "text from a server",
        answered(
            "mcp__tiny__echo",
            {"text": "hi", "n": 3},
            [{"type": "text", "text": "echo: hi"}],
            [{"type": "text", "text": "echo: hi"}],
        ),
        "tiny · echo hi",
        [("facts", "text=hi, n=3"), ("code", "echo: hi")],
    ),
    (
        "Markdown from a server",
        answered("mcp__tiny__docs", {}, "# Title\ntext"),
        "tiny · docs",
        [("prose", "# Title")],
    ),
    (
        "a picture from a server",
        answered(
            "mcp__tiny__picture",
            {"where": {"x": 1}},
            [
                {"type": "text", "text": "a picture"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "mimeType": "image/png", "data": PNG},
            ],
        ),
        "tiny · picture",
        [("section", "input"), ("code", "a picture"), ("picture", "image/png 1×1"), ("picture", "image/png 1×1")],
    ),
    (
        "structured content from a server, as text",
        answered("mcp__tiny__structured", {}, '{"n": "three"}', '{"n": "three"}'),
        "tiny · structured",
        [("data", "three")],
    ),
    (
        "structured content from a server, as an object",
        answered(
            "mcp__tiny__structured",
            {},
            '{"n": "three"}',
            {
                "content": [{"type": "text", "text": '{"n": "three"}'}, {"type": "text", "text": "aside"}],
                "structuredContent": {"n": "three"},
            },
        ),
        "tiny · structured",
        [("code", "aside"), ("data", "three")],
    ),
    (
        "an object from a server",
        answered("mcp__a_b__c__d", {}, "said", {"rows": ["some"]}),
        "a_b · c__d",
        [("code", "said"), ("data", "some")],
    ),
    (
        "resources in a result",
        answered(
            "mcp__tiny__more",
            {},
            [
                {"type": "resource", "resource": {"uri": "tiny://x", "mimeType": "application/json", "text": "{}x"}},
                {"type": "resource_link", "uri": "tiny://y", "name": "why"},
                {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            ],
        ),
        "tiny · more",
        [("code", "{}x"), ("links", "why tiny://y"), ("picture", "audio/wav")],
    ),
    (
        "a result too large for the transcript",
        answered(
            "mcp__tiny__big",
            {},
            "<persisted-output>\nOutput too large. Saved to: /tmp/big.txt\n\n"
            "Preview (first 2KB):\nthe first\n...\n</persisted-output>",
        ),
        "tiny · big",
        [("code", "the first"), ("note", "warning Output too large")],
    ),
    (
        "a server's error",
        failed("mcp__tiny__fail", {"text": "hi"}, "it failed"),
        "tiny · fail hi",
        [("facts", "hi"), ("note", "error failed: it failed")],
    ),
    (
        "resources",
        answered(
            "ListMcpResourcesTool",
            {},
            "[]",
            [{"name": "one", "uri": "tiny://one", "mimeType": "text/plain", "server": "tiny"}],
        ),
        "ListMcpResourcesTool → 1 resource",
        [("table", "one|tiny://one|text/plain|tiny|")],
    ),
    (
        "resources, text only",
        answered("ListMcpResources", {"server": "tiny"}, '[{"name":"one","uri":"tiny://one","server":"tiny"}]'),
        "ListMcpResources tiny → 1 resource",
        [("facts", "tiny"), ("table", "one|tiny://one||tiny|")],
    ),
    (
        "a resource",
        answered(
            "ReadMcpResourceTool",
            {"server": "tiny", "uri": "tiny://one"},
            data={
                "contents": [
                    {"uri": "tiny://one", "mimeType": "text/plain", "text": "resource one"},
                    {"uri": "tiny://two", "mimeType": "image/png", "blobSavedTo": "/tmp/two.png"},
                ]
            },
        ),
        "ReadMcpResourceTool tiny://one",
        [("facts", "tiny"), ("code", "resource one"), ("files", "/tmp/two.png")],
    ),
    (
        "a folder of resources that cannot be listed",
        answered("ReadMcpResourceDirTool", {"server": "tiny", "uri": "tiny://"}, "", {"resources": [], "error": "no"}),
        "ReadMcpResourceDirTool tiny://",
        [("facts", "tiny"), ("note", "error no")],
    ),
    (
        "waiting for servers",
        answered("WaitForMcpServers", {}, "All servers are connected."),
        "WaitForMcpServers",
        [("prose", "All servers")],
    ),
    (
        "refreshed tools",
        answered(
            "RefreshMcpTools",
            {"server": "tiny"},
            data=[{"server": "tiny", "status": "refreshed", "toolCount": 3, "added": ["echo"]}],
        ),
        "RefreshMcpTools tiny",
        [("facts", "tiny"), ("table", "tiny|refreshed|3|echo||")],
    ),
]


def served(name: str, given: Any, kind: str, content: Any) -> ToolCall:
    """A call that the API ran."""
    return answered(name, given, block=b.to_block({"type": kind, "tool_use_id": "s1", "content": content}))


SERVER_ROWS: list[Row] = [
    (
        "the API searches",
        served(
            "web_search",
            {"query": "tides"},
            "web_search_tool_result",
            [{"type": "web_search_result", **link, "encrypted_content": "zzzz", "page_age": "1 day"} for link in LINKS],
        ),
        'web_search "tides" → 2 links',
        [("facts", "tides"), ("links", "One https://example.com/"), ("section", "1 day")],
    ),
    (
        "the API fails to search",
        served(
            "web_search",
            {"query": "tides"},
            "web_search_tool_result",
            {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        ),
        'web_search "tides"',
        [("facts", "tides"), ("note", "error failed: max_uses_exceeded")],
    ),
    (
        "the API reads a page",
        served(
            "web_fetch",
            {"url": "https://example.org"},
            "web_fetch_tool_result",
            {
                "type": "web_fetch_result",
                "url": "https://example.org",
                "content": {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "The page."},
                    "title": "Page",
                },
                "retrieved_at": "2026-11-15T01:00:00Z",
            },
        ),
        "web_fetch https://example.org",
        [("links", "Page https://example.org"), ("prose", "The page."), ("facts", "2026-11-15")],
    ),
    (
        "the API runs code",
        served(
            "code_execution",
            {"code": "print(1)"},
            "code_execution_tool_result",
            {
                "type": "code_execution_result",
                "stdout": "1\n",
                "stderr": "hm",
                "return_code": 1,
                "content": [{"type": "code_execution_output", "file_id": "file_1"}],
            },
        ),
        "code_execution print(1)",
        [
            ("code", "print(1)"),
            ("terminal", "out 1"),
            ("terminal", "err hm"),
            ("files", "file_1"),
            ("note", "error failed with exit code 1"),
        ],
    ),
    (
        "the API runs a command",
        served(
            "bash_code_execution",
            {"command": "ls"},
            "bash_code_execution_tool_result",
            {"type": "bash_code_execution_tool_result_error", "error_code": "unavailable", "error_message": "later"},
        ),
        "bash_code_execution ls",
        [("terminal", "in ls"), ("note", "error failed: unavailable: later")],
    ),
    (
        "the API edits a file",
        served(
            "text_editor_code_execution",
            {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
            "text_editor_code_execution_tool_result",
            {
                "type": "text_editor_code_execution_str_replace_result",
                "old_start": 3,
                "old_lines": 1,
                "new_start": 3,
                "new_lines": 1,
                "lines": ["-x", "+y"],
            },
        ),
        "text_editor_code_execution str_replace a.py",
        [("facts", "str_replace"), ("diff", "a.py 3 -x +y")],
    ),
    (
        "the API views a file",
        served(
            "text_editor_code_execution",
            {"command": "view", "path": "a.py"},
            "text_editor_code_execution_tool_result",
            {
                "type": "text_editor_code_execution_view_result",
                "file_type": "text",
                "content": "x = 1",
                "num_lines": 1,
                "start_line": 1,
                "total_lines": 1,
            },
        ),
        "text_editor_code_execution view a.py",
        [("facts", "view"), ("code", "x = 1")],
    ),
    (
        "the API finds tools",
        served(
            "tool_search_tool_regex",
            {"pattern": "web.*"},
            "tool_search_tool_result",
            {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "WebFetch"}],
            },
        ),
        'tool_search_tool_regex "web.*" → 1 tool',
        [("facts", "found=WebFetch")],
    ),
    (
        "advice",
        served("advisor", {}, "advisor_tool_result", {"type": "advisor_result", "text": "**Stop.**"}),
        "advisor",
        [("prose", "**Stop.**")],
    ),
    (
        "encrypted advice",
        served(
            "advisor",
            {},
            "advisor_tool_result",
            {"type": "advisor_redacted_result", "encrypted_content": "zzzz", "stop_reason": "max_tokens"},
        ),
        "advisor",
        [("note", "encrypted"), ("note", "max_tokens")],
    ),
]

FINDING = {
    "file": "src/app.py",
    "line": 4,
    "summary": "A defect.",
    "failure_scenario": "It breaks.",
    "category": "correctness",
    "verdict": "CONFIRMED",
}
WORK_ROWS: list[Row] = [
    (
        "a job",
        answered(
            "CronCreate",
            {"cron": "*/5 * * * *", "prompt": "check", "recurring": True},
            data={
                "id": "2ba9",
                "humanSchedule": "Every 5 minutes",
                "recurring": True,
                "durable": False,
                "nextFireAt": 1794704804964,
            },
        ),
        "CronCreate Every 5 minutes: check",
        [
            ("prose", "check"),
            (
                "facts",
                "job=2ba9, schedule=Every 5 minutes, cron=*/5 * * * *, repeats=yes, "
                "outlives the session=no, next=2026-11-15 01:06:44 UTC",
            ),
        ],
    ),
    (
        "a cancelled job",
        answered("CronDelete", {"id": "2ba9"}, "Cancelled job 2ba9.", {"id": "2ba9", "endedLoopWakeup": True}),
        "CronDelete 2ba9",
        [("facts", "2ba9"), ("prose", "Cancelled"), ("note", "ended the waiting loop")],
    ),
    (
        "all jobs",
        answered(
            "CronList", {}, data={"jobs": [{"id": "2ba9", "cron": "*/5", "humanSchedule": "Often", "prompt": "check"}]}
        ),
        "CronList → 1 job",
        [("table", "2ba9|Often|*/5||check")],
    ),
    ("no jobs", answered("CronList", {}, "No jobs", {"jobs": []}), "CronList → 0 jobs", [("prose", "No jobs")]),
    (
        "a wakeup",
        answered(
            "ScheduleWakeup",
            {"delaySeconds": 30, "prompt": "/loop", "reason": "soon"},
            "ok",
            {"scheduledFor": 1794704804964, "clampedDelaySeconds": 60, "wasClamped": True},
        ),
        "ScheduleWakeup in 30 s: soon",
        [
            ("prose", "soon"),
            ("section", "/loop"),
            ("note", "warning the delay was changed to 1 min"),
            ("facts", "01:06:44"),
        ],
    ),
    (
        "a wakeup that was not scheduled",
        answered(
            "ScheduleWakeup",
            {"delaySeconds": 3600, "reason": "test"},
            "Wakeup not scheduled.",
            {"scheduledFor": 0, "clampedDelaySeconds": 0, "wasClamped": False},
        ),
        "ScheduleWakeup in 1 h: test",
        [("prose", "test"), ("facts", "1 h"), ("prose", "Wakeup not scheduled.")],
    ),
    (
        "wakeups stopped",
        answered(
            "ScheduleWakeup", {"stop": True}, "Loop ended.", {"scheduledFor": 0, "stopped": True, "cancelledWakeups": 1}
        ),
        "ScheduleWakeup stop",
        [("note", "the loop ended; 1 wakeup cancelled"), ("prose", "Loop ended.")],
    ),
    (
        "a trigger",
        answered(
            "RemoteTrigger", {"action": "get", "trigger_id": "t1"}, data={"status": 404, "json": '{"error":"gone"}'}
        ),
        "RemoteTrigger get t1",
        [("facts", "t1"), ("note", "error the service returned 404"), ("data", "gone"), ("facts", "404")],
    ),
    (
        "a worktree entered",
        answered(
            "EnterWorktree",
            {"name": "wt1"},
            data={"worktreePath": "/p/wt1", "worktreeBranch": "worktree-wt1", "message": "Created worktree."},
        ),
        "EnterWorktree wt1",
        [("facts", "worktree=/p/wt1, branch=worktree-wt1"), ("note", "Created worktree.")],
    ),
    (
        "a worktree left",
        answered(
            "ExitWorktree",
            {"action": "remove"},
            data={
                "action": "remove",
                "originalCwd": "/p",
                "worktreePath": "/p/wt1",
                "worktreeBranch": "b",
                "discardedFiles": 2,
                "discardedCommits": 0,
                "originalCwdMissing": True,
                "message": "Exited.",
            },
        ),
        "ExitWorktree remove b",
        [("facts", "returned to=/p, files discarded=2"), ("note", "warning"), ("note", "Exited.")],
    ),
    (
        "a workflow",
        answered(
            "Workflow",
            {"script": "export const meta = { name: 'demo' }", "args": {"deep": ["value"]}},
            data={
                "status": "async_launched",
                "taskId": "w1",
                "taskType": "local_workflow",
                "workflowName": "demo",
                "runId": "wf_2",
                "summary": "demo workflow",
                "transcriptDir": "/t",
                "scriptPath": "/s.js",
                "warning": "not pushed",
            },
        ),
        "Workflow demo: demo workflow",
        [
            ("prose", "demo workflow"),
            ("code", "export const meta"),
            ("section", "arguments {'deep'"),
            ("note", "warning not pushed"),
            ("note", "async launched"),
            ("files", "/s.js"),
            ("facts", "run=wf_2"),
        ],
    ),
    (
        "a workflow's name from its script",
        running("Workflow", {"script": "export const meta = { name: 'demo' }"}),
        "Workflow demo",
        [("code", "meta"), ("note", "still running")],
    ),
    (
        "findings",
        answered("ReportFindings", {"level": "low", "findings": [FINDING]}, "1 finding reported.", {"count": 1}),
        "ReportFindings 1 finding",
        [("facts", "low"), ("section", "src/app.py:4 A defect. It breaks. category=correctness, verdict=CONFIRMED")],
    ),
    (
        "structured output",
        answered(
            "StructuredOutput",
            {"n": "three"},
            "Structured output provided successfully",
            "Structured output provided successfully",
        ),
        "StructuredOutput n",
        [("data", "three"), ("prose", "provided successfully")],
    ),
    (
        "a report back",
        answered("SubagentHandback", {"message": "# Done"}, "Delivered."),
        "SubagentHandback # Done",
        [("prose", "# Done"), ("prose", "Delivered.")],
    ),
    (
        "a goal",
        answered("ProposeGoal", {"condition": "tests pass"}, "ok", {"condition": "tests pass", "askUser": True}),
        "ProposeGoal tests pass",
        [("prose", "tests pass"), ("note", "the user was asked"), ("prose", "ok")],
    ),
    (
        "the end",
        answered("EndConversation", {"reason": "enough"}, "Ended."),
        "EndConversation enough",
        [("prose", "enough"), ("prose", "Ended.")],
    ),
]
TEAM_ROWS: list[Row] = [
    (
        "a message that wakes an agent",
        answered(
            "SendMessage",
            {"to": "a4", "summary": "more", "message": "More work.", "type": "message"},
            '{"success":true}',
            {"success": True, "message": "Resuming agent a4", "resumedAgentId": "a4"},
        ),
        "SendMessage to a4: more",
        [("prose", "More work."), ("facts", "to=a4, summary=more, resumes=a4"), ("note", "Resuming agent a4")],
    ),
    (
        "a broadcast",
        answered(
            "SendMessage",
            {"type": "broadcast", "content": "Stop.", "summary": "stop"},
            data={
                "success": True,
                "message": "Message broadcast",
                "recipients": ["ada", "bob"],
                "routing": {"sender": "lead", "target": "@team", "summary": "stop", "content": "Stop."},
            },
        ),
        "SendMessage to everyone: stop",
        [
            ("prose", "Stop."),
            ("facts", "from=lead, to=@team, summary=stop, kind=broadcast, recipients=ada, bob"),
            ("note", "broadcast"),
        ],
    ),
    (
        "a message that is an object",
        answered("SendMessage", {"to": "a4", "message": {"type": "shutdown_request"}}, "sent"),
        'SendMessage to a4: {"type":"shutdown_request"}',
        [("data", "shutdown_request"), ("facts", "a4"), ("prose", "sent")],
    ),
    (
        "a message that was not delivered",
        answered(
            "SendMessage",
            {"to": "x", "message": "Hm."},
            "{}",
            {"success": False, "message": "No agent x"},
            is_error=True,
        ),
        "SendMessage to x: Hm.",
        [("prose", "Hm."), ("facts", "x"), ("note", "error No agent x")],
    ),
    (
        "a team",
        answered(
            "TeamCreate",
            {"team_name": "crew", "description": "Look."},
            data={"team_name": "crew", "team_file_path": "/teams/crew.json", "lead_agent_id": "lead@crew"},
        ),
        "TeamCreate crew Look.",
        [("prose", "Look."), ("facts", "team=crew, lead=lead@crew"), ("files", "/teams/crew.json")],
    ),
    (
        "a list of agents",
        answered("ListAgents", {}, "Nobody.", {"listing": "Nobody.", "sections": [], "notes": ["later"]}),
        "ListAgents",
        [("prose", "Nobody."), ("section", "notes ['later']")],
    ),
    (
        "notifications",
        answered(
            "ReadNotifications",
            {},
            "{}",
            {
                "notifications": [
                    {
                        "notification_id": "n1",
                        "origin": "github_webhook",
                        "queued_at": "2026-11-15",
                        "content": "merged",
                    }
                ],
                "remaining": 2,
            },
        ),
        "ReadNotifications → 1 notification",
        [("section", "github_webhook merged queued=2026-11-15"), ("facts", "remaining=2")],
    ),
    (
        "files for the user",
        answered(
            "SendUserFile",
            {"files": ["/a.png"], "caption": "See.", "display": "inline"},
            data={"attachments": [{"path": "/a.png", "size": 2048, "isImage": True}], "caption": "See."},
        ),
        "SendUserFile /a.png",
        [("prose", "See."), ("files", "/a.png 2 kB, image"), ("facts", "inline")],
    ),
    (
        "a message for the user",
        answered("SendUserMessage", {"message": "Done.", "attachments": ["/a.md"]}, "Sent."),
        "SendUserMessage Done.",
        [("prose", "Done."), ("files", "/a.md"), ("prose", "Sent.")],
    ),
    (
        "a notification that was not sent",
        answered(
            "PushNotification", {"message": "Done"}, "no", {"message": "Not sent", "disabledReason": "user_present"}
        ),
        "PushNotification Done",
        [("prose", "Done"), ("note", "Not sent"), ("note", "warning not sent: the user is present")],
    ),
    (
        "feedback",
        answered(
            "SendFeedback",
            {"type": "missing_capability", "title": "Sort", "details": "**What**"},
            "",
            {"success": True, "message": "Thanks"},
        ),
        "SendFeedback missing capability: Sort",
        [("prose", "Sort"), ("prose", "**What**"), ("facts", "missing_capability"), ("note", "Thanks")],
    ),
    (
        "a guide",
        answered(
            "ShareOnboardingGuide", {"path": "/guide.md"}, "", {"success": True, "message": "Shared", "url": "u://x"}
        ),
        "ShareOnboardingGuide /guide.md",
        [("data", "/guide.md"), ("note", "Shared"), ("section", "u://x")],
    ),
    (
        "a role",
        answered("ShowOnboardingRolePicker", {}, "", {"role": "engineer"}),
        "ShowOnboardingRolePicker → engineer",
        [("facts", "engineer")],
    ),
    (
        "a browser",
        answered("OfferChromeSetup", {"reason": "log in"}, "", {"outcome": "not_now"}),
        "OfferChromeSetup log in",
        [("prose", "log in"), ("note", "postponed")],
    ),
    (
        "a page published",
        answered(
            "Artifact",
            {"file_path": "/a.html", "description": "A page.", "favicon": "x"},
            "",
            {
                "url": "https://example.org/artifact",
                "path": "/a.html",
                "title": "Tides",
                "version": "v2",
                "updated": True,
                "warnings": ["large"],
            },
        ),
        "Artifact Tides",
        [
            ("prose", "A page."),
            ("files", "/a.html"),
            ("facts", "x"),
            ("links", "Tides https://example.org/artifact"),
            ("note", "warning large"),
            ("facts", "version=v2, updated=yes"),
        ],
    ),
    (
        "pages listed",
        answered("Artifact", {"action": "list"}, "", {"artifacts": LINKS, "truncated": True, "total": 9}),
        "Artifact list",
        [("facts", "list"), ("links", "One https://example.com/"), ("note", "warning truncated: 2 pages of 9")],
    ),
    (
        "a page read",
        answered(
            "Artifact",
            {"action": "read", "url": "https://example.org/a"},
            "",
            {
                "read": {
                    "url": "https://example.org/a",
                    "code": 200,
                    "codeText": "OK",
                    "result": "It says.",
                    "bytes": 9,
                },
                "owned": True,
            },
        ),
        "Artifact read https://example.org/a",
        [
            ("facts", "read"),
            ("links", "https://example.org/a"),
            ("links", "https://example.org/a"),
            ("prose", "It says."),
            ("facts", "200 OK"),
        ],
    ),
    (
        "a page pinned",
        answered(
            "Artifact",
            {"action": "pin", "url": "u://a"},
            "",
            {"pin": {"action": "pin", "url": "u://a", "pinned": True}},
        ),
        "Artifact pin u://a",
        [("facts", "pin"), ("links", "u://a"), ("section", "pin")],
    ),
    (
        "a project searched",
        answered(
            "Projects",
            {"method": "project_search", "query": "tides"},
            "",
            {
                "method": "project_search",
                "rag": True,
                "hits": [{"name": "a.md", "text": "High tide", "page": 3}],
                "docs": ["b.md"],
            },
        ),
        'Projects search "tides"',
        [("facts", "tides"), ("section", "a.md, page 3 High tide"), ("files", "b.md")],
    ),
    (
        "a design",
        answered(
            "DesignSync",
            {"method": "read", "projectId": "p1", "path": "a.tsx"},
            "",
            {"method": "read", "path": "a.tsx", "content": "<A/>", "contentType": "text/tsx", "truncated": True},
        ),
        "DesignSync read a.tsx",
        [("facts", "p1"), ("code", "<A/>"), ("facts", "text/tsx"), ("note", "warning truncated")],
    ),
]
ROWS = [
    *TODO_ROWS,
    *BACKGROUND_ROWS,
    *AGENT_ROWS,
    *TALK_ROWS,
    *WEB_ROWS,
    *MCP_ROWS,
    *SERVER_ROWS,
    *WORK_ROWS,
    *TEAM_ROWS,
]


def choice(node: n.Choice) -> str:
    """A question as text, with check boxes or radio buttons."""
    left, right = "[]" if node.multiple else "()"
    options = [f"{left}{'x' if one.chosen else ' '}{right}{one.label}" for one in node.options]
    return " ".join([node.question, *options, *(["=", node.answer] if node.answer else [])])


def item(one: n.ChecklistItem) -> str:
    """A checklist item as text: its state, a star if it changed, its note."""
    return f"{one.text}:{one.state}{'*' if one.changed else ''}" + (f"({one.note})" if one.note else "")


SHOW: dict[type[n.Node], Any] = {
    n.Prose: lambda node: node.text,
    n.Code: lambda node: node.text,
    n.Diff: lambda node: " ".join([str(node.path), *(f"{h.new_start} {' '.join(h.lines)}" for h in node.hunks)]),
    n.Terminal: lambda node: f"{node.stream} {node.text}",
    n.Files: lambda node: " ".join(f"{one.path} {one.note}" for one in node.entries),
    n.Checklist: lambda node: ", ".join(map(item, node.items)),
    n.Choice: choice,
    n.Table: lambda node: " ".join("|".join(row) for row in node.rows),
    n.Picture: lambda node: f"{node.media_type} {node.width}×{node.height}",
    n.Facts: lambda node: ", ".join(f"{one.name}={one.value}" for one in node.items),
    n.Links: lambda node: " ".join(f"{one.title} {one.url}" for one in node.targets),
    n.Note: lambda node: f"{node.level} {node.text}",
    n.Data: lambda node: str(node.value),
    n.Section: lambda node: " ".join([node.title, *map(shown, node.nodes)]),
}
"""How each type of node is written as one text."""


def shown(node: n.Node) -> str:
    """A node as text."""
    return SHOW[type(node)](node)


def kind(node: n.Node) -> str:
    """The type of a node."""
    return type(node).__name__.lower()


@pytest.mark.parametrize(("tool_call", "title", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_each_shape_of_a_result_has_its_title_and_drawing(
    tool_call: ToolCall, title: str, expected: list[tuple[str, str]]
) -> None:
    drawn = list(tools.tool_for(tool_call.name).draw(tool_call))
    assert tools.tool_for(tool_call.name).title(tool_call) == title
    assert [kind(node) for node in drawn] == [name for name, _ in expected]
    for node, (_, text) in zip(drawn, expected, strict=True):
        assert text in shown(node)


MODULES = [import_module(f"reread.tools.{family}") for family in FAMILIES]
TOOLS = [(module, tool) for module in MODULES for tool in module.TOOLS]
OWN_TOOLS = pytest.mark.parametrize(("module", "tool"), TOOLS, ids=[tool.names[0] for _, tool in TOOLS])
UNFINISHED = [
    (Outcome(state=RUNNING), "still running"),
    (Outcome(state=INTERRUPTED, message="because"), "interrupted"),
    (Outcome(state=DENIED, message="because"), "denied"),
    (Outcome(state=FAILED, message="because"), "failed"),
]


@OWN_TOOLS
@pytest.mark.parametrize(("how", "word"), UNFINISHED, ids=[word for _, word in UNFINISHED])
def test_how_a_call_ended_is_drawn(module: ModuleType, tool: Any, how: Outcome, word: str) -> None:
    block = None if how.state == RUNNING else b.ToolResult(content="because")
    drawn = list(tool.draw(ToolCall(tool.names[0], {}, result=block, outcome=how)))
    assert any(isinstance(node, n.Note) and node.text.startswith(word) for node in drawn)


def field_names(module: ModuleType) -> list[str]:
    """The field names of a module's structs, as recorded."""
    shapes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, msgspec.Struct)]
    return sorted({field.encode_name for shape in shapes for field in msgspec.structs.fields(shape)})


TEXTS = st.text(max_size=8) | st.sampled_from(
    ["text", "completed", "running", "<status>x</status>", "Links: [{}]", '{"a": [1]}', "[", "a, b", "agentId: x"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.just(10**400)


@cache
def tool_calls(module: ModuleType, tool: Any) -> st.SearchStrategy[ToolCall]:
    """Any call of a tool: with fields that it reads and texts that it parses, of any type."""
    names = st.sampled_from([*field_names(module), "type"]) | TEXTS
    value = st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
        max_leaves=8,
    )
    shaped = st.dictionaries(names, value, max_size=6) | value
    kinds = st.sampled_from(sorted(b.BLOCKS))
    return st.builds(
        ToolCall,
        st.sampled_from([*tool.names, "mcp__a__b"]),
        shaped,
        result=st.none()
        | st.builds(lambda kind, content: b.to_block({"type": kind, "content": content}), kinds, value),
        data=shaped,
        outcome=st.sampled_from([None, *(Outcome(state=state, message="why") for state in STATES)]),
        seconds=st.none() | st.floats(0, 1e6),
    )


def check(node: n.Node) -> None:
    """Check that every field of a node has its declared type, on which views rely."""
    if isinstance(node, n.Section):
        assert isinstance(node.title, str)
        for inner in node.nodes:
            check(inner)
    elif not isinstance(node, n.Data):
        msgspec.convert(msgspec.to_builtins(node), type(node))


@one_in(3)
@OWN_TOOLS
@settings(max_examples=examples(20))
@given(data=st.data())
def test_no_content_of_a_call_makes_a_drawing_raise(module: ModuleType, tool: Any, data: st.DataObject) -> None:
    tool_call = data.draw(tool_calls(module, tool))
    assert "\n" not in tool.title(tool_call)
    drawn = list(tool.draw(tool_call))
    for node in drawn:
        check(node)
    tools.left_out(tool_call, drawn)
