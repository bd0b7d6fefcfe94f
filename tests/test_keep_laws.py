"""Laws of keeping: after any changes, a restored file is the source at each sync, and `zstd -d` gives it back."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread import Archive
from reread.archive import sync
from reread.archive.verify import KeptProblem
from reread.storage import frames, kept_copy
from reread.storage.kept_file import KeptFile, open_regular
from reread.storage.kept_names import kept_name, kept_path, parse_kept_name


@contextmanager
def scratch_folder() -> Generator[Path]:
    """A folder for one example."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


NAMES = ("a.jsonl", "a/subagents/agent-1.jsonl", "a/subagents/agent-1.meta.json", "a/tool-results/ö ü\n.txt")
BYTES = st.binary(max_size=90) | st.sampled_from([b"{}\n", b"\n" * 200, bytes(300), b'{"type":"user"}'])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from(NAMES), BYTES),
        st.tuples(st.just("write"), st.sampled_from(NAMES), BYTES),
        st.tuples(st.just("replace"), st.sampled_from(NAMES), BYTES),
        st.tuples(st.just("cut"), st.sampled_from(NAMES), st.integers(0, 100)),
        st.tuples(st.just("edit"), st.sampled_from(NAMES), st.integers(0, 400)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES)),
        st.tuples(st.just("torn"), st.sampled_from(NAMES), BYTES),
        st.tuples(st.just("unmap"), st.sampled_from(NAMES)),
        st.tuples(st.just("forget")),
        st.tuples(st.just("quiet")),
        st.tuples(st.just("sync")),
    ),
    max_size=14,
)


def change(path: Path, step: tuple[object, ...]) -> None:
    """Change a source in one of the ways in which sources change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match step:
        case ("append", _, bytes(data)):
            with path.open("ab") as file:
                file.write(data)
        case ("write", _, bytes(data)):
            path.write_bytes(data)
        case ("replace", _, bytes(data)):
            other = path.with_name("other")
            other.write_bytes(data)
            other.replace(path)
        case ("cut", _, int(size)) if path.exists():
            os.truncate(path, min(size, path.stat().st_size))
        case ("edit", _, int(at)) if path.exists() and path.stat().st_size:
            stat, data = path.stat(), bytearray(path.read_bytes())
            data[at % len(data)] ^= 0x20
            path.write_bytes(data)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # a change that hides
        case ("delete", _):
            path.unlink(missing_ok=True)
        case _:
            pass


def spoil(archive: Path, step: tuple[object, ...]) -> None:
    """Do to an archive what a crash or a careless hand does, and what loses nothing."""
    project = archive / "projects" / "p"
    match step:
        case ("torn", str(name), bytes(data)):
            kept = kept_path(project / name)
            if kept is not None and Path(f"{kept}.map").exists():
                with Path(kept).open("ab") as file:
                    file.write(frames.pack(data, 3)[:-1])
        case ("unmap", str(name)):
            if all(not Path(f"{path}.map").exists() or is_whole(path) for path in project.rglob("*.zst")):
                Path(f"{project / name}.zst.map").unlink(missing_ok=True)
        case ("forget",):
            shutil.rmtree(archive / ".sync", ignore_errors=True)
        case _:
            pass


def is_whole(path: Path) -> bool:
    copy = kept_copy.examine(str(path), 1)
    return copy.size == copy.packed_size


@given(steps=STEPS, frame=st.sampled_from([7, 64, 1 << 20]))
def test_restoring_gives_each_source_as_it_was_at_the_last_sync_that_saw_it(steps, frame) -> None:
    with scratch_folder() as top, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sync, "FRAME_SIZE", frame)
        patch.setattr(kept_copy, "FRAME_SIZE", frame)
        patch.setattr(os, "fsync", lambda _: None)  # no power fails here, and it takes most of the time
        source, archive = top / "claude", Archive(top / "kept")
        seen: dict[str, list[bytes]] = {}
        for step in [*steps, ("sync",)]:
            if step[0] in ("torn", "unmap", "forget"):
                spoil(archive.folder, step)
            elif step[0] == "quiet":
                patch.setattr(sync, "QUIET_SECONDS", -1.0)
            elif step[0] != "sync":
                change(source / "projects" / "p" / str(step[1]), step)
            else:
                (source / "projects").mkdir(parents=True, exist_ok=True)
                report = archive.keep(source)
                assert not report.count("failed", "skipped")
                for name in NAMES:
                    path = source / "projects" / "p" / name
                    if path.exists() and (not seen.get(name) or seen[name][-1] != path.read_bytes()):
                        seen.setdefault(name, []).append(path.read_bytes())
                check(archive, top, seen)


def check(archive: Archive, top: Path, seen: dict[str, list[bytes]]) -> None:
    """Compare an archive with everything that syncs have seen."""
    results = list(archive.verify())
    assert not [one for one in results if isinstance(one, KeptProblem) and one.level == "error"]
    out = top / "out"
    shutil.rmtree(out, ignore_errors=True)
    archive.restore(to=out)
    restored = {str(p.relative_to(out / "projects/p")): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert restored == {name: states[-1] for name, states in seen.items()}
    kept: dict[str, list[bytes]] = {}
    for version in archive.versions():
        with KeptFile(version.path) as file:
            kept.setdefault(version.name.removeprefix("projects/p/"), []).append(file.read())
    for name, states in seen.items():
        with open_regular(archive.folder / "projects/p" / name) as file:
            assert file.read() == states[-1]
        for state in states:  # every state is the beginning of a generation
            assert any(data.startswith(state) for data in kept[name])


ZSTD = shutil.which("zstd")


@pytest.mark.skipif(ZSTD is None, reason="needs the zstd program")
@pytest.mark.parametrize("pieces", [[b""], [b"x"], [b"no newline"], [b"a\n" * 9, b"", b"b" * 3_000_000, b"\0\xff"]])
def test_zstd_alone_gives_the_bytes_back(tmp_path, pieces) -> None:
    path = tmp_path / "claude/projects/p/s.jsonl"
    path.parent.mkdir(parents=True)
    archive = Archive(tmp_path / "kept")
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        archive.keep(tmp_path / "claude")
    kept = archive.folder / "projects/p/s.jsonl.zst"
    subprocess.run([str(ZSTD), "-q", "-t", kept], check=True)
    assert subprocess.run([str(ZSTD), "-dc", kept], check=True, capture_output=True).stdout == b"".join(pieces)


@given(data=st.binary(max_size=500), reads=st.lists(st.tuples(st.integers(0, 600), st.integers(0, 600)), max_size=8))
def test_a_kept_file_is_read_at_any_offset(data, reads) -> None:
    with scratch_folder() as top:
        path = top / "x.zst"
        builder = frames.FrameBuilder(3)
        path.write_bytes(b"".join(builder.add(data[at : at + 37]) for at in range(0, max(1, len(data)), 37)))
        for with_map in (False, True):
            if with_map:
                Path(f"{path}.map").write_bytes(frames.map_bytes(builder.frames))
            with KeptFile(str(path)) as file:
                assert file.size == len(data)
                assert all(file.read_at(at, length) == data[at : at + length] for at, length in reads)
        assert builder.frames[-1].prefix_hash == hashlib.sha256(data).digest()


@given(
    name=st.text(st.characters(codec="utf-8"), min_size=1)
    | st.from_regex(r"a(\.gen\d{0,3}|\.zst){0,4}", fullmatch=True)
)
def test_names_come_back_from_the_archive(name) -> None:
    for generation in (1, 2, 37):
        assert parse_kept_name(kept_name(name, generation)) == (name, generation)


@given(data=st.binary(min_size=1, max_size=3000), level=st.sampled_from([1, 3, 9, 19]))
def test_frames_are_measured_without_unpacking_them(data, level) -> None:
    packed = frames.pack(data, level)
    both = packed + frames.pack(b"", 3)
    shape = frames.measure_frame(lambda at, length: both[at : at + length], 0)
    assert shape == frames.FrameShape(len(packed), len(data))
    for cut in range(0, len(packed), 1 + len(packed) // 40):
        torn = packed[:cut]
        if cut:
            with pytest.raises(frames.TornFrame):
                frames.measure_frame(lambda at, length, torn=torn: torn[at : at + length], 0)
