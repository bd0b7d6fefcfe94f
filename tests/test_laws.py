"""The laws of docs/reading.md, tested on arbitrary bytes, arbitrary JSON, and plausible and damaged transcripts.

Set `REREAD_TESTS=thorough` to search much longer.
"""

import copy
from collections import Counter
from typing import Any

import making
import msgspec
import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st
from making import GrowingSource, Object, TranscriptGenerator, encode
from walk import holds_together, walk

import reread
from reread.addons.atif import dialect as atif
from reread.addons.codex import dialect as codex
from reread.base import jsontext
from reread.disk.sources import MemorySource
from reread.model.conversation import Conversation
from reread.model.fold import Fold
from reread.records import dialects
from reread.render.json import session_json
from reread.render.markdown import session_markdown
from reread.render.selection import Selection
from reread.render.terminal import TerminalView, make_console
from reread.session.loader import Loader
from reread.session.session import Session, threads_of

WORDS = st.one_of(st.text(max_size=8), st.sampled_from(making.WORDS))
NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from(making.NUMBERS))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)
GENERATORS = st.builds(TranscriptGenerator, st.integers(0, 2**32))
COUNTS = st.integers(0, 40)
RECORDS = GENERATORS.map(lambda generator: generator.records(12)[-1])
LINES = st.builds(TranscriptGenerator.lines, GENERATORS, COUNTS)
DOCUMENTS = st.builds(TranscriptGenerator.document, GENERATORS, COUNTS)
JSON_LINES = st.lists(VALUES, max_size=5).map(lambda values: b"\n".join(map(encode, values)))
ANY_TRANSCRIPT = st.one_of(LINES, LINES, DOCUMENTS)
FILES = st.one_of(st.binary(max_size=80), JSON_LINES, LINES, LINES, DOCUMENTS)


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """Split bytes at arbitrary positions."""
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [data[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def flat(value: Any) -> list[str]:
    """Return a value of any depth as a list that differs for any other value."""
    out: list[str] = []
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, msgspec.Struct):
            part = {"": type(part).__name__, **msgspec.structs.asdict(part)}
        if isinstance(part, dict):
            out.append(f"object {sorted(map(repr, part))}")
            todo += [part[key] for key in sorted(part, key=repr)]
        elif isinstance(part, list | tuple):
            out.append(f"list of {len(part)}")
            todo += part
        else:
            out.append(repr(part))
    return out


def decoded(*chunks: bytes) -> list[reread.value_types.Record]:
    """Return the records of these bytes."""
    decoder = reread.Decoder()
    return [record for chunk in chunks for record in decoder.feed(chunk)] + decoder.flush()


def attributes(record: reread.value_types.Record) -> tuple[Any, ...]:
    """Return all attributes of a record."""
    return (
        record.line,
        record.offset,
        record.raw,
        record.type,
        record.dialect,
        record.fault,
        flat(record.value),
        flat(record.entry),
    )


def contents(conversation: Any) -> dict[str, Any]:
    """Return everything in a conversation, as values that can be compared."""
    return {
        "messages": [
            [
                *(
                    m.id,
                    m.role,
                    m.kind,
                    m.branch,
                    m.stop_reason,
                    m.model,
                    m.stamp,
                    m.uuids,
                    m.records,
                    m.text,
                ),
                *(
                    flat(m.blocks),
                    list(m.attached),
                    [c.id for c in m.calls],
                    sorted(m.flags),
                    m.usage,
                    m.active,
                ),
            ]
            for m in conversation.messages
        ],
        "calls": [
            [
                *(c.id, c.name, c.message.index, c.use, c.answer, c.ok, c.title, list(c.attached)),
                *(
                    list(c.notices),
                    flat(c.input),
                    flat(c.result),
                    flat(c.data),
                    c.agent.id if c.agent else None,
                ),
            ]
            for c in conversation.calls
        ],
        "branches": [(b.id, b.active, b.parent, b.fork, [m.index for m in b.messages]) for b in conversation.branches],
        "turns": [(t.prompt.id if t.prompt else None, [m.index for m in t.messages]) for t in conversation.turns],
        "compactions": [(c.line, c.micro, c.preserved, flat(c.metadata)) for c in conversation.compactions],
        "ledger": list(conversation.ledger),
        "fates": conversation.ledger.fates,
        "facts": {name: value for name, value in vars(conversation.metadata).items() if not name.startswith("_")},
    }


def session_contents(session: Session) -> dict[str, Any]:
    """Return everything in a session and its agents, as values that can be compared."""
    agents = {
        id: (
            contents(agent),
            agent.call.id if agent.call else None,
            agent.parent.id if agent.parent else None,
            agent.prompt,
            agent.type,
        )
        for id, agent in session.agents.items()
    }
    return {"main": contents(session), "agents": agents, "title": session.title, "ids": session.ids}


@given(FILES)
def test_law_1_the_lines_joined_are_the_file(data: bytes) -> None:
    session = reread.open(data)
    assert b"".join(line.raw for line in session.lines) == data
    assert all(line.raw.index(b"\n") == len(line.raw) - 1 for line in session.lines[:-1])


@given(FILES, st.data())
def test_law_2_any_chunks_give_the_same_records(data: bytes, choice: st.DataObject) -> None:
    assert [*map(attributes, decoded(*choice.draw(cut(data))))] == [*map(attributes, decoded(data))]


@given(FILES)
def test_law_2_byte_by_byte(data: bytes) -> None:
    single = [data[at : at + 1] for at in range(len(data))]
    whole = [(r.line, r.offset, r.raw) for r in decoded(data)]
    assert [(r.line, r.offset, r.raw) for r in decoded(*single)] == whole


@given(FILES)
def test_law_2_the_fast_path_agrees_with_the_slow_path(data: bytes) -> None:
    found, read = decoded(data), reread.open(data).records
    assert [record.type for record in found] == [record.envelope.type for record in found]
    assert [*map(attributes, found)] == [*map(attributes, read)]


@given(ANY_TRANSCRIPT)
def test_law_3_folding_lines_equals_pushing_records(data: bytes) -> None:
    source = MemorySource(data)
    fold, folded = Fold(Conversation(source.read)), Conversation(source.read)
    for record in decoded(data):
        fold.push(record)
    Loader(source, folded).load()
    assert contents(fold.conversation) == contents(folded)


@given(ANY_TRANSCRIPT, st.integers(0, 12))
def test_law_3_a_prefix_and_the_rest_equal_the_whole(data: bytes, prefix: int) -> None:
    whole, parts = (Fold(Conversation(lambda offset, length: data[offset : offset + length])) for _ in range(2))
    for record in decoded(data):
        whole.push(record)
    for index, record in enumerate(decoded(data)):
        if index == prefix:
            contents(parts.conversation)
        parts.push(record)
    assert contents(parts.conversation) == contents(whole.conversation)
    inline = [[*map(contents, fold.conversation.inline_agents.values())] for fold in (parts, whole)]
    assert inline[0] == inline[1]


@given(ANY_TRANSCRIPT, st.data())
def test_law_3_a_growing_session_equals_the_loaded_one(data: bytes, choice: st.DataObject) -> None:
    source = GrowingSource(data)
    session = Session(source)
    threads_of(session).restart()
    for chunk in choice.draw(cut(data)):
        source.size += len(chunk)
        threads_of(session).load_lines()
        session_contents(session)
    threads_of(session).load_rest()
    assert session_contents(session) == session_contents(reread.open(data))


@given(FILES)
def test_law_4_nothing_raises_and_everything_is_accounted_for(data: bytes) -> None:
    session = reread.open(data)
    walk(session)
    holds_together(session, data)
    list(reread.check(session))
    for conversation in (session, *session.agents.values()):
        assert conversation.ledger.fates == Counter(entry.fate for entry in conversation.ledger)
        assert all(entry.reason for entry in conversation.ledger)


@given(ANY_TRANSCRIPT)
def test_law_4_no_message_is_lost(data: bytes) -> None:
    for conversation in (session := reread.open(data), *session.agents.values()):
        assert all(turn.messages for turn in conversation.turns)
        assert [m for turn in conversation.turns for m in turn.messages] == conversation.branches[0].messages
        assert {m.index for branch in conversation.branches for m in branch.messages} == {
            m.index for m in conversation.messages
        }
        assert all(call in call.message.calls for call in conversation.calls)
        assert len({call.id for call in conversation.calls}) == len(conversation.calls)


@given(ANY_TRANSCRIPT, st.booleans())
def test_law_4_everything_can_be_shown(data: bytes, full: bool) -> None:
    session, selection, console = reread.open(data), Selection(full=full), make_console()
    assert "".join(session_markdown(session, selection)).encode()
    assert jsontext.loads(b"".join(session_json(session)))
    for drawn in TerminalView(selection).session(session):
        with console.capture() as captured:
            console.print(drawn)
        captured.get().encode()


@given(ANY_TRANSCRIPT)
def test_law_4_no_agent_is_its_own_ancestor(data: bytes) -> None:
    for agent in reread.open(data).agents.values():
        above = []
        while agent is not None:
            assert agent not in above
            above.append(agent)
            agent = agent.parent


@given(st.lists(RECORDS, max_size=5), st.sampled_from([",", ",\n", " ,\n\n  "]))
def test_law_4_a_file_that_begins_with_a_bracket_is_one_document(items: list[Object], between: str) -> None:
    data = b"[" + between.encode().join(map(encode, items)) + b"]"
    found = decoded(data)
    assert [flat(record.value) for record in found] == [flat(jsontext.loads(encode(item))) for item in items]
    assert [record.line for record in found] == [1 + data[: record.offset].count(b"\n") for record in found]


@given(RECORDS)
def test_law_5_translation_is_pure(record: Object) -> None:
    before = copy.deepcopy(record)
    once, again = dialects.translate(record), dialects.translate(record)
    assert repr(record) == repr(before)
    assert repr(once) == repr(again)


@given(RECORDS)
def test_law_5_native_records_are_not_changed(record: Object) -> None:
    _, native = dialects.translate(record)
    assert repr(dialects.translate(native)[1]) == repr(native)


@table("time", [5, 1.7e12, 1e300, float("nan"), "2025-01-29T14:15:30Z", None, {}])
@table("kind", ["user", "assistant", "system"])
def test_law_5_the_time_at_which_a_record_was_stored_makes_it_no_other(kind: str, time: Any) -> None:
    said = {"type": kind, "uuid": "u1", "content": "x"}
    for stored in (
        {"timestamp": time, "claudeMessage": said},
        {"claudeMessage": {"claudeMessage": said}, "timestamp": time},
    ):
        _, native = dialects.translate(stored)
        assert repr(dialects.translate(native)[1]) == repr(native)
        assert native.get("timestamp") in (time, None, "1970-01-01T00:00:05.000Z", "2023-11-14T22:13:20.000Z")


@given(RECORDS)
def test_law_5_records_on_disk_are_native(record: Object) -> None:
    disk = {**record, "type": "user", "sessionId": "s1", "timestamp": "2025-01-29T14:15:30.123Z"}
    dialect, native = dialects.translate(disk)
    assert dialect == "native"
    assert native is disk


@pytest.mark.parametrize("dialect", (*dialects.DIALECTS, atif, codex), ids=lambda dialect: dialect.NAME)
@given(RECORDS)
def test_law_5_each_dialect_is_pure(dialect: dialects.Dialect, record: Object) -> None:
    if not dialect.looks_like(record):
        return
    before = repr(record)
    first = repr(dialect.translate(record))
    assert (repr(dialect.translate(record)), repr(record)) == (first, before)
