"""One address, `SESSION[@PATH][:AGENT][:TURN[.CALL]]` or `SESSION[:AGENT]:reqN`, in every verb and in `reread.open`."""

import json
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
from batches import table
from command import cli
from requested import conversation

import reread
from reread import cli as command_line
from reread.base.address import LAST, Address
from reread.base.paths import SAMPLES
from reread.catalog.resolve import resolve_address, resolve_session
from reread.catalog.store import Store
from reread.cli._option_types import SessionName
from reread.errors import Misuse, NotFound
from reread.session import follow

HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
INLINE = next(SAMPLES.glob("projects/*/f27b5c90*.jsonl"))
ADDRESS = "8c1f:1"
WORDS = {
    "file": ["file", "backoff.py", ADDRESS],
    "resume": ["resume", ADDRESS, "--dry-run", "--in", "."],
    "search": ["search", "jitter", "--without", ADDRESS],
    "share": ["share", ADDRESS, "-o", "it.md"],
}
"""What to type for verbs that take more than a session."""


@table(
    ("text", "address", "place"),
    [
        ("latest", Address("latest"), ""),
        ("8c1f:3", Address("8c1f", turn=3), "turn 3"),
        ("8c1f:3.2", Address("8c1f", turn=3, call=2), "call 2 of turn 3"),
        ("8c1f@1", Address("8c1f", path=1), "path 1"),
        ("8c1f@1:0", Address("8c1f", path=1, turn=0), "turn 0 of path 1"),
        (":2", Address("latest", turn=2), "turn 2"),
        ("8c1f:ac60", Address("8c1f", agent="ac60"), "agent ac60"),
        ("8c1f:ac60:2.1", Address("8c1f", agent="ac60", turn=2, call=1), "call 1 of turn 2 of agent ac60"),
        ("8c1f:agent-12", Address("8c1f", agent="agent-12"), "agent agent-12"),
        ("s:req4", Address("s", request=4), "request 4"),
        ("s:request 12", Address("s", request=12), "request 12"),
        ("s:req_latest", Address("s", request=LAST), "request latest"),
        (":req4", Address("latest", request=4), "request 4"),
        ("s:a1:req-4", Address("s", agent="a1", request=4), "request 4 of agent a1"),
        ("s:req", Address("s", agent="req"), "agent req"),
        ("C:\\x\\a.jsonl:12", Address("C:\\x\\a.jsonl", turn=12), "turn 12"),
        ("C:/x y/s.jsonl:req4", Address("C:/x y/s.jsonl", request=4), "request 4"),
        ("C:\\x\\a.jsonl", Address("C:\\x\\a.jsonl"), ""),
        ("s3://team/sessions/a.jsonl", Address("s3://team/sessions/a.jsonl"), ""),
        ("a@b.jsonl", Address("a@b.jsonl"), ""),
        ("8c1f:3.0", Address("8c1f:3.0"), ""),
        ("8c1f:3.x", Address("8c1f:3.x"), ""),
        ("8c1f:-1", Address("8c1f:-1"), ""),
        ("8c1f:", Address("8c1f:"), ""),
    ],
)
def test_an_address_is_parsed(text: str, address: Address, place: str) -> None:
    assert Address.parse(text) == address
    assert address.place == place and address.is_place == bool(place)
    assert Address.parse(str(address)) == address


def test_a_file_with_such_a_name_is_a_file(tmp_path: Path) -> None:
    plain, named = tmp_path / "p:q", tmp_path / "s:req4"
    for path in (plain, named):
        path.write_bytes(INLINE.read_bytes())
    assert Address.parse(str(named)) == Address(str(named))
    assert Address.parse(f"{plain}:req1") == Address(str(plain), request=1)
    assert Address.parse(f"{tmp_path}/x:q:req1") == Address(f"{tmp_path}/x", agent="q", request=1)
    assert reread.open(str(named)).at.turn is None and reread.open(f"{plain}:2").at.turn == 2


def test_a_captured_conversation_with_such_an_id_is_found_by_it(tmp_path: Path) -> None:
    with Store(tmp_path).writer("chat:C12:34") as writer:
        writer.append(b"{}")
    for name in ("chat:C12:34", "chat:C12:3", "chat:C12"):
        assert resolve_session(name, root=tmp_path) == resolve_address(name, root=tmp_path)[0]
        assert not resolve_address(name, root=tmp_path)[1].is_place
    assert resolve_address("chat:C12:34:7", root=tmp_path)[1].turn == 7


def taking_sessions() -> list[str]:
    context = click.Context(command_line.reread)
    verbs = {name: command_line.reread.get_command(context, name) for name in command_line.all_verbs()}
    return [name for name, verb in verbs.items() if verb and any(isinstance(p.type, SessionName) for p in verb.params)]


@pytest.mark.parametrize("verb", taking_sessions())
def test_every_verb_takes_a_place_or_says_that_it_takes_whole_sessions(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(follow, "follow", lambda *_, **__: iter(()))
    root = ["--root", str(shutil.copytree(SAMPLES, tmp_path / "home"))]  # the samples cannot be deleted
    try:
        done, said = cli(*root, *WORDS.get(verb, [verb, ADDRESS])), ""
    except Misuse as error:
        done, said = None, str(error)
    with pytest.raises(Misuse) as whole:
        resolve_session("8c1f:1")
    named = re.findall(r"\w+", str(whole.value).partition("are for ")[2])
    if verb in named:
        assert done is not None and done.exit_code == 0, said or (done and done.output)
        with pytest.raises((Misuse, NotFound), match="No turn 77; this session has 5 turns"):
            cli(*root, *(word.replace(ADDRESS, "8c1f:77") for word in WORDS.get(verb, [verb, ADDRESS])))
    else:
        assert said == str(whole.value)


def test_a_place_that_is_not_there_says_what_is() -> None:
    for place, said in {
        ":99": "No turn 99; this session has 14 turns.",
        ":0.1": "No turn 0; this session has 14 turns",
        ":1.99": r"No call 99 in turn 1; it has \d+ calls: 1 \w+, 2",
        "@9": "No path 9; this session has paths 0 and 1.",
        "@9:1": "No path 9; this session has paths 0 and 1.",
        ":zz": "No agents of this session have an id that begins with 'zz'; there are ac605ed2d8f598271, ",
        ":a": "3 agents of this session have an id that begins with 'a'; these do: ac605ed2d8f598271, ",
        ":ac60:9": "No turn 9; this session has 1 turn.",
        ":req9": "No API requests are noted in this session",
        ":3.x": r"an address is SESSION\[@PATH\]",
    }.items():
        with pytest.raises((Misuse, NotFound), match=said):
            reread.open(f"d2a9{place}", root=SAMPLES)


def test_open_says_which_place_was_asked_for() -> None:
    session = reread.open(f"{HARBOR}:2.1")
    assert (session.at.turn, session.at.call) == (2, 1) and len(session.turns) == 14
    assert pickle.loads(pickle.dumps(session)).at == session.at and reread.open(session) is session
    assert reread.open(HARBOR).at.is_place is False
    for check in (reread.check, reread.replay):
        with pytest.raises(Misuse, match="only a whole session"):
            list(check(f"{HARBOR}:2"))


@pytest.mark.parametrize("path", [HARBOR, INLINE])
def test_an_agent_opens_as_a_session_of_its_own(path: Path) -> None:
    main = reread.open(path)
    for id, agent in main.agents.items():
        own = reread.open(f"{path}:agent-{id}")
        assert [turn.prompt and turn.prompt.text for turn in own.turns] == [
            turn.prompt and turn.prompt.text for turn in agent.turns
        ]
        assert [(call.id, call.state, call.result) for call in own.calls] == [
            (call.id, call.state, call.result) for call in agent.calls
        ]
        shown = reread.export(f"{path}:agent-{id}", "markdown").decode()
        assert all(call.name in shown for call in agent.calls) and main.title not in shown
        assert reread.context(f"{path}:agent-{id}").agent == id


def test_an_agents_own_agents_come_with_it(tmp_path: Path) -> None:
    """The agents are named by their files; the inner one is a call of the outer one's."""

    def line(n: int, kind: str, content: Any, agent: str | None, **more: Any) -> dict[str, Any]:
        own = {"isSidechain": True, "agentId": agent} if agent else {}
        message = {
            "role": kind,
            "content": content,
            **({"id": f"m{agent}{n}", "model": "x"} if kind == "assistant" else {}),
        }
        parent = f"{agent}{n - 1}" if n else None
        return {
            "type": kind,
            "uuid": f"{agent}{n}",
            "parentUuid": parent,
            "sessionId": "s",
            "message": message,
            **own,
            **more,
        }

    def calling(agent: str | None, called: str | None) -> list[dict[str, Any]]:
        use = [{"type": "tool_use", "id": f"t-{called}", "name": "Agent", "input": {"prompt": f"go {called}"}}]
        result = [{"type": "tool_result", "tool_use_id": f"t-{called}", "content": "done"}]
        start = line(0, "user", f"go {agent}", agent)
        if called is None:
            return [start, line(1, "assistant", [{"type": "text", "text": "inner words"}], agent)]
        answer = line(2, "user", result, agent, toolUseResult={"agentId": called, "status": "completed"})
        return [start, line(1, "assistant", use, agent), answer]

    main = tmp_path / "s.jsonl"
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    files = {main: calling(None, "outer"), folder / "agent-outer.jsonl": calling("outer", "inner")}
    files[folder / "agent-inner.jsonl"] = calling("inner", None)
    for path, lines in files.items():
        path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert set(reread.open(main).agents) == {"outer", "inner"}
    outer = reread.open(f"{main}:outer")
    assert set(outer.agents) == {"inner"} and outer.calls[0].agents[0].id == "inner"
    assert "inner words" in reread.export(f"{main}:outer", "json").decode()
    assert reread.open(f"{main}:inner").agents == {}


def test_a_call_is_shown_exported_and_shared_alone(tmp_path: Path) -> None:
    [turn] = [turn for turn in reread.open(HARBOR).turns if turn.index == 2]
    calls = [call for message in turn.messages for call in message.calls]
    assert len(calls) > 1
    for number, call in enumerate(calls, 1):
        value = json.loads(reread.export(f"{HARBOR}:2.{number}", "json"))
        assert call.id in [one["id"] for one in value["calls"]] and value["turns"][0]["index"] == 2
        text = reread.export(f"{HARBOR}:2.{number}", "markdown").decode()
        assert len(re.findall(r"^(?:<details>\n?<summary>|<summary>)?[✓✗] ", text, re.M)) == 1 and call.name in text
    for number in (1, len(calls)):  # each time the whole session is looked through
        shared = reread.redact(f"{HARBOR}:2.{number}")
        shared.replace_undecided()
        value = json.loads(shared.export("json"))
        assert calls[number - 1].id in [one["id"] for one in value["calls"]] and value["turns"][0]["index"] == 2
    with pytest.raises(Misuse, match="Cannot choose turns or a path of turn 2"):
        reread.export(f"{HARBOR}:2", turns=(1, 2))
    with pytest.raises(Misuse, match="jsonl"):
        reread.export(f"{HARBOR}:2", "jsonl")


def test_an_agent_is_shared_without_what_the_whole_session_knows_as_secret(tmp_path: Path) -> None:
    """A password that only the main thread names as one is replaced in the agent, too."""
    main = tmp_path / "s.jsonl"
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    said = {
        "type": "user",
        "uuid": "1",
        "sessionId": "s",
        "message": {"role": "user", "content": "DB_PASSWORD=hunter22horse"},
    }
    main.write_text(json.dumps(said) + "\n")
    inner = {"type": "user", "uuid": "2", "sessionId": "s", "isSidechain": True, "agentId": "a1"}
    inner["message"] = {"role": "user", "content": "connect with hunter22horse"}
    (folder / "agent-a1.jsonl").write_text(json.dumps(inner) + "\n")
    redaction = reread.redact(f"{main}:a1")
    redaction.replace_undecided()
    text = redaction.export("markdown").decode()
    assert "connect with" in text and "hunter22horse" not in text and "DB_PASSWORD" not in text


def test_files_and_differences_of_a_turn_and_a_call() -> None:
    path = next(SAMPLES.glob("projects/*/8c1f0b52*.jsonl"))
    session = reread.open(path)
    for turn in session.turns:
        calls = [call for message in turn.messages for call in message.calls]
        by_call: dict[str, list[int]] = {}
        for number, call in enumerate(calls, 1):
            for history in reread.files(f"{path}:{turn.index}.{number}"):
                assert [version.call.id for version in history.versions if version.call] == [call.id]
                by_call.setdefault(history.path, []).append(history.added)
            found = reread.diff(f"{path}:{turn.index}.{number}").files
            assert sum(file.added for file in found) == sum(
                h.added for h in reread.files(f"{path}:{turn.index}.{number}")
            )
        assert {h.path: h.added for h in reread.files(f"{path}:{turn.index}")} == {
            name: sum(added) for name, added in by_call.items()
        }
    edited = reread.file("backoff.py", f"{path}:1").text
    assert edited is not None and edited != reread.file("backoff.py", f"{path}:0").text


def test_a_request_is_shown_compared_and_explained(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(conversation(2).data)
    shown = {words: cli("show", *words, "--json").stdout for words in ((f"{path}:req3",), (f"{path}:request-3",))}
    assert len(set(shown.values())) == 1 and json.loads(shown[f"{path}:req3",])["number"] == 3
    assert reread.context(f"{path}:req3").request == reread.context(f"{path}:2.1").request == 3
    assert reread.context(f"{path}:req-latest").request == reread.context(f"{path}:2").request == 4
    assert reread.diff(f"{path}:req4").requests == reread.diff(f"{path}:req3", f"{path}:req4").requests
    for other in (f"{path}:2", str(path)):
        with pytest.raises(Misuse, match="Cannot compare a request with anything but a request"):
            reread.diff(f"{path}:req3", other)
    for use, said in {reread.files: "changes no file", reread.export: "shown by show, context and diff"}.items():
        with pytest.raises(Misuse, match=said):
            use(f"{path}:req3")
    for words in (["resume", f"{path}:req3", "--dry-run"], ["tail", f"{path}:2.1"], ["tail", f"{path}:req3"]):
        with pytest.raises(Misuse, match=r"Cannot (continue|follow)"):
            cli(*words)
