"""The law of search: every text of every record, as a plain walk over its JSON finds it, is found by each of its words.

What is no text to search for stands in the tables of `index/unsaid.py` and in `ANYWHERE`, with the reason.
"""

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reread.base.joined_text import without_escapes
from reread.base.paths import SAMPLES
from reread.disk import layout
from reread.disk.file_set import find_files
from reread.index.documents import is_own_call
from reread.index.file_pass import units_after
from reread.index.find import find
from reread.index.terms import LONGEST, word_pieces, words
from reread.index.unsaid import SILENT_TYPES, UNSAID_FIELDS, UNSAID_MESSAGE, UNSAID_OF_TYPE
from reread.index.update import UNWRITABLE, RefreshResult, unindexed

HERE = Path(__file__).parent
NO_INDEX = RefreshResult(None, UNWRITABLE)
FILES = [
    path
    for folder in (SAMPLES, HERE / "real", HERE / "fixtures" / "findings", HERE / "fixtures" / "hard")
    for path in sorted(folder.rglob("*.jsonl"))
    if path.name not in {*layout.NON_SESSION_FILES, "truth.jsonl", "utf16.jsonl"} and "tool-results" not in path.parts
]
ANYWHERE = {
    "type": "it says what kind of value this is",
    "signature": "it is made for a machine",
    "data": "it is the bytes of a picture; texts are tested by themselves",
    "base64": "it is the bytes of a picture",
    "originalFile": "it is the whole file before an edit, which nobody looks for there",
    "caller": "it says who called",
    "citations": "a setting, or a list that is tested by itself",
    "tool_use_id": "it names a call",
}
"""Fields that are not searched, wherever they are."""
TAG = re.compile(r'</?[\w-]+|\b[\w-]+(?==")')
"""Names of tags and of their attributes, whose values are found."""
JSON_KEY = re.compile(r'"\w+"(?=:)')
"""The message of a teammate is read as the values of its fields."""
LINE_NUMBER = re.compile(r"(?m)^ *\d+(?:→|\t)")
"""The numbers in front of a file's lines are not part of what it says."""


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in ANYWHERE:
                yield from texts(item)


def said(record: dict[str, Any]) -> Iterator[str]:
    """The texts of a record, without what the tables leave out."""
    if isinstance(record.get("claudeMessage"), dict):
        yield from said(record["claudeMessage"])
        return
    message = record.get("message")
    if not isinstance(record.get("type"), str) or record["type"] in {*SILENT_TYPES, "progress"}:
        return
    attached = record.get("attachment")
    types = [str(part.get("type")) for part in (record, attached) if isinstance(part, dict)]
    unsaid = {*UNSAID_FIELDS, *(name for type in types for name in UNSAID_OF_TYPE.get(type, ())), "message"}
    fields = {**record, **attached, "attachment": None} if isinstance(attached, dict) else record
    yield from texts({name: value for name, value in fields.items() if name not in unsaid})
    if not isinstance(message, dict):
        yield from texts(message)
        return
    yield from texts(
        {name: value for name, value in message.items() if name not in UNSAID_MESSAGE and name != "content"}
    )
    content = message.get("content")
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, dict) and is_own_call(str(block.get("name")), block.get("input")):
            continue
        yield from texts({k: v for k, v in block.items() if k != "id"} if isinstance(block, dict) else block)


def own_words(text: str) -> set[str]:
    if "<teammate-message" in text:
        text = JSON_KEY.sub(" ", text)
    plain = LINE_NUMBER.sub("", TAG.sub(" ", without_escapes(text)))
    return {word for word in words(plain) if len(word.encode()) <= LONGEST}


def records(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


@cache
def known_words() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, unit, _, _ in units_after(unindexed(None, find_files(None, FILES)), []):
        found.setdefault(path, set()).update(words(unit.text), map(str.lower, word_pieces(unit.text)))
    return found


def test_every_word_of_every_text_is_in_a_unit() -> None:
    for path in FILES:
        known = known_words().get(str(path), set())
        for record in records(path):
            for text in said(record):
                assert own_words(text) <= known, (path, record.get("type"), text[:200], own_words(text) - known)


def test_words_are_found_by_a_query() -> None:
    files = find_files(None, FILES)
    everything = sorted(set().union(*known_words().values()))
    for word in random.Random(7).sample(everything, 150):
        assert find(word, files=files, limit=1).total > 0, word


def session_line(type: str, **fields: Any) -> dict[str, Any]:
    envelope = {
        "sessionId": "5e551017-0000-4000-8000-000000000001",
        "cwd": "/p",
        "timestamp": "2026-01-29T14:00:00.000Z",
    }
    return {"type": type, **envelope, **fields}


def search(folder: Path, query: str) -> list[tuple[str, str]]:
    return [(hit.kind, hit.match) for hit in find(query, files=find_files(None, sorted(folder.glob("*.jsonl"))))]


NEEDLES = {
    "a key of an input": ("zebrakey", {"name": "Task", "input": {"zebrakey": True}}),
    "a number of an input": ("4711", {"name": "Read", "input": {"file_path": "/a", "limit": 4711}}),
    "a nested key": ("zebrakey", {"name": "mcp__a__b", "input": {"list": [{"zebrakey": 1.5}]}}),
    "data of an input": ("zebra", {"name": "mcp__a__b", "input": {"data": "zebra"}}),
    "a mapping called data": ("zebra", {"name": "mcp__a__b", "input": {"data": {"x": "zebra"}}}),
    "after an escape": ("zebra", {"name": "Bash", "input": {"command": r"printf 'a\nzebra'"}}),
    "in an identifier after an escape": ("zebra", {"name": "Bash", "input": {"command": r"printf 'a\tzebraCrossing'"}}),
    "a hash after an escape": ("0a1b2c3d", {"name": "Bash", "input": {"command": r"printf 'a\n0a1b2c3d4e5f'"}}),
}


@pytest.mark.parametrize("name", NEEDLES)
def test_a_word_of_an_input_is_found(tmp_path: Path, name: str) -> None:
    needle, call = NEEDLES[name]
    block = {"type": "tool_use", "id": "toolu_1", **call}
    write(tmp_path, session_line("assistant", uuid="a", message={"id": "m", "role": "assistant", "content": [block]}))
    assert [kind for kind, _ in search(tmp_path, needle)] == ["input"]


def write(folder: Path, *lines: Any) -> None:
    data = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    (folder / "s.jsonl").write_bytes(data + b"\n")


def user(content: Any, **fields: Any) -> dict[str, Any]:
    return session_line("user", uuid="u", message={"role": "user", "content": content}, **fields)


DOCUMENT = {"type": "document", "title": "Okapi report", "context": "about quaggas"}


@pytest.mark.parametrize(
    ("query", "record"),
    [
        ("okapi", user([{**DOCUMENT, "source": {"type": "text", "media_type": "text/plain", "data": "A zebra."}}])),
        ("quaggas", user([{**DOCUMENT, "source": {"type": "text", "media_type": "text/plain", "data": "A zebra."}}])),
        ("zebra", user([{**DOCUMENT, "source": {"type": "text", "media_type": "text/plain", "data": "A zebra."}}])),
        ("zebra", user([{**DOCUMENT, "source": {"type": "content", "content": [{"type": "text", "text": "zebra"}]}}])),
        ("zebra", user("hi", planContent="A plan with a zebra.")),
        ("zebra", user("hi", aFieldOfTomorrow={"deep": ["zebra"]})),
        ("zebra", session_line("tag", tag="zebra")),
        ("zebra", session_line("last-prompt", lastPrompt="Find the zebra…")),
        ("zebra", session_line("queue-operation", operation="enqueue", content="a zebra that waits")),
        ("zebra", session_line("queue-operation", operation="enqueue", content=[{"type": "text", "text": "a zebra"}])),
        ("zebra", session_line("result", result="a zebra", subtype="success")),
        ("zebra", session_line("a-type-of-tomorrow", text="a zebra")),
        ("zebra", b'{"type":"user","uuid":"t","message":{"role":"user","content":"torn\\nzebra cros'),
        ("crossing", b'{"type":"user","message":{"content":"a \\u007aebra cros'.replace(b"cros", b"crossing")),
    ],
)
def test_a_word_anywhere_in_a_record_is_found(tmp_path: Path, query: str, record: Any) -> None:
    write(tmp_path, user("hello"), record)
    assert len(search(tmp_path, query)) == 1


def test_what_an_agent_is_for_is_found_beside_its_file(tmp_path: Path) -> None:
    own = tmp_path / "s" / "subagents"
    own.mkdir(parents=True)
    write(tmp_path, user("hello"))
    agent = own / "agent-a1.jsonl"
    agent.write_text(json.dumps(user("go", agentId="a1", isSidechain=True)) + "\n")
    agent.with_suffix(".meta.json").write_text('{"agentType": "Explore", "description": "Count the zebras"}')
    found = list(find("zebras", files=find_files(None, [tmp_path / "s.jsonl", agent])))
    assert [(hit.kind, hit.match, hit.path) for hit in found] == [("notice", "zebras", str(agent))]


def test_what_is_said_again_is_found_once(tmp_path: Path) -> None:
    state = session_line("last-prompt", lastPrompt="find the zebra")
    title = session_line("ai-title", aiTitle="Zebra")
    queued = [
        session_line("queue-operation", operation=name, content="find the zebra") for name in ("enqueue", "remove")
    ]
    write(tmp_path, *queued, user("find the\nzebra"), state, title, state, title, title)
    assert [kind for kind, _ in search(tmp_path, "zebra")] == ["title", "prompt"]


def test_a_prompt_that_is_noted_again_after_others_is_found_once(tmp_path: Path) -> None:
    noted = session_line("last-prompt", lastPrompt="find the zebra")
    write(tmp_path, user("find the zebra"), user("and then?"), noted)
    assert [kind for kind, _ in search(tmp_path, "zebra")] == ["prompt"]
    write(tmp_path, user("hello"), noted)
    assert len(list(search(tmp_path, "zebra"))) == 1


def test_a_queued_prompt_is_found_where_it_waits_until_it_is_delivered(tmp_path: Path) -> None:
    write(tmp_path, user("hello"), session_line("queue-operation", operation="enqueue", content="the zebra"))
    assert [hit.line for hit in find("zebra", files=find_files(None, [tmp_path / "s.jsonl"]))] == [2]
    with (tmp_path / "s.jsonl").open("a") as file:
        file.write(json.dumps(user("the zebra") | {"uuid": "u2"}) + "\n")
    assert [hit.line for hit in find("zebra", files=find_files(None, [tmp_path / "s.jsonl"]))] == [3]


def test_what_a_call_reported_is_found_if_it_has_no_result(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}
    ran = session_line("assistant", uuid="a", message={"id": "m", "role": "assistant", "content": [call]})
    data = {"type": "bash_progress", "output": "x", "fullOutput": "a zebra"}
    report = session_line("progress", uuid="p", toolUseID="b", parentToolUseID="toolu_1", data=data)
    write(tmp_path, ran, report, report)
    assert [kind for kind, _ in search(tmp_path, "zebra")] == ["notice"]
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a zebra"}
    write(tmp_path, ran, report, report, user([result]))
    assert [kind for kind, _ in search(tmp_path, "zebra")] == ["result"]


def test_the_hooks_of_calls_are_found_once(tmp_path: Path) -> None:
    data = {"type": "hook_progress", "hookName": "PreToolUse:Bash", "command": "zebra.sh"}
    lines = [
        session_line("progress", uuid=f"p{n}", toolUseID=f"toolu_{n}", parentToolUseID=f"toolu_{n}", data=data)
        for n in range(9)
    ]
    write(tmp_path, *lines)
    assert len(search(tmp_path, "zebra")) == 1


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("Café", "cafe"),
        ("cafe", "café"),
        ("cafe\u0301s", "cafés"),
        ("Straße", "STRASSE"),
        ("strasse", "straße"),
        ("ﬁnal", "final"),
        ("ＦＵＬＬ１２", "full12"),
        ("ﾌｧｲﾙ", "ファイル"),
        ("データベース", "ﾃﾞｰﾀﾍﾞｰｽ"),
        ("ﾃﾞｰﾀﾍﾞｰｽ", '"データベース"'),
        ("İstanbul", "istanbul"),
        ("ΟΔΟΣ", "οδός"),
        ("naïve", '"a naive word"'),
        ("Łódź", "lodz"),
        ("ёлка", "елка"),
        ("हिन्दी", "हिन्दी"),
        ("שָׁלוֹם", "שלום"),
        ("ที่นี่", "ที่นี่"),
        ("한글", "한글"),
        ("🎉", "🎉"),
        ("👍🏽", "👍"),
        ("🇩🇪", "🇩🇪"),
        ("✅", "word ✅"),
        ("resuméWriter", "writer"),
    ],
)
def test_words_are_found_however_they_are_written(tmp_path: Path, written: str, query: str) -> None:
    write(tmp_path, user(f"a {written} word"))
    files = find_files(None, [tmp_path / "s.jsonl"])
    (hit,) = find(query, files=files)
    assert hit.match
    assert hit.before + hit.match + hit.after in (
        f"a {written} word",
        f"a {written.replace(chr(0x65) + chr(0x301), 'é')} word",
    )
    assert [found.line for found in find(query, files=files, refresh=lambda _, **options: NO_INDEX)] == [1]


def test_a_regular_expression_finds_accents_and_emoji(tmp_path: Path) -> None:
    write(tmp_path, user("the Café 🎉 of Straße"))
    for pattern in ("Café", "Caf.", "🎉", "Stra.e"):
        assert find(pattern, files=find_files(None, [tmp_path / "s.jsonl"]), regex=True).total == 1, pattern
    assert find("Cafe", files=find_files(None, [tmp_path / "s.jsonl"]), regex=True).total == 0
