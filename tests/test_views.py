"""The views: what they show of whole sessions, as files that a person can open and review.

Run with REREAD_GOLDEN=update to write the files in tests/golden anew, and read the difference before you keep it.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from making import jsonl, printed, reply, use, user

import reread
from reread.cli._options import SAMPLES
from reread.reader.exports import FORMATS, export
from reread.render import terminal_images
from reread.render.markdown import code, fenced, guarded, inline, session_markdown
from reread.render.parts import Selection, parse_turns
from reread.render.sanitize import coloured_output, plain_output, safe
from reread.render.terminal import TerminalView, change_lines, make_console
from reread.tools.nodes import Picture

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


def on_terminal(path: Path, *, width: int = 100, colour: bool = False, **selection: Any) -> str:
    console = make_console(width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    with console.capture() as captured:
        for item in TerminalView(Selection(**selection)).session(reread.open(path)):
            console.print(item)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def as_markdown(path: Path, **selection: Any) -> str:
    return "\n".join(session_markdown(reread.open(path), Selection(**selection))) + "\n"


def golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("REREAD_GOLDEN") == "update":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


def name_of(path: Path) -> str:
    real = path.is_relative_to(HERE / "real")
    return f"{path.parts[-5]}-{path.parts[-4]}-{path.stem[:8]}" if real else path.stem.split("-")[0]


@pytest.mark.parametrize("path", SESSIONS, ids=name_of)
def test_the_terminal_shows_what_was_reviewed(path: Path) -> None:
    golden(f"{name_of(path)}.txt", on_terminal(path))


@pytest.mark.parametrize("path", SESSIONS, ids=name_of)
def test_the_markdown_is_what_was_reviewed(path: Path) -> None:
    golden(f"{name_of(path)}.md", as_markdown(path))


@pytest.mark.parametrize("path", SESSIONS, ids=name_of)
@pytest.mark.parametrize("width", [20, 80, 140])
def test_no_line_is_wider_than_the_terminal(path: Path, width: int) -> None:
    from rich.cells import cell_len

    assert max(cell_len(line) for line in on_terminal(path, width=width).split("\n")) <= width


HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
CEILING = next(SAMPLES.glob("projects/*/8c1f0b52*.jsonl"))


class TestChoices:
    """What is shown can be chosen, in the same words for every view."""

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_turns(self, view: Any) -> None:
        session = reread.open(HARBOR)
        first, last = session.turns[0].prompt.text, session.turns[-1].prompt.text
        chosen = _words(view(HARBOR, turns=(1, 1)))
        assert _words(first[:40]) in chosen and _words(last[:40]) not in chosen
        assert _words(last[:40]) in _words(view(HARBOR, turns=(-1, None)))

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_in_full_every_branch_is_there(self, view: Any) -> None:
        shown = _words(view(HARBOR, full=True))
        for message in reread.open(HARBOR).messages:
            if message.kind in ("prompt", "response"):
                assert _words(message.text[:60]) in shown, message

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_a_branch_that_was_left(self, view: Any) -> None:
        session = reread.open(HARBOR)
        left = next(branch for branch in session.branches if not branch.active)
        words = _words(left.own[0].text[:40])
        assert words in _words(view(HARBOR, branch=left.id))
        with pytest.raises(reread.Misuse, match="there is no branch 99"):
            view(HARBOR, branch=99)

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_only_one_kind_of_thing(self, view: Any) -> None:
        prompts, text, tools = (view(CEILING, only=only) for only in ("prompts", "text", "tools"))
        assert "pytest" not in _words(prompts).replace("testnever", "")
        assert "Found it" in text and "Found it" not in prompts and "Found it" not in tools
        assert "$ pytest" in tools and "$ pytest" not in text

    @pytest.mark.parametrize("view", [on_terminal, as_markdown])
    def test_without_thinking_or_tools(self, view: Any) -> None:
        assert "smells of randomness" in view(CEILING)
        assert "smells of randomness" not in view(CEILING, thinking=False)
        assert "$ pytest" not in view(CEILING, tools=False)

    def test_long_output_says_how_much_is_hidden_and_full_shows_it(self) -> None:
        short, full = on_terminal(CEILING), on_terminal(CEILING, full=True)
        assert re.search(r"… \d+ more lines \(--full\)", short)
        assert "more lines (--full)" not in full and len(full) > len(short)

    @pytest.mark.parametrize(("text", "turns"), [("3-9", (3, 9)), ("3", (3, 3)), ("3-", (3, None)), ("-5", (-5, None))])
    def test_ranges_of_turns(self, text: str, turns: tuple[int, int | None]) -> None:
        assert parse_turns(text) == turns

    @pytest.mark.parametrize("text", ["", "-", "x", "3-x", "--"])
    def test_what_is_no_range_says_what_is_one(self, text: str) -> None:
        with pytest.raises(reread.Misuse, match="no range of turns"):
            parse_turns(text)


class TestSafety:
    """Nothing in a transcript can act on the terminal or break out of the document."""

    HOSTILE = (
        "a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\c\x1b[31mred\x1b[0m\x1b[2J\x1bPq\x1b\\d\x9b5m\u202ee"
    )

    def test_colours_are_kept_and_every_other_code_is_not(self) -> None:
        shown = coloured_output(self.HOSTILE)
        assert re.findall(r"\x1b[^a-z]*[a-z]?", shown) == ["\x1b[31m", "\x1b[0m"]
        assert "title" not in shown and "http" not in shown and "link" in shown and "\\u202e" in shown

    def test_plain_output_has_no_code_at_all(self) -> None:
        assert plain_output(self.HOSTILE) == "ablinkcredd\\x9b5m\\u202ee"
        assert plain_output("10%\r50%\r100%\n") == "100%\n"

    def test_every_control_character_is_made_visible(self) -> None:
        assert safe("a\x00b\x07c\td\ne") == "a\\x00b\\x07c\td\ne"

    def test_a_hostile_session_writes_no_code_but_colours(self, tmp_path: Path) -> None:
        path = hostile(tmp_path, self.HOSTILE)
        written = on_terminal(path, colour=True, full=True)
        codes = set(re.findall(r"\x1b(.)", written))
        assert codes <= {"["}
        assert not re.findall(r"\x1b\[[0-9;]*[^0-9;m]", written)

    def test_no_fence_can_be_broken_out_of(self, tmp_path: Path) -> None:
        document = as_markdown(hostile(tmp_path, "```\n</details><script>x</script>\n````\n<b>"), full=True)
        outside = _outside_fences(document)
        assert "<script>" not in outside and "<b>" not in outside
        assert outside.count("<details>") == outside.count("</details>")

    def test_markdown_of_someone_else_is_kept_within_bounds(self) -> None:
        assert guarded("a\n```py\nopen <b>") == "a\n```py\nopen <b>\n```"
        assert guarded("see <script> and `<b>`") == "see &lt;script> and `<b>`"
        assert guarded("1 < 2") == "1 < 2"
        assert fenced("a ```` b") == "`````\na ```` b\n`````"
        assert inline("*a* | `b`\n<c>") == "\\*a\\* \\| \\`b\\` \\<c\\>"
        assert code("a`b") == "``a`b``"


def test_a_call_that_comes_with_its_result_is_told_once_to_someone_who_watches(tmp_path: Path) -> None:
    lines = CEILING.read_bytes().splitlines(keepends=True)
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(lines))
    conversation = reread.open(path).conversation
    console = make_console(width=100)
    with console.capture() as captured:
        for index in range(len(conversation.records)):
            for item in change_lines(conversation.change(index), TerminalView(Selection())):
                console.print(item)
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
    """Pictures are shown where the terminal can show them."""

    @pytest.mark.parametrize(
        ("environment", "how"),
        [
            ({"KITTY_WINDOW_ID": "1"}, "kitty"),
            ({"TERM": "xterm-kitty"}, "kitty"),
            ({"TERM_PROGRAM": "iTerm.app"}, "iterm"),
            ({"TERM": "xterm-256color"}, None),
        ],
    )
    def test_the_terminal_is_known_by_its_environment(self, environment: dict[str, str], how: str | None) -> None:
        assert terminal_images.protocol(environment) == how

    @pytest.mark.parametrize("how", ["kitty", "iterm"])
    def test_clean_base64_is_written_as_the_terminals_own_code(self, how: str) -> None:
        shown = self.printed(Picture(media_type="image/png", data="QUJD" * 3000), how)
        assert "QUJD" in shown and ("\x1b_G" if how == "kitty" else "\x1b]1337;") in shown
        assert "image/png" in shown

    @pytest.mark.parametrize("data", ["QUJD\x1b]0;owned\x07", "not base64", ""])
    @pytest.mark.parametrize("how", ["kitty", "iterm", None])
    def test_anything_else_stays_a_line_of_words(self, data: str, how: str | None) -> None:
        shown = self.printed(Picture(media_type="image/png", data=data), how)
        assert "\x1b_G" not in shown and "\x1b]" not in shown and "image/png" in shown

    def printed(self, picture: Picture, how: str | None) -> str:
        console = make_console(width=80, force_terminal=True)
        with console.capture() as captured:
            for item in TerminalView(Selection(), pictures=how).node(picture):
                console.print(item)
        return captured.get()


@pytest.mark.parametrize("view", [on_terminal, as_markdown])
def test_lines_that_could_not_be_read_are_counted(view: Any, tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(b"no json\n" + CEILING.read_bytes() + b'{"type": "us')
    assert "2 lines could not be read" in view(path) and "could not be read" not in view(CEILING)


class TestExport:
    """A file to keep or share."""

    @pytest.mark.parametrize("form", FORMATS)
    def test_every_format_is_written(self, form: str, tmp_path: Path) -> None:
        document = export(CEILING, form, to=tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == document and document

    def test_json_has_the_nodes_of_every_call(self) -> None:
        value = json.loads(export(CEILING, "json"))
        assert all(call["nodes"] and {"node"} <= call["nodes"][0].keys() for call in value["calls"])

    def test_json_has_the_turns_that_are_asked_for(self) -> None:
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
    def test_json_has_only_what_is_asked_for(self, selection: dict[str, Any], kinds: set[str], calls: bool) -> None:
        value = json.loads(export(HARBOR, "json", **selection))
        assert {block["type"] for message in value["messages"] for block in message["blocks"]} <= kinds
        assert bool(value["calls"]) is calls and bool(value["agents"]) <= calls
        if selection.get("only") == "prompts":
            assert {message["role"] for message in value["messages"]} == {"user"}

    def test_misuse_says_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(reread.Misuse, match="say " + " or ".join(FORMATS)):
            export(CEILING, "docx")
        with pytest.raises(reread.Unwritable, match="Cannot write "):
            export(CEILING, to=tmp_path / "no" / "such" / "folder")


def hostile(folder: Path, text: str) -> Path:
    """A session that says the same thing everywhere it can."""
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
def test_agents_within_agents_are_all_shown_however_deep(tmp_path: Path, draw: Any, depth: int) -> None:
    path = tmp_path / "s.jsonl"
    calls = [use(f"t{n}", "Agent", description="go on", prompt=f"task {n}") for n in range(depth)]
    spoken = [printed(reply(call, id=f"m{n}"), f"t{n - 1}" if n else None) for n, call in enumerate(calls)]
    path.write_bytes(jsonl(printed(user("go")), *spoken, printed(reply("the deepest word", id="end"), f"t{depth - 1}")))
    shown = draw(path)
    assert shown.count("the deepest word") == 1
    assert shown.count("is shown at the end") == depth // 8
