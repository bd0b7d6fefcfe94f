"""The TypeScript types of the web UI match the Python values."""

import runpy
from pathlib import Path

import making
import pytest

ROOT = Path(__file__).parent.parent


def test_the_types_are_up_to_date() -> None:
    if not (ROOT / "web").exists():
        pytest.skip("the source of the web UI is not here")
    script = runpy.run_path(str(ROOT / "scripts" / "make_types.py"))
    text = script["HEADER"] + "\n".join(script["declarations"]())
    assert (ROOT / "web" / "src" / "data" / "values.ts").read_text() == text, "run `python scripts/make_types.py`"
    names = (ROOT / "src" / "reread" / "records" / "type_names.py").read_text()
    assert names == script["type_names"](), "run `python scripts/make_types.py`"


def test_fields_of_newer_clients_are_known() -> None:
    goal = {"met": False, "condition": "c", "sentinel": "s", "reason": "r", "iterations": 2, "durationMs": 1.5}
    stopped = {"command": "sleep", "durationMs": 5, "timedOut": True, "timeoutMs": 5000}
    session = making.read(
        making.attachment("goal_status", {**goal, "tokens": 3}),
        making.attachment("hook_cancelled", {"hookName": "h", "hookEvent": "Stop", **stopped}),
        making.user("go", toolDenialKind="user-rejected", toolDenialBeforeRun=True),
        making.reply(making.use("t1", "Workflow"), requestSessionId="s0"),
        making.answer(making.result("t1", "started"), toolUseResult={"isAsync": True, "status": "started"}),
        making.system("stop_hook_summary", hookCount=0, failedHookErrorIndexes=[]),
        making.state("file-history-snapshot", messageId="u", snapshot={"hasUntrackedChanges": True}),
        making.state("late-allow-ended"),
    )
    assert [problem for problem in session.problems if problem.code.startswith("unknown")] == []
