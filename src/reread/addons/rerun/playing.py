"""Play a recorded session again with the real client, answered from the record."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from reread.addons.rerun.box import PORT, TOP, Box, PassingFolder, isolation
from reread.addons.rerun.cassette import MAIN
from reread.addons.rerun.clients import Client, NotPlayed, find_client
from reread.addons.rerun.comparison import (
    Comparison,
    PlayedCall,
    PlayedFile,
)
from reread.addons.rerun.driver import Driver, PlayFailed, Said
from reread.addons.rerun.fake_api import FakeApi
from reread.addons.rerun.scene import Scene, recorded_decision, scene_of
from reread.addons.rerun.stand_in import stand_in_servers
from reread.addons.rerun.tried import Tried, file_bytes, not_taken, notes_on, require_known_events, settings_of
from reread.addons.rerun.web_pages import stand_in_pages
from reread.base import jsontext
from reread.disk.layout import PROJECTS
from reread.errors import Unwritable
from reread.model.conversation import Call
from reread.reports.two_runs import PlayedRequest
from reread.session.context_parts import prompt_tokens
from reread.session.session import Session
from reread.session.session import open as open_session
from reread.storage.kept_file import read_whole
from reread.storage.safe_open import read_own

SECONDS = 300.0
SECONDS_PER_REQUEST = 10.0
WRITING_SECONDS = 2.0
"""The client writes its transcript a moment after a turn; of an interrupted call it may never write a result."""
LARGEST_FILE = 256 << 20
CLAUDE_MD = "CLAUDE.md"
AGAINST = "against"
"""The folder in that of `keep` for what the other client played."""
CELL_ID = re.compile(rb'(?<=^   "id": ")[0-9a-f]{8}(?=",?$)', re.MULTILINE)


class Rerun(msgspec.Struct, kw_only=True):
    """How a session was played again, beside its record."""

    session: str
    """The id of the recorded session."""
    title: str
    recorded: str | None
    """The version of the client that recorded it."""
    played: str
    """The version that played it."""
    dry: bool
    """True if no recorded command was run."""
    seconds: float
    calls: list[PlayedCall]
    requests: list[PlayedRequest]
    """The requests that have one in the record to be compared with; none if that client did not note them."""
    sent: int
    """How many requests of the conversation were sent."""
    beside: int
    """How many others: for titles, summaries, what a page says."""
    files: list[PlayedFile]
    unrecorded: list[str]
    """What the client asked for that is not in the record."""
    unreached: int
    """How many recorded answers nobody asked for."""
    tokens: tuple[int, int] | None
    """About how many tokens the last request had in the record, and has now."""
    notes: list[str]
    """What could not be as it was, each in a sentence."""
    failure: str = ""
    """Why it was not played to the end."""
    kept: str = ""
    """The transcript that was written now, if it was kept."""
    record: str = ""
    """The transcript that it is compared with, if that is still there."""

    @property
    def differences(self) -> list[str]:
        """What differs, each in a line."""
        found = [_call_difference(call) for call in self.calls if not call.is_same]
        for request in self.requests:
            where = f"agent {request.agent}, " if request.agent else ""
            found += [
                f"{where}request {request.number}: {change.kind} {change.name} {change.change}".replace("  ", " ")
                for change in request.changes
            ]
        found += [f"{file.path} ends otherwise" for file in self.files if not file.same]
        return [*found, *self.unrecorded]

    def to_dict(self) -> dict[str, Any]:
        """Return it as objects that JSON has."""
        return msgspec.to_builtins(self)

    @property
    def denied(self) -> list[str]:
        """The calls that are denied now and were not in the record, each with its title."""
        return [call.title for call in self.calls if call.now == "denied" and call.was != "denied"]

    @property
    def is_equal(self) -> bool:
        """True if it was played to the end and nothing differs."""
        return not self.failure and not self.differences

    @property
    def is_decided(self) -> bool:
        """True if it was played to the end, and all that the client asked for is in the record."""
        return not self.failure and not self.unrecorded


def _call_difference(call: PlayedCall) -> str:
    turn = f"turn {call.turn} " if call.turn is not None else ""
    if not call.reached:
        return f"{turn}{call.title}: not reached"
    change = f"{call.was} → {call.now}" if call.was != call.now else "other input"
    return f"{turn}{call.title}: {change}"


def rerun(
    session: Session | str | Path,
    *,
    client: str | os.PathLike[str] | Client | None = None,
    against: str | os.PathLike[str] | Client | None = None,
    settings: Mapping[str, Any] | str | Path | None = None,
    claude_md: str | Path | None = None,
    hooks: Sequence[str | Path] = (),
    plugins: Sequence[str | Path] = (),
    mcp_config: str | Path | None = None,
    system_prompt: str | None = None,
    model: str | None = None,
    live: bool = False,
    turns: int | None = None,
    keep: str | Path | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    seconds: float | None = None,
) -> Rerun:
    """Let the real client play a recorded session again, without a model and without a network.

    The client is the one on PATH, or a path, or a version such as `2.1.327`, which npm installs into the cache. It runs
    in a box of its own: its home, its work folder as the session found it, and no address but that of a stand-in for
    the API, which answers from the record. No recorded command is run, unless `live`: what they printed is printed
    again. `settings`, the text or file of `claude_md`, `plugins`, `mcp_config`, `model` and `system_prompt` are what is
    tried; `turns` plays the first ones only. `keep` is a folder for the transcript that is written. Raise NotPlayed if
    the client cannot be started here.
    """
    recorded = session if isinstance(session, Session) else open_session(session, root=root)
    program = client if isinstance(client, Client) else find_client(client)
    if keep is not None:
        _make_folder(Path(keep))
    tried = Tried(settings, claude_md, tuple(hooks), tuple(plugins), mcp_config, system_prompt, model)
    require_known_events(tried, program)
    if against is None:
        return _played(recorded, program, tried, live=live, turns=turns, keep=keep, seconds=seconds)
    other = against if isinstance(against, Client) else find_client(against)
    with closing(PassingFolder()) as folder:
        place = Path(keep) / AGAINST if keep is not None else folder.path
        first = _played(recorded, other, Tried(), live=live, turns=turns, keep=place, seconds=seconds)
        if first.failure or not first.kept:
            return first
        with open_session(first.kept) as played:
            found = _played(played, program, tried, live=live, turns=turns, keep=keep, seconds=seconds)
    return found if keep is not None else msgspec.structs.replace(found, record="")


def _played(
    recorded: Session,
    program: Client,
    tried: Tried,
    *,
    live: bool,
    turns: int | None,
    keep: str | Path | None,
    seconds: float | None,
) -> Rerun:
    """Play a session once."""
    scene = scene_of(recorded, turns=turns)
    if isolation() is None:
        raise NotPlayed(
            "This system cannot close a box around the client, so nothing is played; Linux with unshare can."
        )
    if not scene.prompts:
        raise NotPlayed(f"Nothing to play in {recorded.id}: nobody said anything to it that is recorded.")
    api = FakeApi(recorded)
    began = time.monotonic()
    with closing(Box(scene, dry=not live)) as box:
        words = _prepared(box, scene, program, recorded, tried)
        box.commit()
        answers = sum(len(thread.answers) for thread in api.cassette.threads.values())
        limit = seconds or SECONDS + answers * SECONDS_PER_REQUEST
        said = Said()
        failure = _play(box, api, program, words, scene, recorded, limit, said)
        failure = failure or not_taken(tried, program, said)
        path = _transcript(box)
        played = open_session(path) if path is not None else None
        try:
            unrecorded = [f"a request of {one.thread or 'the main thread'}" for one in api.unrecorded]
            unrecorded += [f"a command: {command}" for command in box.unrecorded_commands]
            sent = [one for one in api.requests if one.thread is not None]
            if sent and not any(one.recorded for one in sent):
                failure = failure or "nothing that the client asked for is in the record"
            notes = [*scene.notes, *notes_on(tried, program, said, played)]
            if not recorded.requests:
                notes.append(f"{scene.version or 'Its client'} noted no requests, so none is compared.")
            left = [one for one in api.cassette.left if turns is None or (one.thread == MAIN and one.turn <= turns)]
            comparison = Comparison(recorded, played)
            requests = comparison.requests()
            return Rerun(
                session=recorded.id,
                title=recorded.title,
                recorded=scene.version,
                played=program.version,
                dry=not live,
                seconds=time.monotonic() - began,
                calls=comparison.calls(turns),
                requests=requests,
                sent=len(sent),
                beside=len(api.requests) - len(sent),
                files=_files(recorded, box) if turns is None else [],
                unrecorded=unrecorded,
                unreached=len(left),
                tokens=_tokens(recorded, requests),
                notes=notes,
                failure=failure,
                kept=_kept(box, keep) if keep is not None else "",
                record=str(recorded.path or ""),
            )
        finally:
            if played is not None:
                played.close()


def _tokens(recorded: Session, requests: Sequence[PlayedRequest]) -> tuple[int, int] | None:
    """Return the tokens of the last request of the main thread as the API reported them, and about those of now."""
    last = next((one for one in reversed(requests) if one.agent is None), None)
    before = prompt_tokens(recorded.requests[last.number - 1].response) if last is not None else None
    if last is None or before is None:
        return None
    return before, before + sum(change.tokens for change in last.changes)


def _prepared(box: Box, scene: Scene, program: Client, recorded: Session, tried: Tried) -> list[str]:
    """Put what is tried into the box, and return how the client is started."""
    own = box.top / "bin"
    box.settings(settings_of(tried, own))
    if tried.claude_md is not None:
        (box.work / CLAUDE_MD).write_text(_text(tried.claude_md), encoding="utf-8")
    words = [*program.words(f"{TOP}/client"), "-p", "--input-format", "stream-json", "--output-format", "stream-json"]
    words += ["--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"]
    words += ["--permission-mode", scene.mode] if scene.mode else []
    for number, plugin in enumerate(tried.plugins):
        place = own / f"plugin-{number}"
        shutil.copytree(plugin, place, symlinks=True)
        words += ["--plugin-dir", f"{TOP}/bin/{place.name}"]
    config = own / "mcp.json"
    if tried.mcp_config is not None:
        config.write_bytes(file_bytes(tried.mcp_config))
    elif servers := stand_in_servers(recorded, own, f"{TOP}/bin"):
        config.write_bytes(jsontext.dumps({"mcpServers": servers}))
    pages = stand_in_pages(recorded, own)
    if pages.ports:
        box.serve_pages(pages.ports, pages.hosts)
    scene.notes += [pages.note] if pages.note else []
    words += ["--mcp-config", f"{TOP}/bin/{config.name}"] if config.exists() else []
    words += ["--tools", ",".join(scene.tools)] if scene.tools is not None and not program.is_script else []
    words += ["--system-prompt", scene.system] if scene.system else []
    words += ["--json-schema", jsontext.dumps(scene.schema).decode()] if scene.schema else []
    words += ["--agents", jsontext.dumps(scene.agents).decode()] if scene.agents else []
    model = tried.model or scene.model
    words += ["--model", model] if model else []
    words += ["--append-system-prompt", tried.system_prompt] if tried.system_prompt else []
    return words


def _text(given: str | Path) -> str:
    path = Path(given)
    if isinstance(given, Path) or ("\n" not in str(given) and len(str(given)) < 4096 and path.is_file()):
        return file_bytes(path).decode("utf-8", "replace")
    return str(given)


def _play(
    box: Box,
    api: FakeApi,
    program: Client,
    words: list[str],
    scene: Scene,
    recorded: Session,
    seconds: float,
    said: Said,
) -> str:
    """Play the prompts, and return why it failed; empty if it did not."""
    calls: dict[str, Call] = {call.id: call for call in recorded.calls}
    for agent in recorded.agents.values():
        calls |= {call.id: call for call in agent.calls}

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        found = calls.get(str(asked.get("tool_use_id")))
        same = (one for one in calls.values() if (one.name, one.input) == (asked.get("tool_name"), asked.get("input")))
        call = found or next(same, None)
        ends_turn = call is not None and api.cassette.ends_turn(call.id)
        decided = recorded_decision(call, asked, ends_turn=ends_turn, refused=scene.refused)
        if call is not None and decided["behavior"] == "deny":
            box.forget(call.id)
        return decided

    retries = str(api.cassette.retries)
    env = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}/{api.token}", "CLAUDE_CODE_MAX_RETRIES": retries}
    env |= scene.switches
    api.aside = scene.aside
    api.start(box.socket)
    try:
        process = box.start(words, program.folder, env)
        driver = api.player = Driver(process, answer, seconds=seconds, is_interrupted=box.is_interrupted, said=said)
        try:
            driver.play(scene.prompts)
            _await_writing(box, api)
            code = driver.finish()
        except PlayFailed as error:
            driver.kill()
            printed = " ".join(box.errors.split())[-300:]
            return f"{error}{': ' + printed if printed else ''}"
        finally:
            driver.kill()
        return "" if code in (0, 1) else f"the client ended with {code}"
    finally:
        api.stop()


def _await_writing(box: Box, api: FakeApi) -> None:
    """Wait until the last calls and their results are in the transcript: a client whose input ends may drop them."""
    thread = api.cassette.threads[MAIN]
    calls = [call for answer in thread.answers[: thread.served] for call in answer.calls][-1:]
    ids = [str(call.get("id")).encode() for call in calls]
    until = time.monotonic() + WRITING_SECONDS
    while time.monotonic() < until:
        path = _transcript(box)
        data = read_whole(path) if path is not None else b""
        if all(data.count(id) > 1 for id in ids):
            return
        time.sleep(0.05)


def _transcript(box: Box) -> Path | None:
    found = [
        path
        for path in (box.config / PROJECTS).glob("*/*.jsonl")
        if not path.name.startswith("agent-") and path.is_file()
    ]
    return max(found, key=lambda path: path.stat().st_size, default=None)


def _files(recorded: Session, box: Box) -> list[PlayedFile]:
    found: list[PlayedFile] = []
    made_on = {call.id for conversation in (recorded, *recorded.agents.values()) for call in conversation.calls}
    for history in recorded.files.values():
        last = history.at()
        place = box.outside(history.path)
        made = [version.call.id for version in history.own if version.call is not None]
        if last is None or not last.whole or place is None or not made_on.issuperset(made):
            continue
        after = last.after
        now = None
        with suppress(OSError, ValueError):  # gone, no longer a file, or no file can have this name
            now = read_own(place, LARGEST_FILE)
        found.append(PlayedFile(history.path, is_same_file(after.best_data if after is not None else None, now)))
    return found


def is_same_file(recorded: bytes | None, now: bytes | None) -> bool:
    """Return whether a file has the same bytes, but for the ids that the client makes up for cells of a notebook."""
    if recorded is None or now is None:
        return recorded is now
    return recorded == now or CELL_ID.sub(b"", recorded) == CELL_ID.sub(b"", now)


def _kept(box: Box, keep: str | Path) -> str:
    """Copy what the client wrote to a folder, and return the transcript in it."""
    path = _transcript(box)
    if path is None:
        return ""
    projects = Path(keep) / PROJECTS
    shutil.copytree(box.config / PROJECTS, projects, dirs_exist_ok=True, symlinks=True)
    return str(projects / path.relative_to(box.config / PROJECTS))


def _make_folder(path: Path) -> None:
    """Make the folder for what is kept, before anything is played for it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unwritable(f"Cannot keep anything in {path}: {error.strerror or error}.", path=str(path)) from error
