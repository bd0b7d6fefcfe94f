"""Options and arguments that name files: what none of them accepts, and what is never written to."""

from pathlib import Path

import click
import pytest

from reread.base.paths import SAMPLES
from reread.cli import all_verbs, reread
from reread.cli._paths import PathName
from reread.errors import Misuse, Unwritable

WRITTEN = {
    ("capture", "to"),
    ("export", "output"),
    ("export", "review"),
    ("file", "output"),
    ("share", "output"),
    ("share", "review"),
    ("sql", "output"),
    ("tables", "output"),
    ("tables", "warehouse"),
}
"""What writes where it is told; `keep` has checks of its own, and asks before it restores into Claude Code's folder."""
SAMPLE = next(SAMPLES.glob("projects/*/8c1f0b52*.jsonl"))


def path_parameters() -> dict[tuple[str, str], click.Parameter]:
    """Return every option and argument that names a file or folder, by verb and name."""
    found: dict[tuple[str, str], click.Parameter] = {}
    for verb in all_verbs():
        command = reread.get_command(click.Context(reread), verb)
        assert command is not None
        for parameter in command.params:
            metavar = parameter.metavar or ""
            if isinstance(parameter.type, click.Path) or metavar in ("DIR", "FILE", "FILE|DIR"):
                found[verb, parameter.name or ""] = parameter
    return found


def run(*words: str) -> None:
    reread.main(list(words), prog_name="reread", standalone_mode=False)


def test_none_accepts_an_empty_name() -> None:
    parameters = path_parameters()
    assert len(parameters) > 25
    for name, parameter in parameters.items():
        with pytest.raises(click.BadParameter, match="Empty path; is a variable not set"):
            parameter.type.convert("", parameter, None)
            pytest.fail(f"{name} accepts an empty name")


@pytest.mark.parametrize("address", ["ftp://team/x", "file:///tmp/x", "http://host/x"])
def test_none_takes_an_address_for_a_folder(address: str) -> None:
    for name, parameter in path_parameters().items():
        with pytest.raises(Misuse, match="Cannot use the address"):
            parameter.type.convert(address, parameter, None)
            pytest.fail(f"{name} accepts {address}")


def test_only_some_accept_a_bucket() -> None:
    accepting = set[tuple[str, str]]()
    for name, parameter in path_parameters().items():
        try:
            parameter.type.convert("s3://team/x", parameter, None)
        except Misuse as error:
            assert "on this machine" in str(error)
        else:
            accepting.add(name)
    others = {("keep", "to"), ("keep", "forget"), ("sql", "folder"), ("tables", "output"), ("tables", "warehouse")}
    others |= {("share", "to"), ("tables", "to"), *((verb, "bucket") for verb in ("digest", "serve", "stats", "usage"))}
    assert {(verb, name) for verb, name in accepting if name != "root"} == others


def test_nothing_is_written_into_claude_codes_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claude = tmp_path / "claude"
    (claude / "projects").mkdir(parents=True)
    (tmp_path / "link").symlink_to(claude)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(claude))
    parameters = path_parameters()
    for name in WRITTEN:
        type = parameters[name].type
        assert isinstance(type, PathName)
        for path in (claude, claude / "settings.json", tmp_path / "link/projects/x.jsonl"):
            with pytest.raises(Misuse, match="Claude Code's own"):
                type.convert(str(path), None, None)
        assert type.convert(str(tmp_path / "x"), None, None)


@pytest.mark.parametrize("words", [("export", "-f", "markdown"), ("share", "-f", "html")], ids=lambda words: words[0])
def test_a_session_is_not_replaced_by_its_export(words: tuple[str, ...], tmp_path: Path) -> None:
    session = tmp_path / "it.jsonl"
    session.write_bytes(SAMPLE.read_bytes())
    (tmp_path / "link.md").symlink_to(session)
    verb, *options = words
    for output in (session, tmp_path / "link.md"):
        with pytest.raises(Misuse, match="it is the session itself"):
            run(verb, str(session), *options, "-o", str(output))
    assert session.read_bytes() == SAMPLE.read_bytes()


def test_options_that_would_be_ignored_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="Cannot use --json with --output"):
        run("--demo", "file", "backoff.py", "8c1f", "--json", "-o", str(tmp_path / "x"))
    with pytest.raises(Misuse, match="Cannot use --undo with '8c1f'"):
        run("--demo", "share", "8c1f", "--undo", "x", "-o", str(tmp_path / "x"))


def test_only_some_accept_a_stream() -> None:
    accepting = set[tuple[str, str]]()
    for name, parameter in path_parameters().items():
        try:
            parameter.type.convert("-", parameter, None)
        except Misuse as error:
            assert "name a file or folder" in str(error)
        else:
            accepting.add(name)
    assert accepting == {
        ("digest", "output"),
        ("export", "output"),
        ("file", "output"),
        ("review", "output"),
    }


def test_a_parquet_file_needs_a_folder_and_a_failure_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    with pytest.raises(Unwritable, match="No such file or directory"):
        run("--demo", "sql", "select 1", "-o", str(tmp_path / "no/x.parquet"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unwritable):
        run("--demo", "sql", "select 1", "-o", str(tmp_path / "folder"))
    assert {path.name for path in tmp_path.iterdir()} <= {"folder", "cache", "store"}
