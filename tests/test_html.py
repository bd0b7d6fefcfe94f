"""HTML export: pages and sites are complete, self-contained and safe whatever a session contains."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from effort import one_in
from hypothesis import given
from making import image, jsonl, printed, read, reply, result, text, thinking, told, use, user
from test_laws import ANY_TRANSCRIPT
from test_real_client import TRANSCRIPTS, name

import reread
from reread.base import jsontext
from reread.base.paths import SAMPLES
from reread.errors import Unwritable
from reread.model.parts import TEXT, TOOLS
from reread.reader import html_export, library_schema, page_assets, schema
from reread.reader.session_search import message_texts
from reread.reader.session_view import SessionView
from reread.reader.site_export import index_html, write_site
from reread.render.selection import Selection, selected_turns
from reread.session.session import Session

SCRIPT, STYLE = "'use strict'; /* </script><b> */", "body { color: red }"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode()
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "</noscript><img src=x onerror=alert(1)>",
    "</title></style><style>",
    "\u2028\u2029\x00\x1b[31m\ud800",
    "\u202egnp.exe\u2066",
    "]]> &lt; &amp; ' \" `",
)


@pytest.fixture(autouse=True)
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the built reader with a short one."""
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "export.js").write_text(SCRIPT)
    (folder / "export.css").write_text(STYLE)
    (folder / "NOTICES.txt").write_bytes((page_assets.STATIC / "NOTICES.txt").read_bytes())
    monkeypatch.setattr(page_assets, "STATIC", folder)
    page_assets.inline_assets.cache_clear()
    yield
    page_assets.inline_assets.cache_clear()


class ParsedPage(HTMLParser):
    """A page as a browser parses it."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(page.decode("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            attrs, before = self.scripts[-1]
            self.scripts[-1] = (attrs, before + data)
        for tag in set(self._open):
            self.texts[tag] = self.texts.get(tag, "") + data

    @property
    def index(self) -> Any:
        """The page's index."""
        return json.loads(next(data for attrs, data in self.scripts if attrs.get("id") == "reread-index"))

    def bytes(self, chunk: int) -> bytes:
        """The bytes of a chunk."""
        return base64.b64decode(
            next(d for attrs, d in self.scripts if attrs.get("data-chunk") == str(chunk)), validate=True
        )

    def chunk(self, chunk: int) -> Any:
        """The value of a chunk, unpacked."""
        return json.loads(zlib.decompress(self.bytes(chunk), -zlib.MAX_WBITS))

    def entries(self, thread: Any) -> list[Any]:
        """The items of a thread with what belongs to each."""
        return [entry for page in thread["pages"] for entry in self.chunk(page)]

    def items(self, thread: Any) -> list[Any]:
        """The items of a thread."""
        return [entry["item"] for entry in self.entries(thread)]

    def bodies(self, thread: Any) -> dict[str, Any]:
        """The bodies of a thread's calls."""
        return {index: body for entry in self.entries(thread) for index, body in entry["bodies"].items()}


def page_of(session: Session, **selection: Any) -> ParsedPage:
    """The page of a session."""
    return ParsedPage(b"".join(html_export.session_html(session, Selection(**selection))))


def plain(value: Any) -> Any:
    """A value as it comes out of JSON, without the URLs of pictures."""
    value = json.loads(jsontext.dumps(value))
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict) and item.get("node") == "picture":
            item["url"] = None
        stack += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return value


def assert_complete(session: Session) -> None:
    """A page contains every item and call of every branch and agent, as the server would send them."""
    page, view = page_of(session, full=True), SessionView(session, session.id or "session")
    assert [thread["agent"] for thread in page.index["threads"]][len(session.branches) :] == list(session.agents)
    for thread in page.index["threads"]:
        agent, branch = thread["agent"], thread["branch"]
        expected = view.page(0, 1 << 30, agent=agent, branch=branch, whole=True).items
        assert plain(page.items(thread)) == plain(expected)
        timeline = view.timeline(agent, branch)
        texts = [[t for m in timeline.item(n) for _, t in message_texts(m)] for n in range(len(timeline))]
        assert plain([entry["texts"] for entry in page.entries(thread)]) == plain(texts)
        names = page.chunk(thread["map"])
        assert names["keys"] == [item.key for item in expected]
        assert plain(names["outline"]["turns"]) == plain(view.outline(0, 1 << 30, agent=agent, branch=branch).turns)
        bodies = page.bodies(thread)
        for id, (item, index) in names["calls"].items():
            assert any(part.get("id") == id for part in page.items(thread)[item]["parts"])
            assert plain(bodies[str(index)]) == plain(view.call(index, agent=agent, whole=True))
        assert thread["overview"]["items"] == len(expected)


@one_in(3)
@pytest.mark.parametrize("path", sorted(SAMPLES.glob("projects/*/*.jsonl")), ids=lambda path: path.stem[:8])
def test_a_page_contains_the_whole_session(path: Path) -> None:
    assert_complete(reread.open(path))


@one_in(4)
@pytest.mark.parametrize("path", TRANSCRIPTS[::7], ids=name)
def test_a_page_contains_every_real_session(path: Path) -> None:
    assert_complete(reread.open(path))


@given(ANY_TRANSCRIPT)
def test_any_input_can_be_exported(data: bytes) -> None:
    page = page_of(reread.open(data))
    assert page.tags["script"] == len(page.scripts)
    assert page.index["threads"]


def test_branches_share_chunks() -> None:
    many = [record for n in range(60) for record in (user(f"turn {n}"), reply(f"said {n}", id=f"m{n}"))]
    session = read(*many, user("left"), reply("l", id="x"), user("right", parentUuid="u118"), reply("r", id="y"))
    page = page_of(session)
    first, second = page.index["threads"]
    assert first["branch"] == 1 and first["pages"][:2] == second["pages"][:2] and first["pages"] != second["pages"]
    assert_complete(session)


def test_an_item_that_branches_share_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session, drawn = many_rewinds(30), list[str]()
    item = SessionView.item
    monkeypatch.setattr(
        SessionView, "item", lambda self, *rest: (found := item(self, *rest), drawn.append(found.key))[0]
    )
    page = page_of(session)
    items = [key for thread in page.index["threads"] for key in page.chunk(thread["map"])["keys"]]
    # each branch also draws the item at which it leaves the other: what comes after it is another fork
    assert set(drawn) == set(items) and len(drawn) <= len(set(items)) + 2 * len(session.branches) < len(items) / 4
    assert_complete(session)


def test_without_javascript_all_of_the_active_branch_is_shown() -> None:
    shown = page_of(many_rewinds(3)).texts["noscript"]
    said = [word for n in range(3) for word in (f"try {n}", f"said {n}")]
    assert re.findall(r"(?:go|try \d|left \d|said \d)\b", shown) == ["go", *said]


def many_agents(count: int) -> Session:
    calls = [reply(use(f"t{n}", "Agent", prompt=f"task {n}"), id=f"m{n}") for n in range(count)]
    replies = [printed(reply(f"done {n}", id=f"a{n}"), f"t{n}") for n in range(count)]
    return read(printed(user("go")), *map(printed, calls), *replies)


def many_rewinds(count: int) -> Session:
    tries = [
        record
        for n in range(count)
        for record in (
            user(f"left {n}", uuid=f"l{n}", parentUuid=f"a{n}"),
            user(f"try {n}", uuid=f"t{n}", parentUuid=f"a{n}"),
            reply(f"said {n}", id=f"m{n}", uuid=f"a{n + 1}", parentUuid=f"t{n}"),
        )
    ]
    return read(user("go", uuid="a0"), *tries)


@one_in(2)
@pytest.mark.parametrize("make", [many_agents, many_rewinds])
def test_the_index_grows_linearly(make: Callable[[int], Session]) -> None:
    few, many = (len(json.dumps(page_of(make(count)).index)) for count in (20, 160))
    assert many < 10 * few


def test_only_the_reader_may_run_and_nothing_is_loaded() -> None:
    page = page_of(read(user("hi"), reply("ho")))
    policy = next(v for tag, name, v in page.attributes if tag == "meta" and "default-src" in v)
    script = next(data for attrs, data in page.scripts if not attrs)
    for content, kind in ((script, "script"), (page.texts["style"], "style")):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    assert not [item for item in page.attributes if item[1] in ("src", "href") or item[1].startswith("on")]


def test_no_content_becomes_markup() -> None:
    records = [user(HOSTILE[0]), *(reply(words, thinking(words), id=f"m{n}") for n, words in enumerate(HOSTILE))]
    records += [reply(use("a", "Bash", command=words), id=f"c{n}") for n, words in enumerate(HOSTILE)]
    harmless = page_of(read(*(user("x") if record["type"] == "user" else record for record in records)))
    page = page_of(read(*records, {"type": "custom-title", "customTitle": "".join(HOSTILE), "sessionId": "s"}))
    assert page.tags - Counter(p=0) == harmless.tags
    assert not [item for item in page.attributes if item[1].startswith("on")]
    assert "\\u202egnp.exe" in page.texts["noscript"] and "\u202e" not in page.texts["noscript"]
    assert page.texts["title"].startswith("</script><script>alert(1)</script>")
    texts = [
        part["text"] for item in page.items(page.index["threads"][0]) for part in item["parts"][:1] if "text" in part
    ]
    assert HOSTILE[0] in texts and HOSTILE[5] in texts


def test_each_real_picture_is_included_once() -> None:
    svg = {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": PNG}}
    fake = image(base64.b64encode(b"<script>alert(1)</script>").decode())
    session = read(user([text("see"), image(PNG), image(PNG), svg, fake, image("%")]))
    page = page_of(session)
    nodes = page.items(page.index["threads"][0])[0]["parts"][1]["nodes"]
    urls = [node.get("url") for node in nodes]
    assert urls[0] == urls[1] and urls[2:] == [None, None, None]
    assert page.bytes(int(urls[0].removeprefix("chunk:"))) == base64.b64decode(PNG)
    without = page_of(session, images=False)
    assert "chunk:" not in json.dumps(without.items(without.index["threads"][0]))


@pytest.mark.parametrize(
    "chosen",
    [{"tool_names": ("bash",)}, {"files": ("*.py",)}, {"errors": True}, {"only": "answers"}, {"tool_names": ("none",)}],
    ids=str,
)
def test_a_page_contains_the_chosen_messages_as_the_other_formats_do(chosen: dict[str, Any]) -> None:
    session = reread.open(next(SAMPLES.glob("projects/*/d2a94e17*.jsonl")))
    selection = Selection(**chosen)
    page = page_of(session, **chosen)
    main = page.index["threads"][0]
    items = page.items(main)
    turns = selected_turns(session.conversation, selection)
    messages = [message for turn in turns for message in turn.messages]
    calls = [call for message in messages for call in message.calls if selection.shows_call(call)]
    shown = [call.id for call in calls] if selection.shows(TOOLS) else []
    assert [part["id"] for item in items for part in item["parts"] if part["part"] == "call"] == shown
    assert sorted(body["id"] for body in page.bodies(main).values()) == sorted(shown)
    prompts = [turn.prompt.text for turn in turns if turn.prompt is not None]
    assert [item["parts"][0]["text"] for item in items if item["kind"] in ("prompt", "command")] == prompts
    said = [m for m in messages if m.kind == "response" and m.text and selection.shows(TEXT)]
    assert sum(item["kind"] == "response" and item["parts"][0]["part"] == "text" for item in items) == len(said)
    outline = page.chunk(main["map"])["outline"]["turns"]
    assert sum(len(turn["marks"]) for turn in outline) == len(shown)
    assert bool(shown or said) == (chosen != {"tool_names": ("none",)})


def test_a_page_contains_only_the_selected_parts() -> None:
    session = read(
        user("first secret"),
        reply(thinking("hush"), text("one"), id="a"),
        reply(use("t", "Bash", command="ls"), id="b"),
        user([result("t", "files")]),
        user("second"),
        reply("two", id="c"),
    )

    def parts(**selection: Any) -> list[str]:
        page = page_of(session, **selection)
        (thread,) = page.index["threads"]
        found = page.items(thread)
        assert [item["index"] for item in found] == list(range(thread["overview"]["items"]))
        if not selection.get("tools", True) or selection.get("only") in ("prompts", "text"):
            assert page.bodies(thread) == {}
        return [part["part"] for item in found for part in item["parts"]]

    assert parts() == ["text", "thinking", "text", "call", "text", "text"]
    assert parts(thinking=False) == ["text", "text", "call", "text", "text"]
    assert parts(tools=False) == ["text", "thinking", "text", "text", "text"]
    assert parts(only="prompts") == ["text", "text"]
    assert parts(only="tools") == ["call"]
    assert parts(turns=(2, None)) == ["text", "text"]
    page = page_of(session, turns=(2, 2))
    assert page.chunk(page.index["threads"][0]["map"])["outline"]["turns"][0]["index"] == 2
    assert "secret" not in page.texts["noscript"]
    assert "hush" not in json.dumps(page_of(session, thinking=False).index)


def test_without_javascript_the_texts_are_shown_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    session = read(
        user("the question"), reply(thinking("hush"), text("the answer"), id="a"), user("more"), reply("end")
    )
    shown = page_of(session).texts["noscript"]
    assert "needs JavaScript" in shown and "the question" in shown and "the answer" in shown and "hush" not in shown
    monkeypatch.setattr(html_export, "MAX_PLAIN_ITEMS", 2)
    assert "and 2 more messages" in page_of(session).texts["noscript"]


def test_a_missing_reader_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(page_assets, "STATIC", tmp_path)
    page_assets.inline_assets.cache_clear()
    with pytest.raises(reread.Unreadable, match=r"Cannot read the built reader .*; install reread again\."):
        reread.export(read(user("x")), "html")


# Sites


@pytest.fixture
def sessions(tmp_path: Path) -> list[Path]:
    """Two sessions in two projects."""
    paths = [tmp_path / "projects" / folder / f"{folder}.jsonl" for folder in ("one", "two")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_bytes(jsonl(*told(user(f"in {path.stem} <b>&</b>", cwd=f"/p/{path.stem}"), reply("ok"))))
    return paths


def test_contexts_are_in_a_whole_page_only() -> None:
    (path,) = SAMPLES.rglob("d2a94e17-*.jsonl")
    whole, excerpt, silent = (
        ParsedPage(b"".join(html_export.session_html(reread.open(path), Selection(**chosen))))
        for chosen in ({}, {"turns": (2, 3)}, {"thinking": False})
    )
    assert [page.index["threads"][0]["contexts"] is None for page in (whole, excerpt, silent)] == [False, True, True]
    assert all(thread["contexts"] is None for thread in whole.index["threads"][1:])


def test_the_index_says_lower_bounds_and_home_folders_as_the_reader_does() -> None:
    figures = schema.Figures(tokens=10, cost_usd=1.5, unconfirmed_responses=1)
    row = library_schema.LibraryRow(key="k", id="k", title="t", project="/home/sam/api", figures=figures)
    text = "".join(index_html({"k": row}))
    assert text.count("<td>$1.50</td>") == 2  # of the session, and of the project
    assert text.count("≥") == text.count('<th scope="col">≥ Cost</th>') == text.count("Costs are lower bounds:") == 1
    assert 'title="/home/sam/api">~/api</th>' in text


def test_a_site_has_an_index_pages_and_shared_assets(sessions: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "site"
    done = write_site(sessions, folder)
    assert (done.written, done.unchanged, done.faults) == (2, 0, [])
    index = ParsedPage((folder / "index.html").read_bytes())
    links = [value for tag, name, value in index.attributes if name == "href" and tag == "a"]
    assert sorted(links) == ["one.html", "two.html"]
    assert "in one <b>&</b>" in index.texts["a"] and "/p/two" in index.texts["th"] and not index.tags["b"]
    for link in links:
        page = ParsedPage((folder / link).read_bytes())
        sources = [value for _, name, value in page.attributes if name in ("src", "href")]
        assert all((folder / source).is_file() for source in sources) and len(sources) == 2
        assert page.index["home"] == "index.html"
    assert (folder / "assets" / "reader.js").read_text() == page_assets.reader_file("export.js")


def test_the_index_names_the_models_of_agents_too(tmp_path: Path) -> None:
    (session,) = SAMPLES.rglob("d2a94e17-*.jsonl")
    write_site([session], tmp_path)
    assert "opus-5-5 sonnet-5 haiku-5-5 + 3 agents" in (tmp_path / "index.html").read_text()


def test_only_changed_pages_are_rewritten(sessions: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "site"
    write_site(sessions, folder)
    os.utime(folder / "one.html", (1, 1))
    os.utime(folder / "two.html", (1, 1))
    with sessions[0].open("ab") as file:
        file.write(jsonl({"type": "user", "uuid": "z", "message": {"role": "user", "content": "more"}}))
    done = write_site(sessions, folder)
    assert (done.written, done.unchanged) == (1, 1)
    assert (folder / "one.html").stat().st_mtime > 1 and (folder / "two.html").stat().st_mtime == 1
    assert write_site(sessions, folder, Selection(thinking=False)).written == 2
    (folder / "two.html").unlink()
    assert write_site(sessions, folder, Selection(thinking=False)).written == 1


def test_a_deleted_session_keeps_its_page(sessions: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "site"
    write_site(sessions, folder)
    sessions[1].unlink()
    write_site(sessions[:1], folder)
    assert (folder / "two.html").exists() and "two.html" in (folder / "index.html").read_text()


def test_unreadable_sessions_and_folders_are_reported(sessions: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "site"
    done = write_site([*sessions, tmp_path / "none.jsonl"], folder)
    assert done.written == 2 and "none.jsonl" in done.faults[0]
    short = write_site(sessions, folder, Selection(turns=(9, None)))
    assert short.written == 0 and "one.jsonl: No turn 9; this session has 1 turn." in short.faults[0]
    (folder / "site.json").write_text("{")
    with pytest.raises(reread.Unreadable, match=r"Cannot read .*site\.json: .*; choose another folder\."):
        write_site(sessions, folder)
    with pytest.raises(Unwritable, match="Cannot write "):
        write_site(sessions, sessions[0])


# The command line


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with a short reader."""
    code = (
        "import sys, pathlib; from reread.reader import page_assets; from reread import cli\n"
        f"page_assets.STATIC = pathlib.Path({str(page_assets.STATIC)!r})\ncli.main()"
    )
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=150)


def test_the_export_command_writes_pages_and_sites(sessions: list[Path], tmp_path: Path) -> None:
    done = run("export", str(sessions[0]), "-f", "html")
    assert done.returncode == 0 and ParsedPage(done.stdout.encode()).index["threads"]
    page = tmp_path / "it.html"
    assert run("export", str(sessions[0]), "-o", str(page), "--omit", "thinking,images").returncode == 0
    assert ParsedPage(page.read_bytes()).index["threads"]
    done = run("export", str(tmp_path), "-f", "html", "-o", str(tmp_path / "site"))
    assert (done.returncode, done.stderr) == (0, f"{tmp_path / 'site' / 'index.html'}: 2 written, 0 unchanged\n")
    done = run("export", *map(str, sessions), "-f", "html", "-o", str(tmp_path / "site"))
    assert re.search("0 written, 2 unchanged", done.stderr)
    for wrong in (["-f", "html"], ["-f", "markdown", "-o", "x"]):
        done = run("export", str(tmp_path), *wrong)
        assert done.returncode == 2 and "-f html -o DIR" in done.stderr


def test_pages_carry_the_notices_of_the_libraries_in_them(tmp_path: Path) -> None:
    path = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
    page = reread.export(path, "html").decode()
    comment = page[page.rindex("<!--") :]
    libraries = json.loads((Path(__file__).parent.parent / "web" / "package.json").read_text())["dependencies"]
    assert [name for name, version in libraries.items() if f"\n{name} {version} (" not in comment] == []
    assert "Permission is hereby granted" in comment
    assert comment.count("--") == 2
    write_site([path], tmp_path)
    assert "Permission is hereby granted" in (tmp_path / "assets" / "NOTICES.txt").read_text("utf-8")
