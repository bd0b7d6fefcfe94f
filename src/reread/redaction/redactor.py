"""Find what must not be shared of a session, in all of its files, and copy the session without it."""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.base.addons import parts
from reread.disk.filenames import filename_for
from reread.disk.layout import CONVERSATIONS, PROJECTS, TOOL_RESULTS
from reread.disk.sources import FileSource, Source
from reread.disk.spilled import spilled_files
from reread.errors import Misuse, NotFound, Unreadable
from reread.redaction.certain import find_certain
from reread.redaction.decisions import DecisionStore
from reread.redaction.encodings import KINDS, OTHER, REDACTED, UNDECIDED
from reread.redaction.findings import KEEP, REPLACE, Findings, Occurrence, SensitiveText, mask
from reread.redaction.literals import Literals, forms_of
from reread.redaction.omissions import Omission
from reread.redaction.personal import HOST, PERSON, REMOTE, USER, Personal, home_users, own_names
from reread.redaction.pictures import without_metadata
from reread.redaction.rewrite import DropCounts, FileRedaction, clean_text, clean_value
from reread.redaction.scan import BINARY, SecretScanner
from reread.redaction.spans import CERTAIN, LEVELS, LIKELY, OWN_TEXT, PERSONAL, Span, leaves, replace_spans
from reread.session.session import Session, threads_of
from reread.session.threads import load_agent
from reread.storage.atomic import write_atomic
from reread.storage.kept_file import file_exists, stat_file
from reread.storage.safe_open import PRIVATE_FILE, make_private_folder

_SIGNS = " \t\r\n\"'`\\,.;:|<>()[]{}*_"
Engine = Callable[[Iterable[str]], Iterator[Span]]
"""Another scanner: gets texts, and yields the secrets it finds in them."""
RECORDS, TEXT = "records", "text"


def installed_engines() -> dict[str, Engine]:
    """Return the other scanners of this machine, by name."""
    found = {part.name: part.load()() for part in parts("scanners")}
    return {name: engine for name, engine in found.items() if engine is not None}


class Redactor:
    """The findings in one session, the decisions, and the copy without them."""

    def __init__(
        self,
        session: Session,
        store: DecisionStore,
        *,
        images: bool = False,
        agents: bool = True,
        engines: Sequence[Engine] = (),
    ) -> None:
        self.session = session
        self.store = store
        self.images = images
        self.files: list[SessionFile] = files_to_share(session, agents=agents)
        users, hosts = own_names()
        users += home_users([*session.metadata.cwds, str(session.path or "")])
        self.personal: Personal = Personal(store.key_for(session.id), users=users, hosts=hosts)
        self.omitted: Omission = Omission()
        self.dropped: DropCounts = DropCounts()
        self.replaced: Counter[str] = Counter()
        """How often each finding was replaced, by id."""
        self._found = Findings()
        self._values: dict[tuple[str, str], SensitiveText] = {}
        self._spans: dict[str, Span] = {}
        """The findings by id."""
        self._numbers: Counter[str] = Counter()
        self._discover(engines)

    # Findings

    def _discover(self, engines: Sequence[Engine]) -> None:
        scanner = SecretScanner(self.personal, Literals(self.personal.known()))
        for file in self.files:
            name = Path(file.name).name
            self._scan_file(file, name, scanner)
            for span in leaves(scanner.find(name)):
                self._found.add(span, Occurrence(name, 0))
        for engine in engines:
            for span in engine(self._texts()):
                self._found.add(span, Occurrence(Path(self.files[0].name).name, 0))
        self._settle()

    def _scan_file(self, file: SessionFile, name: str, scanner: SecretScanner) -> None:
        source = self._open(file)
        if source is None:
            return
        joined = source.joined if isinstance(source, FileSource) else None

        def report(span: Span, line: int, context: str) -> None:
            number = joined.origin_of_line(line).line if joined is not None and line else line
            self._found.add(span, Occurrence(name, number, context))

        if file.content == RECORDS:
            FileRedaction(source, scanner, images=self.images).find(report)
            return
        text = _read_all(source)
        for span in leaves(scanner.find(text)):
            report(span, text.count("\n", 0, span.start) + 1, "")

    def _settle(self) -> None:
        """Make a finding of each new value, and decide about those that need nobody."""
        for span, places, count in self._found:
            key = (span.kind, span.value)
            known = self._values.get(key)
            if known is None:
                id = self.store.id_of(f"{span.kind}\0{span.value}" if span.level == PERSONAL else span.value)
                new = self._replacement(span)
                known = SensitiveText(id, span.level, span.kind, mask(span.value), new, name=span.name)
                known.decision = self.store.decision(id) or (None if span.level == LIKELY else REPLACE)
                self._values[key] = known
                self._spans[id] = span
            known.places, known.count = places, count

    def _replacement(self, span: Span) -> str:
        if span.level == PERSONAL:
            return self.personal.pseudonym(span.kind, span.value)
        kind = span.kind if span.kind in KINDS else OTHER
        self._numbers[kind] += 1
        return f"[{REDACTED}{kind}-{self._numbers[kind]}]"

    @property
    def findings(self) -> list[SensitiveText]:
        """Everything that was found: what is certain first, then what is likely, then what is personal."""
        return sorted(self._values.values(), key=lambda finding: LEVELS.index(finding.level))

    @property
    def undecided(self) -> list[SensitiveText]:
        """The findings that somebody has to decide about."""
        return [finding for finding in self.findings if finding.decision is None]

    def decide(self, decisions: dict[str, str]) -> None:
        """Set the decisions about some findings, by id."""
        by_id = {finding.id: finding for finding in self._values.values()}
        for id, decision in decisions.items():
            if decision not in (REPLACE, KEEP):
                raise Misuse(f"Unknown decision {decision!r}; use {REPLACE!r} or {KEEP!r}.")
            if id in by_id:
                by_id[id].decision = decision

    def add_text(self, text: str) -> SensitiveText:
        """Have a text replaced wherever it appears."""
        if not text.strip():
            raise Misuse("Cannot replace an empty text.")
        self.add_spans([Span(0, 0, text, OWN_TEXT, CERTAIN)])
        return self._values[OWN_TEXT, text]

    def add_spans(self, spans: Iterable[Span]) -> list[SensitiveText]:
        """Add what was found after all was scanned, such as in a finished document; return what is new.

        It is replaced: whoever decided about everything once is not asked again.
        """
        new = self.ask_about(spans, "(the finished document)")
        for finding in new:
            finding.decision = finding.decision or REPLACE
        return new

    def ask_about(self, spans: Iterable[Span], where: str) -> list[SensitiveText]:
        """Add what was found elsewhere than in the session; return what is new."""
        before = set(self._values)
        for span in leaves(spans):
            self._found.add(span, Occurrence(where, 0))
        self._settle()
        return [finding for key, finding in self._values.items() if key not in before]

    def value_of(self, id: str) -> str | None:
        """Return what a finding hides, for its owner."""
        span = self._spans.get(id)
        return span.value if span is not None else None

    # Replacing

    def scanner(self) -> SecretScanner:
        """Return a scanner that also knows every value that is replaced, in each of its forms."""
        known = [span for span in self._spans.values() if self._is_known_everywhere(span)]
        return SecretScanner(self.personal, Literals([*known, *self.personal.known()]))

    def _is_known_everywhere(self, span: Span) -> bool:
        if self._decision(span) == KEEP:
            return False
        if span.level != PERSONAL:
            return True
        if span.kind == USER:
            return span.value in self.personal.users
        return span.kind in (HOST, REMOTE) or (span.kind == PERSON and " " in span.value)

    def _decision(self, span: Span) -> str | None:
        finding = self._values.get((span.kind, span.value))
        if finding is not None:
            return finding.decision
        if span.level == LIKELY:
            return KEEP if self._is_kept(span.value) else None
        return REPLACE

    def _is_kept(self, value: str) -> bool:
        """True for a kept value in another form, as a format may write it."""
        bare = value.strip(_SIGNS)
        kept = (self._spans[finding.id].value for finding in self._values.values() if finding.decision == KEEP)
        return any(bare == form.strip(_SIGNS) for each in kept for form in forms_of(each))

    def is_replaced(self, span: Span) -> bool:
        """True if a span is to be replaced or decided about."""
        return self._decision(span) != KEEP

    def replacement(self, span: Span) -> str | None:
        """Return what a span is replaced by; None if it is kept. What nobody decided about is hidden, and marked."""
        if span.kind == BINARY:
            picture = _clean_picture(span.value) if self.images else None
            self.omitted.images += picture is None
            return None if picture == span.value else picture or ""
        if self._decision(span) == KEEP:
            return None
        finding = self._values.get((span.kind, span.value))
        if finding is None:
            self.add_spans([span])
            finding = self._values.get((span.kind, span.value)) or self._same_value(span)
        self.replaced[finding.id] += 1
        return self.stand_in(finding)

    def stand_in(self, finding: SensitiveText) -> str:
        """Return what a copy has in the place of a finding that is not kept."""
        return finding.replacement if finding.decision else finding.replacement.replace(REDACTED, UNDECIDED, 1)

    def _same_value(self, span: Span) -> SensitiveText:
        return next(finding for (_, value), finding in self._values.items() if value == span.value)

    def clean(self, text: str) -> str:
        """Return a text with everything replaced that is to be."""
        return clean_text(text, self.scanner(), self.replacement)

    # The copy

    def copy_to(self, folder: Path) -> Session:
        """Write the session and its files into a folder without what is replaced, and open the copy."""
        self.omitted: Omission = Omission()
        self.dropped: DropCounts = DropCounts()
        self.replaced.clear()
        scanner = self.scanner()
        names = {file.name: self._copy_name(file.name, scanner) for file in self.files}
        for file in self.files:
            self._copy_file(file, folder / names[file.name], scanner)
        main = self.files[0]
        copy = Session(FileSource(folder / names[main.name]), roots=[folder])
        shown = {self.clean(file.session): names[file.name] for file in self.files if file.role == "agent"}
        loaders = {id: load_agent(id, folder / name) for id, name in shown.items() if (folder / name).exists()}
        for id, loader in loaders.items():
            loader.conversation.path = shown[id]  # type: ignore[attr-defined]
        threads = threads_of(copy)
        threads.set_agents(loaders)
        threads.shown_as = names[main.name]
        return copy

    def _copy_name(self, name: str, scanner: SecretScanner) -> str:
        above, _, last = name.rpartition("/")
        return f"{above}/{replace_spans(last, scanner.find(last), self.replacement)}"

    def _copy_file(self, file: SessionFile, path: Path, scanner: SecretScanner) -> None:
        source = self._open(file)
        if source is None:
            return
        make_private_folder(path.parent)
        if file.content == RECORDS:
            scan = FileRedaction(source, scanner, images=self.images)
            write_atomic(path, scan.rewritten(self.replacement), mode=PRIVATE_FILE)
            _add(self.omitted, scan.omitted)
            _add(self.dropped, scan.dropped)
        else:
            write_atomic(path, [self._clean_file(_read_all(source), scanner)], mode=PRIVATE_FILE)
        if file.path is not None:
            times = stat_file(file.path)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _clean_file(self, text: str, scanner: SecretScanner) -> bytes:
        """Return a spilled result or a metadata file without what is replaced."""
        try:
            value = jsontext.loads(text.encode("utf-8", "replace"))
        except ValueError:
            value = None
        if not isinstance(value, dict | list):
            return clean_text(text, scanner, self.replacement).encode("utf-8", "replace")
        return jsontext.dumps(clean_value(value, scanner, self.replacement))

    def _open(self, file: SessionFile) -> Source | None:
        if file.path is None:
            return threads_of(self.session).source
        try:
            return FileSource(file.path)
        except (NotFound, Unreadable):
            if file.role == "main":
                raise
            return None

    def _texts(self) -> Iterator[str]:
        """Yield the decoded texts of all files, for another engine."""
        for file in self.files:
            source = self._open(file)
            if source is None:
                continue
            if file.content == RECORDS:
                yield from FileRedaction(source, SecretScanner()).texts()
            else:
                yield _read_all(source)


def _clean_picture(encoded: str) -> str | None:
    """Return an encoded picture without metadata; None if it is no picture, or a secret can be read in its bytes."""
    body = encoded.rstrip("=")
    if len(body) % 4 == 1:  # no length that base64 can have
        return None
    altchars = b"-_" if "-" in body or "_" in body else None
    data = without_metadata(base64.b64decode(body + "=" * (-len(body) % 4), altchars))
    if data is None or any(find_certain(data.decode("latin-1"))):
        return None
    return base64.b64encode(data).decode()


def _add(total: msgspec.Struct, more: msgspec.Struct) -> None:
    for name in total.__struct_fields__:
        setattr(total, name, getattr(total, name) + getattr(more, name))


def _read_all(source: Source) -> str:
    pieces: list[bytes] = []
    at = 0
    while data := source.read(at, 1 << 20):
        pieces.append(data)
        at += len(data)
    return b"".join(pieces).decode("utf-8", "replace")


class SessionFile(msgspec.Struct, frozen=True):
    """One file of a session and where its copy goes."""

    path: Path | None
    """None for bytes that came from a stream."""
    name: str
    """Its name in the copy, relative to the folder of the copy."""
    content: str = RECORDS
    """`records`, or `text` for any other file."""
    role: str = "main"
    """`main`, `agent`, `transcript`, `capture` or `spilled`."""
    session: str = ""
    """The id of an agent."""


def files_to_share(session: Session, *, agents: bool = True) -> list[SessionFile]:
    """Return the files of a session, its own first."""
    if session.path is None:
        return [SessionFile(None, f"{PROJECTS}/shared/{filename_for(session.id or 'session')}.jsonl")]
    found = [SessionFile(session.path, _copy_name(session.path, is_captured=bool(session.transcripts)))]
    found += [
        SessionFile(other.path, _copy_name(other.path), role="transcript")
        for other in session.transcripts
        if other.path
    ]
    found += [SessionFile(path, _copy_name(path, is_captured=True), role="capture") for path in session.captures]
    owners = [session, *session.transcripts]
    for owner in owners if agents else ():
        found += _beside(owner)
    return list({file.path: file for file in found}.values())


def _copy_name(path: Path, *, is_captured: bool = False) -> str:
    if is_captured:
        return f"{CONVERSATIONS}/shared/shared/{path.name}"
    return f"{PROJECTS}/shared/{path.name}"


def _beside(session: Session) -> Iterator[SessionFile]:
    """Yield the files of a session's agents and its spilled results."""
    if session.path is None:
        return
    own = session.path.with_suffix("")
    base = f"{PROJECTS}/shared"
    for id, path in threads_of(session).agent_files().items():
        inside = path.is_relative_to(own)
        name = f"{base}/{session.path.stem}/{path.relative_to(own).as_posix()}" if inside else f"{base}/{path.name}"
        yield SessionFile(path, name, role="agent", session=id)
        meta = path.with_suffix(".meta.json")
        if file_exists(meta):
            yield SessionFile(meta, str(Path(name).with_suffix(".meta.json")), TEXT, "meta")
    for path in spilled_files(session.path):
        yield SessionFile(path, f"{base}/{session.path.stem}/{TOOL_RESULTS}/{path.name}", TEXT, "spilled")
