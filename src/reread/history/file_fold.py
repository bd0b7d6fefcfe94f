"""Fold what a session recorded of files into their versions. In doubt, a text is not known."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.paths import absolute_path, is_below
from reread.base.times import parse_json_time
from reread.history.changes import CHANGING, FileChange, call_change, name_word, named_words, shell_actions, use_of
from reread.history.changes import RENAME as MOVED
from reread.history.file_events import Backup, FileEvent, file_events
from reread.history.file_text import FileText
from reread.history.patches import (
    APPLIED_TEXT,
    APPLY_PATCH,
    CallPatch,
    added_text,
    apply_patch,
    call_patch,
    changed_lines,
    hunks_of,
    line_counts,
    only_reads,
    patched_text,
)
from reread.history.reads import READ, FileExcerpt, attached_text, hooked_paths, read_of
from reread.history.versions import (
    APPLIED,
    BACKUP,
    CREATE,
    DELETE,
    EDIT,
    OUTSIDE,
    RENAME,
    REWIND,
    SHELL,
    STATED,
    WRITE,
    FileHistory,
    FileVersion,
    Load,
)
from reread.model.conversation import Agent, Call, Conversation
from reread.model.record_kinds import TURN_STARTERS
from reread.tools._diff import MAX_REPEATED
from reread.tools.nodes import Hunk
from reread.tools.patch import ADDS, CHANGES, DELETES, PatchedFile

ReadBackup = Callable[[str], "bytes | None"]
"""Returns the content of a backup by its name; None if it is gone."""
NO_TEXT = FileText("", "")
ANYONE = "*"
"""Instead of a thread: the state was looked at right before the change."""


class TrackedFile:
    """The state of a file at one moment of the fold."""

    def __init__(self, path: str) -> None:
        self.history: FileHistory = FileHistory(path, [])
        self.text: FileText | None = None
        self.exists: bool | None = None
        self.thread: str | None = None
        """The thread that saw this text last; the client lets it change the file only if it is still the same."""
        self.load: Load | None = None
        """Makes the text again, if it is not the one after the last version."""
        self.backup: tuple[str | None, str | None, int] | None = None
        """The last backup, and how many versions there were."""
        self.moment: tuple[int, int] | None = None
        """When a patch changed it last: after how many commands and prompts."""


class FileFold:
    """Walks over the events of a session and fills the histories of files."""

    def __init__(self, main: Conversation, agents: Mapping[str, Agent], read_backup: ReadBackup) -> None:
        self._main = main
        self._agents = agents
        self._read_backup = read_backup
        self._files: dict[str, TrackedFile] = {}
        self._words: dict[str, list[TrackedFile]] = {}
        """Files by the word that a command with their name has."""
        self._seen: set[tuple[str, str | None, str | None]] = set()
        self._current: dict[str, str | None] = {}
        """The time of the last backup with each name: a name may be used again."""
        self._folder = main.metadata.cwds[0] if main.metadata.cwds else None
        self._used: set[str] = set()
        """Paths that calls read or changed: files, and no folders."""
        self._repeated = 0
        """Characters of the texts so far that only replacing everywhere made; beyond the most, a text is not known."""
        self._commands = 0
        """How many commands may have changed files, if there are patches."""
        self._prompts: list[int] = []
        """The records of prompts, if there are patches."""

    def histories(self) -> dict[str, FileHistory]:
        """Return the files that the session changed, in the order of their first change."""
        events = list(file_events(self._main, self._agents))
        changed = self._changed_paths(events)
        if any(event.patch is not None for event in events):
            self._prompts = [one.records[0] for one in self._main.messages if one.kind in TURN_STARTERS]
        for event in events:
            for backup in event.backups:
                if backup.name:
                    self._current[backup.name] = backup.time
        for event in events:
            if event.backups:
                for backup in event.backups:
                    self._add_backup(event, backup)
            elif event.attachment is not None:
                self._add_shown(event, attached_text(event.attachment), changed)
                for path in hooked_paths(event.attachment):
                    self._lose(event, self._tracked(absolute_path(path, self._folder)))
            elif event.call is not None:
                self._add_call(event, event.call, changed)
        found = [tracked.history for tracked in self._files.values() if tracked.history.own]
        return {history.path: history for history in sorted(found, key=_first_change)}

    def _changed_paths(self, events: list[FileEvent]) -> set[str]:
        """Return the paths that calls or commands may have changed: only those are worth following."""
        paths: set[str] = set()
        for event in events:
            for backup in event.backups:
                paths.add(self._backup_path(backup))
            call = event.call
            if call is None:
                continue
            named: Iterable[str] = event.paths
            if event.command:
                for action in shell_actions(event.command):
                    paths.update(absolute_path(path, event.folder) for path in (action.path, action.target) if path)
                named = [absolute_path(path, event.folder) for path, _ in _diffs(call)]
            if event.patch is not None:
                named = [absolute_path(file.path, event.patch.folder) for file in event.patch.files]
            if call.name != READ:
                paths.update(named)
            if not call.is_error:
                self._used.update(named)
        return paths

    def _tracked(self, path: str) -> TrackedFile:
        found = self._files.get(path)
        if found is None:
            found = self._files[path] = TrackedFile(path)
            self._words.setdefault(name_word(path), []).append(found)
        return found

    def _add_call(self, event: FileEvent, call: Call, changed: set[str]) -> None:
        if event.patch is not None:
            self._add_patched(event, call, event.patch)
        elif call.name in CHANGING:
            change = call_change(call, event.given)
            if change is not None:
                self._add_change(event, call, change)
        elif call.name == READ:
            if event.paths[:1] and event.paths[0] in changed:
                self._add_shown(event, read_of(call), changed)
        else:
            self._add_command(event, call)

    def _add_change(self, event: FileEvent, call: Call, change: FileChange) -> None:
        tracked = self._tracked(absolute_path(change.path, event.folder))
        thread = event.agent or ""
        starts_empty = change.action == CREATE and not change.original
        if starts_empty:
            if tracked.text is not None and tracked.text.text:
                self._lose(event, tracked)  # something else deleted it, or emptied it
            tracked.text, tracked.load = NO_TEXT, lambda: NO_TEXT
        elif change.original is not None:
            self._meet(event, tracked, FileText.stated(change.original), STATED, lambda: _original(call))
        elif change.stale or tracked.thread not in (thread, ANYONE):
            tracked.text = None
        after = change.apply(tracked.text)
        self._repeated += change.repeated(tracked.text, after)
        if self._repeated > MAX_REPEATED:
            after = None
        version = self._version(event, tracked, change.action)
        version.counts = change.counts
        version.source = (STATED if change.content is not None else APPLIED) if after is not None else None
        version.step = lambda text: _changed(call, text)
        self._settle(tracked, version, after, thread)

    def _settle(self, tracked: TrackedFile, version: FileVersion, after: FileText | None, thread: str | None) -> None:
        """Make a version the last one, with the text after it; the text before it is the one known so far."""
        version.whole = after is not None
        version.exact = after is not None and after.written is not None
        tracked.history.versions.append(version)
        tracked.text, tracked.exists, tracked.thread, tracked.load = after, True, thread, None

    def _meet(self, event: FileEvent, tracked: TrackedFile, found: FileText, source: str, load: Load) -> None:
        """Compare what is known of a file with what was found: if they differ, something else changed it."""
        known = tracked.text
        if known is not None and known.text == found.text:
            if found.written is not None and known.written is None:
                tracked.text = found
                tracked.load = load
        else:
            last = tracked.history.versions[-1] if tracked.history.versions else None
            if last is not None and last.action == OUTSIDE and not last.whole:
                tracked.history.versions.pop()  # now it is known what that change was
                tracked.text, tracked.load = last.before, last.load_before
                self._add_outside(event, tracked, found, source, load)
            elif last is not None and (known is not None or tracked.exists is False):
                self._add_outside(event, tracked, found, source, load)
            tracked.text, tracked.load = found, load
        tracked.exists = True

    def _add_outside(
        self, event: FileEvent, tracked: TrackedFile, found: FileText | None, source: str, load: Load | None
    ) -> None:
        """Add a change that no call made: the text that was found, or that there is no file."""
        last = tracked.history.versions[-1] if tracked.history.versions else None
        rewound = source == BACKUP and last is not None and last.branch != event.branch
        version = self._version(event, tracked, REWIND if rewound else OUTSIDE if found is not None else DELETE)
        version.source, version.whole, version.load = source, True, load
        version.exact = found is None or found.written is not None
        tracked.history.versions.append(version)
        tracked.load = None

    def _version(self, event: FileEvent, tracked: TrackedFile, action: str) -> FileVersion:
        """Return a new version of a file, after the text known so far."""
        call = event.call
        conversation = call.conversation if call is not None else self._main
        record = call.answer if call is not None else event.record
        return FileVersion(
            history=tracked.history,
            index=len(tracked.history.versions),
            action=action,
            branch=event.branch,
            call=call,
            agent=event.agent,
            line=conversation.records.line(record) if record >= 0 else None,
            time=call.ended if call is not None else parse_json_time(event.time) if event.time else None,
            record=event.record,
            before_known=tracked.text is not None or tracked.exists is False,
            load_before=tracked.load if tracked.text is not None else _nothing,
        )

    def _add_shown(self, event: FileEvent, shown: FileExcerpt | None, changed: set[str]) -> None:
        """Compare a file with what a result or an attachment shows of it."""
        folder = event.folder if event.call is not None else self._folder
        path = absolute_path(shown.path, folder) if shown is not None else ""
        if shown is None or path not in changed:
            return
        tracked = self._tracked(path)
        if shown.whole:
            call, attachment = event.call, event.attachment
            self._meet(event, tracked, FileText.stated(shown.text), STATED, lambda: _shown(call, attachment))
            tracked.thread = event.agent or ""
        elif tracked.text is not None:
            lines, first = tracked.text.text.split("\n"), max(shown.start - 1, 0)
            if lines[first : first + shown.text.count("\n") + 1] != shown.text.split("\n"):
                self._lose(event, tracked)

    def _lose(self, event: FileEvent, tracked: TrackedFile) -> None:
        """Note that something else changed a file, and that its text is not known any more."""
        if tracked.history.versions:
            tracked.history.versions.append(self._version(event, tracked, OUTSIDE))
        tracked.text, tracked.thread, tracked.load = None, None, None

    def _add_command(self, event: FileEvent, call: Call) -> None:
        """Add what a command did to files, as far as its result or its plainness proves it."""
        command, folder = event.command, event.folder
        if self._prompts and not only_reads(command):
            self._commands += 1
        words = named_words(command) if "sed" in command else ()
        for tracked in (tracked for word in words for tracked in self._words.get(word, ())):
            tracked.thread = None  # the client can make such a change itself, and no record tells of it
        actions, diffs = shell_actions(command), _diffs(call)
        if not (actions or diffs) or call.state != DONE:
            return
        moved: set[str] = set()
        if as_dict(call.data).get("backgroundTaskId") is None:
            for action in actions:
                path = absolute_path(action.path, folder)
                moved.update(self._add_shell(event, action.kind, path, action.target, folder))
        for path, patch in diffs:
            whole = absolute_path(path, folder)
            if whole not in moved:
                self._add_patch(event, self._tracked(whole), path, patch)

    def _add_patch(self, event: FileEvent, tracked: TrackedFile, name: str, patch: Any) -> None:
        """Add the change that the result of a command shows."""
        if not hunks_of(patch):
            return
        call = event.call
        after = _patched(call, name, tracked.text)
        version = self._version(event, tracked, SHELL)
        version.counts = line_counts(patch)
        version.source = APPLIED if after is not None else None
        version.step = lambda text: _patched(call, name, text)
        self._settle(tracked, version, after, None)

    def _add_patched(self, event: FileEvent, call: Call, patch: CallPatch) -> None:
        """Add what a patch did to each file.

        The client does not check that a file is as it was, so its text is known only if no prompt, and no command that
        may change files, came in between.
        """
        self._commands += not patch.alone
        if not _is_applied(call):
            return
        moment = (self._commands, bisect_right(self._prompts, event.record))
        for number, file in enumerate(patch.files):
            tracked = self._tracked(absolute_path(file.path, patch.folder))
            if tracked.moment != moment:
                tracked.text, tracked.load = None, None
            target = self._tracked(absolute_path(file.moved_to, patch.folder)) if file.moved_to else None
            self._add_patched_file(event, tracked, target, file, number)
            tracked.moment = moment
            if target is not None:
                target.moment = moment
        self._commands += not patch.alone

    def _add_patched_file(
        self, event: FileEvent, tracked: TrackedFile, target: TrackedFile | None, file: PatchedFile, number: int
    ) -> None:
        """Add a version of a file that a patch adds, changes or deletes; one that it moves is gone, too."""
        call = event.call
        after = _file_patched(call, number, tracked.text)
        if file.action == DELETES or target is not None:
            gone = self._version(event, tracked, DELETE if target is None else RENAME)
            gone.whole = gone.exact = True
            gone.other = target.history.path if target is not None else None
            gone.counts = None if gone.before_known and target is None else (0, 0)
            gone.load_hunks = list[Hunk]
            tracked.history.versions.append(gone)
            tracked.text, tracked.exists, tracked.thread, tracked.load = None, False, None, None
            if target is None:
                return
            version = self._version(event, target, RENAME)
            version.other = tracked.history.path
            version.load = (lambda: _file_patched(call, number, gone.before)) if after is not None else None
            tracked = target
        else:
            adds = CREATE if tracked.exists is not True else WRITE
            version = self._version(event, tracked, adds if file.action == ADDS else EDIT)
            version.step = lambda text: _file_patched(call, number, text)
        version.counts = changed_lines([line for chunk in file.chunks for line in chunk.lines])
        version.source = (STATED if file.action == ADDS else APPLIED) if after is not None else None
        version.load_hunks = lambda: _patched_file(call, number).hunks()
        self._settle(tracked, version, after, None)

    def _add_shell(self, event: FileEvent, kind: str, path: str, target: str | None, folder: str | None) -> set[str]:
        """Add a rename or a deletion by a plain command, and return the paths that it explains."""
        new = absolute_path(target, folder) if target is not None else None
        explained: set[str] = set()
        for name, tracked in list(self._files.items()):
            if not is_below(name, path) or (not tracked.history.versions and tracked.text is None):
                continue
            other = f"{new}{name[len(path) :]}" if new is not None else None
            explained.add(name)
            if tracked.history.versions and tracked.exists is not False:
                version = self._version(event, tracked, RENAME if kind == MOVED else DELETE)
                version.whole = version.exact = True
                version.other = other
                version.counts = (0, 0) if kind == MOVED else None
                tracked.history.versions.append(version)
            if other is not None:
                explained.update(self._add_renamed(event, tracked, other))
            tracked.text, tracked.exists, tracked.thread, tracked.load = None, False, None, None
        return explained

    def _add_renamed(self, event: FileEvent, source: TrackedFile, path: str) -> set[str]:
        """Add the file that another became, if its path is used as that of a file: a command may move into a folder."""
        if path not in self._used:
            return set()
        target = self._tracked(path)
        last = next((one for one in reversed(source.history.versions) if not one.gone), None)
        version = self._version(event, target, RENAME)
        version.other = source.history.path
        if source.text is not None:
            version.source = last.source if last is not None else STATED
            version.load = source.load or (lambda: last.after if last is not None else None)
        self._settle(target, version, source.text, None)
        return {path}

    def _backup_path(self, backup: Backup) -> str:
        return absolute_path(backup.path, self._folder)

    def _add_backup(self, event: FileEvent, backup: Backup) -> None:
        """Compare a file with the copy that the client made of it."""
        key = (backup.path, backup.name, backup.time)
        if backup.just_before and key in self._seen:
            return  # an update of a snapshot repeats what it had
        self._seen.add(key)
        tracked = self._tracked(self._backup_path(backup))
        state = (backup.name, backup.time, len(tracked.history.versions))
        if tracked.backup == state:
            return
        tracked.backup = state
        if backup.name is None:
            if tracked.exists is not False and tracked.history.versions and not tracked.history.versions[-1].gone:
                self._add_outside(event, tracked, None, BACKUP, None)
            tracked.text, tracked.exists, tracked.load = None, False, None
            return
        name = backup.name
        data = self._read_backup(name) if self._current.get(name) == backup.time else None
        if data is None:
            return
        self._meet(event, tracked, FileText.from_bytes(data), BACKUP, lambda: _copy(self._read_backup, name))
        if backup.just_before:
            tracked.thread = ANYONE


def _first_change(history: FileHistory) -> tuple[float, int]:
    first = history.own[0]
    return (first.time.timestamp() if first.time is not None else 0, first.record)


def _diffs(call: Call) -> list[tuple[str, Any]]:
    """Return the files that a command changed with their patches, as newer clients record them."""
    if call.is_error or not call.bodies.may_have_diffs(call.answer):
        return []
    files = map(as_dict, as_list(as_dict(as_dict(call.data).get("bashEditDiff")).get("files")))
    return [(path, file.get("hunks")) for file in files if (path := as_str(file.get("filePath")))]


def _original(call: Call) -> FileText | None:
    change = call_change(call)
    return FileText.stated(change.original) if change is not None and change.original is not None else None


def _changed(call: Call, before: FileText | None) -> FileText | None:
    change = call_change(call)
    return change.apply(before) if change is not None else None


def _patched(call: Call | None, name: str, before: FileText | None) -> FileText | None:
    """Return a file after the change that the result of a command shows; None if a file may have been deleted."""
    patch = next((patch for path, patch in _diffs(call) if path == name), None) if call is not None else None
    text = apply_patch(hunks_of(patch), before.text) if before is not None else None
    if before is None or not text:
        return None
    return FileText(text, text if before.written == before.text else None)


def _is_applied(call: Call) -> bool:
    """True if the result of a call says that its patch was applied."""
    return call.state == DONE if call.name == APPLY_PATCH else APPLIED_TEXT in call.tool_call.text


def _patched_file(call: Call | None, number: int) -> PatchedFile:
    """Return what the patch of a call does to one of its files."""
    patch = call_patch(call.name, use_of(call)) if call is not None else None
    files = patch.files if patch is not None else []
    return files[number] if number < len(files) else PatchedFile(CHANGES, "")


def _file_patched(call: Call | None, number: int, before: FileText | None) -> FileText | None:
    """Return a file after the patch of a call; None if it is not known for certain, or is deleted."""
    file = _patched_file(call, number)
    if file.action == ADDS:
        return FileText(added_text(file), added_text(file))
    text = patched_text(file, before.text) if before is not None and file.action == CHANGES else None
    return before.edited(text) if before is not None and text is not None else None


def _nothing() -> None:
    """Return no text: what was before a version is not known."""


def _shown(call: Call | None, attachment: dict[str, Any] | None) -> FileText | None:
    shown = read_of(call) if call is not None else attached_text(attachment or {})
    return FileText.stated(shown.text) if shown is not None else None


def _copy(read: ReadBackup, name: str) -> FileText | None:
    data = read(name)
    return FileText.from_bytes(data) if data is not None else None
