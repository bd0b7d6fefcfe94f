"""Formats of other programs, checked by their rules; `tests_formats` has the programs themselves read them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from command import cli, offered
from exported import CHECKS, attributes, check_atif, check_chat, check_otlp, check_pairs, documents, step_tokens
from installing import installer
from making import answer, jsonl, read, reply, result, system, thinking, told, use, user
from poison import poisoned

import reread
from reread.base.paths import SAMPLES
from reread.errors import Misuse
from reread.reader.export_formats import ExportFormat

REAL = Path(__file__).parent / "real"
add_ons = pytest.fixture(installer)
USAGE = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7}


def transcripts() -> Sequence[Path]:
    return [path for path in sorted(REAL.glob("*/*/projects/*/*.jsonl")) if not path.name.startswith("agent-")]


def test_every_format_of_every_session_keeps_its_rules() -> None:
    paths = [Path(header.path) for header in reread.sessions(root=SAMPLES)] + list(transcripts())
    assert len(paths) > 60
    found: dict[str, int] = dict.fromkeys(CHECKS, 0)
    for path in paths:
        try:
            for form, document in documents(reread.open(path)):
                found[form] += bool(document)
        except Exception as error:
            error.add_note(f"in {path}")
            raise
    assert all(found.values()), found


def test_a_response_is_one_step_with_its_thoughts_calls_and_results() -> None:
    session = read(
        user("Count."),
        reply(thinking("Hm."), "I will.", use("t1", command="ls"), use("t2", command="wc"), usage=USAGE),
        answer(result("t1", [{"type": "text", "text": "a"}, {"type": "image", "source": {}}])),
        answer(result("t2", "no", is_error=True)),
        reply("Done.", id="msg_2", usage=USAGE),
    )
    first, second, last = check_atif(session)["steps"]
    assert (first["source"], first["message"]) == ("user", "Count.")
    assert (second["message"], second["reasoning_content"]) == ("I will.", "Hm.")
    assert [call["arguments"] for call in second["tool_calls"]] == [{"command": "ls"}, {"command": "wc"}]
    assert [result["content"] for result in second["observation"]["results"]] == ["a\n\n[image]", "no"]
    assert second["observation"]["results"][1]["extra"] == {"state": "failed"}
    assert second["metrics"]["prompt_tokens"] == 10
    assert last["message"] == "Done."
    (chat,) = check_chat(session)
    assert [message["role"] for message in chat["messages"]] == ["user", "assistant", "tool", "tool", "assistant"]
    assert chat["messages"][1]["reasoning_content"] == "Hm."
    names = [span["name"] for span in check_otlp(session)]
    assert names == [
        "invoke_agent claude-code", "chat claude-x", "execute_tool Bash", "execute_tool Bash", "chat claude-x"
    ]  # fmt: skip
    assert [span["status"].get("code") for span in check_otlp(session)] == [None, None, None, 2, None]
    whole, first, call, _, last = map(attributes, check_otlp(session))
    kinds = [one["openinference.span.kind"] for one in (whole, first, call, last)]
    assert kinds == ["AGENT", "LLM", "TOOL", "LLM"] and {one["session.id"] for one in (whole, call)} == {session.id}
    assert (whole["input.value"], whole["output.value"]) == ("Count.", "Done.")
    assert (first["llm.model_name"], first["llm.provider"], first["input.value"]) == ("claude-x", "anthropic", "Count.")
    counts = [int(first[f"llm.token_count.{name}"]) for name in ("prompt", "completion", "total")]
    assert counts[0] == 10 and counts[2] == counts[0] + counts[1] == int(first["gen_ai.usage.input_tokens"]) + counts[1]
    calls = "llm.output_messages.0.message.tool_calls"
    assert first[f"{calls}.1.tool_call.function.arguments"] == '{"command":"wc"}'
    assert (call["tool.name"], call["input.value"], call["output.value"]) == (
        "Bash",
        '{"command":"ls"}',
        "a\n\n[image]",
    )


def test_results_without_calls_and_calls_without_results_are_valid() -> None:
    session = read(
        user("Go."), answer(result("gone", "orphan")), reply("Yes.", use("t1", command="sleep")), system("x")
    )
    steps = check_atif(session)["steps"]
    assert {"content": "orphan"} in [r for step in steps for r in step.get("observation", {}).get("results", [])]
    assert "observation" not in steps[-1] or steps[-1]["source"] == "system"
    (chat,) = check_chat(session)
    assert chat["messages"][-1] == {"role": "tool", "tool_call_id": "t1", "name": "Bash", "content": ""}


def test_the_system_prompt_and_the_tools_are_included_if_the_transcript_has_them() -> None:
    tool = {"name": "Bash", "description": "Run it.", "input_schema": {"type": "object", "properties": {}}}
    shape = {"type": "api-request-shape", "shape": {"system": [{"type": "text", "text": "Be brief."}], "tools": [tool]}}
    session = read(user("Hi."), shape, reply("Hello."))
    function = {"name": "Bash", "description": "Run it.", "parameters": tool["input_schema"]}
    trajectory = check_atif(session)
    assert trajectory["steps"][0] == {"step_id": 1, "source": "system", "message": "Be brief."}
    assert trajectory["agent"]["tool_definitions"] == [{"type": "function", "function": function}]
    (chat,) = check_chat(session)
    assert chat["messages"][0] == {"role": "system", "content": "Be brief."}
    assert json.loads(chat["tools"]) == [{"type": "function", "function": function}]
    assert "Be brief." in attributes(check_otlp(session)[0])["gen_ai.system_instructions"]


def test_of_what_the_client_prints_the_names_of_tools_are_known() -> None:
    session = reread.open(REAL / "1.0.128" / "bash_fail" / "stream.jsonl")
    trajectory = check_atif(session)
    names = next(r.value["tools"] for r in session.records if r.value.get("subtype") == "init")
    assert [tool["function"] for tool in trajectory["agent"]["tool_definitions"]] == [{"name": name} for name in names]
    assert trajectory["notes"] == "The totals include tokens that no step states."


def test_a_rewound_answer_is_rejected() -> None:
    session = read(
        user("One.", uuid="a"),
        reply("First.", id="m1", uuid="b"),
        user("Two.", uuid="c"),
        reply("Wrong.", id="m2", uuid="d"),
        user("Two.", uuid="e", parentUuid="b"),
        reply("Right.", id="m3", uuid="f"),
        user("Three.", uuid="g", parentUuid="b"),
        reply("Better.", id="m4", uuid="h"),
    )
    pairs = check_pairs(session)
    assert [pair["prompt"][-1]["content"] for pair in pairs] == ["Three.", "Three."]
    assert {pair["rejected"][0]["content"] for pair in pairs} == {"Wrong.", "Right."}
    assert [pair["chosen"][0]["content"] for pair in pairs] == ["Better.", "Better."]
    assert [pair["rejected_prompt"] for pair in pairs] == ["Two.", "Two."]
    assert "abandoned" in check_atif(session)["notes"]


def test_context_that_an_agent_copied_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "p" / "5e551017-0000-4000-8000-000000000001.jsonl"
    (folder := path.with_suffix("") / "subagents").mkdir(parents=True)
    start = [user("Go."), reply("Sure.", use("t1", "Agent", prompt="x"), usage=USAGE, stop_reason="tool_use")]
    path.write_bytes(jsonl(*told(*start, answer(result("t1", "ok"), data={"agentId": "7"}))))
    inside = told(*start, user("x"), reply("Done.", id="msg_9", usage=USAGE, stop_reason="end_turn"))
    (folder / "agent-7.jsonl").write_bytes(jsonl(*({**one, "agentId": "7", "isSidechain": True} for one in inside)))
    session = reread.open(path)
    trajectory = check_atif(session)
    assert step_tokens(trajectory) == session.usage.tokens == 30
    (agent,) = trajectory["subagent_trajectories"]
    assert [step.get("is_copied_context") for step in agent["steps"]] == [None, True, None, None]
    spans = check_otlp(session)
    assert sum(int(attributes(span).get("gen_ai.usage.output_tokens", 0)) for span in spans) == 10
    assert [span["name"] for span in spans][-2:] == ["invoke_agent 7", "chat claude-x"] or len(spans) == 5


@pytest.mark.parametrize("form", CHECKS)
def test_hostile_and_empty_sessions_are_valid_too(form: str) -> None:
    CHECKS[form](reread.open(b""))
    CHECKS[form](reread.open(b'{"type":"user","message":{"role":"user","content":"\\ud800"}}\nnot json\n'))
    for sample in list(reread.sessions(root=SAMPLES))[:2]:
        lines = [poisoned(json.loads(line)) for line in Path(sample.path).read_bytes().splitlines()]
        CHECKS[form](reread.open(jsonl(*lines)))


@pytest.mark.parametrize("form", [*CHECKS, "jsonl"])
def test_nothing_that_is_redacted_is_exported(form: str) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    records = told(
        user("Hi.", uuid="s"),
        reply("Hello.", id="m0", uuid="t"),
        user(f"Use {token} in /home/sam/shop.", uuid="a", cwd="/home/sam/shop"),
        reply(use("t1", command=f"curl -H {token}"), id="m1", uuid="b"),
        answer(result("t1", f"ok {token}"), uuid="c"),
        user(f"Again {token}.", uuid="d", parentUuid="t"),
        reply(f"Yes {token}", id="m2", uuid="e"),
    )
    redaction = reread.redact(jsonl(*records))
    redaction.replace_undecided()
    document = redaction.export(form)
    assert document
    assert token.encode() not in document
    assert b"sam" not in document


@pytest.mark.parametrize("form", CHECKS)
def test_what_a_format_cannot_leave_out_is_refused(form: str) -> None:
    session = read(user("Hi."), reply("Hello."))
    for selection in ({"only": "prompts"}, {"tools": False}, {"errors": True}):
        options: dict[str, Any] = selection
        with pytest.raises(Misuse, match="Cannot leave out"):
            reread.export(session, form, **options)
    if form in ("pairs", "otlp"):
        with pytest.raises(Misuse, match="Cannot select turns"):
            reread.export(session, form, turns=(1, 1))
    else:
        assert reread.export(session, form, turns=(1, 1), thinking=False)


def test_a_format_is_one_module(add_ons: Callable[..., None]) -> None:
    """A new format is a choice, completed and in the help, and every way of exporting takes it."""
    shout = ExportFormat(
        lambda session, _: iter([session.title.upper().encode()]), about="a cry", readers="all who hear"
    )
    add_ons({"formats": {"shout": shout}})
    shown = cli("export", "--help").output
    assert "|shout]" in "".join(shown.split()) and "shout     a cry" in shown
    assert "plain,shout" in offered("reread", "export", "-f", "sh")
    said = cli("--demo", "export", "8c1f", "-f", "shout").stdout
    assert said == reread.export("8c1f", "shout", root=SAMPLES).decode() == "FIX THE FLAKY CEILING TEST"
    assert reread.redact("8c1f", root=SAMPLES).export("shout").decode() == said
