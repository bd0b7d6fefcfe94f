"""Several sessions as a folder of pages without secrets and personal details."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from reread.disk.atomic import write_atomic
from reread.disk.filenames import filename_for
from reread.disk.regular import read_whole
from reread.errors import Undecided, Unwritable
from reread.reader.redacted_export import MANIFEST_SUFFIX, ROUNDS, Redaction
from reread.reader.site_export import ASSETS, SiteResult, require_inside, write_site
from reread.render.selection import Selection
from reread.session.session import Session


def write_redacted_site(
    redactions: Sequence[Redaction],
    folder: Path,
    selection: Selection,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> SiteResult:
    """Write a page for each session, as `write_site` does; nothing is written before all of it was scanned again."""
    left: list[str] = []
    for _ in range(ROUNDS):
        for redaction in redactions:
            redaction.require_decisions()
        with tempfile.TemporaryDirectory(prefix="reread-") as temporary:
            result, pages = _staged(redactions, Path(temporary), selection, progress)
        shown = [data for name, data in pages.items() if name.parent.name != ASSETS]
        left = sorted({kind for redaction in redactions for kind in redaction.replace_left(shown)})
        if not left:
            break
    else:
        raise Undecided(f"The finished pages still contain {', '.join(left)}; nothing was written.")
    _publish(pages, folder)
    whole = b"".join(pages.values())
    for redaction in redactions:
        name = filename_for(redaction.session.id or "session")
        require_inside(folder, name + MANIFEST_SUFFIX)
        redaction.write_manifest("html", whole, folder / f"{name}{MANIFEST_SUFFIX}")
    return SiteResult(str(folder / Path(result.index).name), result.written, result.unchanged, result.faults)


def _staged(
    redactions: Sequence[Redaction], temporary: Path, selection: Selection, progress: Callable[[int], None]
) -> tuple[SiteResult, dict[Path, bytes]]:
    """Write the site into a private folder; return the content of its files by name."""
    copies: dict[Path, Session] = {}
    for number, redaction in enumerate(redactions):
        copy = redaction.copy_to(temporary / "copies" / str(number))
        if copy.path is not None:
            copies[copy.path] = copy
    staging = temporary / "site"
    result = write_site(list(copies), staging, selection, open_session=copies.__getitem__, progress=progress)
    files = sorted(path for path in staging.rglob("*") if path.is_file())
    return result, {path.relative_to(staging): read_whole(path) for path in files}


def _publish(pages: dict[Path, bytes], folder: Path) -> None:
    for path, data in pages.items():
        target = require_inside(folder, str(path))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, [data], mode=0o666 if path.parent.name == ASSETS else 0o600)
        except OSError as error:
            raise Unwritable.at(target, error) from error
