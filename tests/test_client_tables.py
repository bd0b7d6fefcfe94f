"""What a client names itself is compared with what reread knows."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from reread.records.types import ATTACHMENTS, RECORDS

sys.path.insert(0, str(Path(__file__).parent.parent / "real_client"))

import client_tables

RECORD_NAMES = [*sorted(set(RECORDS) - {"custom-title"})[:20], "custom-title", "brand-new"]
PROGRAM = b"\x00junk" + b";".join(
    [
        ("e={" + ",".join(f'"{name}":"always"' for name in RECORD_NAMES) + "}").encode(),
        b'x={"a":"b","c":"d"}',
        b'["PreToolUse","NewlyMade"]',
        b'{type:"system",subtype:"newly_said",x:1}',
        b'n.attachment.type==="newly_attached"',
        b"[" + b",".join(b'["%s",["content.*"]]' % name.encode() for name in sorted(ATTACHMENTS)[:12]) + b",",
        b'["hook_additional_context",["content"]]]',
    ]
)
SDK = """
export declare type SDKMessage = SDKUserMessage | SDKNewMessage;
export declare interface Settings {
    cleanupPeriodDays?: number;
    newSetting?: {
        inner?: string;
    };
}
"""
TOOLS = "export interface BashInput {\n  /**\n   * Words.\n   */\n  command: string;\n  newField?: boolean;\n}\n"


@pytest.fixture
def names(tmp_path: Path) -> dict[str, set[str]]:
    (tmp_path / "claude").write_bytes(PROGRAM)
    (tmp_path / "sdk.d.ts").write_text(SDK)
    (tmp_path / "sdk-tools.d.ts").write_text(TOOLS)
    return client_tables.names_of(tmp_path / "claude", tmp_path)


def test_each_new_name_is_said_with_its_place(names: dict[str, set[str]]) -> None:
    new, _ = client_tables.compare(names, {})
    said = {line.split("`")[1]: line for line in new}
    assert said.keys() == {
        *("brand-new", "newly_said", "newly_attached", "PreToolUse", "NewlyMade", "SDKUserMessage", "SDKNewMessage"),
        *("cleanupPeriodDays", "newSetting", "BashInput.command", "BashInput.newField"),
    }
    assert "records/types/state.py" in said["brand-new"] and "src/reread/tools/" in said["BashInput.newField"]


def test_names_that_were_looked_at_are_not_new_and_those_that_went_are_gone(
    names: dict[str, set[str]], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(client_tables, "KNOWN", tmp_path / "known.json")
    client_tables.write_known("9.9.9", names)
    assert json.loads((tmp_path / "known.json").read_text())["version"] == "9.9.9"
    assert client_tables.compare(names, client_tables.read_known()) == ([], [])
    names["setting"].remove("newSetting")
    assert client_tables.compare(names, client_tables.read_known()) == ([], ["setting `newSetting`"])


def test_a_table_that_is_no_longer_found_is_not_silence(names: dict[str, set[str]]) -> None:
    new, gone = client_tables.compare({**names, "hook event": set()}, client_tables.read_known())
    assert any("hook event" in line and "client_tables.py" in line for line in new)
    assert not any("hook event" in line for line in gone)
