"""One contract for every known type of record, payload and block; then tests of each family."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from batches import table
from effort import one_in
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from reread import tool_types, tools
from reread.records import types
from reread.records.blocks import (
    BLOCKS,
    CallBlock,
    ContentSource,
    Image,
    ResultBlock,
    Text,
    ToolResult,
    ToolUse,
    UnknownBlock,
    to_block,
    to_blocks,
    union_members,
)
from reread.records.types import (
    ATTACHMENTS,
    EVENTS,
    PROGRESS,
    RECORDS,
    SYSTEMS,
    Malformed,
    System,
    Unknown,
    json_schema,
    to_entry,
    unknown_fields,
)

TABLES: dict[str, Any] = {
    "": RECORDS,
    "system": SYSTEMS,
    "attachment": ATTACHMENTS,
    "progress": PROGRESS,
    "event": EVENTS,
    "block": BLOCKS,
}
MEMBERS = [(family, kind, struct) for family, table in TABLES.items() for kind, struct in table.items()]
IDS = [f"{family}/{kind}".strip("/") for family, kind, _ in MEMBERS]


def members(test: Any) -> Any:
    """Run a test for every member, in batches: there are hundreds."""
    batches = [MEMBERS[start : start + 50] for start in range(0, len(MEMBERS), 50)]

    def run(batch: Any) -> None:
        for family, kind, struct in batch:
            try:
                test(family, kind, struct)
            except BaseException as error:
                error.add_note(f"for {family}/{kind}")
                raise

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return pytest.mark.parametrize("batch", batches, ids=IDS[::50])(run)


CARRIERS = {
    "attachment": ("attachment", "attachment"),
    "progress": ("progress", "data"),
    "event": ("stream_event", "event"),
}
GARBAGE: list[Any] = [
    "garbage",
    5,
    10**30,
    1.5,
    True,
    None,
    [],
    {},
    [[None]],
    [{"type": 7}],
    {"a": {"b": []}},
]


def member(family: str, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a member of a family with these fields."""
    if family == "system":
        return fields | {"type": "system", "subtype": kind}
    return {name: item for name, item in fields.items() if name != "subtype"} | {"type": kind}


def carried(family: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return a record that contains this member of a family."""
    if family in CARRIERS:
        kind, name = CARRIERS[family]
        return {"type": kind, name: value}
    return {"type": "user", "message": {"content": [value]}} if family == "block" else value


def read(family: str, value: dict[str, Any]) -> Any:
    """Return this member of a family, typed, as read from its record."""
    entry: Any = to_entry(carried(family, value))
    if family in CARRIERS:
        return getattr(entry, CARRIERS[family][1])
    return entry.blocks[0] if family == "block" else entry


def sample(hint: Any) -> Any:
    """Return a JSON value of a type, with every field of every struct in it."""
    option = union_members(hint)[0]
    if get_origin(option) is Annotated:
        held, meta = get_args(option)
        return HELD[meta.extra["contains"]] if "contains" in meta.extra else sample(held)
    if get_origin(option) is list:
        return [sample(get_args(option)[0])]
    if get_origin(option) is dict:
        return {"some key": sample(get_args(option)[1])}
    return full(option) if isinstance(option, type) and issubclass(option, Struct) else PLAIN[option]


PLAIN: dict[Any, Any] = {str: "text", int: 7, float: 1.5, bool: True, Any: {"open": ["by", "nature"]}}
HELD: dict[str, Any] = {
    "attachment": {"type": "date", "date": "2026-01-01"},
    "block": [{"type": "text", "text": "said"}],
    "entry": {"type": "user", "message": {"content": "said"}},
    "event": {"type": "content_block_stop", "index": 0},
    "progress": {"type": "query_update", "query": "what"},
}


def full(struct: type[Struct]) -> dict[str, Any]:
    """Return the JSON of a struct with every field set."""
    return {f.encode_name: sample(f.type) for f in msgspec.structs.fields(struct)}


def without_defaults(value: Any) -> Any:
    """Drop fields that have their default."""
    if isinstance(value, dict):
        return {k: without_defaults(v) for k, v in value.items() if v is not None}
    return [without_defaults(v) for v in value] if isinstance(value, list) else value


@members
def test_a_bare_object_is_its_struct(family: str, kind: str, struct: type[Struct]) -> None:
    got = read(family, member(family, kind, {}))
    assert (got.subtype if family == "system" else got.type) == kind
    assert type(got) is struct


@members
def test_known_fields_make_the_round_trip(family: str, kind: str, struct: type[Struct]) -> None:
    value = member(family, kind, full(struct))
    assert without_defaults(msgspec.to_builtins(read(family, value))) == value
    assert unknown_fields(carried(family, value)) == []


@one_in(3)
@members
def test_a_field_of_the_wrong_type_is_kept_and_does_not_affect_others(
    family: str, kind: str, struct: type[Struct]
) -> None:
    whole = full(struct)
    fields = [f for f in msgspec.structs.fields(struct) if f.name not in ("type", "subtype")]
    names = {f.name for f in fields}
    for f in fields:
        for wrong in ("garbage", 5, [7], {"a": 7}):
            got = read(family, member(family, kind, {**whole, f.encode_name: wrong}))
            assert type(got) is struct
            kept = getattr(got, f.name)
            assert kept == wrong or msgspec.to_builtins(kept) == wrong or _holds_struct(kept), f.name
            assert all(getattr(got, other) is not None for other in names - {f.name})


def _holds_struct(value: Any) -> bool:
    values: list[Any] = (
        value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
    )
    return any(isinstance(v, Struct) for v in values)


@one_in(3)
@members
def test_every_field_may_be_garbage(family: str, kind: str, struct: type[Struct]) -> None:
    for wrong in GARBAGE:
        value = member(family, kind, {f.encode_name: wrong for f in msgspec.structs.fields(struct)})
        assert type(read(family, value)) is struct
        unknown_fields(carried(family, value))


@members
def test_a_new_field_is_reported(family: str, kind: str, struct: type[Struct]) -> None:
    value = carried(family, member(family, kind, {**full(struct), "newField": 1}))
    assert unknown_fields(value) == [f"{family}/{kind}.newField".strip("/")]


def subclasses(base: type[Struct]) -> set[type[Struct]]:
    """Return the subclasses of a struct at any depth."""
    return {below for kind in base.__subclasses__() for below in (kind, *subclasses(kind))}


@pytest.mark.parametrize("base", [types.Entry, types.AttachmentPayload, types.ProgressPayload, types.EventPayload])
def test_a_struct_with_a_type_is_in_its_table(base: type[Struct]) -> None:
    structs = {struct for _, _, struct in MEMBERS}
    concrete = {struct for struct in subclasses(base) if struct().type and struct is not Malformed}
    assert concrete <= structs


def test_every_struct_has_a_unique_name() -> None:
    structs = {struct for _, _, struct in MEMBERS}
    assert len({struct.__name__ for struct in structs}) == len(structs)


@table("name", [module.name for module in pkgutil.iter_modules(types.__path__)])
def test_the_package_has_the_names_of_its_modules(name: str) -> None:
    names = vars(importlib.import_module(f"reread.records.types.{name}"))
    public = {key: value for key, value in names.items() if not key.startswith("_")}
    assert {key: getattr(types, key) for key in public} == public


@table(
    ("value", "paths"),
    [
        ({"type": "user", "newField": 1, "message": {"y": 1}}, ["user.newField", "user.message.y"]),
        ({"type": "assistant", "message": {"usage": {"y": 1}}}, ["assistant.message.usage.y"]),
        (
            {"type": "assistant", "message": {"usage": {"iterations": [{"a": 1}, {"a": 2}, {"b": 3}]}}},
            ["assistant.message.usage.iterations.a", "assistant.message.usage.iterations.b"],
        ),
        ({"type": "cost-state", "modelUsage": {"m": {"x": 1}}}, ["cost-state.modelUsage.x"]),
        (
            {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"foo": 1}},
            ["system/compact_boundary.compactMetadata.foo"],
        ),
        ({"type": "system", "odd": 1}, ["system.odd"]),
        ({"type": "system", "subtype": "xyz", "odd": 1}, ["system/xyz"]),
        (
            {"type": "attachment", "x": 1, "attachment": {"type": "file", "x": 1}},
            ["attachment.x", "attachment/file.x"],
        ),
        ({"type": "attachment", "attachment": {"type": "xyz"}}, ["attachment/xyz"]),
        ({"type": "progress", "data": {"type": "xyz"}}, ["progress/xyz"]),
        ({"type": "stream_event", "event": {"type": "xyz"}}, ["event/xyz"]),
        ({"type": "user", "message": {"content": [{"type": "tool_use", "z": 1}]}}, ["block/tool_use.z"]),
        (
            {"type": "user", "message": {"content": [{"type": "tool_result", "content": [{"type": "xyz"}]}]}},
            ["block/xyz"],
        ),
        (
            {
                "type": "progress",
                "data": {"type": "agent_progress", "message": {"type": "assistant", "odd": 1}},
            },
            ["assistant.odd"],
        ),
        ({"type": "queue-operation", "content": [{"type": "text", "odd": 1}]}, ["block/text.odd"]),
        ({"type": "xyz"}, ["type/xyz"]),
        ({"type": ["xyz"]}, []),
        ({}, ["type/"]),
        ({"uuid": "a"}, []),
        ({"type": "user", "toolUseResult": {"a": 1}, "mcpMeta": {"a": 1}}, []),
        ({"type": "user", "message": {"content": [{"type": "tool_use", "input": {"a": {"b": 1}}}]}}, []),
        (
            {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {"a/b.py": {"version": 1}}}},
            [],
        ),
        ({"type": "user", "message": "a string", "origin": 5}, []),
        ("no object", []),
    ],
)
def test_paths_of_unknown_fields_and_types(value: Any, paths: list[str]) -> None:
    assert unknown_fields(value) == paths


def test_a_message_and_its_usage() -> None:
    entry = to_entry(
        {
            "type": "assistant",
            "uuid": "u",
            "parentUuid": None,
            "sessionId": "s",
            "requestId": "req_1",
            "message": {
                "id": "msg_1",
                "model": "m",
                "role": "assistant",
                "content": [{"type": "text", "text": "hi"}],
                "stop_reason": None,
                "usage": {
                    "input_tokens": 3,
                    "cache_creation": {"ephemeral_1h_input_tokens": 4},
                    "service_tier": None,
                },
            },
        }
    )
    assert isinstance(entry, types.Assistant)
    assert entry.message and entry.message.usage and entry.message.usage.cache_creation
    assert (entry.requestId, entry.message.id, entry.message.usage.input_tokens) == ("req_1", "msg_1", 3)
    assert entry.message.usage.cache_creation.ephemeral_1h_input_tokens == 4
    assert entry.message.content == [{"type": "text", "text": "hi"}]
    assert entry.blocks == [Text(text="hi")]


@table(
    ("message", "texts"),
    [
        ({"role": "user", "content": "said"}, ["said"]),
        ({"content": [{"type": "text", "text": "a"}, "b"]}, ["a", "b"]),
        ({"content": {"type": "text", "text": "one"}}, ["one"]),
        ({"content": None}, []),
        ({}, []),
        (None, []),
        ("said", ["said"]),
        ([{"type": "text", "text": "a"}], ["a"]),
    ],
)
def test_content_in_any_shape(message: Any, texts: list[str]) -> None:
    entry = to_entry({"type": "user", "message": message})
    assert isinstance(entry, types.User)
    assert [getattr(block, "text", None) for block in entry.blocks] == texts


def test_a_leaf_of_the_wrong_type_does_not_affect_its_neighbours() -> None:
    entry = to_entry(
        {
            "type": "assistant",
            "isSidechain": "yes",
            "uuid": 5,
            "requestId": "r",
            "message": {
                "id": "m",
                "usage": {"input_tokens": "many", "output_tokens": 3, "iterations": [{"type": 1}, 2]},
            },
        }
    )
    assert isinstance(entry, types.Assistant) and entry.message and entry.message.usage
    usage: Any = entry.message.usage
    assert (entry.isSidechain, entry.uuid, entry.requestId, entry.message.id) == ("yes", 5, "r", "m")
    assert (usage.input_tokens, usage.output_tokens) == ("many", 3)
    assert usage.iterations == [types.Iteration(type=1), 2]  # pyright: ignore[reportArgumentType]


def test_a_map_keeps_its_values_typed() -> None:
    usage = {"m": {"inputTokens": "many", "costUSD": 0.5}, "n": 7}
    entry: Any = to_entry({"type": "cost-state", "modelUsage": usage})
    assert entry.modelUsage == {"m": types.ModelUsage(inputTokens="many", costUSD=0.5), "n": 7}  # pyright: ignore[reportArgumentType]


def test_a_system_record_is_typed_by_its_subtype() -> None:
    boundary = to_entry(
        {
            "type": "system",
            "subtype": "compact_boundary",
            "compactMetadata": {"trigger": "auto", "preTokens": 9},
        }
    )
    assert isinstance(boundary, types.SystemCompactBoundary) and boundary.compactMetadata
    assert (boundary.compactMetadata.trigger, boundary.compactMetadata.preTokens) == ("auto", 9)
    assert type(to_entry({"type": "system", "content": "old", "level": "info"})) is System
    unheard = to_entry({"type": "system", "subtype": "unheard_of", "content": "new"})
    assert type(unheard) is System and (unheard.subtype, unheard.content) == ("unheard_of", "new")


def test_an_attachment_is_typed_by_the_type_inside_it() -> None:
    entry: Any = to_entry(
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "go on"}, "uuid": 5}
    )
    assert isinstance(entry.attachment, types.QueuedCommandAttachment)
    assert (entry.attachment.prompt, entry.uuid) == ("go on", 5)
    entry = to_entry({"type": "attachment", "attachment": {"type": "unheard_of", "a": 1}})
    assert entry.attachment == Unknown(type="unheard_of", value={"type": "unheard_of", "a": 1})
    entry = to_entry({"type": "attachment", "attachment": "a string"})
    assert entry.attachment == "a string"
    message = {"type": "assistant", "message": {"content": [{"type": "text", "text": "from the agent"}]}}
    entry = to_entry({"type": "progress", "data": {"type": "agent_progress", "message": message, "agentId": "a"}})
    assert entry.data.entry.blocks == [Text(text="from the agent")]
    entry = to_entry({"type": "stream_event", "event": {"type": "message_delta", "usage": {"output_tokens": 4}}})
    assert entry.event.usage.output_tokens == 4


def test_field_names_that_are_not_identifiers() -> None:
    entry: Any = to_entry({"type": "user", "origin": {"kind": "peer", "from": "other"}})
    assert entry.origin.from_ == "other"
    block: Any = to_block({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}})
    assert (block.from_.model, block.to.model) == ("a", "b")


def test_values_that_are_not_records() -> None:
    assert to_entry({"type": "xyz", "a": 1}) == Unknown(type="xyz", value={"type": "xyz", "a": 1})
    assert to_entry({"a": 1}) == Unknown(type="", value={"a": 1})
    assert to_entry([1]) == Malformed(reason="not a JSON object", value=[1])
    assert Malformed().type == "malformed"


def test_blocks_are_typed_and_unknown_ones_kept_as_written() -> None:
    use, result, image, unheard, number = to_blocks(
        [
            {"type": "tool_use", "id": "t", "name": "Bash", "input": "not an object"},
            {"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": "maybe"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "unheard_of", "a": 1},
            7,
        ]
    )
    assert isinstance(use, ToolUse) and use.input == "not an object"
    assert isinstance(result, ToolResult) and result.blocks == [Text(text="out")]
    assert getattr(result, "is_error", None) == "maybe"
    assert isinstance(image, Image) and image.picture == ContentSource(
        type="base64", media_type="image/png", data="AAAA"
    )
    assert unheard == UnknownBlock(type="unheard_of", value={"type": "unheard_of", "a": 1})
    assert number == UnknownBlock(value=7)
    assert to_blocks("said") == [Text(text="said")]
    assert to_blocks({"type": "text", "text": "said"}) == [Text(text="said")]
    assert to_blocks(None) == to_blocks([]) == []


def test_a_source_wins_over_flat_image_fields() -> None:
    image = to_block({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}})
    assert isinstance(image, Image) and image.picture.url == "https://example.com/a.png"


def test_deep_nesting_and_lone_surrogates() -> None:
    block: dict[str, Any] = {"type": "text", "text": "bottom", "odd": 1}
    for _ in range(5000):
        block = {"type": "tool_result", "content": [block]}
    value = {"type": "user", "message": {"content": [block]}, "toolUseResult": block}
    assert unknown_fields(value) == ["block/text.odd"]
    assert isinstance(to_entry(value), types.User)
    entry: Any = to_entry({"type": "user", "\ud83d": 1, "cwd": "\ud83d", "uuid": "u"})
    assert (entry.cwd, entry.uuid) == ("\ud83d", "u")


TEXT = st.sampled_from(["", "type", "text", "content", "message", "data", "user", "system", "\ud83d"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_no_value_raises(data: st.DataObject) -> None:
    family, kind, struct = data.draw(st.sampled_from(MEMBERS))
    names = sorted(f.encode_name for f in msgspec.structs.fields(struct) if f.encode_name not in ("type", "subtype"))
    fields = data.draw(st.dictionaries(st.sampled_from([*names, "else"]), JSON, max_size=4))
    value = member(family, kind, fields)
    assert type(read(family, value)) is struct
    unknown_fields(carried(family, value))


@given(JSON)
def test_no_other_value_raises(value: Any) -> None:
    to_entry(value)
    to_blocks(value)
    unknown_fields(value)


SEEN = {
    "user": """
        agentId classifierMetaLines cwd entrypoint forkedFrom gitBranch holdsPersonsWords imagePasteIds
        interruptedByShutdown interruptedMessageId isAtMentionRead isCompactSummary isMeta isSidechain
        isVisibleInTranscriptOnly mcpCallNotReadOnly mcpMeta message origin originalCwd parentUuid
        permissionDecision permissionMode planContent promptId promptSource queuePriority
        queueSkipAttachments refusedMessageId sandboxed sessionId sessionKind session_id slug
        sourceToolAssistantUUID sourceToolUseID summarizedTurnPromptUuids thinkingMetadata timestamp todos
        toolDenialKind toolEndsTurn toolUseResult turnCompanion turnOrigin turnPosition userFeedback
        userType uuid version agentName teamName isReplay isError isDeleted isAborted is_active
    """,
    "assistant": """
        advisorModel agentId apiBlockIndex apiError apiErrorIsTransient apiErrorStatus apiErrorType
        attributionAgent attributionMcpServer attributionMcpTool attributionPlugin attributionSkill
        costUSD cwd durationMs effort entrypoint error errorDetails failedResponseHadNoToolCall forkedFrom
        gitBranch isAbortedMidStream isApiErrorMessage isSidechain madeBy message model originalCwd
        parentUuid perTurnEffort promptCacheRequested requestId requestRef requestedModel
        serverClassifierRequest sessionId sessionKind session_id slug thinkingDisplay thinkingDurationMs
        timestamp toolInputStreamMs userType uuid version
    """,
    "system/api_error": "cause error level maxRetries retryAttempt retryInMs source",
    "system/compact_boundary": "compactMetadata content forkedFrom isMeta level logicalParentUuid",
    "system/informational": "content isMeta level preventContinuation promptSubmitEnding",
    "system/local_command": "commandRun content contextUsage isMeta level",
    "system/model_fallback": "content fallbackModel level originalModel trigger",
    "system/stop_hook_summary": """
        hasOutput hookAdditionalContext hookCount hookErrors hookInfos level preventedContinuation
        stopReason toolUseID
    """,
    "system/turn_duration": "durationMs forkedFrom isMeta messageCount pendingBackgroundAgentCount",
    "queue-operation": "commandUuid content deliveryId operation reason sessionId timestamp",
    "last-prompt": "explicit lastPrompt leafUuid rewound sessionId",
    "custom-title": "customTitle sessionId uuid timestamp",
    "api-request": """
        agentId base cacheControl id keep params querySource requestDigest sessionId shapeHash tail
        timestamp version
    """,
    "attachment": """
        agentId attachment forkedFrom rendered renderedBesideToolResult renderedInHumanTurn renderedRole
        session_id slug
    """,
}
"""Fields found in real files of many versions; the samples in this repository have only some of them."""


@table("kind", SEEN)
def test_fields_of_real_files_are_known(kind: str) -> None:
    family, _, name = kind.rpartition("/")
    value = member(family, name, dict.fromkeys(SEEN[kind].split()))
    assert unknown_fields(value) == []


def test_the_schema_is_complete() -> None:
    schema = json_schema()
    text = json.dumps(schema)
    assert {ref[8:] for ref in re.findall(r'"\$ref": "([^"]+)"', text)} <= schema["$defs"].keys()
    assert {"$ref": "#/$defs/User"} in schema["anyOf"]
    user = schema["$defs"]["User"]
    assert user["properties"]["type"] == {"enum": ["user"]} and "type" in user["required"]
    init = schema["$defs"]["SystemInit"]["properties"]
    assert (init["type"], init["subtype"]) == ({"enum": ["system"]}, {"enum": ["init"]})
    for family, kind, struct in MEMBERS:
        pinned = schema["$defs"][struct.__name__]["properties"]["subtype" if family == "system" else "type"]
        assert kind in pinned.get("enum", [kind])


def test_the_schema_has_the_input_and_the_result_of_every_tool() -> None:
    schema = json_schema(tools.tool_types())
    assert schema["tools"]["Bash"] == {"input": {"$ref": "#/$defs/BashInput"}, "result": {"$ref": "#/$defs/BashResult"}}
    assert schema["tools"]["Task"]["result"] == {"$ref": "#/$defs/AgentResult"}
    assert {"$ref": "#/$defs/AnyToolResult"} in schema["$defs"]["User"]["properties"]["toolUseResult"]["anyOf"]
    assert {"$ref": "#/$defs/GlobResult"} in schema["$defs"]["AnyToolResult"]["anyOf"]
    assert set(tool_types.__all__) <= schema["$defs"].keys()
    assert not [name for name in schema["$defs"] if "." in name], "two structs have the same name"


REAL = os.environ.get("REREAD_REAL_CLIENT")
real = pytest.mark.skipif(not REAL, reason="REREAD_REAL_CLIENT names no folder")

RENAMED = {
    "session_id": "sessionId",
    "tool_use_result": "toolUseResult",
    "parent_tool_use_id": "parentToolUseID",
    "compact_metadata": "compactMetadata",
    "isSynthetic": "isMeta",
}
SPOKEN = {"request_id": "requestId", "agent_id": "agentId"}


def values(pattern: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of all real files that match."""
    for path in sorted(Path(REAL or ".", "data").glob(pattern)):
        if path.name != "journal.jsonl":
            yield from (json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip())


def renamed(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of a stream with the names used on disk."""
    names = RENAMED | (SPOKEN if value["type"] in ("user", "assistant") else {})
    native = {names.get(name, name): item for name, item in value.items()}
    if "compactMetadata" in native:
        native["compactMetadata"] = {camel(name): item for name, item in native["compactMetadata"].items()}
    return native


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def check_all(found: Iterator[dict[str, Any]]) -> None:
    unknown: Counter[str] = Counter()
    total = 0
    for value in found:
        total += 1
        unknown.update(unknown_fields(value))
        entry = to_entry(value)
        msgspec.convert(value, type(entry))
        unknown.update(block.type for block in getattr(entry, "blocks", []) if isinstance(block, UnknownBlock))
    assert total
    assert not unknown


@real
def test_real_transcripts_contain_nothing_unknown() -> None:
    check_all(values("**/projects/**/*.jsonl"))


@real
def test_real_streams_contain_nothing_unknown() -> None:
    check_all(renamed(value) for value in values("**/stream*.jsonl"))


def test_blocks_are_named_as_their_types() -> None:
    for kind, struct in BLOCKS.items():
        name = "".join(word.capitalize() for word in kind.split("_"))
        assert struct.__name__ in (name, f"{name}Block")  # a message's compaction is another thing than its block


def test_calls_and_results_share_a_base() -> None:
    assert {kind for kind in BLOCKS if kind.endswith("tool_use")} == _kinds_of(CallBlock)
    assert {kind for kind in BLOCKS if kind.endswith("tool_result")} == _kinds_of(ResultBlock)


def _kinds_of(base: type[Struct]) -> set[str]:
    return {kind for kind, struct in BLOCKS.items() if issubclass(struct, base)}
