"""A session that is cut after a turn: which records it takes over, below which others, and with which files."""

import json
from pathlib import Path
from typing import Any

import pytest
from making import SESSION, answer, jsonl, reply, result, state, text, told, use, user

import reread
from reread.handover.cut import CutFile, cut_at_turn, with_session, with_slug

NEW = "0e35e551-0000-4000-8000-000000000009"
LATER = [*told(*[user("x")] * 90, user("Later"), reply("Yes.", id="m9"))[-2:]]
"""A turn that is left out; its prompt is u91."""


def written(folder: Path, *records: Any) -> Path:
    path = folder / "claude" / "projects" / "-p" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(one if isinstance(one, bytes) else jsonl(one) for one in records))
    return path


def cut(path: Path, turn: int = 1) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """Return the records of the transcript that is cut, and the other files by name."""
    main, *others = cut_at_turn(reread.open(path), path, turn, None, NEW)
    pieces = {file.name: b"".join(file.pieces()) for file in others}
    assert isinstance(main, CutFile)
    return [json.loads(line) for line in b"".join(main.pieces()).splitlines()], pieces


@pytest.mark.parametrize(
    ("record", "stays"),
    [
        ({"type": "last-prompt", "lastPrompt": "x"}, False),
        ({"type": "queue-operation", "operation": "enqueue", "content": "x"}, False),
        ({"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}}, True),
        ({"type": "file-history-snapshot", "messageId": "u91", "snapshot": {}}, False),
        ({"type": "summary", "summary": "x", "leafUuid": "u1"}, True),
        ({"type": "summary", "summary": "x", "leafUuid": "u91"}, False),
        ({"type": "custom-title", "customTitle": "x", "leafUuid": "u91"}, True),
        (b'{"type":"user","torn', False),
    ],
)
def test_state_of_what_is_left_out_is_left_out(tmp_path: Path, record: Any, stays: bool) -> None:
    first, second = told(user("Do it"), reply("Done.", id="m1"))
    between = record + b"\n" if isinstance(record, bytes) else state(record.pop("type"), **record)
    records, _ = cut(written(tmp_path, first, between, second, *LATER))
    assert [one.get("uuid") for one in records] == (["u1", None, "u2"] if stays else ["u1", "u2"])


def test_a_record_of_the_tree_stays_whatever_it_is_about(tmp_path: Path) -> None:
    first, second = told({**user("Do it"), "messageId": "nothing here"}, reply("Done.", id="m1"))
    assert [one["uuid"] for one in cut(written(tmp_path, first, second, *LATER))[0]] == ["u1", "u2"]


def test_what_comes_after_the_last_record_of_the_turn_is_of_the_next(tmp_path: Path) -> None:
    first, second = told(user("Do it"), reply("Done.", id="m1"))
    snapshot = state("file-history-snapshot", messageId="u1", snapshot={})
    assert len(cut(written(tmp_path, first, second, snapshot, *LATER))[0]) == 2
    with pytest.raises(reread.Misuse, match="No turn 3; this session has 2 turns"):
        cut(written(tmp_path, first, second, *LATER), 3)
    with pytest.raises(reread.Misuse):
        cut(written(tmp_path, first, second, *LATER), 0)
    assert len(cut(written(tmp_path, first, second, *LATER), 2)[0]) == 4


def test_calls_without_a_result_go_and_what_is_below_them_moves_up(tmp_path: Path) -> None:
    made = told(
        user("Do it"),
        reply(text("Look:"), use("c1"), use("c2"), id="m1"),
        reply(use("c3"), id="m2"),
        reply(use("c4"), id="m3"),
        answer(result("c1")),
        reply("Done.", id="m4"),
    )
    records, _ = cut(written(tmp_path, *made, *LATER))
    assert [(one["uuid"], one["parentUuid"]) for one in records] == [
        ("u1", None),
        ("u2", "u1"),
        ("u5", "u2"),
        ("u6", "u5"),
    ]
    assert [block.get("id") for block in records[1]["message"]["content"]] == [None, "c1"]


def test_agents_come_with_their_files(tmp_path: Path) -> None:
    """The one of the turn, with what its result was spilled to; not that of a later turn."""
    spilled = "see tool-results/long.txt"
    ask = told(user("Do it"), reply(use("c1", "Task", prompt="Go"), id="m1"), answer(result("c1")), reply("Done."))
    later = told(*[user("x")] * 90, user("Later"), reply(use("c2", "Task", prompt="Go"), id="m9"), answer(result("c2")))
    ask[2]["toolUseResult"] = {"agentId": "a1"}
    later[-1]["toolUseResult"] = {"agentId": "b2"}
    path = written(tmp_path, *ask, *later[-3:])
    own = path.with_suffix("")
    for agent, words in (("a1", spilled), ("b2", "see tool-results/other.txt")):
        file = own / "subagents" / f"agent-{agent}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {**one, "isSidechain": True, "agentId": agent} for one in told(user("Go"), reply(words, id=f"x{agent}"))
        ]
        file.write_bytes(jsonl(*rows)[:-1])  # the last line has no end
        file.with_suffix(".meta.json").write_text(json.dumps({"agentType": "Explore", "sessionId": SESSION}))
    (own / "tool-results").mkdir()
    for name in ("long.txt", "other.txt"):
        (own / "tool-results" / name).write_text(name)
    records, files = cut(path)
    assert {one["sessionId"] for one in records} == {NEW}
    assert sorted(Path(name).name for name in files) == ["agent-a1.jsonl", "agent-a1.meta.json", "long.txt"]
    rows = next(data for name, data in files.items() if name.endswith("a1.jsonl"))
    assert [json.loads(line)["sessionId"] for line in rows.splitlines()] == [NEW, NEW] and not rows.endswith(b"\n")
    meta = next(data for name, data in files.items() if name.endswith(".meta.json"))
    assert json.loads(meta)["sessionId"] == SESSION


@pytest.mark.parametrize("end", [b"", b"\r"])
def test_only_the_id_and_the_slug_of_a_line_change(end: bytes) -> None:
    line = b'{ "sessionId" : "%s", "slug":"old-fox", "n": 1.50}' % SESSION.encode() + end
    changed = with_slug(with_session(line, frozenset({SESSION}), NEW), NEW)
    assert json.loads(changed) == {"sessionId": NEW, "slug": f"old-fox-{NEW[:8]}", "n": 1.5}
    assert b"1.50" in changed and changed.endswith(b"}" + end)
    for other in (b'{"sessionId": "x", "slug": 7}', b'{"said": "%s"}' % SESSION.encode(), b'torn "slug"'):
        assert with_slug(with_session(other + end, frozenset({SESSION}), NEW), NEW) == other + end
