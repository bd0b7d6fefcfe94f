"""A fake `claude` that answers from recordings, so that programs that run it can be tested without it."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from reread.base.claude_argv import STREAM_JSON, parse_invocation
from reread.base.stdio import flush_or_discard, open_standard_streams
from reread.base.times import LONGEST_WAIT
from reread.catalog.stored_line import ERR, IN, OUT
from reread.errors import RereadError
from reread.fake_claude.caller import CallerMessages, LineReader
from reread.fake_claude.control_protocol import Message, describe, difference, inner, reply_to, request_id
from reread.fake_claude.matcher import FakeClaudeSettings, Matcher, NotRecorded, UnknownSession
from reread.fake_claude.output import (
    FAILED,
    FORMATTERS,
    OUTPUT_FORMATS,
    error_notice,
    error_result,
    interruption,
    message_line,
    replayed_prompt,
    turn_exit_code,
)
from reread.fake_claude.script import Frame, RecordedTurn, frame_of, prompt_text
from reread.fake_claude.usage_errors import ClaudeUsageError, check_usage

if TYPE_CHECKING:
    from reread.fake_claude.record_once import RealClient

NOT_RECORDED = 3
"""The exit code if no recording has the answer; the real program never uses it."""
VERSION = "2.1.325"
"""The client that this one imitates; `--version` prints the version in the recordings if they have one."""
STDIN_SECONDS = 3.0
"""How long the real program waits for more of the prompt on an open standard input."""
NOTICE_SECONDS = 5.0
"""After how much silence to print what the recording waits for."""
INTERRUPTED = "[Request interrupted by user]"
READS_STATE_VARIABLE = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
NO_PROMPT = "Error: Input must be provided either through stdin or as a prompt argument when using --print"

HELP = f"""\
A fake `claude` that answers from recordings, without an account or a network.

  reread-claude -p "a recorded prompt" [--output-format text|json|stream-json]

It takes the arguments of the real program, and these environment variables:

  REREAD_REPLAY   what to play: files, folders and names of captured conversations, separated by {os.pathsep}
                  (default: everything in the store)
  REREAD_HOME     the store of captured conversations
  REREAD_MATCH    prompt (default): prompts and answers must be the recorded ones;
                  order: play the next turn, whatever the caller sends
  REREAD_PLAYED   a folder that records what was played, so that the next process gets the next recording
  REREAD_PATTERNS a JSON file: patterns of prompts, such as "Fix *", each with the name of its recording
  REREAD_RECORD   once: run the real program for what was not recorded, and record it
  REREAD_CLAUDE   the real program (default: the next `claude` on PATH)
  REREAD_SPEED    playback speed: 1 is the recorded pace, 4 is four times as fast (default: do not wait)

If no recording has the answer, it explains what is missing and exits with 3.
"""

Print = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Pipes:
    """The standard streams of a process."""

    stdin: int = 0
    stdout: IO[bytes] = field(default_factory=lambda: sys.stdout.buffer)
    stderr: IO[bytes] = field(default_factory=lambda: sys.stderr.buffer)


class _Interrupted(Exception):
    """The caller interrupts a turn that was not interrupted when it was recorded."""


class FakeClient:
    """One process of the fake client."""

    def __init__(
        self, arguments: Sequence[str], settings: FakeClaudeSettings, pipes: Pipes, *, reads_state: bool = False
    ) -> None:
        self._arguments = arguments
        self._invocation = parse_invocation(arguments)
        self._settings = settings
        self._pipes = pipes
        self._reads_state = reads_state
        """True if the caller wants messages about the session's state."""
        self._matcher = Matcher([])
        self._piped = b""
        """The part of the prompt that came on standard input."""
        self._caller: CallerMessages | None = None
        self._turn: RecordedTurn | None = None
        self._expected_interrupts = 0
        """The recorded interrupts that are still to come in this turn."""

    def run(self) -> int:
        """Answer every prompt, and return the exit code."""
        try:
            check_usage(self._invocation)
            self._matcher = self._settings.matcher()
            if self._invocation.has("--version"):
                self._print(f"{_version(self._matcher)} (Claude Code)\n".encode())
                return 0
            return self._answer_messages() if self._invocation.reads_messages else self._answer_prompt()
        except ClaudeUsageError as error:
            return self._fail(str(error), FAILED)
        except UnknownSession as error:
            self._print_message(error_result(self._invocation.resumed_session, str(error)))
            return self._fail(f"{error}\nreread: {self._matcher.list_recordings()}", FAILED)
        except RereadError as error:
            self._print_message(error_notice(self._turn.session if self._turn else None, f"reread: {error}"))
            return self._fail(f"reread: {error}", NOT_RECORDED)

    def _fail(self, message: str, code: int) -> int:
        self._print_error(message.encode("utf-8", "replace") + b"\n")
        return code

    def _print_message(self, message: Message) -> None:
        """Print a message if the caller reads messages."""
        if self._invocation.output_format == STREAM_JSON:
            self._print(message_line(message))

    def _print(self, line: bytes) -> None:
        self._pipes.stdout.write(line)
        self._pipes.stdout.flush()

    def _print_error(self, line: bytes) -> None:
        self._pipes.stderr.write(line)
        self._pipes.stderr.flush()

    def _answer_prompt(self) -> int:
        """Answer the prompt of the command line, in the chosen output format."""
        prompt = self._read_prompt()
        try:
            turn = self._first_turn(prompt)
        except (NotRecorded, UnknownSession):
            if self._turn is not None or not self._settings.record_once:
                raise
            code = self._real_client().record_prompt(self._piped)
            if code is not None:
                return self._fail("reread: The real claude gave no result, so that nothing was recorded.", code)
            self._matcher = self._settings.matcher()
            turn = self._first_turn(prompt)
        if any(frame.stream == OUT and frame.kind == "control_request" for frame in turn.frames):
            raise NotRecorded(f"{turn.name} asks its caller for answers; play it with --input-format stream-json.")
        collected: list[bytes] = []
        output_format = self._invocation.output_format
        completed = self._play(turn, self._print if output_format == STREAM_JSON else collected.append)
        self._print(FORMATTERS[output_format](self._invocation, [frame_of(OUT, line) for line in collected]))
        return turn_exit_code(turn) if completed else 0

    def _read_prompt(self) -> str:
        if not self._invocation.has("--print") and os.isatty(self._pipes.stdin) and self._pipes.stdout.isatty():
            raise NotRecorded("The interactive terminal is not supported; use -p, or run it from a program.")
        self._piped = b"" if os.isatty(self._pipes.stdin) else self._read_stdin()
        parts = (self._invocation.prompt, self._piped.decode("utf-8", "replace").strip())
        prompt = "\n".join(part for part in parts if part).strip()
        if not prompt:
            raise ClaudeUsageError(NO_PROMPT)
        return prompt

    def _read_stdin(self) -> bytes:
        """Read standard input to its end; if there is a prompt already, wait for the first line only some seconds."""
        reader, lines = LineReader(self._pipes.stdin), list[bytes]()
        with contextlib.suppress(queue.Empty):
            while (
                line := reader.next_line(STDIN_SECONDS if self._invocation.prompt and not lines else None)
            ) is not None:
                lines.append(line)
        return b"".join(lines)

    def _answer_messages(self) -> int:
        """Answer prompts as they come, until the caller closes standard input."""
        caller = self._caller = CallerMessages(self._pipes.stdin, self._reply)
        if not self._settings.record_once:
            self._matcher.check_session(self._invocation)
        code = 0
        while (message := _next_prompt(caller)) is not None:
            prompt = prompt_text(message["message"])
            try:
                turn = self._first_turn(prompt) if self._turn is None else self._matcher.next_turn(self._turn, prompt)
            except (NotRecorded, UnknownSession):
                if self._turn is not None or not self._settings.record_once:
                    raise
                return self._real_client().record_messages(caller, self._print)
            self._turn = turn
            self._check_hooks(turn, caller.initialize_request)
            if self._invocation.has("--replay-user-messages") and not any(_is_echo(f, turn) for f in turn.frames):
                self._print(message_line(replayed_prompt(message, turn.session)))
            code = turn_exit_code(turn) if self._play(turn, self._print) else FAILED
            if turn.result is None and turn.next is None:
                break
        return code

    def _real_client(self) -> RealClient:
        from reread.fake_claude.record_once import RealClient  # most calls are answered from recordings

        return RealClient(self._settings.sources, self._arguments, os.environ)

    def _reply(self, message: Message) -> None:
        self._print(message_line(reply_to(message, self._turn, self._matcher.turns)))

    def _first_turn(self, prompt: str) -> RecordedTurn:
        """Choose the first turn, and check that it was recorded in enough detail."""
        turn = self._turn = self._matcher.first_turn(self._invocation, prompt)
        recorded = turn.invocation.output_format if turn.invocation else STREAM_JSON
        wanted = self._invocation.output_format
        if OUTPUT_FORMATS.index(wanted) > OUTPUT_FORMATS.index(recorded):
            raise NotRecorded(f"{turn.name} was recorded as {recorded}; record it with --output-format {wanted}.")
        if self._invocation.has("--include-partial-messages") and _lacks_partial_messages(turn):
            raise NotRecorded(f"{turn.name} has no partial messages; record it with --include-partial-messages.")
        return turn

    def _check_hooks(self, turn: RecordedTurn, initialize: Message) -> None:
        """Reject hooks other than the recorded ones: they would silently never be called."""
        if not (self._matcher.strict and turn.initialize_request and initialize):
            return
        recorded, given = turn.initialize_request.get("hooks") or None, initialize.get("hooks") or None
        if recorded != given:
            raise NotRecorded(f"{turn.name} was recorded with other hooks: {recorded}; now they are {given}.")

    def _play(self, turn: RecordedTurn, write: Print) -> bool:
        """Play one turn; False if the caller interrupted it."""
        self._expected_interrupts = sum(map(_is_interrupt, turn.frames))
        if self._caller:
            self._caller.interrupts = 0
        requests = {request_id(f.value): inner(f.value, "request") for f in turn.frames if f.stream == OUT}
        last = turn.prompted_at
        try:
            for frame in turn.frames:
                self._pause(last, frame.at)
                self._play_frame(frame, turn, requests, write)
                last = frame.at if frame.at is not None else last
                if frame.kind == "result":
                    self._expected_interrupts = sys.maxsize  # nothing is left to interrupt
        except (_Interrupted, KeyboardInterrupt):
            self._end_interrupted(turn, write)
            return False
        return True

    def _play_frame(self, frame: Frame, turn: RecordedTurn, requests: Mapping[str, Message], write: Print) -> None:
        """Print a line that the client printed, or wait for one that it read."""
        if frame.stream == ERR:
            self._print_error(frame.raw)
        elif frame.stream == OUT:
            if self._is_printed(frame, turn):
                write(self._adapt(frame, turn))
        elif self._caller and _is_interrupt(frame):
            self._await_interrupt(self._caller)
        elif self._caller and frame.kind == "control_response":
            self._await_answer(self._caller, inner(frame.value, "response"), requests)

    def _end_interrupted(self, turn: RecordedTurn, write: Print) -> None:
        """End a turn as the client ends one that is interrupted."""
        messages = (interruption(turn.session, INTERRUPTED), error_result(turn.session, INTERRUPTED))
        last = [frame_of(OUT, message_line(message)) for message in messages]
        idle = [f for f in turn.frames if f.value.get("state") == "idle" and self._is_printed(f, turn)]
        for frame in [*last, *idle[-1:]]:
            write(self._adapt(frame, turn))

    def _is_printed(self, frame: Frame, turn: RecordedTurn) -> bool:
        """True if the client prints this line when called with these arguments."""
        has = self._invocation.has
        return not (
            frame.kind == "control_response"
            or (frame.kind == "stream_event" and not has("--include-partial-messages"))
            or (frame.kind == "transcript_mirror" and not has("--session-mirror"))
            or (_is_echo(frame, turn) and not has("--replay-user-messages"))
            or (frame.value.get("sdk_host_only") and not self._reads_state)
        )

    def _adapt(self, frame: Frame, turn: RecordedTurn) -> bytes:
        """Replace what depends on the caller: the session id it chose, and where its transcripts are."""
        raw = message_line(_relocate(frame.value)) if frame.kind == "transcript_mirror" else frame.raw
        chosen_id = self._invocation.options.get("--session-id")
        return raw.replace(turn.session.encode(), chosen_id.encode()) if chosen_id and turn.session else raw

    def _pause(self, last: float | None, at: float | None) -> None:
        """Wait as long as the client did, and receive the caller's messages meanwhile."""
        until = time.monotonic()
        if self._settings.speed and last is not None and at is not None:
            until += min(max(at - last, 0) / self._settings.speed, LONGEST_WAIT)
        with contextlib.suppress(queue.Empty):
            while self._caller and not self._caller.is_gone:
                self._receive(self._caller, max(until - time.monotonic(), 0))
        time.sleep(max(until - time.monotonic(), 0))

    def _receive(self, caller: CallerMessages, timeout: float | None) -> None:
        caller.receive(timeout)
        if caller.interrupts > self._expected_interrupts:
            raise _Interrupted

    def _await(self, caller: CallerMessages, is_done: Callable[[], bool], what: str) -> None:
        """Wait for something that the caller did when this was recorded."""
        timeout: float | None = NOTICE_SECONDS
        while not is_done():
            if caller.is_gone:
                raise NotRecorded(f"The recording has {what} here, but standard input is closed.")
            try:
                self._receive(caller, timeout)
            except queue.Empty:
                self._print_error(f"reread: Waiting for {what}, as in the recording.\n".encode())
                timeout = None

    def _await_interrupt(self, caller: CallerMessages) -> None:
        self._await(caller, lambda: caller.interrupts > 0, "an interrupt by the caller")
        caller.interrupts -= 1
        self._expected_interrupts -= 1

    def _await_answer(self, caller: CallerMessages, recorded: Message, requests: Mapping[str, Message]) -> None:
        id = request_id(recorded)
        request = requests.get(id, {})
        what = f"the caller's answer to {describe(request)}"
        self._await(caller, lambda: id in caller.answers, what)
        given = caller.answers.pop(id)
        if self._matcher.strict and (found := difference(request, recorded, given)):
            raise NotRecorded(f"No recording continues from here: {what} is not the recorded one: {found}.")


def run_fake_claude(arguments: Sequence[str], settings: FakeClaudeSettings, pipes: Pipes | None = None) -> int:
    """Answer one call of `claude`, by default on the process's own pipes, and return the exit code."""
    pipes = pipes or Pipes()
    if parse_invocation(arguments).has("--help"):
        pipes.stdout.write(HELP.encode())
        return 0
    reads_state = bool(os.environ.get(READS_STATE_VARIABLE))
    return FakeClient(arguments, settings, pipes, reads_state=reads_state).run()


def main() -> NoReturn:
    """Run the executable, which can be first on PATH as `claude`, or be given to an SDK as its CLI path."""
    open_standard_streams()
    try:
        code = run_fake_claude(sys.argv[1:], FakeClaudeSettings.from_environment(os.environ))
        sys.stdout.flush()
    except RereadError as error:
        sys.stderr.write(f"reread: {error}\n")
        code = NOT_RECORDED
    except KeyboardInterrupt:
        code = 0
    except BrokenPipeError:
        code = FAILED
    except OSError as error:
        sys.stderr.write(f"reread: {error}\n")
        code = FAILED
    flush_or_discard(sys.stdout)
    sys.exit(code)


def _next_prompt(caller: CallerMessages) -> Message | None:
    while not caller.prompts and not caller.is_gone:
        caller.receive()
    return caller.prompts.popleft() if caller.prompts else None


def _relocate(mirror: Message) -> Message:
    """Change the path in a mirrored transcript entry to this project and configuration folder."""
    below = str(mirror.get("filePath")).replace("\\", "/").rpartition("/projects/")[2]
    home = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    project = re.sub("[^a-zA-Z0-9]", "-", os.path.realpath("."))
    return {**mirror, "filePath": str(Path(home, "projects", project, *below.split("/")[1:]))}


def _is_echo(frame: Frame, turn: RecordedTurn) -> bool:
    """True if a line repeats the prompt, as only `--replay-user-messages` does."""
    return bool(frame.value.get("isReplay")) and prompt_text(frame.value.get("message")) == turn.prompt


def _is_interrupt(frame: Frame) -> bool:
    return frame.stream == IN and inner(frame.value, "request").get("subtype") == "interrupt"


def _lacks_partial_messages(turn: RecordedTurn) -> bool:
    """True if only complete messages of the model were recorded; those that the client makes up are never partial."""
    printed = [frame for frame in turn.frames if frame.stream == OUT]
    return any(frame.kind == "assistant" and b'"<synthetic>"' not in frame.raw for frame in printed) and not any(
        frame.kind == "stream_event" for frame in printed
    )


def _version(matcher: Matcher) -> str:
    frames = (frame for turn in matcher.turns for frame in turn.frames)
    return next((str(v) for frame in frames if (v := frame.value.get("claude_code_version"))), VERSION)
