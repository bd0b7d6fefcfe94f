"""What newer clients write is known: types of records, attachments and system records, and results of tools."""

import json
from pathlib import Path

import pytest
from effort import one_in
from making import answer, attachment, jsonl, reply, result, state, system, use, user

import reread
from reread.disk.file_set import find_files
from reread.index.find import find
from reread.records.types import ATTACHMENTS, RECORDS, SYSTEMS
from reread.reports.check_report import check_report, drift_report
from reread.session.checked_file import input_deviations, result_deviations

pytestmark = one_in(2)

STATES = {
    "api-request-resumed": {"messageId": "m", "pausedRequestId": "a", "resumedRequestId": "b", "version": "2.1.328"},
    "ended-by-model": {},
    "session-owner": {"accountUuid": "a", "organizationUuid": "o"},
    "dev-mods": {"folder": "/zebra"},
    "memory-mode": {"mode": "off", "afterUuid": "u", "reason": "the zebra asked", "account": "a", "accountChoice": "x"},
    "data-flow-records": {"v": 1, "records": [{"tool_name": "Read", "tool_use_id": "t"}], "snapshot": True},
    "data-flow-incomplete": {"v": 1},
    "derived-from": {"v": 1, "sessions": [{"type": "claude_code_session", "id": "s"}]},
    "observer-ref": {},
    "resume-head-vouch": {"sum": "abc"},
    "repl-mode": {"replMode": "on", "typedEvents": True},
}
ATTACHED = {
    "account_memory_recall": {"content": "a zebra"},
    "claude_app_notice": {"lines": ["a zebra"], "app": "phone"},
    "context_sections": {"sections": [{"name": "one", "text": "a zebra"}]},
    "mcp_resource": {"server": "s", "uri": "u", "name": "n", "description": "a zebra", "content": {"contents": []}},
    "plan_file_reference": {"planFilePath": "/p", "planContent": "a zebra"},
    "selected_lines_in_diff": {"lineCount": 1, "content": "a zebra", "filePath": "/p"},
    "skill_mention": {"skillName": "zebra"},
    "tool_offer_record": {"offered": ["Zebra"], "hidden": [], "withheld": ["Giraffe"]},
    "tool_results_cut": {"callIds": ["t"], "standIn": "a zebra", "roughTokens": 1},
    "withheld_memory": {"entries": [{"path": "/zebra", "displayPath": "zebra"}], "by": "x"},
}
SYSTEM = {
    "compact_boundary": {"compactMetadata": {"trigger": "manual", "preCompactOrganizationsCoverStart": False}},
    "cloud_session_status": {"url": "https://x", "entry": {}},
    "model_consent_fallback": {"choice": "no", "originalModel": "a", "fallbackModel": "b", "persistedAsDefault": True},
    "voice_call_talk": {"msgV": 1},
    "feedback_draft_queued": {"draft_id": "d", "draft_type": "bug", "title": "t", "details_preview": "p"},
    "turn_preempted": {"reason": "rapid_followup", "preempted_by_uuid": "u", "preempted_message_uuids": ["m"]},
    "ui_toast": {"plugin": "p", "text": "a toast", "timeout_ms": 5},
}


def drift(path: Path) -> object:
    report = drift_report(check_report([str(path)]))
    return [report.totals.unknown_types, report.totals.unknown_fields, report.totals.changed_types]


def write(folder: Path, *records: object) -> Path:
    path = folder / "5e551017-0000-4000-8000-000000000001.jsonl"
    path.write_bytes(jsonl(user("hello"), *records))
    return path


def test_the_records_of_2_1_325_are_known(tmp_path: Path) -> None:
    records = [state(name, **fields) for name, fields in STATES.items()]
    records += [attachment(name, payload) for name, payload in ATTACHED.items()]
    records += [system(name, "said", **fields) for name, fields in SYSTEM.items()]
    assert STATES.keys() <= RECORDS.keys() and ATTACHED.keys() <= ATTACHMENTS.keys() and SYSTEM.keys() <= SYSTEMS.keys()
    assert drift(write(tmp_path, *records)) == [{}, {}, {}]


@pytest.mark.parametrize("record", [*(attachment(k, v) for k, v in ATTACHED.items() if "zebra" in json.dumps(v))])
def test_their_texts_are_shown_in_full_and_found(tmp_path: Path, record: dict[str, object]) -> None:
    path = write(tmp_path, record)
    assert "zebra" in reread.export(path, "markdown", full=True).decode()
    assert find("zebra", files=find_files(None, [path])).total == 1


def test_fields_of_files_that_were_sent_are_known() -> None:
    sent = {"path": "/a", "size": 1, "media_type": "text/plain", "pathValidated": True, "file_uuid": "f"}
    assert result_deviations("SendUserFile", {"attachments": [sent], "sentAt": "now"}) == []


def test_a_field_that_a_model_invents_is_no_drift(tmp_path: Path) -> None:
    assert input_deviations("Bash", {"command": "ls", "why": "because"}) == []
    call = reply(use("toolu_1", "Read", file_path="/a", purpose="to know"))
    path = write(tmp_path, call, answer(result("toolu_1", "text")))
    assert drift(path) == [{}, {}, {}]
    assert [one.path for one in input_deviations("Hologram", {})] == ["tool/Hologram"]
