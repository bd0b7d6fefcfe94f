"""Who said a message, by structure: a person, a command, a hook, a peer, a task, the client or the model."""

from pathlib import Path
from typing import Any

import plain
import pytest
from batches import table
from making import attachment, read, reply, system, user

import reread
from reread.model.authors import AUTHORS
from reread.session.session import Session

FINDINGS = Path(__file__).parent / "fixtures" / "findings"
ASKED = "[[SCN:"
"""What every prompt that the real client was given holds."""
REAL = sorted((Path(__file__).parent / "real").glob("*/*"))


def said(session: Session) -> list[tuple[str, str]]:
    return [(message.author, message.text) for message in session.messages]


def authors(*records: Any) -> list[str]:
    return [message.author for message in read(*records).messages]


def test_what_nobody_typed_is_not_the_persons() -> None:
    assert said(reread.open(FINDINGS / "3-not-typed.jsonl")) == [
        ("person", "fix tests"),
        ("hook", "Operation stopped by hook: Another session is active"),
        ("person", "fix tests"),
        ("model", "Done"),
        ("peer", "idle notification"),
        ("model", "Noted"),
        ("command", "Unknown skill: nosuch"),
        ("command", "Unknown command: /nosuch"),
    ]


def test_feedback_of_hooks_and_messages_of_peers_count_although_they_are_meta() -> None:
    session = reread.open(FINDINGS / "4-hidden.jsonl")
    assert [(m.kind, m.author, m.sender) for m in session.messages if m.author not in ("person", "model")] == [
        ("hook", "hook", None),
        ("notification", "peer", "review"),
    ]
    assert session.messages[4].text == "VERDICT: REVISE because of three gaps"
    assert len(session.turns) == 1


@table(
    ("fields", "author", "kind"),
    [
        ({}, "person", "prompt"),
        ({"origin": {"kind": "human"}, "promptSource": "typed"}, "person", "prompt"),
        ({"promptSource": "sdk"}, "person", "prompt"),
        ({"promptSource": "system"}, "client", "notification"),
        ({"isMeta": True}, "client", "meta"),
        ({"isVisibleInTranscriptOnly": True}, "client", "meta"),
        ({"sourceToolUseID": "toolu_1", "isMeta": True}, "client", "meta"),
        ({"sourceToolUseID": "toolu_1"}, "client", "meta"),
        ({"origin": {"kind": "peer", "from": "review"}}, "peer", "notification"),
        ({"origin": {"kind": "peer", "from": "review"}, "isMeta": True}, "peer", "notification"),
        ({"origin": {"kind": "channel", "server": "mail"}}, "peer", "notification"),
        ({"origin": {"kind": "coordinator"}, "isMeta": True}, "peer", "notification"),
        ({"origin": {"kind": "task-notification"}, "promptSource": "sdk"}, "task", "notification"),
        ({"origin": {"kind": "auto-continuation"}}, "client", "notification"),
        ({"origin": "human"}, "person", "prompt"),
        ({"origin": {"kind": 7}}, "person", "prompt"),
    ],
)
def test_fields_tell_who_said_it(fields: dict[str, Any], author: str, kind: str) -> None:
    (message,) = read(user("Look again", **fields)).messages
    assert (message.author, message.kind) == (author, kind)


@table(
    ("text", "author", "kind", "shown"),
    [
        ("Stop hook feedback:\n- [x]: commit", "hook", "hook", "Stop hook feedback:\n- [x]: commit"),
        ("TeammateIdle hook feedback:\ngo on", "hook", "hook", "TeammateIdle hook feedback:\ngo on"),
        ("UserPromptSubmit operation blocked by hook:\nno", "hook", "hook", None),
        ("<post-tool-use-hook>context</post-tool-use-hook>", "hook", "meta", None),
        ("<session-start-hook>hi</session-start-hook>", "hook", "meta", None),
        ("<ci-monitor-event>build failed</ci-monitor-event>", "task", "notification", "build failed"),
        ("<mcp-resource-update>changed</mcp-resource-update>", "task", "notification", "changed"),
        (
            "This session is being continued from a previous conversation that ran out of context. The summary: x",
            "client",
            "summary",
            None,
        ),
        ("<tick>12:00</tick>", "client", "notification", "12:00"),
        ('<agent-message from="scout">Found it</agent-message>', "peer", "notification", "Found it"),
        ('<channel source="mail" user="a > b">Hello</channel>', "peer", "notification", "Hello"),
        (
            "<task-notification><summary>Agent done</summary><result>All </task-notification> good</result>"
            "</task-notification>",
            "task",
            "notification",
            "Agent done",
        ),
        ("[Request interrupted by user for tool use]", "client", "interrupt", None),
        ("<ide_selection>x = 1</ide_selection>", "client", "meta", ""),
        ("<ide_selection>x = 1</ide_selection>\nExplain it", "person", "prompt", "Explain it"),
        ("/compact", "command", "command", "/compact"),
        ("/compact keep the names", "command", "command", "/compact keep the names"),
        ("/home/sam is full, clean it", "person", "prompt", None),
        ("/tmp/x.log", "person", "prompt", None),
        ("Unknown skill: nosuch. Did you mean notes?", "command", "output", None),
        ("Unknown skill: what does that mean?", "person", "prompt", None),
        ("Unknown command: foo, when I type it\nhelp", "person", "prompt", None),
        ("Stop hooks are what I want to learn about", "person", "prompt", None),
        ("<div>Why is this not centred?</div>", "person", "prompt", None),
    ],
)
def test_words_tell_who_said_it_if_no_field_does(text: str, author: str, kind: str, shown: str | None) -> None:
    (message,) = read(user(text)).messages
    assert (message.author, message.kind, message.text) == (author, kind, text if shown is None else shown)


@pytest.mark.parametrize("text", ["Stop hook feedback:\nwhat is that?", "Unknown skill: x", "<tick>1</tick>"])
def test_what_a_person_typed_stays_theirs_whatever_it_says(text: str) -> None:
    (message,) = read(user(text, origin={"kind": "human"})).messages
    assert (message.author, message.kind) == ("person", "prompt")


def test_several_messages_of_peers_in_one_record_are_all_there() -> None:
    text = (
        "Another Claude session sent a message:\n"
        '<teammate-message teammate_id="a">One</teammate-message>\n'
        '<teammate-message teammate_id="b" summary="s">{"type":"shutdown_request","reason":"over"}</teammate-message>'
        "\n\nNot typed by your user."
    )
    (message,) = read(user(text)).messages
    assert message.text == "One\n\nshutdown request: over"
    assert message.sender == "a" and message.fields["summary"] == "s"
    assert [aside.text for aside in message.asides] == [
        "Another Claude session sent a message:",
        "Not typed by your user.",
    ]


def test_hostile_tags_take_linear_time() -> None:
    for text in ("<tick>" * 20_000, '<a "' * 20_000, '<tick a="' + '"<' * 20_000, "<tick>" + "</tick><tick>" * 9_000):
        (message,) = read(user(text)).messages
        assert message.text is not None


def test_queued_prompts_and_records_of_the_client() -> None:
    queued = attachment("queued_command", {"prompt": "and this", "commandMode": "prompt"})
    report = attachment("queued_command", {"prompt": "done", "commandMode": "task-notification"})
    assert authors(user("a"), queued, report, system("informational", "note"), reply("b")) == [
        "person",
        "person",
        "task",
        "client",
        "model",
    ]


def test_an_agents_prompt_is_the_models() -> None:
    session = reread.open(next((FINDINGS.parent.parent / "real").glob("2.1.76/agent*/projects/*/*.jsonl")))
    prompts = [m for agent in session.agents.values() for m in agent.messages if m.kind == "prompt"]
    assert prompts and {m.author for m in prompts} == {"model"}


@table("scenario", REAL)
def test_what_the_real_client_was_asked_is_the_persons(scenario: Path) -> None:
    for path in plain.transcripts(scenario):
        rows = [row for row in plain.objects(path) if row["type"] == "user" and plain.is_prompt(row)]
        asked = {row["uuid"] for row in rows if any(ASKED in b.get("text", "") for b in plain.content(row))}
        session = reread.open(path)
        assert {m.author for m in session.messages} <= set(AUTHORS)
        said = {m.uuids[0]: m.text for m in session.messages if m.author == "person" and m.uuids}
        assert asked - {*said} == set()
        assert [text for text in said.values() if ASKED not in text and not text.startswith(("!", "/"))] == []


class TestLocalCommands:
    """Commands that the client runs itself: never a rewind, and never tags on the screen."""

    @pytest.mark.parametrize("name", ["1-caveat", "2-exit-resume"])
    def test_local_commands_are_no_rewind(self, name: str) -> None:
        session = reread.open(FINDINGS / f"{name}.jsonl")
        assert len(session.branches) == 1
        assert all(message.active for message in session.messages)
        assert [turn.prompt.text for turn in session.turns if turn.prompt and turn.prompt.kind == "prompt"] == [
            "First question",
            "Second question",
        ]

    def test_an_answer_that_the_client_made_up_leads_nowhere(self) -> None:
        made_up = reply("No response requested.", id="msg_2")
        made_up["message"]["model"] = "<synthetic>"
        left = user("<command-name>/exit</command-name>")
        session = read(user("a"), reply("b"), left, made_up, user("c", parentUuid="u2"))
        assert len(session.branches) == 1

    def test_a_command_under_an_old_caveat_does_not_bring_a_left_branch_back(self) -> None:
        session = read(
            user("a"),
            reply("b"),
            user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True),
            user("<command-name>/cost</command-name>"),
            user("old", parentUuid="u2"),
            reply("old answer", id="msg_2"),
            user("new", parentUuid="u2"),
            reply("new answer", id="msg_3"),
            user("<command-name>/model</command-name>", parentUuid="u3"),
        )
        assert [m.text for m in session.branches[0].messages if m.kind in ("prompt", "response")] == [
            "a",
            "b",
            "new",
            "new answer",
        ]

    def test_a_command_for_the_model_can_be_a_rewind(self) -> None:
        custom = "<command-message>review</command-message>\n<command-name>/review</command-name>"
        session = read(user("a"), reply("b"), user("c"), reply("d", id="msg_2"), user(custom, parentUuid="u2"))
        assert len(session.branches) == 2

    def test_a_system_record_of_a_command_reads_as_a_command(self) -> None:
        session = reread.open(FINDINGS / "5-local-command.jsonl")
        assert [(m.role, m.kind, m.text) for m in session.messages[2:]] == [
            ("user", "command", "/mcp"),
            ("system", "output", "\x1b[2mMCP dialog dismissed\x1b[22m"),
        ]

    def test_a_command_that_is_recorded_twice_is_one_turn(self) -> None:
        turns = reread.open(FINDINGS / "compact-typed.jsonl").turns
        texts = [turn.prompt.text for turn in turns if turn.prompt is not None]
        assert texts == ["/compact", "After compaction [[SCN:plain]]"]
