"""Several sessions as a folder of pages without secrets and personal details."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from reread.disk.filenames import filename_for
from reread.errors import Unwritable
from reread.reader.redacted_export import MANIFEST_SUFFIX, Redaction, private_folder, require_all_decisions
from reread.reader.site_export import ASSETS, SiteResult, require_inside, write_site
from reread.render.selection import Selection
from reread.session.session import Session
from reread.storage.atomic import write_atomic
from reread.storage.kept_file import read_whole


def write_redacted_site(
    redactions: Sequence[Redaction],
    folder: Path,
    selection: Selection,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> SiteResult:
    """Write a page for each session, as `write_site` does; nothing is written before all of it was scanned again."""
    require_all_decisions(redactions)
    for last in (False, False, True):
        with private_folder() as temporary:
            result, pages = _staged(redactions, temporary, selection, progress)
        shown = [name for name in pages if name.parent.name != ASSETS]
        left = [redaction for redaction in redactions if redaction.left_in([pages[name] for name in shown])]
        if not left:
            break
        for redaction in left:
            if not last:
                redaction.replace_left([pages[name] for name in shown])
                continue
            for name in shown:
                pages[name] = redaction.cleaned(pages[name])
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
