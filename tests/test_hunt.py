"""A hunt for needles: 50 vendors' secrets, hidden by every encoding in every place, searched in every byte."""

from __future__ import annotations

import base64
import os
import zlib
from pathlib import Path

import hunting

import reread
from reread.reader.page_assets import inline_assets
from reread.reader.redacted_export import Redaction, write_redacted_site
from reread.redaction.decisions import DecisionStore
from reread.redaction.pictures import without_metadata
from reread.render.selection import Selection

SEED = int(os.environ.get("REREAD_HUNT_SEED", "7"))
ROUNDS = int(os.environ.get("REREAD_HUNT", "0"))
"""How many needles more each place gets; with some, every format is searched, which takes longer."""
FORMATS = ("jsonl", "html", *(("markdown", "json", "site") if ROUNDS else ()))


def files_in(folder: Path) -> list[bytes]:
    """Return the bytes and the name of every file in a folder, without the reader's own script."""
    assets = inline_assets()
    found = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "assets"]
    documents = [path.read_bytes() for path in found]
    for own in (assets.script, assets.head):
        documents = [document.replace(own.encode(), b"") for document in documents]
    return [*documents, *(str(path.relative_to(folder)).encode() for path in found)]


def redaction_of(path: Path, folder: Path, *, images: bool = False) -> Redaction:
    redaction = Redaction(reread.open(path), store=DecisionStore(folder / "store"), engines=False, images=images)
    redaction.replace_undecided()
    return redaction


def hunt(needles: dict[str, str], redaction: Redaction, folder: Path, *forms: str) -> None:
    for form in forms:
        out = folder / form
        out.mkdir()
        if form == "site":
            write_redacted_site([redaction], out, Selection())
        else:
            redaction.export(form, to=out / f"shared.{form}")
        left = hunting.leaks(needles, files_in(out))
        assert len(left) <= len(needles) * 0.01, (form, left)


def test_no_needle_is_left_in_any_format(tmp_path: Path) -> None:
    path, needles = hunting.native(tmp_path / "session", SEED, ROUNDS)
    assert len(needles) > 180
    hunt(needles, redaction_of(path, tmp_path), tmp_path, *FORMATS)


def test_no_needle_is_left_in_the_pieces_of_a_stream(tmp_path: Path) -> None:
    path, needles = hunting.streamed(tmp_path, SEED)
    assert len(needles) > 150
    hunt(needles, redaction_of(path, tmp_path), tmp_path, "jsonl")


def test_the_search_for_needles_finds_them_where_nothing_was_replaced(tmp_path: Path) -> None:
    path, needles = hunting.native(tmp_path, SEED)
    files = [file.read_bytes() for file in path.parent.rglob("*") if file.is_file()]
    names = [str(file).encode() for file in path.parent.rglob("*")]
    unseen = set(needles) - set(hunting.leaks(needles, [*files, *names]))
    assert {place.split(",")[0] for place in unseen} <= {"picture", "signature", "spilled gzip", "spilled UTF-16"}


def _chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + name + data + zlib.crc32(name + data).to_bytes(4)


def test_pictures_lose_what_is_written_beside_their_pixels() -> None:
    pixels = _chunk(b"IHDR", bytes(13)) + _chunk(b"IDAT", zlib.compress(b"\0\0"))
    png = b"\x89PNG\r\n\x1a\n" + pixels + _chunk(b"IEND", b"")
    noted = (
        png.replace(b"\0\0\0\0IEND", b"")[:-4] + _chunk(b"tEXt", b"Comment\0secret") + _chunk(b"IEND", b"") + b"secret"
    )
    assert without_metadata(noted) == png == without_metadata(png)
    segment = b"\xff\xe0\0\x04ab"
    jpeg = b"\xff\xd8" + segment + b"\xff\xda\0\x04cd" + b"pixels" + b"\xff\xd9"
    assert without_metadata(jpeg.replace(segment, segment + b"\xff\xe1\0\x08secret") + b"secret") == jpeg
    start = b"GIF89a" + b"\1\0\1\0\0\0\0"
    image = b"\x2c" + bytes(9) + b"\2\2ab\0"
    assert without_metadata(start + b"\x21\xfe\6secret\0" + image + b";secret") == start + image + b";"
    body = b"WEBPVP8 " + (4).to_bytes(4, "little") + b"abcd"
    webp = b"RIFF" + len(body).to_bytes(4, "little") + body
    assert without_metadata(webp + b"EXIF" + (6).to_bytes(4, "little") + b"secret") == webp
    for whole in (png, jpeg, start + image + b";", webp):
        for end in range(len(whole)):
            without_metadata(whole[:end])  # nothing raises
    assert without_metadata(b"%PDF-1.7") is None


def test_a_picture_is_kept_if_asked_for_and_an_archive_is_not(tmp_path: Path) -> None:
    pixels = _chunk(b"IHDR", bytes(13)) + _chunk(b"IDAT", zlib.compress(bytes(200)))
    png = b"\x89PNG\r\n\x1a\n" + pixels + _chunk(b"tEXt", b"Comment\0by wilhelmina") + _chunk(b"IEND", b"")
    made = hunting.Hunt(1)
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png).decode()}
    archive = base64.b64encode(b"PK\3\4" + bytes(range(200))).decode()
    path = tmp_path / "s.jsonl"
    records = [made.prompt([{"type": "image", "source": source}]), made.prompt(f"an archive: {archive}")]
    path.write_text("".join(hunting.json.dumps(record) + "\n" for record in records))
    text = redaction_of(path, tmp_path, images=True).export("jsonl").decode()
    assert base64.b64encode(png[:30]).decode() in text and archive not in text
    assert "by wilhelmina" not in "".join(hunting.unpacked(text.encode()))
