"""Playing a session again, as far as no client is needed: what it is given, what it may reach, what is compared."""

import http.client
import io
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest
from batches import table
from click.testing import CliRunner
from making import SESSION, answer, attachment, image, jsonl, read, reply, result, system, told, use, user, write

import reread
from reread.addons.rerun import clients, playing
from reread.addons.rerun.aside import ASIDE, names_programs, with_own_paths
from reread.addons.rerun.box import INSIDE, Box, python
from reread.addons.rerun.comparison import Comparison
from reread.addons.rerun.fake_api import FakeApi
from reread.addons.rerun.inside import dry_shell, mcp_server
from reread.addons.rerun.scene import SceneFile, TypedPrompt, home_of, listed_agents, recorded_decision, scene_of
from reread.addons.rerun.stand_in import stand_in_servers
from reread.addons.rerun.text import rerun_lines
from reread.addons.rerun.web_pages import PagesPlan, stand_in_pages
from reread.cli import reread as command
from reread.errors import Misuse, NotFound, Unwritable
from reread.reports.made_up_names import learn, renamed, settled

Object = dict[str, Any]
PROJECT = "/home/dev/proj"


def edited(path: str = f"{PROJECT}/app.py", cwd: str = PROJECT, text: str = "x = 2") -> reread.Session:
    """A session that reads one file and edits another, which was there before."""
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-x = 1", "+x = 2"]}]
    data = {
        "filePath": path,
        "oldString": "x = 1",
        "newString": "x = 2",
        "originalFile": "x = 1\n",
        "structuredPatch": patch,
    }
    shown = {
        "type": "text",
        "file": {"filePath": f"{PROJECT}/b.py", "content": "b\n", "numLines": 2, "startLine": 1, "totalLines": 2},
    }
    rows = told(
        user("Change it"),
        reply(use("t1", "Edit", file_path=path, old_string="x = 1", new_string=text), id="m1"),
        answer(result("t1", "The file has been updated."), data=data),
        reply(use("t2", "Read", file_path=f"{PROJECT}/b.py"), id="m2"),
        answer(result("t2", "1\tb\n2\t"), data=shown),
        reply("Done.", id="m3"),
    )
    return read(*({**row, "cwd": cwd, "gitBranch": "main", "version": "2.1.325"} for row in rows))


def test_files_are_as_they_were_before_the_session() -> None:
    scene = scene_of(edited())
    assert {file.path: (file.data, file.whole) for file in scene.files} == {
        f"{PROJECT}/app.py": (b"x = 1\n", True),
        f"{PROJECT}/b.py": (b"b\n", True),
    }
    assert (scene.folder, scene.home, scene.branch, scene.version) == (PROJECT, "/home/dev", "main", "2.1.325")
    with closing(Box(scene)) as box:
        state = json.loads((box.home / ".claude.json").read_bytes())
        assert state["projects"][PROJECT]["allowedTools"] == []
        assert (box.work / "app.py").read_text() == "x = 1\n" and (box.work / "b.py").read_text() == "b\n"
        box.commit()
        said = subprocess.run(["git", "-C", box.work, "log", "--oneline"], capture_output=True, text=True, check=True)
        assert said.stdout.endswith(" start\n")
        top = box.top
    assert not top.exists()


HOSTILE = ("/home/dev/proj/../../../etc/passwd", "/etc/passwd", "/home/dev/proj/sub/../../../../root/x", "relative.py")


@pytest.mark.parametrize("path", HOSTILE)
def test_no_file_is_put_outside_the_box(path: str, tmp_path: Path) -> None:
    with closing(Box(scene_of(edited(path)))) as box:
        there = [one for one in box.top.rglob("*") if one.is_file() and one.read_bytes() == b"x = 1\n"]
        assert all(one.resolve().is_relative_to(box.top) for one in there)
    assert not list(tmp_path.iterdir())


RUN = (
    "/home/dev/proj/.git/config",
    "/home/dev/proj/.claude/settings.json",
    "/home/dev/proj/.mcp.json",
    "/home/dev/.claude.json",
)


@pytest.mark.parametrize("path", RUN)
def test_no_file_is_there_that_names_programs_to_run(path: str) -> None:
    session = edited(path)
    with closing(Box(scene_of(session))) as box:
        box.settings({})
        box.commit()
        (there,) = [one for one in box.top.rglob("*") if one.is_file() and one.read_bytes() == b"x = 1\n"]
        assert there.name == Path(path).name + ASIDE and box.outside(path) == there
        assert any(path in note for note in box.scene.notes)
    api = FakeApi(session)
    api.aside = box.scene.aside
    given = api.answer({"messages": [{"role": "user", "content": "Change it"}], "tools": [{"name": "Edit"}]})
    assert given.answer is not None and given.answer["content"][0]["input"]["file_path"] == path + ASIDE
    unmoved = FakeApi(session).answer(given.body)
    assert unmoved.answer is not None and unmoved.answer["content"][0]["input"]["file_path"] == path
    assert settled(with_own_paths(f"The file {path}{ASIDE} has been updated.")) == f"The file {path} has been updated."


PROGRAMS = (
    ("/p/.claude/skills/x/SKILL.md", "hooks:", True),
    ("/p/.claude/skills/x/SKILL.md", "Say it.", False),
    ("/p/.claude/agents/x.md", "mcpServers:", True),
    ("/p/skills/x/SKILL.md", "hooks:", False),
    ("/p/x/../.claude/settings.json", "{}", True),
    ("/p/.gitignore", "hooks", False),
)


@table(("path", "text", "names"), PROGRAMS)
def test_which_files_could_name_programs(path: str, text: str, names: bool) -> None:
    assert names_programs(path, text) is names
    scene = scene_of(edited(path, text=text))
    assert (path in scene.aside) is names


def used(name: str, data: Object, told_back: Any = "ok", **given: Any) -> reread.Session:
    """A session with one call."""
    rows = told(user("Go"), reply(use("t1", name, **given), id="m1"), answer(result("t1", told_back), data=data))
    return read(*({**row, "cwd": PROJECT, "version": "2.1.325"} for row in rows))


def shown(session: reread.Session) -> dict[str, bytes]:
    return {file.path: file.data for file in scene_of(session).files}


def test_pictures_documents_and_notebooks_are_as_they_were_read() -> None:
    picture = {"type": "image", "file": {"base64": "aGk=", "type": "image/png"}}
    assert shown(used("Read", picture, file_path="a.png")) == {f"{PROJECT}/a.png": b"hi"}
    broken = {"type": "pdf", "file": {"base64": "no base64!"}}
    assert shown(used("Read", broken, file_path=f"{PROJECT}/a.pdf")) == {}
    cells = [
        {"cellType": "markdown", "source": "# T", "cell_id": "a"},
        {"cellType": "code", "source": "1", "cell_id": "b", "language": "r", "outputs": [{"output_type": "stream"}]},
    ]
    (data,) = shown(used("Read", {"type": "notebook", "file": {"cells": cells}}, file_path="n.ipynb")).values()
    notebook = json.loads(data)
    assert [(cell["cell_type"], cell["id"], cell["source"]) for cell in notebook["cells"]] == [
        *(("markdown", "a", "# T"), ("code", "b", "1"))
    ]
    assert notebook["metadata"]["language_info"] == {"name": "r"}


def test_files_that_a_search_named_are_there() -> None:
    found = used("Glob", {"filenames": ["src/a.py", f"{PROJECT}/b.py", 3]}, pattern="*")
    assert shown(found) == {f"{PROJECT}/src/a.py": b"", f"{PROJECT}/b.py": b""}
    text = "a-b.py-1-x\na-b.py:2:TODO\n--\nc.py:9999999:far\n"
    found = used("Grep", {"mode": "content", "content": text}, pattern="TODO")
    assert shown(found) == {f"{PROJECT}/a-b.py": b"x\nTODO\n"}


SKILL = "Base directory for this skill: /home/dev/proj/.claude/skills/demo\n\n# Demo\nSay hi.\n\n\nARGUMENTS: x y"


def test_skills_and_commands_are_as_the_model_was_told() -> None:
    listing = attachment("skill_listing", {"content": "- demo: A demo: it says hi.\n- hello: say hello"})
    named = "<command-name>/hello</command-name>\n<command-args>Ann</command-args>"
    rows = told(
        listing,
        user("Show"),
        reply(use("t1", "Skill", skill="demo", args="x y"), id="m1"),
        answer(result("t1", "Launching skill: demo")),
        user([{"type": "text", "text": SKILL}], isMeta=True, sourceToolUseID="t1"),
        reply("Hi.", id="m2"),
        user(named),
        user([{"type": "text", "text": "Say hello to Ann."}], isMeta=True),
        reply("Hello.", id="m3"),
        user("<command-name>/init</command-name>"),
        user([{"type": "text", "text": "Look at the code."}], isMeta=True),
    )
    files = shown(read(*({**row, "cwd": PROJECT} for row in rows)))
    assert {path: data.decode() for path, data in files.items()} == {
        f"{PROJECT}/.claude/skills/demo/SKILL.md": (
            '---\ndescription: "A demo: it says hi."\n---\n\n# Demo\nSay hi.\n'
        ),
        f"{PROJECT}/.claude/commands/hello.md": '---\ndescription: "say hello"\n---\n\nSay hello to $ARGUMENTS.',
    }


def test_a_session_that_had_few_tools_and_a_prompt_of_its_own_is_played_with_these() -> None:
    [path] = (Path(__file__).parent.parent / "examples" / "cost" / "projects").glob("*/*.jsonl")
    with reread.open(path) as session:
        scene = scene_of(session)
    assert scene.tools == []
    assert scene.system == "You answer questions about the tides of Quayside, a made-up harbour, from its tables."


SWITCHES = (
    ("TodoWrite", {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", "CLAUDE_CODE_ENABLE_TASKS": "0"}),
    ("TaskCreate", {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", "CLAUDE_CODE_ENABLE_TASKS": "1"}),
    ("ToolSearch", {"ENABLE_TOOL_SEARCH": "true"}),
    ("Bash", {}),
)


@pytest.mark.parametrize(("name", "environment"), SWITCHES)
def test_tools_are_there_that_have_to_be_asked_for(name: str, environment: Object) -> None:
    assert scene_of(used(name, {})).switches == environment
    assert {"Bash", "Glob", "Grep"} <= {*(scene_of(used("Grep", {})).tools or ())}
    assert scene_of(used(name, {})).tools is None


def test_a_structured_answer_without_its_schema_is_named() -> None:
    scene = scene_of(used("StructuredOutput", {}, n=3))
    assert scene.schema is None and any("structured answer" in note for note in scene.notes)


def test_a_command_whose_end_is_not_recorded_differs_in_nothing() -> None:
    rows = told(user("Run"), reply(use("t1", command="make"), id="m1"))
    session = read(*rows)
    (record,) = scene_of(session).commands
    assert (record.out, record.code) == ("", 0) and "the record ends" in record.err
    done = read(*rows, answer(result("t1", "made")))
    (call,) = Comparison(session, done).calls()
    assert call.is_same and call.was == "running"
    assert not Comparison(session, read(user("Run"))).calls()[0].is_same


def test_searches_are_compared_without_their_order() -> None:
    both = [used("Grep", {}, "a.py:1\nb.py:2"), used("Grep", {}, "b.py:2\na.py:1"), used("Grep", {}, "b.py:3\na.py:1")]
    assert [Comparison(both[0], one).calls()[0].same_result for one in both] == [True, True, False]


def test_a_file_that_the_session_made_is_not_there_before() -> None:
    path = f"{PROJECT}/new.txt"
    data = {"type": "create", "filePath": path, "content": "x", "structuredPatch": [], "originalFile": None}
    rows = told(
        user("Make it"), reply(use("t1", "Write", file_path=path, content="x")), answer(result("t1"), data=data)
    )
    assert scene_of(read(*({**row, "cwd": PROJECT} for row in rows))).files == []


def test_git_reads_no_configuration_of_a_session(tmp_path: Path) -> None:
    mark = tmp_path / "run"
    text = f'[core]\n\tfsmonitor = touch {mark}\n[filter "x"]\n\tclean = touch {mark}\n'
    scene = scene_of(edited())
    scene.files.append(SceneFile("/home/dev/.gitconfig", text.encode(), True))
    scene.files.append(SceneFile(f"{PROJECT}/.gitattributes", b"* filter=x\n", True))
    with closing(Box(scene)) as box:
        box.commit()
        assert (box.work / ".git" / "HEAD").exists()
    assert not mark.exists()


FOLDERS = (
    ("/", "/home/user/project"),
    ("/usr/src/app", "/home/user/project"),
    ("/etc", "/home/user/project"),
    ("/reread/x", "/home/user/project"),
    ("/tmp/work", "/tmp/work"),
    ("/home/dev/proj", "/home/dev/proj"),
    ("/Users/ann/shop", "/Users/ann/shop"),
    ("C:\\\\work\\\\shop", "/home/user/project"),
)


@table(("cwd", "folder"), FOLDERS)
def test_the_work_folder_is_where_it_was_unless_the_system_is_there(cwd: str, folder: str) -> None:
    with closing(Box(scene_of(edited(cwd=cwd)))) as box:
        assert box.folder == folder


def test_the_home_folder_is_guessed_from_the_project() -> None:
    assert [home_of(one) for one in ("/home/ann/a/b", "/Users/ann/a", "/root/a", "/srv/app", "/home/ann")] == [
        *("/home/ann", "/Users/ann", "/root", "/home/user", "/home/user")
    ]


def test_prompts_are_what_a_person_said_with_pictures_and_commands() -> None:
    session = read(
        *told(
            user([{"type": "text", "text": "Look"}, image("aGk=")]),
            reply("Yes.", id="m1"),
            user("<command-name>/compact</command-name><command-args>keep names</command-args>"),
            user("<command-name>/model</command-name><command-args>opus</command-args>"),
            user("--- begins with dashes"),
            reply("Yes.", id="m2"),
        )
    )
    scene = scene_of(session)
    assert [one.content for one in scene.prompts] == [
        *([{"type": "text", "text": "Look"}, image("aGk=")], "/compact keep names", "--- begins with dashes")
    ]
    assert any("/model opus" in note for note in scene.notes)
    assert [one.content for one in scene_of(session, turns=1).prompts] == [scene.prompts[0].content]
    assert isinstance(scene.prompts[0], TypedPrompt)


def test_prompts_that_were_queued_come_while_an_answer_does() -> None:
    queued = attachment("queued_command", {"prompt": "And quickly", "commandMode": "prompt"})
    session = read(
        *told(
            user("First"),
            reply("Yes.", id="m1"),
            user("Run it"),
            reply(use("t1", command="ls"), id="m2"),
            answer(result("t1", "a.py")),
            queued,
            reply("Done.", id="m3"),
        )
    )
    assert [(one.content, one.during) for one in scene_of(session).prompts] == [
        *(("First", None), ("Run it", None), ("And quickly", 1))
    ]


def test_commands_that_were_typed_are_told_with_the_next_prompt() -> None:
    typed = "<bash-input>make</bash-input>", "<bash-stdout>made</bash-stdout><bash-stderr></bash-stderr>"
    last = "<bash-input>pwd</bash-input>"
    session = read(
        *told(
            *(user(one) for one in typed),
            user("Is it good?"),
            reply("Yes.", id="m1"),
            user(last),
            reply("I see.", id="m2"),
        )
    )
    first, second = scene_of(session).prompts
    texts = [block["text"] for block in first.content if isinstance(block, dict)]
    assert texts == [*typed, "Is it good?"]
    assert second.content == [{"type": "text", "text": last}]


STOPPED = "[Request interrupted by user for tool use]"
INTERRUPTED = (
    (result("t1", "The user doesn't want to proceed with this tool use.", is_error=True), "user-rejected", ""),
    (result("t1", f"Exit code 137\n{STOPPED}\nhalf of it", is_error=True), None, "half of it"),
)


@pytest.mark.parametrize(("told_back", "kind", "out"), INTERRUPTED, ids=["rejected", "killed"])
def test_a_command_that_was_interrupted_runs_until_it_is(told_back: Object, kind: str | None, out: str) -> None:
    more = {"toolDenialKind": kind} if kind else {}
    stop = user([{"type": "text", "text": STOPPED}])
    session = read(
        *told(user("Run"), reply(use("t1", command="make it"), id="m1"), answer(told_back, **more), stop, user("Go on"))
    )
    scene = scene_of(session)
    (record,) = scene.commands
    assert (record.call, record.out, record.stays, record.interrupted) == ("t1", out, True, True)
    with closing(Box(scene)) as box:
        path = box.top / "dry" / "000000.json"
        assert path.exists() and not box.is_interrupted()
        path.rename(path.with_suffix(".told"))
        assert box.is_interrupted() and not box.is_interrupted()
    with closing(Box(scene)) as box:
        box.forget("t1")  # a person said no before it ran
        assert not (box.top / "dry" / "000000.json").exists()


def fetched() -> reread.Session:
    """A session that fetched a page, one that leads elsewhere, one that is missing, and two that are no pages."""
    leads = "REDIRECT DETECTED: elsewhere.\n\nOriginal URL: https://one.example/old\nRedirect URL: https://two.example/new\n"
    addresses = (
        "http://one.example/a?b=1",
        "https://one.example/old",
        "https://127.0.0.1:9443/x",
        "https://a b/",
        "x:y",
    )
    calls = [use(f"t{number}", "WebFetch", url=url, prompt="?") for number, url in enumerate(addresses)]
    return read(
        *told(
            user("Look"),
            reply(*calls, id="m1"),
            answer(result("t0", "Good."), data={"code": 200, "result": "Good."}),
            answer(result("t1", leads), data={"code": 302, "result": leads}),
            answer(result("t2", "Request failed with status code 404", is_error=True)),
        )
    )


def free_port() -> socket.socket:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    return listening


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the certificate is made with openssl")
def test_a_stand_in_for_pages_answers_as_they_did(tmp_path: Path) -> None:
    plan = stand_in_pages(fetched(), tmp_path)
    assert (plan.ports, plan.hosts, plan.note) == ([443, 9443], ["one.example", "127.0.0.1"], "")
    pages = json.loads((tmp_path / "pages.json").read_text())
    with free_port() as listening:
        port = listening.getsockname()[1]
        pages |= {name.replace(":443", f":{port}"): page for name, page in pages.items()}
        (tmp_path / "pages.json").write_text(json.dumps(pages))
        words = [sys.executable, "-I", "-S", str(tmp_path / "page_server.py"), str(tmp_path), str(listening.fileno())]
        process = subprocess.Popen(words, pass_fds=[listening.fileno()])
    try:
        context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        seen: list[tuple[int, str | None]] = []
        for path in ("/a?b=1", "/old", "/other"):
            plain = socket.create_connection(("127.0.0.1", port), 20)
            with plain, context.wrap_socket(plain, server_hostname="one.example") as wire:
                wire.sendall(f"GET {path} HTTP/1.1\r\nhost: one.example\r\nconnection: close\r\n\r\n".encode())
                answered = http.client.HTTPResponse(wire)
                answered.begin()
                seen.append((answered.status, answered.headers["location"]))
        assert seen == [(200, None), (302, "https://two.example/new"), (404, None)]
        assert pages["127.0.0.1:9443/x"] == {"status": 404, "location": ""}
    finally:
        process.kill()
        process.wait()


def test_pages_without_openssl_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "openssl" in stand_in_pages(fetched(), tmp_path).note
    assert stand_in_pages(edited(), tmp_path) == PagesPlan()


AGENTS = ("- reviewer: Reviews code. (Tools: Read, Grep)", "- poet: Writes (well). (Tools: All tools)")


def test_types_of_agents_are_as_they_were(tmp_path: Path) -> None:
    listing = attachment("agent_listing_delta", {"addedLines": list(AGENTS)})
    session = read(*told(user("Go"), listing, reply("Done.", id="m1")))
    assert listed_agents(session) == {
        "reviewer": ("Reviews code.", ["Read", "Grep"]),
        "poet": ("Writes (well).", None),
    }


SHELL = (
    (
        answer(result("t1", "out"), data={"stdout": "out", "stderr": "warned", "interrupted": False}),
        ("out\n", "warned", 0),
    ),
    (answer(result("t1", "Exit code 3\nbad", is_error=True), data="Error: Exit code 3\nbad"), ("bad", "", 3)),
    (answer(result("t1", "plain text")), ("plain text", "", 0)),
)


@pytest.mark.parametrize(("told_back", "said"), SHELL, ids=["structured", "failed", "text"])
def test_commands_print_what_was_recorded(told_back: Object, said: tuple[str, str, int]) -> None:
    session = read(*told(user("Run"), reply(use("t1", command="make it"), id="m1"), told_back, reply("Done.", id="m2")))
    (record,) = scene_of(session).commands
    assert (record.command, record.out, record.err, record.code) == ("make it", *said)


def shell(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    monkeypatch.setattr(dry_shell, "RECORD", folder)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = dry_shell.main(["-c", "-l", script])
    return code, out.getvalue(), err.getvalue()


def test_the_dry_shell_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary, cwd = tmp_path / "canary", tmp_path / "cwd"
    recorded = f"touch {canary}; echo 'it'\"'\"'s'"
    for number, said in enumerate(("first\n", "second\n")):
        record = {"command": recorded, "out": said, "err": "e", "code": number, "stays": False}
        (tmp_path / f"{number:06}.json").write_text(json.dumps(record))
    import shlex

    script = f"source snapshot.sh && eval {shlex.quote(recorded)} \\< /dev/null && pwd -P >| {cwd}"
    assert shell(tmp_path, script, monkeypatch) == (0, "first\n", "e")
    assert shell(tmp_path, script, monkeypatch) == (1, "second\n", "e")
    code, out, err = shell(tmp_path, script, monkeypatch)
    assert (code, out) == (127, "") and "nothing was run" in err
    assert shell(tmp_path, f"touch {canary}", monkeypatch)[0] == 0  # the client's own look at its shell
    assert not canary.exists() and cwd.read_text() == f"{Path.cwd()}\n"
    assert json.loads((tmp_path / "asked").read_text()) == recorded


def test_the_dry_shell_knows_a_command_that_the_client_rewrote() -> None:
    assert dry_shell.bare_command("head a < /dev/null | tr '\\0' x") == dry_shell.bare_command("head a | tr '\\0' 'x'")
    assert (
        dry_shell.bare_command("echo a") != dry_shell.bare_command("echo b")
        and dry_shell.bare_command("echo '") == "echo '"
    )


def test_the_programs_of_the_box_need_nothing_but_the_standard_library() -> None:
    for name in ("boxed", "dry_shell", "mcp_server", "page_server"):
        words = [sys.executable, "-I", "-S", "-c", f"import runpy; runpy.run_path({str(INSIDE / name) + '.py'!r})"]
        assert subprocess.run(words, capture_output=True, text=True, check=False).stderr == "", name


def with_server() -> reread.Session:
    schema = {"type": "object", "properties": {"code": {"type": "integer"}}}
    advice = "\n\nThis tool's input schema was not in your prompt when you called it. The input schema is: "
    advice += f"{json.dumps(schema)}\nIf your input does not match it, correct it."
    return read(
        *told(
            user("Ask it"),
            reply(use("t1", "mcp__tiny__echo", text="hi"), id="m1"),
            answer(result("t1", [{"type": "text", "text": "echo: hi"}])),
            reply(use("t2", "mcp__tiny__fail"), id="m2"),
            answer(result("t2", f"it failed{advice}", is_error=True)),
            reply(use("t3", "ListMcpResourcesTool"), id="m3"),
            answer(result("t3", "[…]"), data=[{"name": "one", "uri": "tiny://one", "server": "tiny"}]),
            reply(use("t4", "ReadMcpResourceTool", server="tiny", uri="tiny://one"), id="m4"),
            answer(result("t4", "…"), data={"contents": [{"uri": "tiny://one", "text": "resource one"}]}),
        )
    )


def test_a_stand_in_for_a_server_answers_as_it_did(tmp_path: Path) -> None:
    servers = stand_in_servers(with_server(), tmp_path, str(tmp_path))
    assert list(servers) == ["tiny"]
    requests: list[Object] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hi"}}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "fail", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hi"}}},
        {"jsonrpc": "2.0", "id": 6, "method": "resources/read", "params": {"uri": "tiny://one"}},
        {"jsonrpc": "2.0", "id": 7, "method": "resources/list"},
        {"jsonrpc": "2.0", "id": 8, "method": "prompts/list"},
    ]
    said = subprocess.run(
        [servers["tiny"]["command"], *servers["tiny"]["args"]],
        input="".join(json.dumps(one) + "\n" for one in requests),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    answers = {one["id"]: one for one in map(json.loads, said.splitlines())}
    tools = {tool["name"]: tool["inputSchema"] for tool in answers[2]["result"]["tools"]}
    assert tools["echo"] == {"type": "object", "additionalProperties": True} and "code" in tools["fail"]["properties"]
    assert answers[3]["result"] == {"content": [{"type": "text", "text": "echo: hi"}], "isError": False}
    assert answers[4]["result"] == {"content": [{"type": "text", "text": "it failed"}], "isError": True}
    assert answers[5]["result"]["content"][0]["text"] == mcp_server.NOT_RECORDED
    assert answers[6]["result"]["contents"][0]["text"] == "resource one"
    assert [one["uri"] for one in answers[7]["result"]["resources"]] == ["tiny://one"]
    assert answers[8]["error"]["code"] == -32601 and len(answers) == 8


def test_a_person_answers_as_recorded() -> None:
    session = read(
        *told(
            user("Try"),
            reply(use("t1", command="rm -r x"), id="m1"),
            answer(result("t1", "The tester says no.", is_error=True), toolDenialKind="user-rejected"),
            reply(use("t2", "AskUserQuestion", questions=[{"question": "Which?"}]), id="m2"),
            answer(result("t2", "ok"), data={"questions": [], "answers": {"Which?": "Blue"}}),
            reply(use("t3", "Edit", file_path="a"), id="m3"),
            answer(result("t3", "ok")),
        )
    )
    no, asks, yes = session.calls
    assert recorded_decision(no, {"input": no.input})["behavior"] == "deny"
    assert recorded_decision(no, {"input": no.input}, ends_turn=True)["interrupt"] is True
    assert recorded_decision(asks, {"input": asks.input})["updatedInput"]["answers"] == {"Which?": "Blue"}
    assert recorded_decision(yes, {"input": {"file_path": "a"}}) == {
        "behavior": "allow",
        "updatedInput": {"file_path": "a"},
    }
    assert recorded_decision(None, {})["behavior"] == "deny"


REFUSED = (
    ("2.0.55", result("t1", "The tester says no.", is_error=True), (), True),
    ("2.0.55", result("t1", "Exit code 1\nThe tester says no.", is_error=True), (), False),
    ("2.0.55", result("t1", "<tool_use_error>Unknown</tool_use_error>", is_error=True), (), False),
    ("2.0.55", result("t1", "The tester says no."), (), False),
    ("1.0.128", result("t1", "ls: no such file", is_error=True), (), False),
    ("1.0.128", result("t1", "Stop here.", is_error=True), [user("[Request interrupted by user for tool use]")], True),
)


@pytest.mark.parametrize(("version", "told_back", "after", "no"), REFUSED)
def test_a_no_in_words_of_its_own_is_said_again(version: str, told_back: Object, after: Any, no: bool) -> None:
    rows = [user("Try"), reply(use("t1", command="touch x"), id="m1"), answer(told_back), *after]
    session = read(*({**row, "version": version} for row in told(*rows)))
    refused = scene_of(session).refused
    assert refused == ({"t1"} if no else set())
    said = recorded_decision(session.calls[0], {"input": {}}, refused=refused)
    assert said["behavior"] == ("deny" if no else "allow") and (said.get("message") == told_back["content"]) is no


NAMES = (
    (
        "running with ID: b05m25hd2. Output: /t/b05m25hd2.output",
        "running with ID: bhga55i1m. Output: /t/bhga55i1m.output",
    ),
    ("plan in /p/brave-red-fox.md", "plan in /p/calm-blue-owl.md"),
    (
        "Scheduled recurring job 2ba94760 (Every 5 minutes). Next run: Nov 15 1:07am.",
        "Scheduled recurring job cd08f5c0 (Every 5 minutes). Next run: Nov 15 1:07am.",
    ),
)


@pytest.mark.parametrize(("recorded", "now"), NAMES)
def test_made_up_names_are_learnt_from_the_same_text(recorded: str, now: str) -> None:
    known: dict[str, str] = {}
    learn(recorded, now, known)
    assert known and renamed(recorded, known) == now


DIFFERENT = (
    ("3 tests passed", "4 tests failed"),
    ("one two", "one two three"),
    ("ID: b05m25hd2, exit 1", "ID: bhga55i1m, exit 2"),
    ("same", "same"),
)


@pytest.mark.parametrize(("recorded", "now"), DIFFERENT)
def test_no_name_is_learnt_where_the_texts_differ(recorded: str, now: str) -> None:
    known: dict[str, str] = {}
    learn(recorded, now, known)
    assert not known


def test_many_names_are_replaced_as_few_are_in_a_time_that_they_do_not_lengthen() -> None:
    names = {f"now{number:05}": f"was{number:05}" for number in range(100_000)}
    text = "task now00007-x and now19999, but not now19999x"
    assert renamed(text, names) == renamed(text, {"now19999": "was19999"}) == text.replace("now19999,", "was19999,")
    began = time.process_time()
    for _ in range(1000):
        assert renamed("nothing of these " * 8, names)
    assert time.process_time() - began < 2.0


def test_what_differs_in_every_run_is_no_difference() -> None:
    one = "id 0a0a0a0a-0000-4000-8000-000000000001 at 2026-11-15T00:48:43.697Z, agentId: a7a2e8858b899b493"
    other = "id 1b1b1b1b-0000-4000-8000-000000000002 at 2026-11-16T10:48:43Z, agentId: a08d13a29d748261e"
    assert settled(one) == settled(other)
    assert settled("exit 1") != settled("exit 2")
    assert settled("Next run: Nov 15 1:07am.") == settled("Next run: Nov 19 10:49pm.")
    assert settled("scheduled for 02:01:00 (in 3538s)") == settled("scheduled for 11:45:00 (in 9s)")
    assert settled("saved to: /x/byjo06nnn.txt") == settled("saved to: /x/bze97pwpi.txt")
    assert settled("x mine y", ["mine"]) == settled("x … y")


def test_a_session_equals_itself_and_a_difference_is_named() -> None:
    recorded = edited()
    calls = Comparison(recorded, edited()).calls()
    assert len(calls) == 2 and all(one.is_same and one.same_result for one in calls)
    rows = told(
        user("Change it"),
        reply(use("t1", "Edit", file_path=f"{PROJECT}/app.py", old_string="x = 1", new_string="x = 2"), id="m1"),
        answer(result("t1", "blocked: no", is_error=True), toolDenialKind="hook"),
    )
    first, second = Comparison(recorded, read(*rows)).calls()
    assert (first.reached, first.same_input, first.was, first.now) == (True, True, "done", "denied")
    assert (second.reached, second.is_same, second.now) == (False, False, "")
    assert [one.turn for one in (first, second)] == [1, 1]
    assert not Comparison(recorded, None).requests()


FILES = (
    (b"x = 1\n", b"x = 1\n", True),
    (b"x = 1\n", b"x = 2\n", False),
    (None, None, True),
    (b"x", None, False),
    (b'  {\n   "id": "2b71e301",\n  }', b'  {\n   "id": "7dd7c815",\n  }', True),
    (b'{"id": "2b71e301"}', b'{"id": "7dd7c815"}', False),
)


@table(("recorded", "now", "same"), FILES)
def test_files_are_compared_by_their_bytes(recorded: bytes | None, now: bytes | None, same: bool) -> None:
    assert playing.is_same_file(recorded, now) is same


def test_a_client_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotFound, match="No `claude` on PATH"):
        clients.find_client()
    with pytest.raises(NotFound, match="No client at"):
        clients.find_client(tmp_path / "claude")
    with pytest.raises(NotFound, match="npm"):
        clients.find_client("9.9.999")


def test_a_client_is_found_beside_its_package(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "@anthropic-ai" / "claude-code"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.0.128"}')
    (package / "cli.js").write_text("")
    (tmp_path / "claude").symlink_to(package / "cli.js")
    found = clients.find_client(tmp_path / "claude")
    assert (found.version, found.words("/c")) == ("1.0.128", ["node", "/c/@anthropic-ai/claude-code/cli.js"])


def played(*words: str | Path) -> Any:
    return CliRunner().invoke(command, ["rerun", *map(str, words)])


def test_the_verb_says_what_is_wrong(tmp_path: Path) -> None:
    path = write(tmp_path, *told(user("Hi"), reply("Hello.", id="m1")))
    missing = played(path, "--client", tmp_path / "none")
    assert isinstance(missing.exception, NotFound)
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_bytes(jsonl(system("informational", "x", uuid="u", sessionId=SESSION)))
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    program.chmod(0o755)
    done = played(nothing, "--client", program)
    assert done.exit_code == 3 and "Nothing to play" in done.output
    assert isinstance(played(path, "--client", program, "--live").exception, Misuse)
    (tmp_path / "s.json").write_text("[]")
    assert isinstance(played(path, "--client", program, "--settings", tmp_path / "s.json").exception, Misuse)


def test_nothing_is_played_where_no_box_can_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "isolation", lambda: None)
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    program.chmod(0o755)
    done = played(write(tmp_path, *told(user("Hi"), reply("Hello.", id="m1"))), "--client", program)
    assert done.exit_code == 3 and "nothing is played" in done.output


def left_running(mark: str) -> list[str]:
    """The processes on whose command line a text is."""
    found: list[str] = []
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            found += [one.name] if mark.encode() in (one / "cmdline").read_bytes() else []
    return found


ASKS = f"""exec {python()} -c '
import json, os, sys, urllib.request
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "control_request":
        print(json.dumps({{"type": "control_response"}}), flush=True)
        continue
    body = {{"messages": [{{"role": "user", "content": "Who?"}}], "tools": [{{"name": "Bash"}}]}}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode())).read()
    print(json.dumps({{"type": "result"}}), flush=True)
'"""
CLIENTS = (
    ("ends at once", "exit 7", "ended"),
    ("says nothing", "cat >/dev/null; sleep 600", "time was up"),
    ("asks for something else", ASKS, "nothing that the client asked for"),
    ("says garbage", "echo '{'; echo 'no json'; head -c 1 >/dev/null", "ended"),
)


@pytest.mark.skipif(sys.platform != "linux", reason="the box needs Linux")
@pytest.mark.parametrize(("what", "script", "why"), CLIENTS, ids=[row[0] for row in CLIENTS])
def test_a_client_that_cannot_be_played_is_reported_and_leaves_nothing(
    what: str, script: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reread.addons.rerun.box import isolation

    if isolation() is None:
        pytest.skip("this system closes no box")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 1.2.3 && exit\n{script}\n')
    program.chmod(0o755)
    path = write(tmp_path, *told(user("Hi"), reply("Hello.", id="m1")))
    found = reread.rerun(path, client=program, seconds=3.0 if "time" in why else 60.0)
    assert why in found.failure and not found.is_equal and not found.is_decided, what
    assert not list((tmp_path / "t").iterdir())
    assert not left_running(str(tmp_path / "t"))


@pytest.mark.skipif(sys.platform != "linux", reason="the box needs Linux")
@pytest.mark.parametrize("point", ["", "/home", "/wire/api", "/plan.json", "/work/client-is-there"])
def test_a_run_that_is_killed_leaves_no_process_and_no_folder(point: str, tmp_path: Path) -> None:
    from reread.addons.rerun.box import isolation

    if isolation() is None:
        pytest.skip("this system closes no box")
    (tmp_path / "t").mkdir()
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 1.2.3 && exit\ntouch client-is-there; sleep 600\n')
    program.chmod(0o755)
    path = write(tmp_path, *told(user("Hi"), reply("Hello.", id="m1")))
    words = [sys.executable, "-m", "reread", "rerun", str(path), "--client", str(program)]
    process = subprocess.Popen(words, env={**os.environ, "TMPDIR": str(tmp_path / "t")})
    try:
        until(lambda: any((tmp_path / "t").glob(f"*{point}")))
    finally:
        process.kill()
        process.wait()
    until(lambda: not list((tmp_path / "t").iterdir()) and not left_running(str(tmp_path / "t")))


def until(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


FOLDERS = (
    "/",
    "/etc",
    "../../x",
    "/home/sam/../../etc",
    "/proc/1",
    "x",
    "/a\0b",
    "/" + "x" * 5000,
    "/d" * 2000,
    "",
    "/x\ny",
)
PATHS = (
    *(
        "/etc/passwd",
        "../../../etc/passwd",
        "/home/sam/../../../etc/shadow",
        f"{PROJECT}/a\0b",
        f"{PROJECT}/{'y' * 300}",
    ),
    *(
        f"{PROJECT}/{'d/' * 2000}f",
        "/dev/null",
        "/proc/self/mem",
        PROJECT,
        "",
        f"{PROJECT}/\udc80",
        f"{PROJECT}/\ud800",
    ),
)


@pytest.mark.skipif(sys.platform != "linux", reason="the box needs Linux")
@pytest.mark.parametrize("hostile", [{"cwd": cwd} for cwd in FOLDERS] + [{"path": path} for path in PATHS])
def test_a_box_is_made_of_hostile_folders_and_paths(
    hostile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with closing(Box(scene_of(edited(**hostile)))) as box:
        made = [path for path in box.top.rglob("*") if path.is_file()]
        assert made and all(path.resolve().is_relative_to(box.top) for path in made)
        assert [path.name for path in tmp_path.iterdir()] == [box.top.name]
        assert playing._files(edited(**hostile), box) is not None
    assert not list(tmp_path.iterdir())


def test_a_file_where_the_record_has_a_folder_is_named() -> None:
    scene = scene_of(edited())
    scene.files = [SceneFile(f"{PROJECT}/a", b"x", True), SceneFile(f"{PROJECT}/a/b", b"x", True)]
    with closing(Box(scene)) as box:
        assert (box.work / "a").read_bytes() == b"x"
    assert any("a/b cannot be a file" in note for note in scene.notes)


def test_what_cannot_be_started_is_not_played(tmp_path: Path) -> None:
    path = write(tmp_path, *told(user("Hi"), reply("Hello.", id="m1")))
    program = tmp_path / "claude"
    program.write_text("#!/no/such/shell\n")
    for mode in (0o644, 0o755):
        program.chmod(mode)
        done = played(path, "--client", program)
        assert done.exit_code == 3 and "does not start" in done.output
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    refused = played(path, "--client", program, "-o", path / "kept")
    assert isinstance(refused.exception, Unwritable) and "Cannot keep" in str(refused.exception)


def a_rerun(**given: Any) -> Any:
    values: Object = {"session": "s", "title": "t", "recorded": None, "played": "1.2.3", "dry": True, "seconds": 1.0}
    values |= {"calls": [], "requests": [], "sent": 1, "beside": 0, "files": [], "unrecorded": [], "unreached": 0}
    return playing.Rerun(**{**values, "tokens": None, "notes": [], **given})


CODES = (({}, 0), ({"unrecorded": ["a request of the main thread"]}, 3), ({"failure": "the client ended"}, 3))


@table(("given", "code"), CODES)
def test_the_exit_code_is_3_if_what_came_next_is_not_known(given: Any, code: int) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(playing, "rerun", lambda *_, **__: a_rerun(**given))
        path = write(Path(folder), *told(user("Hi"), reply("Hello.", id="m1")))
        assert played(path).exit_code == code


def test_the_command_is_said_that_opens_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, kept = tmp_path / "a b.jsonl", str(tmp_path / "k.jsonl")
    assert f"reread serve '{record}' --beside {kept}" in "\n".join(rerun_lines(a_rerun(kept=kept, record=str(record))))
    assert "--beside" not in "\n".join(rerun_lines(a_rerun(kept=kept)))


def test_hooks_that_were_recorded_are_named_as_not_played() -> None:
    hooked = attachment("hook_success", {"hookName": "PreToolUse:Bash", "content": "ok"})
    session = read(*told(user("Hi"), hooked, reply("Hello.", id="m1")))
    assert any("hooks" in note for note in scene_of(session).notes)
