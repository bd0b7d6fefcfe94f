"""The timers of `reread keep --install`, held against what each system accepts."""

import json
import os
import plistlib
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from batches import table
from click.testing import CliRunner

from reread.archive import timers
from reread.cli import reread as command
from reread.errors import Misuse

ODD = ["/opt/a b/python", "-m", "reread", "keep", "--to", '/x/50% "é" $HOME\\n&<>']
VARIABLES = {"CLAUDE_CONFIG_DIR": '/home/a b/100%"&$5', "REREAD_HOME": "/r"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "claude").mkdir()
    return tmp_path


def files_of(system: str) -> dict[str, bytes]:
    return timers.timer(ODD, VARIABLES, system).files


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_timer(tmp_path: Path) -> None:
    for command_line in (ODD, ["/bin/true", *ODD[1:]]):
        for path, content in timers.timer(command_line, VARIABLES, timers.SYSTEMD).files.items():
            (tmp_path / Path(path).name).write_bytes(content)
        units = [str(tmp_path / f"{timers.NAME}.{kind}") for kind in ("service", "timer")]
        environment = {**os.environ, "SYSTEMD_LOG_LEVEL": "warning", "XDG_RUNTIME_DIR": str(tmp_path)}
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", *units],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        complaints = [line for line in done.stderr.splitlines() if timers.NAME in line]
        assert complaints == [] or command_line is ODD, done.stderr  # that program does not exist
        assert not any("nknown" in line or "nvalid" in line for line in complaints)


def test_systemd_words_are_quoted() -> None:
    service = next(content for path, content in files_of(timers.SYSTEMD).items() if path.endswith(".service")).decode()
    assert 'ExecStart="/opt/a b/python" "-m" "reread" "keep" "--to" "/x/50%% \\"é\\" $$HOME\\\\n&<>"' in service
    assert 'Environment="CLAUDE_CONFIG_DIR=/home/a b/100%%\\"&$5"' in service  # no variables are replaced there
    wanted = timers.timer(["/opt/$x/python", "$x"], {}, timers.SYSTEMD)
    assert b'ExecStart="/opt/$x/python" "$$x"\n' in next(iter(wanted.files.values()))


@table("system", [timers.SYSTEMD, timers.LAUNCHD, timers.WINDOWS])
@table("char", ["\r", "\n", "\0", "\x1b", "\x85", "\udc80"])
def test_what_no_file_of_a_timer_can_have_is_refused(system: str, char: str) -> None:
    for command_line, variables in ((["/bin/true", f"a{char}b"], {}), (["/bin/true"], {"REREAD_HOME": f"a{char}b"})):
        with pytest.raises(Misuse, match=r"Cannot put .* into a timer"):
            timers.timer(command_line, variables, system)
    assert timers.timer(["/bin/true", "/été/\u3000/🙂"], {}, system).files


def test_launchd_gets_a_property_list() -> None:
    ((path, content),) = files_of(timers.LAUNCHD).items()
    value = plistlib.loads(content)
    assert path.endswith(f"Library/LaunchAgents/{value['Label']}.plist")
    assert value["ProgramArguments"] == ODD
    assert value["EnvironmentVariables"].items() >= VARIABLES.items()
    assert value["StartInterval"] == 3600


def test_the_windows_scheduler_gets_a_task() -> None:
    ((_, content),) = files_of(timers.WINDOWS).items()
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    task = ElementTree.fromstring(content.decode("utf-16"))
    assert task.tag == f"{space}Task"
    order = [child.tag.removeprefix(space) for child in task]
    assert order == ["RegistrationInfo", "Triggers", "Settings", "Actions"]
    text = task.findtext(f"{space}Actions/{space}Exec/{space}Arguments") or ""
    assert '"/opt/a b/python" -m reread keep' in text
    assert 'set "REREAD_HOME=/r"&& ' in text
    assert content.startswith(b"\xff\xfe")


def test_installing_asks_and_uninstalling_removes_only_its_own_files(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home / "bin"))
    (home / "bin").mkdir()
    (home / "bin/systemctl").write_text(f'#!/bin/sh\necho "$@" >> {home}/calls\n')
    (home / "bin/systemctl").chmod(0o755)
    monkeypatch.setattr(timers, "this_system", lambda: timers.SYSTEMD)
    runner = CliRunner()
    no = runner.invoke(command, ["keep", "--install"], input="n\n")
    assert "Nothing was written" in no.output and no.exit_code == 1
    assert not (home / ".config").exists()
    assert "SessionEnd" in json.loads(no.output[no.output.index('{\n  "hooks"') :])["hooks"]
    yes = runner.invoke(command, ["keep", "--to", str(home / "kept"), "--install"], input="y\n")
    assert "Installed" in yes.output and yes.exit_code == 0, yes.output
    assert runner.invoke(command, ["keep", "--uninstall"], input="n\n").exit_code == 1
    units = home / ".config/systemd/user"
    assert str(home / "kept") in (units / "reread-keep.service").read_text()
    assert "enable --now reread-keep.timer" in (home / "calls").read_text()
    (units / "other.timer").write_text("mine")
    (units / "reread-keep.timer").write_text("mine too")
    assert runner.invoke(command, ["keep", "--uninstall", "--yes"]).exit_code == 0
    assert sorted(path.name for path in units.iterdir()) == ["other.timer", "reread-keep.timer"]
    assert "disable --now reread-keep.timer" in (home / "calls").read_text()
    assert list((home / "claude").iterdir()) == []
