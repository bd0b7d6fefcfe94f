"""The terminal, Markdown and JSON views, compared with files that a person has reviewed.

Run with REREAD_GOLDEN=update to rewrite the files in tests/golden, and review the difference before you commit it.
"""

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batches import part, table
from effort import one_in
from limits import within
from making import jsonl, printed, reply, use, user

import reread
from reread.base.paths import SAMPLES
from reread.base.sanitize import coloured_output, plain_output, plain_text, safe, safe_json
from reread.reader.export_formats import export, format_names
from reread.render import terminal_nodes
from reread.render.format import more_fields
from reread.render.markdown import MarkdownView, session_markdown
from reread.render.selection import Selection, parse_turns
from reread.render.sequence import METHODS
from reread.render.terminal import ChangePrinter, TerminalView, make_console
from reread.session.changes import change_of
from reread.tools import nodes
from reread.tools.nodes import Picture
from reread.tools.unshown_fields import missed_fields

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
REAL = """
    1.0.128/agent 1.0.128/autocompact 2.0.55/skill 2.0.55/compact 2.1.76/parallel 2.1.76/mcp 2.1.76/tasks
    2.1.76/deny_sdk 2.1.220/hooks_events 2.1.220/workflow 2.1.325/interrupt_tool 2.1.325/deny
""".split()
SESSIONS = [
    *sorted(SAMPLES.glob("projects/*/*-*.jsonl")),
    *sorted(SAMPLES.glob("conversations/*/*/*.jsonl")),
    *(path for name in REAL for path in sorted((HERE / "real" / name).glob("projects/*/*.jsonl"))),
]
SESSIONS = [path for path in SESSIONS if not path.name.startswith("agent-")]


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def on_terminal(source: Path, *, width: int = 100, colour: bool = False, **selection: Any) -> str:
    console = make_console(width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    with console.capture() as captured:
        for item in TerminalView(Selection(**selection)).session(reread.open(source)):
            console.print(item)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def as_markdown(source: Path, **selection: Any) -> str:
    return "\n".join(session_markdown(reread.open(source), Selection(**selection))) + "\n"


def golden(name: str, text: str) -> None:
    path = GOLDEN / name
    text = text.replace(f"{HERE.parent}/", "")
    if os.environ.get("REREAD_GOLDEN") == "update":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


def name_of(path: Path) -> str:
    real = path.is_relative_to(HERE / "real")
    return f"{path.parts[-5]}-{path.parts[-4]}-{path.stem[:8]}" if real else path.stem.split("-")[0]


@table("path", SESSIONS)
def test_the_terminal_view_is_as_reviewed(path: Path) -> None:
    golden(f"{name_of(path)}.txt", on_terminal(path))


@table("path", SESSIONS)
def test_the_markdown_view_is_as_reviewed(path: Path) -> None:
    golden(f"{name_of(path)}.md", as_markdown(path))


@one_in(4)
@pytest.mark.parametrize("path", SESSIONS, ids=name_of)
@pytest.mark.parametrize("width", part([20, 140, 80], 2))
def test_no_line_is_wider_than_the_terminal(path: Path, width: int) -> None:
    from rich.cells import cell_len

    assert max(cell_len(line) for line in on_terminal(path, width=width).split("\n")) <= width


HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
CEILING = next(SAMPLES.glob("projects/*/8c1f0b52*.jsonl"))


def test_the_first_screen_of_a_large_session_does_not_wait_for_the_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    small = on_terminal(CEILING)
    monkeypatch.setattr("reread.render.terminal.LARGE", 1000)
    large = on_terminal(CEILING)
    (cost,) = re.findall(r"\$\d+\.\d\d$", small.split("\n")[1])
    assert cost not in large.split("\n")[1] and large.rstrip().endswith(cost)
    view = TerminalView(Selection(turns=(-1, None))).session(session := reread.open(CEILING))
    assert [next(view), next(view)] and session._usage is None


class TestSelection:
    """Every view takes the same selection."""

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_turns(self, view: Any) -> None:
        session = reread.open(HARBOR)
        first, last = session.turns[0].prompt.text, session.turns[-1].prompt.text
        shown = _words(view(HARBOR, turns=(1, 1)))
        assert _words(first[:40]) in shown and _words(last[:40]) not in shown
        assert _words(last[:40]) in _words(view(HARBOR, turns=(-1, None)))

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_full_shows_every_branch(self, view: Any) -> None:
        shown = _words(view(HARBOR, full=True))
        for message in reread.open(HARBOR).messages:
            if message.kind in ("prompt", "response"):
                assert _words(message.text[:60]) in shown, message

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_an_abandoned_branch(self, view: Any) -> None:
        session = reread.open(HARBOR)
        other = next(branch for branch in session.branches if not branch.active)
        words = _words(other.own[0].text[:40])
        assert words in _words(view(HARBOR, path=other.id))
        with pytest.raises(reread.Misuse, match=r"No path 99; this session has paths 0 and 1\."):
            view(HARBOR, path=99)

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_only_one_kind_of_part(self, view: Any) -> None:
        prompts, text, tools = (view(CEILING, only=only) for only in ("prompts", "text", "tools"))
        assert "pytest" not in _words(prompts).replace("testnever", "")
        assert "Found it" in text and "Found it" not in prompts and "Found it" not in tools
        assert "$ pytest" in tools and "$ pytest" not in text

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_without_thinking_or_tools(self, view: Any) -> None:
        assert "smells of randomness" in view(CEILING)
        assert "smells of randomness" not in view(CEILING, thinking=False)
        assert "$ pytest" not in view(CEILING, tools=False)

    def test_cut_output_says_how_much_is_hidden_and_full_shows_it(self) -> None:
        short, full = on_terminal(CEILING), on_terminal(CEILING, full=True)
        assert re.search(r"… \d+ more lines \(--full\)", short)
        assert "more lines (--full)" not in full and len(full) > len(short)

    @pytest.mark.parametrize(("text", "turns"), [("3-9", (3, 9)), ("3", (3, 3)), ("3-", (3, None)), ("-5", (-5, None))])
    def test_parse_turns(self, text: str, turns: tuple[int, int | None]) -> None:
        assert parse_turns(text) == turns

    @pytest.mark.parametrize("text", ["", "-", "x", "3-x", "--"])
    def test_an_invalid_range_of_turns_says_what_to_use(self, text: str) -> None:
        with pytest.raises(reread.Misuse, match=r"Invalid range of turns .*; use 3-9"):
            parse_turns(text)


class TestSafety:
    """Nothing in a transcript can control the terminal or break out of the document."""

    HOSTILE = (
        "a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\c\x1b[31mred\x1b[0m\x1b[2J\x1bPq\x1b\\d\x9b5m\u202ee"
    )

    def test_colours_are_kept_and_other_escape_codes_removed(self) -> None:
        shown = coloured_output(self.HOSTILE)
        assert re.findall(r"\x1b[^a-z]*[a-z]?", shown) == ["\x1b[31m", "\x1b[0m"]
        assert "title" not in shown and "http" not in shown and "link" in shown and "\\u202e" in shown

    @pytest.mark.parametrize(("output", "shown"), json.loads((HERE / "fixtures" / "output.json").read_text()))
    def test_output_is_that_of_the_browser(self, output: str, shown: str) -> None:
        assert plain_output(output) == shown

    def test_plain_output_has_no_escape_codes(self) -> None:
        assert plain_output(self.HOSTILE) == "ablinkcredd\\x9b5m\\u202ee"
        assert plain_output("10%\r50%\r100%\n") == "100%\n"

    def test_control_characters_are_made_visible(self) -> None:
        assert safe("a\x00b\x07c\td\ne") == "a\\x00b\\x07c\td\ne"

    def test_the_characters_that_are_made_visible_are_those_of_the_browser(self) -> None:
        ranges = json.loads((HERE / "fixtures" / "invisible.json").read_text())
        known = {code for first, last in ranges for code in range(first, last + 1)}
        assert {code for code in range(sys.maxunicode + 1) if safe(f"a{chr(code)}b") != f"a{chr(code)}b"} == known

    INVISIBLE = "\x00\x08\x0b\x1b\x1f\x7f\x80\x9f\u061c\u200e\u200f\u202a\u202e\u2066\u2069\ud800\udfff"

    @table("character", INVISIBLE)
    def test_every_invisible_character_is_escaped(self, character: str) -> None:
        assert safe(character) == (f"\\x{ord(character):02x}" if character < "\x80" else ascii(character)[1:-1])
        written = safe_json(json.dumps(f"a{character}b", ensure_ascii=False))
        assert character not in written and json.loads(written) == f"a{character}b"

    def test_a_line_end_overwrites_nothing(self) -> None:
        for output in (plain_output, coloured_output, plain_text, safe):
            assert output("one\r\ntwo\r\r\nthree\r\n") == "one\ntwo\nthree\n"
            assert output("first\r\nlast\r") == "first\nlast"

    def test_only_the_output_of_programs_is_overwritten(self) -> None:
        assert plain_output("1%\r2%\nx\ry", full=True) == "1%\n2%\nx\ny"
        assert plain_text("said\rnot lost") == "said\\x0dnot lost"

    def test_overwritten_lines_take_linear_time(self) -> None:
        with within(2):
            assert plain_output("x" * 2_000_000 + "\r\n" + "y\r" * 500_000) == "x" * 2_000_000 + "\ny"

    def test_a_hostile_session_prints_only_colour_codes(self, tmp_path: Path) -> None:
        path = hostile(tmp_path, self.HOSTILE)
        written = on_terminal(path, colour=True, full=True)
        codes = set(re.findall(r"\x1b(.)", written))
        assert codes <= {"["}
        assert not re.findall(r"\x1b\[[0-9;]*[^0-9;m]", written)

    def test_no_content_breaks_out_of_its_fence(self, tmp_path: Path) -> None:
        document = as_markdown(hostile(tmp_path, "```\n</details><script>x</script>\n````\n<b>"), full=True)
        outside = _outside_fences(document)
        assert "<script>" not in outside and "<b>" not in outside
        assert outside.count("<details>") == outside.count("</details>")


def test_tail_shows_a_call_once_with_its_result(tmp_path: Path) -> None:
    lines = CEILING.read_bytes().splitlines(keepends=True)
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(lines))
    conversation = reread.open(path).conversation
    console = make_console(width=100)
    with console.capture() as captured:
        printer = ChangePrinter(console, TerminalView(Selection()))
        for index in range(len(conversation.records)):
            printer.print(change_of(conversation, index))
    shown = captured.get()
    assert shown.count("$ pytest -q --color=yes tests/test_backoff.py") == on_terminal(CEILING).count(
        "$ pytest -q --color=yes tests/test_backoff.py"
    )
    assert "Found it" in shown


@pytest.mark.parametrize("view", [on_terminal, as_markdown])
def test_calls_without_ids_are_shown_once_each(view: Any, tmp_path: Path) -> None:
    calls = [{"type": "tool_use", "name": "Bash", "input": {"command": f"echo {word}"}} for word in ("one", "two")]
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(user("Go."), reply(*calls)))
    shown = view(path)
    assert [shown.count(f"$ echo {word}") for word in ("one", "two")] == [1, 1]


class TestPictures:
    """Pictures are shown if the terminal can show them."""

    @pytest.mark.parametrize(
        ("environment", "protocol"),
        [
            ({"KITTY_WINDOW_ID": "1"}, "kitty"),
            ({"TERM": "xterm-kitty"}, "kitty"),
            ({"TERM_PROGRAM": "iTerm.app"}, "iterm"),
            ({"TERM": "xterm-256color"}, None),
        ],
    )
    def test_the_protocol_follows_from_the_environment(self, environment: dict[str, str], protocol: str | None) -> None:
        assert terminal_nodes.picture_protocol(environment) == protocol

    @pytest.mark.parametrize("protocol", ["kitty", "iterm"])
    def test_valid_base64_is_printed_in_an_escape_code(self, protocol: str) -> None:
        shown = self.printed(Picture(media_type="image/png", data="QUJD" * 3000), protocol)
        assert "QUJD" in shown and ("\x1b_G" if protocol == "kitty" else "\x1b]1337;") in shown
        assert "image/png" in shown

    @table("data", ["QUJD\x1b]0;owned\x07", "not base64", ""])
    @table("protocol", ["kitty", "iterm", None])
    def test_anything_else_is_shown_as_text(self, data: str, protocol: str | None) -> None:
        shown = self.printed(Picture(media_type="image/png", data=data), protocol)
        assert "\x1b_G" not in shown and "\x1b]" not in shown and "image/png" in shown

    def printed(self, picture: Picture, protocol: str | None) -> str:
        console = make_console(width=80, force_terminal=True)
        with console.capture() as captured:
            for item in TerminalView(Selection(), pictures=protocol).node(picture):
                console.print(item)
        return captured.get()


@pytest.mark.parametrize("view", [on_terminal, as_markdown])
def test_malformed_lines_are_counted(view: Any, tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(b"no json\n" + CEILING.read_bytes() + b'{"type": "us')
    assert "2 lines could not be read" in view(path) and "could not be read" not in view(CEILING)


class TestExport:
    """`reread.export`."""

    @pytest.mark.parametrize("form", format_names())
    def test_every_format_is_written(self, form: str, tmp_path: Path) -> None:
        document = export(CEILING, form, to=tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == document
        assert document or form == "pairs"  # nothing was rewound in this session

    def test_json_contains_the_nodes_of_every_call(self) -> None:
        value = json.loads(export(CEILING, "json"))
        assert all(call["nodes"] and {"node"} <= call["nodes"][0].keys() for call in value["calls"])

    def test_json_contains_only_the_selected_turns(self) -> None:
        whole, last = json.loads(export(CEILING, "json")), json.loads(export(CEILING, "json", turns=(-1, None)))
        assert last["turns"] == whole["turns"][-1:]
        assert [message["id"] for message in last["messages"]] == last["turns"][0]["messages"]
        assert [call["id"] for call in last["calls"]] == last["turns"][0]["calls"]

    @pytest.mark.parametrize(
        ("selection", "kinds", "calls"),
        [
            ({"thinking": False}, {"text", "tool_use"}, True),
            ({"tools": False}, {"text", "thinking"}, False),
            ({"only": "prompts"}, {"text"}, False),
            ({"only": "text"}, {"text"}, False),
            ({"only": "tools"}, {"tool_use"}, True),
        ],
    )
    def test_json_contains_only_the_selected_kinds(
        self, selection: dict[str, Any], kinds: set[str], calls: bool
    ) -> None:
        value = json.loads(export(HARBOR, "json", **selection))
        assert {block["type"] for message in value["messages"] for block in message["blocks"]} <= kinds
        assert bool(value["calls"]) is calls and bool(value["agents"]) <= calls
        if selection.get("only") == "prompts":
            assert {message["role"] for message in value["messages"]} == {"user"}

    def test_errors_say_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(reread.Misuse, match="Unknown format 'docx'; use " + ", ".join(format_names())):
            export(CEILING, "docx")
        with pytest.raises(reread.Unwritable, match="Cannot write "):
            export(CEILING, to=tmp_path / "no" / "such" / "folder")


def hostile(folder: Path, text: str) -> Path:
    """A session with the same text in every place."""
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": text, "description": text}}
    other = {"type": "tool_use", "id": "t2", "name": f"mcp__{text}__x", "input": {text: [text]}}
    blocks = [{"type": "thinking", "thinking": text}, {"type": "text", "text": text}, use, other]
    results = [{"type": "tool_result", "tool_use_id": n, "content": text} for n in ("t1", "t2")]
    records = [
        {"type": "custom-title", "customTitle": text, "sessionId": "s"},
        {"type": "user", "uuid": "u1", "sessionId": "s", "cwd": text, "gitBranch": text, "message": {"content": text}},
        {"type": "assistant", "uuid": "u2", "sessionId": "s", "message": {"id": "m", "model": text, "content": blocks}},
        {"type": "user", "uuid": "u3", "sessionId": "s", "message": {"content": results[:1]},
         "toolUseResult": {"stdout": text, "stderr": text}},
        {"type": "user", "uuid": "u4", "sessionId": "s", "message": {"content": results[1:]}},
        {"type": "system", "uuid": "u5", "sessionId": "s", "subtype": "informational", "content": text},
    ]  # fmt: skip
    path = folder / "hostile.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _words(text: str) -> str:
    return re.sub(r"[^A-Za-z]", "", text)


def _outside_fences(document: str) -> str:
    out: list[str] = []
    fence = ""
    for line in document.split("\n"):
        bare = line.lstrip("> ")
        found = re.match(r"(`{3,}|~{3,})", bare)
        if fence:
            if bare.rstrip() and set(bare.rstrip()) == {fence[0]} and len(bare.rstrip()) >= len(fence):
                fence = ""
        elif found:
            fence = found[1]
        else:
            out.append(line)
    return "\n".join(out)


@pytest.mark.parametrize("draw", [on_terminal, as_markdown])
@pytest.mark.parametrize("depth", [7, 8, 400])
def test_nested_agents_are_all_shown(tmp_path: Path, draw: Any, depth: int) -> None:
    path = tmp_path / "s.jsonl"
    calls = [use(f"t{n}", "Agent", description="go on", prompt=f"task {n}") for n in range(depth)]
    spoken = [printed(reply(call, id=f"m{n}"), f"t{n - 1}" if n else None) for n, call in enumerate(calls)]
    path.write_bytes(jsonl(printed(user("go")), *spoken, printed(reply("the deepest word", id="end"), f"t{depth - 1}")))
    shown = draw(path)
    assert shown.count("the deepest word") == 1
    assert shown.count("is shown at the end") == depth // 8


def test_only_what_a_reader_would_miss_is_named_where_it_is_left_out() -> None:
    left = {
        "input.timeout": 60000,
        "input.limit": 20,
        "input.run_in_background": True,
        "input.replace_all": False,
        "input.status": "in_progress",
        "input.todos[0].activeForm": "Doing it",
        "input.-n": True,
        "input.model": "opus",
        "result[0].text": "Launched successfully.",
        "data": "Error: it failed",
        "data.note": "look at this",
        "data.originalFile": "a b",
        "record.promptId": "3aa9e349",
        "stop_details.explanation": "it was refused",
        "usage.service_tier": "standard",
    }
    names = ["timeout", "model", "note", "stop_details.explanation"]
    assert missed_fields(left, "TaskUpdate #2 pending → in progress 1 to 20") == names
    assert more_fields(names) == "+ timeout, model, note and 1 more"


def test_each_view_draws_every_kind_of_item_and_node() -> None:
    kinds = {kind.__name__.lower() for kind in nodes.Node.__subclasses__()}
    for view in (TerminalView, MarkdownView):
        assert [name for name in (*METHODS.values(), *kinds) if not callable(getattr(view, name, None))] == []
