"""Several sessions as a folder of HTML pages with an index; unchanged pages are not written again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import msgspec

from reread.accounting.prices import model_text
from reread.base import jsontext
from reread.base.format import date_text, money_text, number_text, tokens_text
from reread.base.sanitize import safe
from reread.base.text import home_text, plural
from reread.base.version import __version__
from reread.catalog.headers import read_header
from reread.disk.sources import FileSource
from reread.errors import RereadError, Unreadable, Unwritable, naming_file
from reread.model.conversation import cut_turns
from reread.reader.export_formats import copy_mode
from reread.reader.html_export import session_html
from reread.reader.library_schema import LibraryRow, is_session_key, session_key
from reread.reader.page_assets import NOTICES, Assets, page_head, reader_file, shared_assets
from reread.reader.schema import Figures
from reread.render.selection import EVERYTHING, Selection
from reread.session.session import Session, threads_of
from reread.session.session_inputs import is_usage_known
from reread.storage.atomic import write_atomic
from reread.storage.safe_open import read_settings

FORMAT = 1
FIGURES = ("Turns", "Tokens", "Cost")
LOWER_BOUND = "Costs are lower bounds: some responses have no price or no final token count."
INDEX, MANIFEST, ASSETS = "index.html", "site.json", "assets"
OWN_ASSETS = ("site.css", "site.js")
POLICY = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; base-uri 'none'; form-action 'none'"


class SitePage(msgspec.Struct):
    """A page of the site and the session it was made from."""

    path: str
    state: str
    """The state of the session's files; empty if the page has to be written again."""
    row: LibraryRow


class SiteManifest(msgspec.Struct):
    """The pages of a site, stored in its folder."""

    made_with: str = ""
    """A hash of everything that affects every page."""
    pages: dict[str, SitePage] = {}


class SiteResult(msgspec.Struct, frozen=True):
    """The outcome of `write_site`."""

    index: str
    written: int
    unchanged: int
    faults: list[str]
    """The sessions that could not be read, each with the reason."""


def write_site(
    sessions: Sequence[Path],
    folder: Path,
    selection: Selection = EVERYTHING,
    *,
    open_session: Callable[[Path], Session] = lambda path: Session(FileSource(path)),
    progress: Callable[[int], None] = lambda _: None,
) -> SiteResult:
    """Write a page for each session and an index of all; pages of deleted sessions are kept."""
    try:
        return _SiteWriter(folder, selection, open_session).write(sessions, progress)
    except OSError as error:
        raise Unwritable.at(folder, error) from error


class _SiteWriter:
    def __init__(self, folder: Path, selection: Selection, open_session: Callable[[Path], Session]) -> None:
        self.folder = folder
        self.open_session = open_session
        self.selection = selection
        self.scripts = {"reader.js": reader_file("export.js"), "reader.css": reader_file("export.css")}
        self.scripts |= {NOTICES: reader_file(NOTICES)}
        self.mode = 0o666
        """The mode of the index: it is as private as the most private session."""
        self.manifest = _read_manifest(folder / MANIFEST)
        made_with = self._made_with()
        if self.manifest.made_with != made_with:
            self.manifest = msgspec.structs.replace(self.manifest, made_with=made_with)
            for page in self.manifest.pages.values():
                page.state = ""

    def write(self, sessions: Sequence[Path], progress: Callable[[int], None]) -> SiteResult:
        """Write the pages that changed, then the index."""
        self._write_assets()
        assets = shared_assets(ASSETS)
        known = {page.path: key for key, page in self.manifest.pages.items()}
        taken = {key: Path(page.path) for key, page in self.manifest.pages.items()}
        written, faults = 0, list[str]()
        for path in sessions:
            absolute = path.absolute()
            key = known.get(_path_text(absolute)) or session_key(absolute, taken)
            taken[key] = absolute
            try:
                with naming_file(absolute):
                    written += self._write_page(key, absolute, assets)
            except RereadError as fault:
                faults.append(str(fault) if fault.path is not None else f"{absolute}: {fault}")
            progress(1)
        self._write_file(MANIFEST, [msgspec.json.format(jsontext.dumps(self.manifest))])
        rows = {key: page.row for key, page in self.manifest.pages.items()}
        self._write_file(INDEX, (line.encode() for line in index_html(rows)))
        return SiteResult(str(self.folder / INDEX), written, len(sessions) - written - len(faults), faults)

    def _write_page(self, key: str, path: Path, assets: Assets) -> bool:
        """Write a session's page unless it exists and the session is unchanged."""
        session = self.open_session(path)
        known, page = self.manifest.pages.get(key), self.folder / f"{key}.html"
        threads = threads_of(session)
        state = repr(threads.usage_inputs.state) if threads.shown_as is None else ""
        if known is not None and state and known.state == state and page.exists():
            return False
        self.mode &= copy_mode(session)
        pieces = session_html(session, self.selection, assets=assets, home=INDEX)
        self._write_file(page.name, pieces, copy_mode(session))
        row = _counted(LibraryRow.of(key, read_header(path)), session)
        self.manifest.pages[key] = SitePage(threads.shown_as or _path_text(path), state, row)
        return True

    def _write_assets(self) -> None:
        (self.folder / ASSETS).mkdir(parents=True, exist_ok=True)
        own = {name: Path(__file__).with_name(name).read_text("utf-8") for name in OWN_ASSETS}
        for name, text in {**self.scripts, **own}.items():
            self._write_file(f"{ASSETS}/{name}", [text.encode()], 0o666)

    def _write_file(self, name: str, pieces: Iterable[bytes], mode: int | None = None) -> None:
        """Write a file of the site."""
        write_atomic(require_inside(self.folder, name), pieces, mode=self.mode if mode is None else mode)

    def _made_with(self) -> str:
        inputs = msgspec.json.encode([FORMAT, __version__, self.selection, self.scripts])
        return hashlib.blake2b(inputs, digest_size=16).hexdigest()


def _counted(row: LibraryRow, session: Session) -> LibraryRow:
    """Return the row of a session with its turns, agents, models and usage."""
    main = session.conversation
    agents = [agent for agent in session.agents.values() if not agent.warmup]
    models = dict.fromkeys(model for one in (main, *agents) for model in one.metadata.models)
    return msgspec.structs.replace(
        row,
        turns=sum(1 for _ in cut_turns(main.messages, main.marks.ends)),
        agents=len(agents),
        models=list(models) or row.models,
        figures=Figures.of(session.usage) if is_usage_known(session.records) else None,
    )


def require_inside(folder: Path, name: str) -> Path:
    """Return the path of a file of a site; raise Unwritable if a link in its place leads out of the folder."""
    path = folder / name
    if os.path.realpath(path) != os.path.join(os.path.realpath(folder), name):
        raise Unwritable(f"Cannot write {path}: it leads out of the folder; delete it, or choose another folder.")
    return path


def _path_text(path: Path) -> str:
    """A path as text, even if its name is not valid UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _read_manifest(path: Path) -> SiteManifest:
    try:
        manifest = msgspec.json.decode(read_settings(path), type=SiteManifest)
    except FileNotFoundError:
        return SiteManifest()
    except jsontext.DECODE_ERRORS as error:
        raise Unreadable(f"Cannot read {path}: {error}; choose another folder.") from error
    unknown = next((key for key in manifest.pages if not is_session_key(key)), None)
    if unknown is not None:
        raise Unreadable(f"Cannot read {path}: {unknown!r} cannot be the name of a page; choose another folder.")
    return manifest


def index_html(rows: dict[str, LibraryRow]) -> Iterator[str]:
    """The index: all sessions by project, the newest first, with a field that filters them."""
    newest = sorted(rows.items(), key=lambda item: _seconds(item[1].updated), reverse=True)
    by_project: dict[str, list[tuple[str, LibraryRow]]] = {}
    for key, row in newest:
        by_project.setdefault(row.project, []).append((key, row))
    partly = any(_is_lower_bound([row]) for row in rows.values())
    figures = (*FIGURES[:-1], f"≥ {FIGURES[-1]}") if partly else FIGURES
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Branch", "Updated", *figures, "Model"))
    bound = f"<p>{LOWER_BOUND}</p>\n" if partly else ""
    yield (
        f"{page_head('Sessions', POLICY)}"
        f'<link rel="stylesheet" href="{ASSETS}/site.css">\n<script defer src="{ASSETS}/site.js"></script>\n'
        "</head>\n<body>\n<main>\n<header>\n"
        f"<h1>{plural(len(rows), 'session')}</h1>\n"
        '<input type="search" hidden placeholder="Filter sessions" aria-label="Filter sessions">\n'
        f'<p role="status"></p>\n{bound}</header>\n'
        f'<table>\n<thead><tr><th scope="col">Session</th>{heads}</tr></thead>\n'
    )
    for project, group in by_project.items():
        sums = "".join(f"<td>{text}</td>" for text in _figures([row for _, row in group]))
        name = f'<th scope="rowgroup" title="{_text(project)}">{_text(home_text(project))}</th><td></td><td></td>'
        yield f'<tbody>\n<tr class="project">{name}{sums}<td></td></tr>\n'
        yield from (_index_row(key, row) for key, row in group)
        yield "</tbody>\n"
    yield "</table>\n</main>\n</body>\n</html>\n"


def _figures(rows: Sequence[LibraryRow]) -> list[str]:
    """Turns, tokens and cost of some sessions."""
    known = [row.figures for row in rows if row.figures is not None]
    costs = [one.cost_usd for one in known if one.cost_usd is not None]
    return [
        number_text(sum(row.turns or 0 for row in rows)),
        tokens_text(sum(one.tokens for one in known)) if known else "",
        money_text(sum(costs)) if costs else "",
    ]


def _is_lower_bound(rows: Sequence[LibraryRow]) -> bool:
    """True if the cost of some sessions is more than is known."""
    known = [row.figures for row in rows if row.figures is not None]
    return any(one.cost_usd is None or one.unconfirmed_responses or one.unpriced_models for one in known)


def _seconds(when: datetime | None) -> float:
    """Return a time as seconds since 1970; one without a zone, which only others write, is taken as UTC."""
    return when.replace(tzinfo=when.tzinfo or UTC).timestamp() if when is not None else 0.0


def _index_row(key: str, row: LibraryRow) -> str:
    models = " ".join(map(model_text, row.models))
    agents = f" + {plural(row.agents, 'agent')}" if row.agents else ""
    stamp = f' datetime="{row.updated.isoformat()}"' if row.updated is not None else ""
    link = f'<a href="{escape(key)}.html">{_text(row.title)}</a>'
    figures = "".join(f"<td>{text}</td>" for text in _figures([row]))
    return (
        f'<tr><th scope="row">{link}</th><td class="front"><bdi dir="ltr">{_text(row.git_branch or "")}</bdi></td>'
        f"<td><time{stamp}>{date_text(row.updated)}</time></td>{figures}<td>{_text(models + agents)}</td></tr>\n"
    )


def _text(text: str) -> str:
    return escape(safe(" ".join(text.split())))
