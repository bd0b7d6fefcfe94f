"""The guards against hostile input, and how each could be missing: `python scripts/mutation.py guards` tries them."""

from __future__ import annotations

from typing import NamedTuple


class Guard(NamedTuple):
    """A way in which a guard in a file below `src/reread` could be missing."""

    file: str
    old: str
    new: str
    tests: str
    """What is given to pytest."""


GUARD = "tests/test_guard.py"
SERVER = "tests/test_server.py"
COLOURS = "tests/test_colours.py"
MARKDOWN = "tests/test_markdown_text.py"
REGULAR = "tests/test_safe_open.py"
RESUME = "tests/test_resume.py tests/test_hard_use.py -k 'resum or takes'"
GATE = "tests/test_gate.py"
STORE = "tests/test_hostile_store.py"
FILES = "tests/test_hostile_files.py"
TABLES = "tests/test_tables_folder.py"
FOUND = "tests/test_fuzz.py -k found"
REVIEW = "tests/test_review.py -k configures"
FACTS = "tests/test_facts.py -k"
STATUS_LINE = "tests/test_status_line.py -k ones_own"

GUARDS = [
    Guard("server/guard.py", "len(hosts) != 1 or hosts[0].lower() not in self.hosts", "len(hosts) != 1", GUARD),
    Guard("server/guard.py", "len(hosts) != 1 or ", "not hosts or ", GUARD),
    Guard("server/guard.py", 'if scope["method"] not in METHODS and not', "if False and not", SERVER),
    Guard("server/guard.py", "if any(origin !=", "if all(origin !=", GUARD),
    Guard("server/guard.py", "not in OWN_FETCH_SITES and not _is_page_visit(scope, headers)", "is None", SERVER),
    Guard("server/guard.py", "return is_visit and scope", "return True or scope", SERVER),
    Guard("server/guard.py", 'is_visit and scope["path"] == PAGE', "is_visit", SERVER),
    Guard("server/guard.py", "if given is not None and self._is_token(given):", "if given is not None:", GUARD),
    Guard("server/guard.py", "httponly=True", "httponly=False", GUARD),
    Guard("server/guard.py", 'samesite="strict"', 'samesite="lax"', GUARD),
    Guard("server/guard.py", 'str = f"reread_{port}"', 'str = "reread"', GUARD),
    Guard("server/guard.py", 'if given is None and (scope["path"] == PAGE', 'if (scope["path"] == PAGE', GUARD),
    Guard(
        "server/guard.py",
        'or scope["path"].startswith(ASSETS)',
        'or scope["path"].startswith("/a")',
        f"{GUARD} {SERVER}",
    ),
    Guard("server/guard.py", '"/" + scope["path"].lstrip("/")', 'scope["path"]', f"{GUARD} {SERVER}"),
    Guard("server/guard.py", "headers.setdefault(name, value)", "pass", SERVER),
    Guard("server/guard.py", "\"script-src 'self'\"", "\"script-src 'self' 'unsafe-inline'\"", f"{GUARD} {SERVER}"),
    Guard("server/guard.py", 'headers.setdefault("cache-control", "no-store")', "pass", GUARD),
    Guard("server/guard.py", "if not answer.started:", "if True:", f"{GUARD} {SERVER}"),
    Guard("server/run.py", "if not token and not is_loopback(host):", "if False:", f"{SERVER} tests/test_cli.py"),
    Guard("server/run.py", "secret = new_token() if token else None", "secret = None", f"{SERVER} tests/test_cli.py"),
    Guard("server/run.py", "if len(self.connections) > MAX_CONNECTIONS:", "if False:", SERVER),
    Guard("server/run.py", "        self._expire_after(REQUEST_SECONDS)\n\n    def data", "\n    def data", SERVER),
    Guard("server/run.py", "self._expire_after(READ_SECONDS)", "pass", SERVER),
    Guard("server/run.py", "min(idle or unread, key=", "max(idle or unread, key=", SERVER),
    Guard("server/routes.py", 'regex = "[0-9]{1,12}"', 'regex = "[0-9]+"', SERVER),
    Guard("server/routes.py", "or len(text) > 12", "", SERVER),
    Guard("server/routes.py", "media_type is None:\n        raise NotFound", "False:\n        raise NotFound", SERVER),
    Guard("server/open_sessions.py", "async with self._free:", "if True:", f"{SERVER} -k many_requests"),
    Guard("server/routes.py", "            await session.loaded()\n", "", f"{SERVER} -k many_requests"),
    Guard("base/sanitize.py", "\\u202a-\\u202e", "\\u202a-\\u202d", f"{COLOURS} {GATE}"),
    Guard("base/sanitize.py", "\\x7f-\\x9f", "\\x7f", f"{COLOURS} {GATE}"),
    Guard("base/sanitize.py", "\\U000e0000-\\U000e007f", "", f"{COLOURS} {GATE}"),
    Guard("base/sanitize.py", "out.append(readable_colours(code[0]))", "out.append(code[0])", f"{COLOURS} {GATE}"),
    Guard("base/sanitize.py", "found[0] if found[1] is None else _visible(found)", "found[0]", f"{COLOURS} {GATE}"),
    Guard("base/sanitize.py", '"-", "@"', '"@"', f"{COLOURS} {GATE}"),
    Guard("base/sanitize.py", "line.lstrip()[:1]", "line[:1]", f"{COLOURS} {GATE}"),
    Guard("base/sanitize.py", "elif number in BLACK_OR_WHITE:", "elif False:", COLOURS),
    Guard("base/sanitize.py", "DARKEST < _luminance(red, green, blue) < LIGHTEST", "True", COLOURS),
    Guard("base/sanitize.py", "DARKEST < _luminance(*_rgb(index)) < LIGHTEST", "True", COLOURS),
    Guard("base/sanitize.py", "if number == 38:", "if True:", COLOURS),
    Guard("cli/_output.py", "super().write(terminal_text(s))", "super().write(s)", COLOURS),
    Guard("cli/_output.py", 'f"reread: {safe(text)}"', 'f"reread: {text}"', "tests/test_hard_use.py -k control"),
    Guard("cli/_output.py", "safe_json(text.decode())", "text.decode()", "tests/test_hard_use.py -k json"),
    Guard("cli/_output.py", "if not sys.stdout.isatty():", "if True:", f"{GATE} -k 'raw or jsonl'"),
    Guard("reports/report.py", "csv_cell(", "str(", GATE),
    Guard("render/markdown_text.py", "{_known_language(language)}", "{language}", MARKDOWN),
    Guard("render/markdown_text.py", ' if info.lower() in LANGUAGES else ""', "", MARKDOWN),
    Guard(
        "render/markdown_text.py",
        "escape(safe(' '.join(title.split())))",
        "safe(' '.join(title.split()))",
        f"{MARKDOWN} {GATE}",
    ),
    Guard("render/markdown_text.py", "safe(' '.join(title.split()))", "safe(title)", f"{MARKDOWN} {GATE}"),
    Guard("render/markdown_text.py", 'found = lines[at].strip(" \\t")', "found = lines[at].strip()", MARKDOWN),
    Guard("render/markdown_text.py", "and any(_LIVE.search(span) for span in spans)", "and False", MARKDOWN),
    Guard(
        "render/markdown_text.py",
        'return ("\\\\!" if following == "[" else sign), at + 1',
        "return sign, at + 1",
        MARKDOWN,
    ),
    Guard("render/markdown_text.py", 'if following == "<":\n            return "&lt;", at + 2\n', "", MARKDOWN),
    Guard("render/markdown_text.py", "(?:https?://|mailto:)", "(?:\\w+:)", MARKDOWN),
    Guard("render/markdown_text.py", "self._close_addresses(line, runs)", "pass", MARKDOWN),
    Guard("render/markdown_text.py", "max(3, 1 + max(map(len", "max(3, 0 + max(map(len", MARKDOWN),
    Guard(
        "render/markdown_text.py",
        'return ("&amp;" if _ENTITY.match(line, at) else sign), at + 1',
        "return sign, at + 1",
        MARKDOWN,
    ),
    Guard(
        "storage/safe_open.py",
        "    for matches, code, reason in _KINDS:\n        if matches(mode):",
        "    for matches, code, reason in _KINDS:\n        if False:",
        REGULAR,
    ),
    Guard("storage/safe_open.py", "check_regular(os.fstat(descriptor).st_mode, path)", "pass", REGULAR),
    Guard("storage/safe_open.py", "if os.path.exists(path):", "if False:", REGULAR),
    Guard("storage/safe_open.py", "os.mkdir(one, PRIVATE_FOLDER)", "os.mkdir(one)", REGULAR),
    Guard(
        "storage/safe_open.py",
        "PRIVATE_FILE, PRIVATE_FOLDER = 0o600",
        "PRIVATE_FILE, PRIVATE_FOLDER = 0o644",
        f"{REGULAR} tests/test_disk_cache.py",
    ),
    Guard("storage/safe_open.py", "or status.st_uid == os.geteuid()", "or True", STORE),
    Guard("storage/safe_open.py", "open_descriptor(path, flags | _NO_LINK)", "open_descriptor(path, flags)", STORE),
    Guard("storage/safe_open.py", "if size > largest:", "if False:", f"{STORE} {REGULAR}"),
    Guard("disk/cache.py", "if size > LARGEST:", "if False:", STORE),
    Guard("disk/cache.py", " and _has_only_tables(database)", "", STORE),
    Guard("disk/cache.py", "found.get(table.name) != table.sql", "False", STORE),
    Guard("disk/cache.py", "if max(found) <= LARGEST_INTEGER else", "if True else", f"{FACTS} 64_bits"),
    Guard(
        "facts/store.py",
        "except (UnicodeEncodeError, OverflowError):",
        "except UnicodeEncodeError:",
        "tests/test_facts.py -k hold",
    ),
    Guard("facts/responses.py", "place < MOST_SCOPES and ", "", f"{FACTS} for_ever"),
    Guard("disk/cache.py", "SQLITE_LIMIT_LENGTH, LARGEST_VALUE", "SQLITE_LIMIT_LENGTH, 1 << 30", STORE),
    Guard("disk/cache.py", "max_page_count = {LARGEST // page}", "max_page_count = 4294967294", STORE),
    Guard("disk/derived_cache.py", "f\"typeof({name}) = '{kind.lower()}'\"", '"TRUE"', STORE),
    Guard("disk/derived_cache.py", "if not unpacking.eof:", "if False:", STORE),
    Guard("disk/derived_cache.py", "names = self._tables() if rows else {}", "names = {}", f"{STORE} -k forgets"),
    Guard("disk/derived_cache.py", "except (OverflowError, UnicodeError):", "except UnicodeError:", FOUND),
    Guard("storage/frames.py", "decompress(frame, most)", "decompress(frame)", f"{STORE} -k bomb"),
    Guard("storage/frames.py", ' and decompressor.decompress(b"", 1):', " and False:", f"{STORE} -k bomb"),
    Guard("storage/kept_file.py", "status.st_size <= LARGEST_MAP", "True", f"{FILES} -k sparse"),
    Guard("disk/layout.py", "if real.startswith(tops):", "if True:", FILES),
    Guard("index/store.py", " or error.__class__.__name__ == PANIC:", ":", f"{STORE} -k panic"),
    Guard("index/store.py", "all(stat.S_ISREG(one.st_mode) for one in found[1:])", "True", f"{STORE} -k linked_list"),
    Guard("index/segments.py", "if last is not None and last[0] != found:", "if False:", f"{STORE} -k bit"),
    Guard("index/segments.py", "or last[1] != state ", "", f"{STORE} -k after_a_day"),
    Guard("index/segments.py", " or not 0 <= now - last[2] < CHECK_SECONDS", "", f"{STORE} -k after_a_day"),
    Guard("index/store.py", "            damaged_file(self.folder)", "            pass", f"{STORE} -k first_search"),
    Guard("index/store.py", "            make_private(self.folder)\n", "", f"{STORE} -k owner"),
    Guard("index/store.py", "if damaged is not None:", "if False:", f"{STORE} -k bit"),
    Guard("index/index_files.py", "update.cursors.pop(path, None)", "pass", "tests/test_one_bad_file.py -k first_part"),
    Guard(
        "session/saved_fold.py",
        "if any(count > saved.head.size",
        "if False and any(count > 0",
        f"{STORE} -k than_bytes",
    ),
    Guard("redaction/redactor.py", "filename_for(session.id or 'session')", "session.id", f"{FILES} -k id_of"),
    Guard("cli/share.py", "filename_for(session.id or 'session')[:8]", "session.id[:8]", f"{FILES} -k id_of"),
    Guard("reader/site_export.py", "if os.path.realpath(path) != os.path.join(", "if False and os.path.join(", FILES),
    Guard("server/routes.py", "if len(body) > LARGEST_BODY:", "if False:", f"{FILES} -k request"),
    Guard("session/session_pass.py", "with naming_file(path), ", "with ", "tests/test_one_bad_file.py -k stats"),
    Guard("dataset/manifest.py", "if not found.names_own_files():", "if False:", f"{TABLES} -k elsewhere"),
    Guard("dataset/manifest.py", "_ID.fullmatch(part.id)\n", "True\n", f"{TABLES} -k elsewhere"),
    Guard("dataset/manifest.py", "_MONTH.fullmatch(month)", "True", f"{TABLES} -k elsewhere"),
    Guard("dataset/manifest.py", "all(map(_TABLE.fullmatch, part.rows))", "True", f"{TABLES} -k elsewhere"),
    Guard("storage/manifest.py", "found.machine != machine", "False", "tests/test_mirror.py -k another_machine"),
    Guard("storage/manifest.py", "len(content) > LARGEST_MANIFEST", "False", "tests/test_storage.py -k large"),
    Guard("storage/kept_manifest.py", "), LARGEST_RAW)", "), 1 << 60)", "tests/test_storage.py -k unpacks"),
    Guard("storage/kept_manifest.py", ' and "\\n" not in piece.name', "", "tests/test_mirror.py -k break"),
    Guard("dataset/sql.py", "open_plain(path).close()", "pass", f"{TABLES} -k damaged"),
    Guard("disk/cache.py", '"PRAGMA secure_delete = ON"', '"PRAGMA secure_delete = OFF"', "tests/test_disk_cache.py"),
    Guard("git/command.py", '"core.hooksPath": os.devnull,', "", REVIEW),
    Guard("reports/status_line.py", "open_no_link(path, ", "os.open(path, ", STATUS_LINE),
    Guard("reports/status_line.py", "make_own_folder(os", "str(os", STATUS_LINE),
    Guard(
        "session/saved_fold.py",
        "        target.chmod(0o600)\n",
        "",
        "tests/test_saved_fold.py -k budget",
    ),
    Guard(
        "session/saved_fold.py",
        "or read(max(0, head.size - len(head.proof)), len(head.proof)) != head.proof:",
        ":",
        "tests/test_saved_fold.py -k 'not restored_is and not counted'",
    ),
    Guard("cli/_option_types.py", " if not _OF_THE_SHELL.search(word)", "", "tests/test_cli.py -k bash_offers"),
    Guard(
        "handover/prompt_lines.py",
        "if not lock(descriptor",
        "if False and not lock(descriptor",
        "tests/test_delete.py -k undoes",
    ),
    Guard("reader/export_formats.py", "stat_file(session.path).st_mode & 0o666", "0o666", REGULAR),
    Guard("reader/site_export.py", "is_session_key(", "bool(", REGULAR),
    Guard("handover/resuming.py", "if _PLAIN_ID.fullmatch(id)", "if id", RESUME),
    Guard("handover/resuming.py", "if own and run.argv", "if run.argv", RESUME),
    Guard("handover/resuming.py", "trusted=own or", "trusted=True or", RESUME),
    Guard("base/shell_words.py", 'f"./{cwd}" if cwd.startswith("-") else cwd', "cwd", RESUME),
    Guard("base/shell_words.py", "if _is_printable(word) else _escaped(word)", "", RESUME),
    Guard("handover/resuming.py", "Path(os.path.realpath(path))", "Path(path)", RESUME),
    Guard("cli/resume.py", "if not (found.trusted or yes or _asks(found)):", "if False:", RESUME),
    Guard(
        "render/search_results.py",
        '"--"] if id.startswith("-")',
        '"--"] if False',
        "tests/test_index.py -k command_for",
    ),
    Guard(
        "errors.py",
        'raise Unreadable(f"Cannot read {path}: {reason}; please report this.", path=str(path)) from error',
        "raise",
        "tests/test_one_bad_file.py",
    ),
]
"""Every guard, and how it could be missing."""
