"""The official Agent SDK with the fixture `fake_claude`, which pytest finds by its entry point."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, PermissionResultAllow, PermissionResultDeny, query

from reread.catalog.store import Store
from reread.fake_claude.pytest_plugin import FakeClaude

STORE = Path(__file__).parent.parent / "tests" / "recordings"


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


async def answer(prompt: str, **options: Any) -> str | None:
    messages = [message async for message in query(prompt=prompt, options=ClaudeAgentOptions(**options))]
    return messages[-1].result


@pytest.fixture
def claude(fake_claude: FakeClaude, tmp_path: Path) -> FakeClaude:
    """A fake client whose recordings are in a folder of the test."""
    os.environ["REREAD_HOME"] = str(tmp_path / "recordings")
    return fake_claude


def stand_in(tmp_path: Path, fake: FakeClaude) -> Path:
    """What stands for the real client: the fake one with all recordings; it notes each call."""
    path = tmp_path / "real"
    settings = f"env -u REREAD_REPLAY -u REREAD_PATTERNS REREAD_HOME='{STORE}'"
    path.write_text(f"#!/bin/sh\necho called >> '{tmp_path}/calls'\nexec {settings} '{fake.path}' \"$@\"\n")
    path.chmod(0o755)
    return path


def test_the_sdk_takes_its_path_and_settings(fake_claude: FakeClaude) -> None:
    fake_claude.replay(STORE)
    fake_claude.answer("Greet *", "hello")
    found = run(answer("Greet me", cli_path=fake_claude.path, env=fake_claude.env))
    assert str(found).startswith("Hello! This is a plain text answer")


def test_a_query_is_recorded_once(claude: FakeClaude, tmp_path: Path) -> None:
    claude.record_once("greeting", claude=stand_in(tmp_path, claude))
    first, again = (run(answer("Say hello", cli_path=claude.path)) for _ in range(2))
    assert first == again
    assert (tmp_path / "calls").read_text() == "called\n"
    assert [stored.id for stored in Store(tmp_path / "recordings").conversations()] == ["greeting"]


async def touch_two(claude: FakeClaude) -> tuple[list[str], str | None]:
    """Ask for two files, allow the first and deny the second."""
    asked: list[str] = []

    async def decide(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        asked.append(name)
        return PermissionResultAllow() if len(asked) == 1 else PermissionResultDeny(message="Not that one.")

    async with ClaudeSDKClient(ClaudeAgentOptions(cli_path=claude.path, can_use_tool=decide)) as client:
        await client.query("Touch two files")
        messages = [message async for message in client.receive_response()]
    return asked, messages[-1].result


def test_a_conversation_with_permissions_is_recorded_once(claude: FakeClaude, tmp_path: Path) -> None:
    claude.record_once("touching", claude=stand_in(tmp_path, claude))
    first, again = (run(touch_two(claude)) for _ in range(2))
    assert first == again == (["Bash", "Bash"], "One was made, one was not.")
    assert (tmp_path / "calls").read_text() == "called\n"
