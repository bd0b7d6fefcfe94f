"""What someone gives you leads nowhere: no name in it is a path, no link is followed out of it, no map is believed."""

import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from limits import within
from making import answer, jsonl, reply, result, told, use, user

import reread
from reread import Archive
from reread.archive.retention import retention
from reread.archive.verify import KeptEntry
from reread.cli import reread as command
from reread.disk import layout
from reread.disk.spilled import spilled_files, tool_result_file
from reread.reader.redacted_export import write_redacted_site
from reread.redaction.decisions import DecisionStore, PrivateMap
from reread.redaction.removal_manifest import digest_of, undo
from reread.render.selection import Selection
from reread.reports.secrets_report import secrets_report
from reread.storage import frames
from reread.storage import kept_file as kept
from reread.storage import kept_manifest as manifest
from reread.storage.frames import MAP_HEADING, ZstdFrame, pack
from reread.storage.kept_file import open_regular
from reread.storage.zstd import ZstdCompressor

ID = "11111111-1111-4111-8111-111111111111"
SECRET = "the content of a file elsewhere"
AWS = "AKIA" + "QYLPMN5HHHFPZAM2"
linux = pytest.mark.skipif(sys.platform == "win32", reason="makes links and pipes")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable, name in {"CACHE": "cache", "HOME": "store", "ARCHIVE": "kept"}.items():
        monkeypatch.setenv(f"REREAD_{variable}", str(tmp_path / name))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    (tmp_path / "claude/projects/-p").mkdir(parents=True)
    return tmp_path


def session(id: str = ID) -> bytes:
    spilled = "<persisted-output>\nOutput too large (9MB). Full output saved to: /x/tool-results/big.txt\n"
    call = reply(use("t", "Bash", command="x"), sessionId=id)
    return jsonl(*told(user("hello", sessionId=id), call, answer(result("t", spilled), sessionId=id)))


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


IDS = ["../outside", "/{home}/outside", "..", "a/../../outside", "-o", "a\\..\\b", "x\0y", "con", "."]


@pytest.mark.parametrize("id", IDS)
def test_the_id_of_a_session_names_no_file_elsewhere(home: Path, id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = home / "deep" / "work"
    work.mkdir(parents=True)
    data = session(id.format(home=home))
    (home / "given.jsonl").write_bytes(data)
    before = files_below(home)
    monkeypatch.chdir(work)
    for words in (["share", "-", "-f", "jsonl"], ["share", str(home / "given.jsonl"), "-f", "markdown"]):
        done = CliRunner().invoke(command, words, input=data)
        assert done.exit_code == 0, done.output
    made = {name for name in files_below(home) - before if not name.startswith(("store", "cache"))}
    assert len(made) == 4 and all(name.startswith("deep/work/") and name.count("/") == 2 for name in made)
    redaction = reread.redact(home / "given.jsonl")
    write_redacted_site([redaction], work / "site", Selection())
    made = {name for name in files_below(home) - before - made if not name.startswith(("store", "cache"))}
    assert made and all(name.startswith("deep/work/site/") for name in made)


@linux
@pytest.mark.parametrize("where", ["tool-results", "tool-results/big.txt", "subagents", "subagents/agent-a.jsonl"])
def test_a_link_beside_a_session_is_not_followed_out_of_its_folder(home: Path, where: str) -> None:
    path = home / f"given/{ID}.jsonl"
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "big.txt").write_text(SECRET)
    (elsewhere / "agent-a.jsonl").write_bytes(jsonl(*told(user(SECRET, isSidechain=True, agentId="a"))))
    target = path.with_suffix("") / where
    target.parent.mkdir(parents=True)
    path.write_bytes(session())
    target.symlink_to(elsewhere / target.name if target.suffix else elsewhere)
    opened = reread.open(path)
    assert tool_result_file(path, "/x/tool-results/big.txt") is None
    assert opened.agents == {}
    redaction = reread.redact(path)
    redaction.replace_undecided()
    for form in ("html", "markdown", "json", "jsonl"):
        assert SECRET.encode() not in reread.export(opened, form, full=True)
        assert SECRET.encode() not in redaction.export(form, full=True)
    (home / "out").mkdir()
    redaction.export("jsonl", to=home / "out" / "copy.jsonl")
    reread.export(path, "jsonl", to=home / "out" / "plain.jsonl")
    assert not [file for file in (home / "out").rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]
    (elsewhere / "big.txt").write_text(AWS)
    assert secrets_report([path]).totals == secrets_report([home / "given"]).totals
    assert not any(secrets_report([path]).totals.values())


@linux
def test_a_session_that_is_itself_a_link_keeps_what_lies_beside_it(home: Path) -> None:
    real = home / f"real/{ID}.jsonl"
    (real.with_suffix("") / "tool-results").mkdir(parents=True)
    (real.with_suffix("") / "tool-results/big.txt").write_text(SECRET)
    real.write_bytes(session())
    linked = home / f"claude/projects/-p/{ID}.jsonl"
    linked.symlink_to(real)
    linked.with_suffix("").symlink_to(real.with_suffix(""))
    for path in (real, linked):
        assert tool_result_file(path, "/x/tool-results/big.txt") is not None
        assert len(spilled_files(path)) == 1


@linux
@pytest.mark.parametrize("name", ["assets", "index.html", f"{ID}.manifest.json"])
def test_a_link_in_a_redacted_site_does_not_lead_out_of_it(home: Path, name: str) -> None:
    path = home / f"{ID}.jsonl"
    path.write_bytes(session())
    victim = home / "victim"
    victim.mkdir() if name == "assets" else victim.write_bytes(b"mine")
    (home / "site").mkdir()
    (home / "site" / name).symlink_to(victim)
    with pytest.raises(reread.Unwritable, match="it leads out of the folder"):
        write_redacted_site([reread.redact(path)], home / "site", Selection())
    assert (list(victim.iterdir()) == []) if victim.is_dir() else victim.read_bytes() == b"mine"


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b'{"a": 1}', b"[" * 100_000])
def test_a_map_that_was_tampered_with_is_said_to_be_unreadable(home: Path, content: bytes) -> None:
    store = DecisionStore()
    store.keep_map(digest_of(b"document"), PrivateMap({})).write_bytes(content)
    with pytest.raises(reread.Unreadable, match="Cannot read the private map"):
        undo(b"document", store)
    for name, words in {"key": "not a key", "decisions.json": "delete it to decide anew"}.items():
        before = (store.folder / name).read_bytes() if (store.folder / name).exists() else None
        (store.folder / name).write_bytes(content or b"x")
        with pytest.raises(reread.Unreadable, match=words):
            DecisionStore()
        (store.folder / name).unlink()
        if before is not None:
            (store.folder / name).write_bytes(before)


VALUES = (b'"x"', b"NaN", b"-1", b"true", b"[]", b"9" * 5000)
SETTINGS = [b"", b"\xff", b"[" * 200_000, b"[]", b"9" * 5000, *(b'{"cleanupPeriodDays": %b}' % one for one in VALUES)]
LARGE = [b'{"cleanupPeriodDays": ' + number + b"}" for number in (b"9" * 400, b"1e308", b"Infinity")]


def test_settings_of_any_form_are_read_or_ignored(home: Path) -> None:
    path = home / "claude/settings.json"
    for content in SETTINGS:
        path.write_bytes(content)
        assert retention(home / "claude").source == ""
    for content in LARGE:
        path.write_bytes(content)
        assert retention(home / "claude").days == 1e6
        assert len(Archive().stakes()) == 1


def kept_session(home: Path) -> Path:
    """Keep a session, delete the original, and return the file with its frames."""
    path = home / f"claude/projects/-p/{ID}.jsonl"
    path.write_bytes(session())
    reread.keep()
    path.unlink()
    return home / f"kept/projects/-p/{ID}.jsonl.zst"


def line(raw: int, packed: int) -> bytes:
    return ZstdFrame(raw, packed, bytes(32), bytes(32)).line()


def sparse_map(path: Path) -> None:
    os.truncate(str(path) + kept.MAP_SUFFIX, 1 << 40)


def lying_map(path: Path) -> None:
    size = path.stat().st_size
    Path(str(path) + kept.MAP_SUFFIX).write_bytes(MAP_HEADING + line(10**18, size))


def many_frames_map(path: Path) -> None:
    size = path.stat().st_size
    Path(str(path) + kept.MAP_SUFFIX).write_bytes(
        MAP_HEADING + b"".join(line(number * 10**12, number) for number in range(1, size + 1))
    )


def linked_map(path: Path) -> None:
    Path(str(path) + kept.MAP_SUFFIX).unlink()
    Path(str(path) + kept.MAP_SUFFIX).symlink_to("/etc/passwd")


def piped_map(path: Path) -> None:
    Path(str(path) + kept.MAP_SUFFIX).unlink()
    os.mkfifo(str(path) + kept.MAP_SUFFIX)


MAPS: list[Callable[[Path], None]] = [sparse_map, lying_map, many_frames_map, linked_map, piped_map]


@linux
@pytest.mark.parametrize("attack", MAPS, ids=lambda attack: attack.__name__)
def test_a_map_that_lies_is_not_believed(home: Path, attack: Callable[[Path], None]) -> None:
    path = kept_session(home)
    attack(path)
    with open_regular(path.with_suffix("")) as file:
        assert file.readall() == session()
    assert len(reread.open(ID).messages) == 2
    assert [header.id for header in reread.sessions()] == [ID]
    assert list(Archive().verify())


def bomb(path: Path) -> None:
    path.write_bytes(pack(bytes(3 << 20), 1))


def torn_frame(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def no_frame(path: Path) -> None:
    path.write_bytes(b"{}\n" * 99)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


FRAMES: list[Callable[[Path], None]] = [bomb, torn_frame, no_frame, pipe, link]


@linux
@pytest.mark.parametrize("attack", FRAMES, ids=lambda attack: attack.__name__)
def test_frames_that_are_none_are_refused(
    home: Path, attack: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept_session(home)
    monkeypatch.setattr(frames, "LARGEST_FRAME", 1 << 20)
    attack(path)
    with pytest.raises(reread.Unreadable):
        list(reread.open(path.with_suffix("")).records)
    assert [header.id for header in reread.sessions()] == []
    assert reread.usage().totals.tokens == 0
    found = list(Archive().verify())
    assert found and not [one for one in found if isinstance(one, KeptEntry)]
    assert all(file.damage for file in Archive().restore(to=home / "back"))
    assert not files_below(home / "back") if (home / "back").exists() else True


def unsized(data: bytes) -> bytes:
    """Return a frame that does not say how much is in it."""
    compressor = ZstdCompressor()
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize("with_map", [False, True])
@pytest.mark.parametrize("size", [1 << 20, 100 << 20])
@pytest.mark.parametrize("make", [lambda data: pack(data, 3), unsized], ids=["sized", "unsized"])
def test_frames_that_unpack_without_end_are_not_read(
    home: Path, make: Callable[[bytes], bytes], size: int, with_map: bool
) -> None:
    path, frame = kept_session(home), make(bytes(size))
    path.write_bytes(frame * 3000)
    Path(f"{path}{kept.MAP_SUFFIX}").unlink()
    if with_map:
        written = (line(number * size, number * len(frame)) for number in range(1, 3001))
        Path(f"{path}{kept.MAP_SUFFIX}").write_bytes(MAP_HEADING + b"".join(written))
    with within(5):
        with pytest.raises(reread.Unreadable, match=r"no session does|has no whole frame"):
            list(reread.open(path.with_suffix("")).records)
        list(reread.sessions())


def test_a_map_cannot_hide_how_much_there_is(home: Path) -> None:
    path = kept_session(home)
    frame = pack(bytes(1 << 20), 3)
    path.write_bytes(frame * 3000)
    written = (line(number, number * len(frame)) for number in range(1, 3000))
    Path(f"{path}{kept.MAP_SUFFIX}").write_bytes(
        MAP_HEADING + b"".join(written) + line(2999 + (1 << 20), path.stat().st_size)
    )
    with pytest.raises(reread.Unreadable, match="no session does"):
        list(reread.open(path.with_suffix("")).records)


def test_what_compresses_well_is_kept_read_and_restored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / f"claude/projects/-p/{ID}.jsonl"
    data = session() + b" " * (6 << 20) + b"\n"
    path.write_bytes(data)
    reread.keep()
    path.unlink()
    copy = home / f"kept/projects/-p/{ID}.jsonl.zst"
    assert copy.stat().st_size < len(data) / frames.LARGEST_RATIO
    with open_regular(copy) as file:
        assert file.readall() == data
    monkeypatch.setattr(frames.largest_raw, "__defaults__", (4 << 20,))
    with pytest.raises(OSError, match="no session does"):
        open_regular(copy)
    Archive().restore(to=home / "back")  # whoever keeps something gets it back
    assert (home / f"back/projects/-p/{ID}.jsonl").read_bytes() == data


@pytest.mark.parametrize("size", [1 << 20, 16 << 20])
@pytest.mark.parametrize("make", [lambda data: pack(data, 3), unsized], ids=["sized", "unsized"])
def test_a_manifest_that_unpacks_without_end_is_damaged(make: Callable[[bytes], bytes], size: int) -> None:
    frame = make(bytes(size))
    tracemalloc.start()
    try:
        assert manifest.decode_manifest(frame * (125_000 // len(frame))) is None
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


def test_a_list_of_archives_of_any_form_is_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REREAD_ARCHIVE")
    (home / "store").mkdir()
    for content in (b"", b"{}", b"[" * 100_000, b'[1, null, {}, [], "\\u0000", "../../..", "\\ud800"]', b"\xff"):
        (home / "store" / layout.ARCHIVES).write_bytes(content)
        assert list(reread.sessions()) == []
