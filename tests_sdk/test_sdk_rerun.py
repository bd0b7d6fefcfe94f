"""The official Agent SDK with the real client, of three versions, answered by the stand-in for the API.

The client runs where nothing but loopback can be reached, with a home of its own; the session asks for no command.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from making import answer, reply, result, system, told, use, user, write

import reread
from reread.addons.rerun.box import isolation
from reread.addons.rerun.clients import Client, install_client

VERSIONS = ("2.1.327", "2.1.220", "2.0.55")
PROGRAM = """
import asyncio, json, sys
from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, TextBlock
from claude_agent_sdk import ToolUseBlock
import reread
from reread.addons.rerun.inside.boxed import start_loopback

async def main(session, program, folder):
    start_loopback()
    said = []
    async with reread.fake_api(session) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "any"}
        options = ClaudeAgentOptions(cli_path=program, cwd=folder, env=env, permission_mode="acceptEdits")
        async with ClaudeSDKClient(options) as client:
            for prompt in ("Write it down", "And now?"):
                await client.query(prompt)
                async for message in client.receive_response():
                    if isinstance(message, AssistantMessage):
                        said += [b.text if isinstance(b, TextBlock) else b.name for b in message.content
                                 if isinstance(b, (TextBlock, ToolUseBlock))]
                    elif isinstance(message, ResultMessage):
                        said.append(message.subtype)
        faults = [one.fault.status for one in api.requests if one.fault is not None]
        left = len(api.cassette.left)
        print(json.dumps({"said": said, "unrecorded": len(api.unrecorded), "left": left, "faults": faults}))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=VERSIONS)
def client(request: pytest.FixtureRequest) -> Client:
    """Each version of the client."""
    if isolation() is None or shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("the client is installed with npm, and plays where it can reach nothing")
    return install_client(request.param)


def session(folder: Path) -> Path:
    """A session that writes a file, with an error of the API that was tried again, and a second turn."""
    failed = {"message": '529 {"type":"error","error":{"type":"overloaded_error","message":"Busy"}}', "status": 529}
    path = str(folder / "note.txt")
    data = {"type": "create", "filePath": path, "content": "hi\n", "structuredPatch": [], "originalFile": None}
    rows = told(
        user("Write it down"),
        reply(
            "I write it.", use("toolu_1", "Write", file_path=path, content="hi\n"), id="msg_1", stop_reason="tool_use"
        ),
        answer(result("toolu_1", "File created successfully."), data=data),
        system("api_error", level="error", error=failed, retryAttempt=1, maxRetries=10),
        reply("It is written.", id="msg_2", stop_reason="end_turn"),
        user("And now?"),
        reply("Nothing else.", id="msg_3", stop_reason="end_turn"),
    )
    return write(folder / "recorded", *rows)


def test_an_app_with_the_agent_sdk_is_answered_from_a_session(client: Client, tmp_path: Path) -> None:
    words = isolation()
    assert words is not None
    work = tmp_path / "work"
    work.mkdir()
    recorded = session(work)
    env: dict[str, Any] = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "c")}
    env |= {"PYTHONPATH": str(Path(reread.__file__).parent.parent), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    arguments = [str(recorded), str(client.folder / client.program), str(work)]
    done = subprocess.run(
        [*words, sys.executable, "-c", PROGRAM, *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    said = ["I write it.", "Write", "It is written.", "success", "Nothing else.", "success"]
    assert found == {"said": said, "unrecorded": 0, "left": 0, "faults": [529]}
    assert (work / "note.txt").read_text() == "hi\n"
