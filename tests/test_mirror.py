"""What needs no bucket: addresses, stubs, manifests and the machines they belong to."""

import sys
from pathlib import Path
from typing import cast

import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st

import reread
from reread.errors import Misuse
from reread.storage import kept_manifest as manifest
from reread.storage import user_paths
from reread.storage.bucket_mirror import show_manifest
from reread.storage.byte_store import ByteStore
from reread.storage.frames import FrameBuilder, ZstdFrame
from reread.storage.kept_file import read_stub
from reread.storage.stub import Piece, parse_stub, stub_bytes


def pieces(*sizes: int) -> list[Piece]:
    """Return pieces of so many frames each."""
    builder = FrameBuilder(1)
    found: list[Piece] = []
    for number, size in enumerate(sizes):
        start = len(builder.frames)
        for frame in range(size):
            builder.add(b"%d %d" % (number, frame))
        found.append(Piece(f"machines/m/objects/{number}", builder.frames[start:]))
    return found


@pytest.mark.parametrize("typed", ["s3://b-1/a/c", "s3a://b-1/a/c/", "s3:/b-1/a/c", Path("s3://b-1/a/c")])
def test_an_address_is_understood_however_it_is_written(typed: str | Path) -> None:
    folder = user_paths.expand_path(typed)
    assert user_paths.named_url(folder) == user_paths.typed_path(folder) == "s3://b-1/a/c"
    assert folder.parent == user_paths.mirrors_folder() and folder.is_dir()
    assert user_paths.expand_path("s3://b-1/a/c/machines/ann") == folder / "ann"
    assert user_paths.typed_path(folder / "ann") == "s3://b-1/a/c/machines/ann"


def test_another_server_has_another_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    here = user_paths.expand_path("s3://b-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://elsewhere")
    assert user_paths.expand_path("s3://b-1") != here


@pytest.mark.parametrize("typed", ["s3://", "s3://B/x", "s3://b", "s3://ok/..", "s3://ok/a/./b", "s3://ok//b"])
def test_what_names_no_bucket_is_refused(typed: str) -> None:
    with pytest.raises(Misuse, match="s3://BUCKET"):
        list(reread.sessions(root=typed))


def test_one_cannot_keep_sessions_inside_a_mirror() -> None:
    with pytest.raises(Misuse, match="name the bucket"):
        reread.Archive("s3://b-1/machines/ann")


def test_without_pyarrow_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    with pytest.raises(Misuse, match=r"pip install 'reread\[tables\]'"):
        list(reread.sessions(root="s3://no-pyarrow-here"))


@given(st.lists(st.integers(1, 4), max_size=4), st.integers(0, 600))
def test_a_stub_that_was_cut_has_whole_pieces(sizes: list[int], cut: int) -> None:
    wanted = pieces(*sizes)
    data = stub_bytes("s3://b-1", wanted)
    assert parse_stub(data) == ("s3://b-1", wanted)
    found = parse_stub(data[: len(data) - cut])
    assert found is None or found[1] == wanted[: len(found[1])]


@given(st.binary(max_size=300))
def test_any_bytes_are_a_stub_and_a_manifest_or_not(data: bytes) -> None:
    parse_stub(b"reread-stub 1 " + data)
    assert manifest.decode_manifest(data) is None


def test_only_a_mirror_has_stubs(tmp_path: Path) -> None:
    inside = user_paths.mirrors_folder() / "m" / "x.jsonl.zst"
    inside.parent.mkdir(parents=True)
    for path in (inside, tmp_path / "x.jsonl.zst"):
        path.write_bytes(stub_bytes("s3://b-1", []))
        assert (read_stub(path) is not None) == (path == inside)


@given(st.binary(max_size=40), st.integers(0, 1 << 60), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_a_manifest_is_read_as_it_was_written(name: bytes, modified: int, sizes: list[int]) -> None:
    written = tuple(map(manifest.ManifestPiece.of, pieces(*sizes)))
    whole = manifest.MachineManifest(1, "m", (manifest.ManifestFile(name, 1, modified, written),))
    assert manifest.decode_manifest(manifest.encode_manifest(whole)) == whole
    assert [piece.piece() for piece in written] == pieces(*sizes)


class Bucket:
    """A bucket that has one object."""

    url = "s3://b-1"

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read_whole(self, name: str, largest: int) -> bytes:
        assert len(self.data) <= largest
        return self.data

    def location(self, name: str) -> str:
        return f"{self.url}/{name}"


@pytest.mark.parametrize("machine", ["../../victim", "/tmp", "", ".state", "other"])
def test_a_manifest_of_another_machine_is_damaged(machine: str) -> None:
    own = manifest.MachineManifest(manifest.FORMAT, "ann")
    store = cast(ByteStore, Bucket(manifest.encode_manifest(own)))
    assert manifest.read_kept_manifest(store, "ann")[0] == own
    foreign = manifest.MachineManifest(manifest.FORMAT, machine)
    store = cast(ByteStore, Bucket(manifest.encode_manifest(foreign)))
    with pytest.raises(OSError, match="not of its tables or machine"):
        manifest.read_kept_manifest(store, "ann")


def test_a_piece_whose_name_would_break_a_stub_is_damaged(tmp_path: Path) -> None:
    (piece,) = pieces(1)
    for name, is_whole in {piece.name: True, "a\npiece b": False}.items():
        file = manifest.ManifestFile(b"p/a.jsonl", 1, 1 << 63, (manifest.ManifestPiece.of(Piece(name, piece.frames)),))
        written = manifest.MachineManifest(manifest.FORMAT, "ann", (file,))
        assert (manifest.decode_manifest(manifest.encode_manifest(written)) is not None) == is_whole
        if is_whole:
            show_manifest(tmp_path, "s3://b-1", written, b"")  # its time is beyond what a file can have
            assert list((tmp_path / "ann").rglob("*.zst"))


def test_manifests_of_one_machine_are_joined() -> None:
    one, two, three = map(manifest.ManifestPiece.of, pieces(1, 1, 1))
    file = manifest.ManifestFile
    ours = [file(b"a", 1, 0, (one, two)), file(b"b", 1, 0, (one,)), file(b"c", 1, 0, (two,)), file(b"d", 1, 0, (one,))]
    theirs = [file(b"a", 1, 0, (one,)), file(b"b", 1, 0, (one, three)), file(b"c", 1, 0, (three,))]
    found = {one.key: one.pieces for one in manifest.merged(ours, theirs)}
    assert found == {
        (b"a", 1): (one, two),
        (b"b", 1): (one, three),
        (b"c", 1): (three,),
        (b"c", 2): (two,),
        (b"d", 1): (one,),
    }


@table("name", [b"", b"/etc/x", b"../x", b"a/../b", b"a//b", b".state/x", b"a/.b", b"a\0b"])
def test_a_name_that_could_lead_elsewhere_is_none(name: bytes) -> None:
    assert manifest.safe_name(name) is None
    assert manifest.safe_name(b"projects/-a/b.jsonl") is not None


def test_a_frame_keeps_its_numbers() -> None:
    frame = ZstdFrame(1 << 50, 1 << 40, bytes(32), bytes(range(32)))
    assert manifest.ManifestPiece.of(Piece("x", [frame])).piece().frames == [frame]
