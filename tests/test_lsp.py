"""The language server, asked as an editor asks it: hovers, lenses and actions for the lines that sessions wrote."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from making import SESSION, jsonl

import reread
from reread.addons.lsp import line_origins, reader_process
from reread.addons.lsp.line_origins import DocumentOrigins, hover_text, lens_text, markdown, reader_place
from reread.base.paths import SAMPLES
from reread.base.worker import Worker, WorkerLost
from reread.reports.blame_report import BlamedLine

PROMPT = "Greet <img src=x onerror=alert(1)> [click](command:evil) `code` **loud**\x1b[31m\nand more"
TEXT = "def greet():\n    print('hello')\n"


def written(path: Path) -> bytes:
    """Return a session in which one turn writes a file, and a second one adds a line to it."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {"file_path": str(path), "content": TEXT}}
    more = {"file_path": str(path), "old_string": "'hello'", "new_string": "'hi'", "replace_all": False}
    edit = {"type": "tool_use", "id": "toolu_2", "name": "Edit", "input": more}
    done = {"type": "create", "filePath": str(path), "content": TEXT, "structuredPatch": []}
    edited = {
        "filePath": str(path),
        "oldString": "'hello'",
        "newString": "'hi'",
        "originalFile": TEXT,
        "structuredPatch": [],
        "replaceAll": False,
    }
    rows: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "content": PROMPT}},
        {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [call]}},
        _result("toolu_1", done),
        {"type": "user", "message": {"role": "user", "content": "Be shorter"}},
        {"type": "assistant", "message": {"id": "m2", "role": "assistant", "content": [edit]}},
        _result("toolu_2", edited),
    ]
    for number, row in enumerate(rows):
        above = f"u{number - 1}" if number else None
        stamp = f"2026-11-15T10:00:{number:02}.000Z"
        row |= {"uuid": f"u{number}", "parentUuid": above, "timestamp": stamp, "sessionId": SESSION, "cwd": "/p"}
    return jsonl(*rows)


def _result(id: str, value: dict[str, Any]) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": "ok"}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": value}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that a session wrote, as it is now."""
    for name, folder in (("CLAUDE_CONFIG_DIR", "claude"), ("REREAD_HOME", "store"), ("REREAD_CACHE", "cache")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    path = tmp_path / "shop é" / "app.py"
    path.parent.mkdir()
    path.write_text(TEXT.replace("'hello'", "'hi'"))
    session = tmp_path / "claude" / "projects" / "-p" / f"{SESSION}.jsonl"
    session.parent.mkdir(parents=True)
    session.write_bytes(written(path))
    return path


def test_what_is_not_saved_is_blamed_line_by_line(file: Path) -> None:
    text = f"# by hand\n{file.read_text()}"
    lines = reread.blame(file, text=text)
    assert [(line.number, line.turn) for line in lines] == [(1, None), (2, 1), (3, 2)]
    assert [line.turn for line in reread.blame(file.with_name("app.py"), text=text.replace("\n", "\r\n"))] == [
        None,
        1,
        2,
    ]
    assert reread.blame(file.with_name("nowhere.py"), text="x\n")[0].session is None


def test_a_document_is_blamed_again_only_if_it_or_the_time_has_changed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def counted(path: str, **options: Any) -> Any:
        asked.append(path)
        return reread.blame(path, **options)

    monkeypatch.setattr(line_origins, "blame", counted)
    known = DocumentOrigins()
    origins = [known.of(str(file), file.read_text()) for _ in range(3)][-1]
    assert [line.turn for line in origins.runs()] == [1, 2] and len(asked) == 1
    assert origins.at(0) is not None and origins.at(7) is None and origins.at(-1) is None
    known.of(str(file), "x")
    monkeypatch.setattr(line_origins, "FRESH_SECONDS", -1.0)
    known.of(str(file), "x")
    assert len(asked) == 3
    monkeypatch.setattr(line_origins, "MOST_BYTES", 3)
    assert "larger" in known.of(str(file), "four").problem


def test_no_prompt_is_markup(file: Path) -> None:
    (line,) = reread.blame(file, lines="1")
    text = hover_text(line)
    assert "\\<img src\\=x onerror\\=alert\\(1\\)\\>" in text and "\\[click\\]\\(command\\:evil\\)" in text
    assert "\x1b" not in text + lens_text(line) + hover_text(line, as_markdown=False)
    assert len(lens_text(line).partition(": ")[2]) <= line_origins.LENS_LETTERS
    assert "<img src=x" in hover_text(line, as_markdown=False)
    assert markdown("a\nb_c") == "a  \nb\\_c"


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("Use ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 here", "Use [github-token] here"),
        ("The db password is hunter2!", "The db password is [password]!"),
        ("Use ghp_a1B2c3D4e5F6g7H8…", "Use …"),  # half of a token is not known as one
        ("Look at the parser…", "Look at the parser…"),
    ],
)
def test_no_secret_of_a_prompt_is_shown_in_an_editor(prompt: str, shown: str) -> None:
    line = BlamedLine(number=1, text="x", session="s", prompt=prompt)
    assert hover_text(line, as_markdown=False).endswith(f"\n{shown}") and lens_text(line).endswith(f": {shown}")


def test_a_place_in_the_reader_has_the_call_or_the_turn() -> None:
    assert reader_place("a/b", None, None, 3) == "#/s/a%2Fb?turn=3"
    assert reader_place("s", "a1", "toolu_1&x", 3) == "#/s/s/a/a1?call=toolu_1%26x"


class Editor:
    """An editor that speaks to the server as the protocol says."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "reread", *words, "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ.copy())
        self.asked: list[dict[str, Any]] = []
        """What the server asked."""
        self._count = 0

    def send(self, method: str, params: Any, **more: Any) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))

    def ask(self, method: str, params: Any) -> Any:
        """Ask, and return the answer; what the server asks meanwhile is answered with yes."""
        self._count += 1
        self.send(method, params, id=self._count)
        while True:
            heard = self.hear()
            if "method" in heard:
                self.asked.append(heard)
                if "id" in heard:
                    self._answer(heard["id"])
            elif heard.get("id") == self._count:
                assert "error" not in heard, heard
                return heard["result"]

    def _answer(self, id: Any) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"success": True}}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def start(self) -> Any:
        document = {"hover": {"contentFormat": ["markdown"]}}
        capabilities = {"window": {"showDocument": {"support": True}}, "textDocument": document}
        found = self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities})
        self.send("initialized", {})
        return found["capabilities"]

    def open(self, uri: str, text: str) -> None:
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})

    def hover(self, uri: str, line: int) -> str | None:
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 2}}
        found = self.ask("textDocument/hover", place)
        return found["contents"]["value"] if found else None


@pytest.fixture
def editor(file: Path) -> Iterator[Editor]:
    pytest.importorskip("pygls", reason="the extra `lsp` is not installed")
    running = Editor()
    yield running
    running.process.kill()
    running.process.communicate()


def test_an_editor_shows_who_wrote_a_line_and_opens_the_reader_there(editor: Editor, file: Path) -> None:
    able = editor.start()
    assert able["hoverProvider"] and able["codeLensProvider"] is not None and able["codeActionProvider"]
    uri, text = file.as_uri(), f"# by hand\n{file.read_text()}"
    editor.open(uri, text)
    assert editor.hover(uri, 0) is None
    shown = [editor.hover(uri, 1), editor.hover(uri, 2)]
    assert [f"session {SESSION[:8]}" in str(one) for one in shown] == [True, True]
    assert "turn 1" in str(shown[0]) and "turn 2" in str(shown[1]) and "> Be shorter" in str(shown[1])
    assert "<img" not in str(shown[0]).replace("\\<img", "")
    lenses = editor.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert [lens["range"]["start"]["line"] for lens in lenses] == [1, 2]
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
    wanted = {"textDocument": {"uri": uri}, "range": whole, "context": {"diagnostics": []}}
    actions = editor.ask("textDocument/codeAction", wanted)
    assert [action["command"]["arguments"][-1] for action in actions] == [1, 2]
    command = actions[1]["command"]
    editor.ask("workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]})
    (asked,) = [one for one in editor.asked if one["method"] == "window/showDocument"]
    address = asked["params"]["uri"]
    assert asked["params"]["external"] and address.startswith("http://127.0.0.1:") and "token=" in address
    assert address.endswith(f"#/s/{SESSION}?call=toolu_2")


def test_a_reader_that_does_not_start_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(Worker):
        def ask(self, question: object) -> Any:
            raise WorkerLost

    monkeypatch.setattr(reader_process, "Worker", Lost)
    reader = reader_process.ReaderProcess([SAMPLES])
    for _ in range(2):
        with pytest.raises(reread.RereadError, match="Cannot start the reader"):
            reader.address()
    monkeypatch.undo()
    with closing(reader):
        assert reader.address() == reader.address() != ""


@pytest.mark.parametrize(
    "uri", ["untitled:Untitled-1", "file:///nowhere/at/all.py", "https://example.org/x.py", "file:"]
)
def test_what_no_session_wrote_has_nothing_to_show(editor: Editor, uri: str) -> None:
    editor.start()
    assert editor.hover(uri, 3) is None
    editor.open(uri, "x\n" * 9)
    assert editor.hover(uri, 3) is None
    assert editor.ask("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
    editor.send("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert editor.ask("shutdown", None) is None
    editor.send("exit", None)
    assert editor.process.wait(60) == 0


def test_a_lens_says_that_only_a_note_knows_who_wrote_a_line_and_that_it_is_a_guess() -> None:
    note = BlamedLine(number=1, text="x", session="s", turn=1, prompt="Do", evidence="note", commit="1a2b3c4d5")
    guess = msgspec.structs.replace(note, number=2, guess=True)
    assert [lens_text(line) for line in line_origins.Origins([note, guess]).runs()] == [
        "session s · turn 1 · note of 1a2b3c4: Do",
        "session s · turn 1 · note of 1a2b3c4 · a guess: Do",
    ]
