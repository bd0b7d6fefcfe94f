"""Run `reread keep` every hour: a timer for systemd, launchd or the Windows scheduler, and hooks for Claude Code."""

from __future__ import annotations

import json
import os
import plistlib
import subprocess
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import msgspec

from reread.disk import layout
from reread.errors import Misuse
from reread.storage.atomic import write_atomic
from reread.storage.safe_open import make_private_folder, read_settings
from reread.storage.services import SERVICES

NAME = "reread-keep"
LABEL = "dev.reread.keep"
MARK = "Made by `reread keep --install`"
"""A part of every file of ours."""
VARIABLES = (
    *("CLAUDE_CONFIG_DIR", "REREAD_HOME", "REREAD_ARCHIVE", "REREAD_MACHINE", "XDG_DATA_HOME"),
    *(variable for service in SERVICES for variable in service.variables),
)
"""Variables that decide what is kept and where; a timer does not inherit them. None of them is a secret."""
SYSTEMD, LAUNCHD, WINDOWS = "systemd", "launchd", "windows"


class Timer(msgspec.Struct, frozen=True):
    """A timer for one system: the files to write, and the commands that start and stop it."""

    system: str
    files: dict[str, bytes]
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]


def this_system() -> str:
    """Return which kind of timer this system has."""
    return {"darwin": LAUNCHD, "win32": WINDOWS}.get(sys.platform, SYSTEMD)


def keep_command(to: str | None) -> list[str]:
    """Return the command that a timer runs."""
    return [sys.executable, "-P", "-m", "reread", "keep", "--quiet", *(["--to", to] if to is not None else [])]


def variables() -> dict[str, str]:
    """Return the variables to pass on."""
    return {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}


def timer(command: Sequence[str], environment: Mapping[str, str], system: str | None = None) -> Timer:
    """Return the timer for a system, by default for this one; raise Misuse for words that its files cannot have."""
    for word in (*command, *environment.values()):
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in word):  # control, or a name that is no Unicode
            raise Misuse(f"Cannot put {word!r} into a timer: it has characters that its files cannot have.")
    return {SYSTEMD: _systemd, LAUNCHD: _launchd, WINDOWS: _windows}[system or this_system()](command, environment)


def _systemd(command: Sequence[str], environment: Mapping[str, str]) -> Timer:
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    folder = layout.expand_path(base) / "systemd" / "user"
    program, *arguments = command
    # only in arguments is $ the beginning of a variable: neither in the program nor in Environment=
    quoted = " ".join([_systemd_word(program), *(_systemd_word(word).replace("$", "$$") for word in arguments)])
    set_variables = "".join(f"Environment={_systemd_word(f'{k}={v}')}\n" for k, v in environment.items())
    service = (
        f"# {MARK}\n[Unit]\nDescription=Keep Claude Code sessions\n\n[Service]\nType=oneshot\nNice=10\n"
        f"IOSchedulingClass=idle\nUMask=0077\n{set_variables}ExecStart={quoted}\n"
    )
    schedule = (
        f"# {MARK}\n[Unit]\nDescription=Keep Claude Code sessions every hour\n\n[Timer]\nOnCalendar=hourly\n"
        "RandomizedDelaySec=5min\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )
    files = {str(folder / f"{NAME}.service"): service.encode(), str(folder / f"{NAME}.timer"): schedule.encode()}
    control = ("systemctl", "--user")
    start = ((*control, "daemon-reload"), (*control, "enable", "--now", f"{NAME}.timer"))
    return Timer(SYSTEMD, files, start, ((*control, "disable", "--now", f"{NAME}.timer"),))


def _systemd_word(word: str) -> str:
    """Quote a word as systemd reads it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _launchd(command: Sequence[str], environment: Mapping[str, str]) -> Timer:
    path = layout.expand_path("~/Library/LaunchAgents") / f"{LABEL}.plist"
    value: dict[str, Any] = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": {**environment, "REREAD_TIMER": MARK},
        "StartInterval": 3600,
        "RunAtLoad": True,
        "ProcessType": "Background",
        "Umask": 0o077,
    }
    domain = f"gui/{os.getuid()}" if hasattr(os, "getuid") else "gui"
    start = (("launchctl", "bootstrap", domain, str(path)),)
    return Timer(LAUNCHD, {str(path): plistlib.dumps(value)}, start, (("launchctl", "bootout", f"{domain}/{LABEL}"),))


def _windows(command: Sequence[str], environment: Mapping[str, str]) -> Timer:
    path = layout.default_store() / f"{NAME}.xml"
    program, *arguments = command
    if environment:
        sets = "".join(f'set "{name}={value}"&& ' for name, value in environment.items())
        program, arguments = "cmd.exe", ["/d", "/c", sets + subprocess.list2cmdline(command)]
    text = " ".join(arguments) if environment else subprocess.list2cmdline(arguments)
    task = f"""<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>{escape(MARK)}: keeps Claude Code sessions</Description></RegistrationInfo>
  <Triggers>
    <TimeTrigger>
      <Repetition><Interval>PT1H</Interval></Repetition>
      <StartBoundary>2026-01-01T00:00:00</StartBoundary>
    </TimeTrigger>
  </Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <Priority>8</Priority>
  </Settings>
  <Actions>
    <Exec><Command>{escape(program)}</Command><Arguments>{escape(text)}</Arguments></Exec>
  </Actions>
</Task>
"""
    start = (("schtasks", "/Create", "/TN", NAME, "/XML", str(path), "/F"),)
    return Timer(WINDOWS, {str(path): task.encode("utf-16")}, start, (("schtasks", "/Delete", "/TN", NAME, "/F"),))


def hooks(to: str | None) -> str:
    """Return settings with which Claude Code runs `reread keep` itself: when a session begins, ends or is compacted.

    They do not replace the timer: a hook at the end is killed with the client.
    """
    where = ["--to", to] if to is not None else []
    line = subprocess.list2cmdline([*("reread", "keep", "--quiet"), *where]) if os.name == "nt" else None
    if line is None:
        import shlex

        line = shlex.join(["reread", "keep", "--quiet", *where])
    entry = [{"hooks": [{"type": "command", "command": line, "timeout": 60}]}]
    return json.dumps({"hooks": dict.fromkeys(("SessionStart", "PreCompact", "SessionEnd"), entry)}, indent=2)


def install(wanted: Timer) -> list[str]:
    """Write the files of a timer and start it; return what did not work."""
    for path, content in wanted.files.items():
        make_private_folder(Path(path).parent)
        write_atomic(Path(path), [content], sync=True)
    return _run(wanted.start)


def installed(wanted: Timer) -> list[str]:
    """Return the files of a timer that exist and are ours."""
    return [path for path in wanted.files if _is_ours(Path(path))]


def uninstall(wanted: Timer) -> list[str]:
    """Stop a timer and delete its files; return what did not work."""
    failed = _run(wanted.stop)
    for path in installed(wanted):
        Path(path).unlink()
    return failed


def _is_ours(path: Path) -> bool:
    try:
        content = read_settings(path)
    except OSError:
        return False
    return MARK.encode() in content or MARK.encode("utf-16-le") in content


def _run(commands: Sequence[Sequence[str]]) -> list[str]:
    """Run commands; return what went wrong with each that failed."""
    failed: list[str] = []
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            failed.append(f"{' '.join(command)}: {error}")
            continue
        if done.returncode:
            failed.append(f"{' '.join(command)}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return failed
