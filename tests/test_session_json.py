"""The JSON of a session is a contract: what `show -f json` prints has the schema that `show --schema` prints."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plain
import pytest
from batches import each
from command import run
from effort import one_in
from jsonschema import Draft202012Validator
from making import answer, attachment, jsonl, reply, result, use, user

import reread
from reread.base import jsontext
from reread.base.paths import SAMPLES
from reread.render.json import change_value, session_json
from reread.render.json_values import STRUCTS, session_schema
from reread.render.selection import Selection
from reread.session.changes import change_of

HERE = Path(__file__).parent
LARGER = os.environ.get("REREAD_REAL_CLIENT")
ROOTS = [HERE / "real", *([Path(LARGER) / "data"] if LARGER else [])]
SCENARIOS = sorted(path.parent for root in ROOTS for path in root.glob("*/*/meta.json"))
FILES = [
    *(path for scenario in SCENARIOS for path in (*plain.transcripts(scenario), *plain.streams(scenario))),
    *sorted(path for path in SAMPLES.rglob("*.jsonl") if not path.name.startswith("agent-")),
    *sorted(path for path in (HERE / "fixtures").rglob("*.jsonl") if path.is_file()),
]
HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, allowing no field that it does not name."""
    for name, definition in schema["$defs"].items():
        if "properties" in definition and name != "ContentBlock":
            definition["additionalProperties"] = False
    return schema


SCHEMA = closed(session_schema())
SESSION = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
CHANGE = Draft202012Validator({**SCHEMA, "$ref": "#/$defs/ChangeValue"})


def errors(validator: Draft202012Validator, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]


def shown(session: Any, **selection: Any) -> Any:
    return json.loads(b"".join(session_json(session, Selection(**selection))))


def name(path: Path) -> str:
    return "/".join(path.parts[-5:])


@one_in(3)
@each("path", FILES, ids=name, every=8)
def test_every_session_fits_the_schema(path: Path) -> None:
    session = reread.open(path)
    value = shown(session)
    assert errors(SESSION, value) == []
    assert value["version"] == 1
    assert len(value["messages"]) == len(session.messages) and len(value["calls"]) == len(session.calls)


@one_in(2)
@pytest.mark.parametrize(
    "selection",
    [{"full": True}, {"turns": (-2, None)}, {"path": 1}, {"only": "prompts"}, {"only": "tools"}, {"errors": True}],
    ids=str,
)
def test_every_selection_fits_the_schema(selection: dict[str, Any]) -> None:
    value = shown(reread.open(HARBOR), **selection)
    assert errors(SESSION, value) == []
    assert ("ledger" in value) == (selection.keys() <= {"full", "only"})


def odd_values() -> Iterator[bytes]:
    deep: Any = "end"
    for _ in range(3000):
        deep = [deep]
    yield jsonl(user("a"), reply(use("t1", "Odd", deep="HERE"))).replace(b'"HERE"', jsontext.dumps(deep))
    yield jsonl(user("a"), reply(use("t1", "Bash", command="HERE"))).replace(b'"HERE"', b"9" * 40)
    yield jsonl(user("lone"), reply("answer")).replace(b"answer", b"\\ud800 half")
    yield jsonl({"type": "result", "duration_ms": True, "total_cost_usd": "x", "num_turns": 1.5, "is_error": 3})
    yield jsonl(user("a"), {"type": "assistant", "message": {"id": 5, "content": [{"type": 7}, 3, None, "text"]}})


@pytest.mark.parametrize("data", list(odd_values()), ids=["deep", "large", "surrogate", "result", "blocks"])
def test_content_of_any_kind_fits_the_schema(data: bytes) -> None:
    text = b"".join(session_json(reread.open(data)))
    value = jsontext.loads(text)
    if b"[" * 500 in text:  # too deep for the validator: the rest of the document must fit
        value |= {"messages": [], "calls": [{**call, "input": 0, "nodes": []} for call in value["calls"]]}
    assert errors(SESSION, value) == []


def test_a_struct_that_cannot_be_encoded_at_once_keeps_its_tag() -> None:
    value = jsontext.loads(b"".join(session_json(reread.open(next(odd_values())))))
    assert all("node" in node for call in value["calls"] for node in call["nodes"])


@pytest.mark.parametrize("agent", [False, True])
def test_what_no_message_is_there_for_is_in_the_state(agent: bool, tmp_path: Path) -> None:
    left = [answer(result("gone", "WOMBAT")), attachment("goal_status", {"condition": "NUMBAT"})]
    main = tmp_path / "s.jsonl"
    main.write_bytes(jsonl(*([user("go")] if agent else left)))
    if agent:
        (tmp_path / "s" / "subagents").mkdir(parents=True)
        own = (record | {"isSidechain": True, "agentId": "a1"} for record in left)
        (tmp_path / "s" / "subagents" / "agent-a1.jsonl").write_bytes(jsonl(*own))
    value = json.loads(b"".join(session_json(reread.open(main), Selection())))
    SESSION.validate(value)
    shown = json.dumps(value["agents"]["a1"]["state"] if agent else value["state"])
    assert "WOMBAT" in shown and "NUMBAT" in shown


def test_every_change_fits_the_schema() -> None:
    session = reread.open(HARBOR)
    conversation = session.conversation
    for index in range(len(conversation.records)):
        value = json.loads(jsontext.dumps(change_value(change_of(conversation, index, session))))
        assert errors(CHANGE, value) == []


def test_the_schema_says_what_every_field_means() -> None:
    definitions = session_schema()["$defs"]
    silent = [
        f"{struct.__name__}.{name}"
        for struct in STRUCTS
        for name, field in definitions[struct.__name__]["properties"].items()
        if not field.get("description")
    ]
    assert silent == []
    references = re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(session_schema()))
    assert set(references) <= definitions.keys()


def test_the_schema_refuses_what_is_not_a_session() -> None:
    value = shown(reread.open(HARBOR))
    assert errors(SESSION, {**value, "version": 2})
    assert errors(SESSION, {**value, "title": None})
    assert errors(SESSION, {key: item for key, item in value.items() if key != "usage"})
    assert errors(SESSION, {**value, "calls": [{**value["calls"][0], "nodes": [{"node": "no such node"}]}]})


def test_show_prints_the_schema() -> None:
    assert json.loads(run("show", "--schema").stdout) == json.loads(json.dumps(session_schema()))
    assert "Cannot use --schema with --turns" in run("show", "--schema", "--turns", "1").stderr
