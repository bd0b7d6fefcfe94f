"""The stand-in: a `claude` that answers from recordings, so that software built on it can be tested without it."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn

from reread.base import jsontext
from reread.base.claude_argv import Invocation, parse_invocation
from reread.base.stdio import flush_or_discard, open_standard_streams
from reread.catalog.stored_line import ERR, IN, OUT
from reread.errors import RereadError
from reread.fake_claude.caller import Caller, LineReader
from reread.fake_claude.control_protocol import Body, body_of, described, difference, id_of_request, reply_to
from reread.fake_claude.matcher import FakeClaudeSettings, Matcher, NoSession, Unanswered
from reread.fake_claude.script import Frame, RecordedTurn, frame_of, prompt_of
from reread.fake_claude.usage_errors import UsageRefused, check_usage

FAILED, UNANSWERED = 1, 3
"""Exit codes: the real program's, and the one that says that no recording has the answer."""
VERSION = "2.1.325"
"""The client whose manners these are; where recordings name another, that one's version is given."""
STDIN_WAIT = 3.0
"""How long the real program waits for more words on a standard input that nobody closes."""
PATIENCE = 5.0
"""After how many seconds of silence it is said what the recording waits for."""
INTERRUPTED = "[Request interrupted by user]"
STATES = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
NO_PROMPT = "Error: Input must be provided either through stdin or as a prompt argument when using --print"

HELP = f"""\
claude, played by reread: answers from recordings, with no account and no network.

  reread-claude -p "a recorded prompt" [--output-format text|json|stream-json]

It takes the arguments of the real program, and these settings from the environment:

  REREAD_REPLAY   what to play: files, folders and names of captured conversations, with {os.pathsep} between them;
                  everything in the store where it is not set
  REREAD_HOME     the store of captured conversations
  REREAD_MATCH    prompt (the default): what is asked and answered must be what was recorded;
                  order: play what comes next, whatever is said
  REREAD_PLAYED   a folder where what was played is noted, so that the next call gets the next recording
  REREAD_SPEED    1 plays at the recorded pace, 4 four times as fast; instantly where it is not set

It exits with 3, and says what it would have needed, where no recording has the answer.
"""

RICHNESS = ("text", "json", "stream-json")
"""The output formats, each of which can be told from the next."""
ENDINGS = {
    "error_during_execution": ("Execution error", ""),
    "error_max_turns": ("Error: Reached max turns ({})", "--max-turns"),
    "error_max_budget_usd": ("Error: Exceeded USD budget ({})", "--max-budget-usd"),
    "error_max_structured_output_retries": (
        "Error: Failed to provide valid structured output after maximum retries",
        "",
    ),
}
"""What text output says in place of an answer, with the option whose value it names."""

Say = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Pipes:
    """What a process speaks through."""

    stdin: int = 0
    stdout: IO[bytes] = field(default_factory=lambda: sys.stdout.buffer)
    stderr: IO[bytes] = field(default_factory=lambda: sys.stderr.buffer)


class _Interrupted(Exception):
    """The caller interrupts a turn that was not interrupted when it was recorded."""


class FakeClient:
    """One process of the client, played from recordings."""

    def __init__(self, call: Invocation, settings: FakeClaudeSettings, pipes: Pipes, *, states: bool = False) -> None:
        self.call = call
        self.speed = settings.speed
        self.states = states
        """Whether the caller asked to be told when the session is running or idle."""
        self.repertoire = Matcher([])
        self._settings = settings
        self._pipes = pipes
        self._caller: Caller | None = None
        self._turn: RecordedTurn | None = None
        self._interrupts_ahead = 0

    def run(self) -> int:
        """Answer until there is nothing more to answer; the exit code."""
        try:
            check_usage(self.call)
            self.repertoire = self._settings.repertoire()
            if self.call.has("--version"):
                self._say(f"{_version(self.repertoire)} (Claude Code)\n".encode())
                return 0
            return self._converse() if self.call.converses else self._print()
        except UsageRefused as error:
            return self._fail(str(error), FAILED)
        except NoSession as error:
            self._tell_program(error_result(self.call.resumes, str(error)))
            return self._fail(f"{error}\nreread: {self.repertoire.overview()}", FAILED)
        except RereadError as error:
            self._tell_program(_notice(self._turn.session if self._turn else None, f"reread: {error}"))
            return self._fail(f"reread: {error}", UNANSWERED)

    def _fail(self, words: str, code: int) -> int:
        self._aside(words.encode("utf-8", "replace") + b"\n")
        return code

    def _tell_program(self, message: Body) -> None:
        """Say something to a caller that reads messages."""
        if self.call.output == "stream-json":
            self._say(_line(message))

    def _say(self, line: bytes) -> None:
        self._pipes.stdout.write(line)
        self._pipes.stdout.flush()

    def _aside(self, line: bytes) -> None:
        self._pipes.stderr.write(line)
        self._pipes.stderr.flush()

    def _print(self) -> int:
        """Answer one prompt, in the format that is asked for."""
        prompt = self._given_prompt()
        turn = self._begin(prompt)
        if any(frame.stream == OUT and frame.kind == "control_request" for frame in turn.frames):
            raise Unanswered(f"{turn.name} asks its caller for answers: it can only be played to stream-json input")
        printed: list[bytes] = []
        played = self._play(turn, self._say if self.call.output == "stream-json" else printed.append)
        self._say(FORMS[self.call.output](self.call, [frame_of(OUT, line) for line in printed]))
        return _exit_code(turn) if played else 0

    def _given_prompt(self) -> str:
        if not self.call.has("--print") and os.isatty(self._pipes.stdin) and self._pipes.stdout.isatty():
            raise Unanswered("the interactive terminal is not played: call it with -p, or from a program")
        told = b"" if os.isatty(self._pipes.stdin) else self._all_of_stdin()
        prompt = "\n".join(part for part in (self.call.prompt, told.decode("utf-8", "replace").strip()) if part)
        if not prompt.strip():
            raise UsageRefused(NO_PROMPT)
        return prompt.strip()

    def _all_of_stdin(self) -> bytes:
        ears, told = LineReader(self._pipes.stdin), list[bytes]()
        with contextlib.suppress(queue.Empty):
            while (line := ears.listen(STDIN_WAIT if self.call.prompt and not told else None)) is not None:
                told.append(line)
        return b"".join(told)

    def _converse(self) -> int:
        """Answer prompts as they come, until the caller closes standard input."""
        caller = self._caller = Caller(self._pipes.stdin, self._reply)
        self.repertoire.refuse_unknown_session(self.call)
        code = 0
        while (message := self._next_prompt(caller)) is not None:
            prompt = prompt_of(message["message"])
            turn = self._begin(prompt) if self._turn is None else self.repertoire.go_on(self._turn, prompt)
            self._turn = turn
            self._refuse_other_hooks(turn, caller.opening)
            if self.call.has("--replay-user-messages") and not any(_is_echo(f, turn) for f in turn.frames):
                self._say(_line(_echo(message, turn)))
            code = _exit_code(turn) if self._play(turn, self._say) else FAILED
            if turn.result is None and turn.next is None:
                break
        return code

    def _next_prompt(self, caller: Caller) -> Body | None:
        while not caller.prompts and not caller.gone:
            caller.hear()
        return caller.prompts.popleft() if caller.prompts else None

    def _reply(self, message: Body) -> None:
        self._say(_line(reply_to(message, self._turn, self.repertoire.turns)))

    def _begin(self, prompt: str) -> RecordedTurn:
        turn = self._turn = self.repertoire.begin(self.call, prompt)
        recorded, wanted = turn.call.output if turn.call else RICHNESS[-1], self.call.output
        if RICHNESS.index(wanted) > RICHNESS.index(recorded):
            raise Unanswered(f"{turn.name} was recorded as {recorded}: record it with --output-format {wanted}")
        if self.call.has("--include-partial-messages") and _lacks_partials(turn):
            raise Unanswered(f"{turn.name} has no partial messages: record it with --include-partial-messages")
        return turn

    def _refuse_other_hooks(self, turn: RecordedTurn, opening: Body) -> None:
        """A hook that was not there when the turn was recorded would never be called, and nobody would know."""
        if not (self.repertoire.exact and turn.opening and opening):
            return
        was, now = turn.opening.get("hooks") or None, opening.get("hooks") or None
        if was != now:
            raise Unanswered(f"{turn.name} was recorded with other hooks: {was}, and now they are {now}")

    def _play(self, turn: RecordedTurn, say: Say) -> bool:
        """Play one turn; False where it was cut short."""
        self._interrupts_ahead = sum(map(_is_interrupt, turn.frames))
        if self._caller:
            self._caller.interrupts = 0
        requests = {id_of_request(f.value): body_of(f.value, "request") for f in turn.frames if f.stream == OUT}
        before = turn.asked_at
        try:
            for frame in turn.frames:
                self._pause(before, frame.at)
                self._perform(frame, turn, requests, say)
                before = frame.at if frame.at is not None else before
                if frame.kind == "result":
                    self._interrupts_ahead = sys.maxsize  # what comes now finds nothing to interrupt
        except (_Interrupted, KeyboardInterrupt):
            self._cut_short(turn, say)
            return False
        return True

    def _perform(self, frame: Frame, turn: RecordedTurn, requests: Mapping[str, Body], say: Say) -> None:
        """Do what was done at one point of the recording: speak, or wait for the caller to."""
        if frame.stream == ERR:
            self._aside(frame.raw)
        elif frame.stream == OUT:
            if self._is_wanted(frame, turn):
                say(self._adapted(frame, turn))
        elif self._caller and _is_interrupt(frame):
            self._await_interrupt(self._caller)
        elif self._caller and frame.kind == "control_response":
            self._await_answer(self._caller, body_of(frame.value, "response"), requests)

    def _cut_short(self, turn: RecordedTurn, say: Say) -> None:
        """End a turn as the client ends one that is interrupted."""
        said = {"role": "user", "content": [{"type": "text", "text": INTERRUPTED}]}
        line = {"type": "user", "message": said, "parent_tool_use_id": None, "session_id": turn.session}
        line["uuid"] = str(uuid.uuid4())
        last = [frame_of(OUT, _line(value)) for value in (line, error_result(turn.session, INTERRUPTED))]
        idle = [f for f in turn.frames if f.value.get("state") == "idle" and self._is_wanted(f, turn)]
        for frame in [*last, *idle[-1:]]:
            say(self._adapted(frame, turn))

    def _is_wanted(self, frame: Frame, turn: RecordedTurn) -> bool:
        """Whether the client would print this line when called like this."""
        value, has = frame.value, self.call.has
        return not (
            frame.kind == "control_response"
            or (frame.kind == "stream_event" and not has("--include-partial-messages"))
            or (frame.kind == "transcript_mirror" and not has("--session-mirror"))
            or (_is_echo(frame, turn) and not has("--replay-user-messages"))
            or (value.get("sdk_host_only") and not self.states)
        )

    def _adapted(self, frame: Frame, turn: RecordedTurn) -> bytes:
        """A line with what only the caller can know: the session id that it chose, and where it keeps transcripts."""
        raw = _line(_moved_here(frame.value)) if frame.kind == "transcript_mirror" else frame.raw
        chosen = self.call.options.get("--session-id")
        return raw.replace(turn.session.encode(), chosen.encode()) if chosen and turn.session else raw

    def _pause(self, before: float | None, at: float | None) -> None:
        """Wait as long as the client did, and hear the caller meanwhile."""
        until = time.monotonic()
        if self.speed and before is not None and at is not None:
            until += max(at - before, 0) / self.speed
        with contextlib.suppress(queue.Empty):
            while self._caller and not self._caller.gone:
                self._hear(self._caller, max(until - time.monotonic(), 0))
        time.sleep(max(until - time.monotonic(), 0))

    def _hear(self, caller: Caller, timeout: float | None) -> None:
        caller.hear(timeout)
        if caller.interrupts > self._interrupts_ahead:
            raise _Interrupted

    def _await(self, caller: Caller, ready: Callable[[], bool], what: str) -> None:
        """Wait for what the caller did when this was recorded."""
        patience: float | None = PATIENCE
        while not ready():
            if caller.gone:
                raise Unanswered(f"the recording has {what} here, but standard input is closed")
            try:
                self._hear(caller, patience)
            except queue.Empty:
                self._aside(f"reread: waiting for {what}, as in the recording\n".encode())
                patience = None

    def _await_interrupt(self, caller: Caller) -> None:
        self._await(caller, lambda: caller.interrupts > 0, "an interrupt by the caller")
        caller.interrupts -= 1
        self._interrupts_ahead -= 1

    def _await_answer(self, caller: Caller, recorded: Body, requests: Mapping[str, Body]) -> None:
        key = id_of_request(recorded)
        request = requests.get(key, {})
        what = f"the caller's answer to {described(request)}"
        self._await(caller, lambda: key in caller.answers, what)
        given = caller.answers.pop(key)
        if self.repertoire.exact and (differs := difference(request, recorded, given)):
            raise Unanswered(f"no recording goes on from here: {what} is not the recorded one: {differs}")


def run_fake_claude(arguments: Sequence[str], settings: FakeClaudeSettings, pipes: Pipes | None = None) -> int:
    """Be `claude` for one call, on the process's own pipes or others; the exit code."""
    call, pipes = parse_invocation(arguments), pipes or Pipes()
    if call.has("--help"):
        pipes.stdout.write(HELP.encode())
        return 0
    return FakeClient(call, settings, pipes, states=bool(os.environ.get(STATES))).run()


def main() -> NoReturn:
    """The executable that can stand first on PATH as `claude`, or be given to an SDK as its CLI path."""
    open_standard_streams()
    try:
        code = run_fake_claude(sys.argv[1:], FakeClaudeSettings.of(os.environ))
        sys.stdout.flush()
    except RereadError as error:
        sys.stderr.write(f"reread: {error}\n")
        code = UNANSWERED
    except KeyboardInterrupt:
        code = 0
    except BrokenPipeError:
        code = FAILED
    except OSError as error:
        sys.stderr.write(f"reread: {error}\n")
        code = FAILED
    flush_or_discard(sys.stdout)
    sys.exit(code)


def error_result(session: str | None, words: str) -> Body:
    """The result line of a run that failed before or besides the model."""
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "duration_api_ms": 0,
        "is_error": True,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": session or str(uuid.uuid4()),
        "total_cost_usd": 0,
        "usage": {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        },
        "modelUsage": {},
        "permission_denials": [],
        "uuid": str(uuid.uuid4()),
        "errors": [words],
    }


def _notice(session: str | None, words: str) -> Body:
    """What went wrong, as a message; it is no result, so that a caller who waits for one learns that there is none."""
    base = {"type": "system", "subtype": "informational", "content": words, "level": "error"}
    return {**base, "uuid": str(uuid.uuid4()), "session_id": session or str(uuid.uuid4())}


def _as_text(call: Invocation, frames: Sequence[Frame]) -> bytes:
    """What text output shows of a turn."""
    if not any(frame.kind for frame in frames):
        return b"".join(frame.raw for frame in frames)
    result = next((frame.value for frame in reversed(frames) if frame.kind == "result"), Body())
    if isinstance(result.get("result"), str):
        return result["result"].removesuffix("\n").encode("utf-8", "replace") + b"\n"
    words, option = ENDINGS.get(str(result.get("subtype")), ("", ""))
    told = re.search(r"\(\$?([\d.]+)\)", str(result.get("errors")))
    return words.format(call.options.get(option) or (told[1] if told else "?")).encode()


def _as_json(call: Invocation, frames: Sequence[Frame]) -> bytes:
    """The last result, or with `--verbose` every line in one array."""
    if call.has("--verbose"):
        return b"[" + b",".join(frame.raw.rstrip(b"\r\n") for frame in frames) + b"]\n"
    return next((frame.raw for frame in reversed(frames) if frame.kind == "result"), b"")


FORMS: dict[str, Callable[[Invocation, Sequence[Frame]], bytes]] = {
    "text": _as_text,
    "json": _as_json,
    "stream-json": lambda call, frames: b"",
}
"""What is printed at the end of a turn; a stream has been printed by then."""


def _moved_here(mirror: Body) -> Body:
    """A mirrored part of a transcript as if it were written for this project, in this configuration folder."""
    below = str(mirror.get("filePath")).replace("\\", "/").rpartition("/projects/")[2]
    home = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    project = re.sub("[^a-zA-Z0-9]", "-", os.path.realpath("."))
    return {**mirror, "filePath": str(Path(home, "projects", project, *below.split("/")[1:]))}


def _is_echo(frame: Frame, turn: RecordedTurn) -> bool:
    """Whether this says the prompt back, as only `--replay-user-messages` does."""
    return bool(frame.value.get("isReplay")) and prompt_of(frame.value.get("message")) == turn.prompt


def _echo(message: Body, turn: RecordedTurn) -> Body:
    """A prompt as `--replay-user-messages` says it back."""
    base = {"type": "user", "message": message["message"], "session_id": turn.session, "parent_tool_use_id": None}
    return {**base, "uuid": message.get("uuid") or str(uuid.uuid4()), "isReplay": True}


def _exit_code(turn: RecordedTurn) -> int:
    if turn.exit_code is not None:
        return turn.exit_code
    return FAILED if turn.result is None or turn.result.value.get("is_error") else 0


def _is_interrupt(frame: Frame) -> bool:
    return frame.stream == IN and body_of(frame.value, "request").get("subtype") == "interrupt"


def _lacks_partials(turn: RecordedTurn) -> bool:
    """Whether a model spoke here, and only its whole messages were recorded."""
    kinds = {frame.kind for frame in turn.frames if frame.stream == OUT}
    return "assistant" in kinds and "stream_event" not in kinds and not _is_synthetic(turn)


def _is_synthetic(turn: RecordedTurn) -> bool:
    """Whether all that was said is the client's own, as after a failed request."""
    return all(b'"<synthetic>"' in f.raw for f in turn.frames if f.stream == OUT and f.kind == "assistant")


def _line(value: Body) -> bytes:
    return jsontext.dumps(value) + b"\n"


def _version(repertoire: Matcher) -> str:
    frames = (frame for turn in repertoire.turns for frame in turn.frames)
    return next((str(v) for frame in frames if (v := frame.value.get("claude_code_version"))), VERSION)
