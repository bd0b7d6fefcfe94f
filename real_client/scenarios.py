"""What the stub answers, by the name of the script; tools that a client does not have are left out."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
AGENT = ["Agent", "Task"]


def text(words: str) -> Object:
    return {"type": "text", "text": words}


def think(words: str) -> Object:
    return {"type": "thinking", "thinking": words, "signature": "ErUBCkYIBxgCIkDsignature=="}


def use(name: str | list[str], /, **input: Any) -> Object:
    return {"type": "tool_use", "name": name, "input": input}


def turn(*blocks: Object, **more: Any) -> Object:
    return {"blocks": list(blocks), **more}


END = turn(text("All done."))


def scripts(project: str) -> dict[str, list[Object]]:
    """Return the scripts for a project in this folder."""
    readme, app, notebook = f"{project}/README.md", f"{project}/app.py", f"{project}/book.ipynb"
    agent = {"description": "Look", "prompt": "Look around. [[SCN:inner]]", "subagent_type": "general-purpose"}
    todos = [{"content": "One", "status": "in_progress", "activeForm": "Doing one"}]
    return {
        "plain": [turn(text("Hello! This is a plain answer."))],
        "thinking": [turn(think("Let me think."), text("Hello after thinking."))],
        "bash": [turn(text("I run it."), use("Bash", command="echo out; echo err >&2", description="Print")), END],
        "bash_fail": [turn(use("Bash", command="exit 3", description="Fail")), END],
        "read": [turn(use("Read", file_path=readme)), turn(use("Read", file_path=f"{project}/none")), END],
        "write": [turn(use("Write", file_path=f"{project}/new.txt", content="new\n")), END],
        "edit": [
            turn(use("Read", file_path=app)),
            turn(use("Edit", file_path=app, old_string="Hello", new_string="Hi", replace_all=False)),
            END,
        ],
        "notebook": [
            turn(use("Read", file_path=notebook)),
            turn(use("NotebookEdit", notebook_path=notebook, cell_id="a", new_source="2", edit_mode="replace")),
            END,
        ],
        "find": [turn(use("Glob", pattern="**/*.py")), turn(use("Grep", pattern="Hello", output_mode="content")), END],
        "parallel": [
            turn(
                text("Both."),
                use("Bash", command="echo a"),
                use("Read", file_path=readme),
                use("Bash", command="false"),
            ),
            END,
        ],
        "todo": [
            turn(use("TodoWrite", todos=todos)),
            turn(use("TaskCreate", subject="One", description="Do one")),
            END,
        ],
        "image": [turn(use("Read", file_path=f"{project}/pic.png")), END],
        "big": [turn(use("Bash", command="seq 1 20000", description="Print much")), END],
        "plan": [turn(use("EnterPlanMode")), turn(use("ExitPlanMode", plan="# Plan\n1. Do it")), END],
        "worktree": [turn(use("EnterWorktree", name="wt")), turn(use("Bash", command="pwd")), END],
        "agent": [turn(text("I ask."), use(AGENT, **agent)), END],
        "inner": [turn(use("Bash", command="ls", description="List")), turn(text("I looked around."))],
        "skill": [turn(use("Skill", skill="demo")), END],
        "unknown_tool": [turn(use("NoSuchTool", a=1), unknown=True), END],
        "wrong_input": [turn(use("Read", wrong=True)), END],
        "overloaded": [turn(text("Now it works."), error=529)],
        "cut": [turn(text("This is cut o"), stop="max_tokens"), END],
        "refusal": [turn(text("No."), stop="refusal")],
        "background": [turn(use("Bash", command="sleep 1; echo late", run_in_background=True)), END],
        "plugin": [
            turn(use("Bash", command="sleep 15", description="Let the server start")),
            turn(use("mcp__plugin_reread_reread__search", query="hello", limit=5)),
            END,
        ],
        "search": [turn(use(["ToolSearch"], query="select:WebFetch")), END],
    }


FILES = {
    "README.md": "# Demo\n\nA small project.\n",
    "app.py": 'print("Hello")\n',
    "book.ipynb": '{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [],'
    ' "source": ["1"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    ".claude/skills/demo/SKILL.md": "---\nname: demo\ndescription: Says hi.\n---\nSay hi.\n",
    "CLAUDE.md": "Be brief.\n",
}
"""The files of the project."""
