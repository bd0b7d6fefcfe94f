"""The contract of every tool: any input and any result is drawn, in every view, without losing text."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import making
import pytest
from batches import some, table
from effort import examples, sampled
from hypothesis import given, settings
from hypothesis import strategies as st
from limits import within

import reread
from reread import tools
from reread.records.blocks import to_block
from reread.render.markdown import MarkdownView
from reread.render.selection import Selection
from reread.render.terminal import TerminalView, make_console
from reread.tools import generic
from reread.tools.nodes import Code, Data, Diff, Hunk, Links, Node, Note, Picture, Section, Target
from reread.tools.outcome import outcome_of
from reread.tools.tool import ToolCall
from reread.tools.unshown_fields import ShownText, leftover

HERE = Path(__file__).parent
SAMPLES = Path(reread.__file__).parent / "samples"
REAL = [HERE / "real", *(Path(p) / "data" for p in [os.environ.get("REREAD_REAL_CLIENT")] if p)]
NAMES = sorted(tools.tool_names())
BUILT_IN = """
    Agent Artifact AskUserQuestion Bash ClaudeDesign CronCreate CronDelete CronList Edit EndConversation
    EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep ListAgents ListMcpResourcesTool LSP Monitor
    NotebookEdit OfferChromeSetup PowerShell Projects propose_skills ProposeGoal PushNotification Read
    ReadMcpResourceDirTool ReadMcpResourceTool ReadNotifications RemoteTrigger ReportFindings ScheduleWakeup
    SendFeedback SendMessage SendUserFile SendUserMessage ShareOnboardingGuide ShowOnboardingRolePicker Skill
    SubagentHandback TaskCreate TaskGet TaskList TaskStop TaskUpdate TodoWrite ToolSearch WaitForMcpServers WebFetch
    WebSearch Workflow Write
""".split()
OLDER = """
    Task MultiEdit LS BashOutput KillBash KillShell TaskOutput AgentOutputTool SlashCommand exit_plan_mode
    StructuredOutput Batch TeamCreate TeamDelete DesignSync web_search web_fetch code_execution advisor
""".split()

NO_TEXT = ("signature", "base64", "data", "status")
"""Fields that are not text: signatures, the bytes of images, and states, which are drawn as marks."""
WORDS = "some words here"
RESULTS: dict[str, tuple[Any, Any, bool]] = {
    "a string": (WORDS, WORDS, True),
    "a list of blocks": ([{"type": "text", "text": WORDS}], {"nonsense": WORDS}, True),
    "an image": (
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}],
        None,
        True,
    ),
    "nothing": (None, None, True),
    "an error": (f"<tool_use_error>{WORDS}</tool_use_error>", f"Error: {WORDS}", False),
    "an exit code": (f"Exit code 7\n{WORDS}", f"Error: Exit code 7\n{WORDS}", False),
    "a rejection": ("The user doesn't want to proceed with this tool use.", "User rejected tool use", False),
    "an interrupt": ("[Request interrupted by user for tool use]", None, False),
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def tool_call(
    name: str, given: Any, content: Any = None, data: Any = None, *, is_error: bool = False, **more: Any
) -> ToolCall:
    block = to_block({"type": "tool_result", "tool_use_id": "t", "content": content})
    return ToolCall(name, given, result=block, data=data, outcome=outcome_of(block, data, is_error=is_error), **more)


def as_markdown(nodes: list[Node]) -> str:
    """The nodes as Markdown, in full."""
    markdown = "\n".join(MarkdownView(Selection(full=True)).drawn(nodes))
    assert "\x1b" not in markdown
    return markdown


def drawn_in_both_views(nodes: list[Node]) -> str:
    """The nodes as Markdown and on a wide terminal, in full."""
    selection = Selection(full=True)
    console = make_console(width=1_000, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with console.file:
        for node in nodes:
            for item in TerminalView(selection).node(node):
                console.print(item)
        terminal = console.export_text()
    return as_markdown(nodes) + "\n" + terminal


@table("name", [*BUILT_IN, *OLDER])
def test_every_tool_of_the_client_has_its_own_drawing(name: str) -> None:
    assert tools.tool_for(name) is not generic.TOOL


def test_any_mcp_tool_has_the_drawing_of_mcp_tools() -> None:
    assert tools.tool_for("mcp__anything__goes") is not generic.TOOL


@table("shape", RESULTS)
@table("name", [*NAMES, "SomeUnknownTool"])
def test_every_result_shape_is_drawn(name: str, shape: str) -> None:
    content, data, ok = RESULTS[shape]
    seen = tool_call(name, {"command": "ls"}, content, data, is_error=not ok)
    tool = tools.tool_for(name)
    assert "\n" not in tools.title(seen)
    list(tool.draw(seen))
    text = drawn_in_both_views(tools.draw(seen, full=True))
    if WORDS in str(content):
        assert WORDS in text
    if not ok:
        notes = [node for node in _flat(tools.draw(seen)) if isinstance(node, Note) and node.level != "info"]
        assert notes, "no note points out the failure"


@table("name", [*NAMES, "SomeUnknownTool"])
def test_a_call_still_running_is_drawn(name: str) -> None:
    seen = ToolCall(name, {"command": "ls", "prompt": "p"})
    assert any(isinstance(node, Note) for node in _flat(tools.draw(seen)))


@settings(max_examples=examples(150))
@given(
    st.sampled_from([*NAMES, "SomeUnknownTool"]),
    json_values,
    json_values,
    json_values,
    st.booleans(),
)
def test_garbage_never_raises(name: str, given_: Any, content: Any, data: Any, is_error: bool) -> None:
    seen = tool_call(name, given_, content, data, is_error=is_error)
    tool = tools.tool_for(name)
    assert isinstance(tool.title(seen), str)
    list(tool.draw(seen))
    drawn_in_both_views(tools.draw(seen, full=True))


class TestOutcome:
    """How a call ended, from the many ways that results say so."""

    @table(
        ("content", "data", "state", "message", "code"),
        [
            ("<tool_use_error>no</tool_use_error>", "Error: no", "failed", "no", None),
            ("Exit code 7\nno", "Error: Exit code 7\nno", "failed", "no", 7),
            ("Exit code 7\nno", {"stdout": ""}, "failed", "no", 7),
            ("Exit code 7\nno", "Error: no", "failed", "no", 7),
            ("no", "Error: Exit code -9\nno", "failed", "no", -9),
            ("Error: no", None, "failed", "no", None),
            ("see: Exit code 7", None, "failed", "see: Exit code 7", None),
            (None, "Error: no", "failed", "no", None),
            ("Error: Permission to use Bash was denied", None, "denied", "Permission to use Bash was denied", None),
            ("User rejected tool use", None, "denied", "User rejected tool use", None),
            ("[Request interrupted by user]", None, "interrupted", "[Request interrupted by user]", None),
            (
                "Exit code 137\n[Request interrupted by user for tool use]\nstart",  # 2.0.55 and 2.1.76
                "Error: Exit code 137\n[Request interrupted by user for tool use]\nstart",
                "interrupted",
                "[Request interrupted by user for tool use]\nstart",
                137,
            ),
        ],
    )
    def test_a_failure(self, content: Any, data: Any, state: str, message: str, code: int | None) -> None:
        outcome = tool_call("Bash", {}, content, data, is_error=True).outcome
        assert (outcome.state, outcome.message, outcome.exit_code) == (state, message, code)

    @pytest.mark.parametrize(
        ("denial", "is_error", "state"),
        [
            ("interrupted", False, "interrupted"),
            ("user-rejected", False, "denied"),
            ("user-rejected", True, "denied"),
            (None, False, "done"),
            (None, True, "failed"),
        ],
    )
    def test_the_clients_word_for_a_denial(self, denial: str | None, is_error: bool, state: str) -> None:
        block = to_block({"type": "tool_result", "tool_use_id": "t", "content": "because"})
        assert outcome_of(block, is_error=is_error, denial=denial).state == state

    def test_a_success_is_not_denied_for_its_text(self) -> None:
        assert tool_call("Bash", {}, "Permission to use Bash").outcome.state == "done"

    def test_an_exit_code_of_many_digits(self) -> None:
        outcome = tool_call("Bash", {}, "Exit code " + "9" * 5000, is_error=True).outcome
        assert (outcome.state, outcome.exit_code) == ("failed", None)

    def test_the_text_is_that_of_all_blocks(self) -> None:
        blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "text", "text": 5}]
        assert tool_call("Bash", {}, blocks).text == "a\nb"


class TestGeneric:
    """Calls of unknown tools, and the text that a tool leaves out."""

    def test_a_failure_is_one_note_with_its_exit_code(self) -> None:
        nodes = tools.draw(tool_call("Unknown", {}, f"Exit code 7\n{WORDS}", is_error=True))
        assert nodes == [Note(text=f"failed with exit code 7: {WORDS}", level="error")]

    def test_input_and_result(self) -> None:
        blocks = [{"type": "text", "text": WORDS}, {"type": "text", "text": " "}, {"type": "new", "a": None, "b": 5}]
        section, code, data = tools.draw(tool_call("Unknown", {"a": 1}, blocks))
        assert section == Section(title="input", nodes=[Data(value={"a": 1})])
        assert code == Code(text=WORDS)
        assert isinstance(data, Data) and data.value["type"] == "new"

    def test_images(self) -> None:
        sources: list[Any] = [
            {"type": "base64", "media_type": "image/png", "data": "AAAA"},
            {"type": "url", "url": "https://example.org/a.png"},
            {"type": "base64", "media_type": 5, "data": 5},
        ]
        nodes = tools.draw(tool_call("Unknown", {}, [{"type": "image", "source": source} for source in sources]))
        assert nodes == [
            Picture(media_type="image/png", size=3, data="AAAA"),
            Links(targets=[Target(url="https://example.org/a.png")]),
            Picture(media_type="application/octet-stream"),
        ]

    def unshown(self, call: ToolCall, nodes: list[Node], title: str = "") -> Any:
        """What neither the nodes nor the title show, by path."""
        recorded = {"input": call.raw_input, "result": call.content, "data": call.data}
        return leftover(recorded, ShownText([title], nodes))

    def test_text_that_no_node_shows(self) -> None:
        call = tool_call(
            "Unknown", {"a": ["one text", "two text"], "n": "abc"}, "three text", {"b": {"c": "four text"}}
        )
        assert self.unshown(call, [Note(text="one text!")]) == {
            "input.a[1]": "two text",
            "input.n": "abc",
            "result": "three text",
            "data.b.c": "four text",
        }

    def test_text_in_the_title_is_shown(self) -> None:
        assert self.unshown(tool_call("Unknown", {"a": "one text"}), [], "Unknown one text") == {}

    def test_repeated_text_is_listed_once(self) -> None:
        call = tool_call("Unknown", {"a": "one text", "b": "one text"}, "one text", {"c": "one text"})
        assert self.unshown(call, []) == {"input.a": "one text"}

    def test_bytes_and_signatures_are_not_text(self) -> None:
        call = tool_call("Unknown", {"signature": "abcdef", "base64": "abcdef"}, None, {"data": "abcdef", "a": "text"})
        assert self.unshown(call, []) == {"data.a": "text"}

    def test_what_has_a_long_path_is_left_as_json(self) -> None:
        deep: Any = "the end"
        for number in range(20_000):
            deep = {"a": [deep, number]}
        left = leftover({"deep": deep, "wide": {"k" * 1000: list(range(1000))}}, ShownText())
        assert sum(map(len, left)) < 100_000, "a path was repeated for each value below it"
        text = "".join(str(value) for value in left.values())
        assert "the end" in text and all(f"{number}" in text for number in range(1000))

    def test_the_lines_of_a_diff_are_shown(self) -> None:
        diff = Diff(hunks=[Hunk(old_start=1, new_start=1, lines=["-one", "+  two", " three"])])
        call = tool_call("Edit", {"old_string": "one\nthree", "new_string": "  two\nthree"})
        assert self.unshown(call, [diff]) == {}
        assert self.unshown(tool_call("Edit", {"a": "one\nfour"}), [diff]) == {"input.a": "four"}

    def test_numbers_and_flags_are_listed_unless_they_are_in_a_value_shown_whole(self) -> None:
        given = {"timeout": 5, "weird": {"x": [1, 2]}, "quiet": False}
        call = tool_call("Unknown", given)
        assert self.unshown(call, [Note(text="5 1 2 False")]) == {
            "input.timeout": 5,
            "input.weird.x[0]": 1,
            "input.weird.x[1]": 2,
            "input.quiet": False,
        }
        assert self.unshown(call, [Data(value=given)]) == {}

    def test_many_unshown_lines_take_linear_time(self) -> None:
        lines = "\n".join(f"line {n}" for n in range(100_000))
        with within(10):
            assert self.unshown(tool_call("Unknown", {}, lines), [Code(text="x" * 5_000_000)])["result"] == lines

    def test_only_the_unshown_lines_of_a_numbered_text_are_listed(self) -> None:
        call = tool_call("Read", {}, "     1→one\n     2→two\nand a note")
        assert self.unshown(call, [Code(text="one\ntwo")]) == {"result": "and a note"}


def _flat(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _flat(getattr(node, "nodes", []))


def real_calls() -> Iterator[tuple[Path, reread.value_types.Call]]:
    own, here, *others = (sorted(folder.rglob("*.jsonl")) for folder in (SAMPLES, *REAL))
    for path in (*own, *some(here, 3), *(path for paths in others for path in some(paths, 6))):
        if path.name in ("truth.jsonl", "journal.jsonl", "history.jsonl"):
            continue
        session = reread.open(path)
        for conversation in (session.conversation, *session.conversation.inline_agents.values()):
            for call in conversation.calls:
                yield path, call


@sampled
def test_every_real_call_is_drawn_by_its_own_tool_and_loses_no_text() -> None:
    own, unknown = 0, set[str]()
    for path, call in real_calls():
        if tools.tool_for(call.name) is generic.TOOL:
            unknown.add(call.name)
            continue
        own += 1
        draw = drawn_in_both_views if path.is_relative_to(SAMPLES) else as_markdown
        shown = _squeezed(call.title + draw(call.draw(full=True)))
        for text in _texts(call.input, call.data, getattr(call.result, "content", None)):
            for line in (re.sub(r"^ *\d+(→|\t)", "", line) for line in text.split("\n")):
                for piece in re.split(r"</?[a-z][^<>]*>", line):
                    assert _squeezed(piece) in shown, f"{path}: {call!r} lost {piece[:200]!r}"
    assert own > 100
    assert unknown <= {"NoSuchTool"}


def _squeezed(text: str) -> str:
    """Text as it can be compared across views: no white space, no control characters, no escaping."""
    text = re.sub(r"\x1b\[[0-9;]*m|\x1b\][^\x07]*\x07", "", text)
    return re.sub(r"[\s\\`*_\[\]<>#|~│]|&lt;|[\x00-\x1f\x7f-\x9f]|x[0-9a-f]{2}|u20[0-9a-f]{2}", "", text)


def _texts(*values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from _texts(*(item for key, item in value.items() if key not in NO_TEXT))
        elif isinstance(value, list):
            yield from _texts(*value)


@pytest.mark.parametrize("data", [None, {"shellId": "b1", "status": "completed", "stdout": "ok"}])
def test_the_time_of_a_shell_s_output_is_shown_if_only_the_text_has_it(data: dict[str, Any] | None) -> None:
    said = "<status>completed</status>\n\n<stdout>\nok\n</stdout>\n\n<timestamp>2026-11-15T10:00:05.123Z</timestamp>"
    more = {} if data is None else {"toolUseResult": data}
    session = making.read(
        making.user("go"),
        making.reply(making.use("t1", "BashOutput", bash_id="b1")),
        making.answer(making.result("t1", said), **more),
    )
    for page in ("markdown", "json"):
        assert b"2026-11-15T10:00:05.123Z" in reread.export(session, page)
