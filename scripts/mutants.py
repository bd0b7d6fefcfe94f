"""Break each guard in turn and run the tests that should notice: `python scripts/mutants.py [WORD ...]`.

A mutant that no test notices is printed as SURVIVED, and the exit code is 1. With words, only mutants whose file or
code contains one of them are tried. The source is copied first; nothing in the repository changes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
HANGING = 600
"""Seconds after which tests hang: then, too, they notice."""


class Mutant(NamedTuple):
    """One change of one file below `src/reread`."""

    file: str
    old: str
    new: str
    tests: str
    """What is given to pytest."""


GUARD = "tests/test_guard.py"
SERVER = "tests/test_server.py"
COLOURS = "tests/test_colours.py"
MARKDOWN = "tests/test_markdown_text.py"
REGULAR = "tests/test_regular.py"
RESUME = "tests/test_resume.py tests/test_hard_use.py -k 'resum or takes'"
GATE = "tests/test_gate.py"
STORE = "tests/test_hostile_store.py"
FILES = "tests/test_hostile_files.py"
TABLES = "tests/test_tables_folder.py"
FOUND = "tests/test_fuzz.py -k found"
LIMITS = "tests/test_server.py -k connection"

MUTANTS = [
    Mutant("server/guard.py", "len(hosts) != 1 or hosts[0].lower() not in self.hosts", "len(hosts) != 1", GUARD),
    Mutant("server/guard.py", "len(hosts) != 1 or ", "not hosts or ", GUARD),
    Mutant("server/guard.py", 'if scope["method"] not in METHODS and not', "if False and not", SERVER),
    Mutant("server/guard.py", "if any(origin !=", "if all(origin !=", GUARD),
    Mutant("server/guard.py", "not in OWN_FETCH_SITES and not _is_page_visit(scope, headers)", "is None", SERVER),
    Mutant("server/guard.py", "return is_visit and scope", "return True or scope", SERVER),
    Mutant("server/guard.py", 'is_visit and scope["path"] == PAGE', "is_visit", SERVER),
    Mutant("server/guard.py", "if given is not None and self._is_token(given):", "if given is not None:", GUARD),
    Mutant("server/guard.py", "httponly=True", "httponly=False", GUARD),
    Mutant("server/guard.py", 'samesite="strict"', 'samesite="lax"', GUARD),
    Mutant("server/guard.py", 'self.cookie = f"reread_{port}"', 'self.cookie = "reread"', GUARD),
    Mutant("server/guard.py", 'if given is None and (scope["path"] == PAGE', 'if (scope["path"] == PAGE', GUARD),
    Mutant(
        "server/guard.py",
        'or scope["path"].startswith(ASSETS)',
        'or scope["path"].startswith("/a")',
        f"{GUARD} {SERVER}",
    ),
    Mutant("server/guard.py", '"/" + scope["path"].lstrip("/")', 'scope["path"]', f"{GUARD} {SERVER}"),
    Mutant("server/guard.py", "headers[name] = value", "pass", SERVER),
    Mutant("server/guard.py", "\"script-src 'self'\"", "\"script-src 'self' 'unsafe-inline'\"", f"{GUARD} {SERVER}"),
    Mutant("server/guard.py", 'headers.setdefault("cache-control", "no-store")', "pass", GUARD),
    Mutant("server/guard.py", "if not answer.started:", "if True:", f"{GUARD} {SERVER}"),
    Mutant("server/run.py", "if not token and not is_loopback(host):", "if False:", f"{SERVER} tests/test_cli.py"),
    Mutant("server/run.py", "secret = new_token() if token else None", "secret = None", f"{SERVER} tests/test_cli.py"),
    Mutant("server/connections.py", "if len(self.connections) > MAX_CONNECTIONS:", "if False:", SERVER),
    Mutant(
        "server/connections.py", "        self._expire_after(REQUEST_SECONDS)\n\n    def data", "\n    def data", SERVER
    ),
    Mutant("server/connections.py", "self._expire_after(READ_SECONDS)", "pass", SERVER),
    Mutant("server/connections.py", "min(idle, key=", "max(idle, key=", SERVER),
    Mutant("server/routes.py", 'regex = "[0-9]{1,12}"', 'regex = "[0-9]+"', SERVER),
    Mutant("server/routes.py", "or len(text) > 12", "", SERVER),
    Mutant("server/routes.py", "media_type is None:\n        raise NotFound", "False:\n        raise NotFound", SERVER),
    Mutant("server/threads.py", "async with self._free:", "if True:", f"{SERVER} -k many_requests"),
    Mutant("server/routes.py", "            await session.loaded()\n", "", f"{SERVER} -k many_requests"),
    Mutant("render/sanitize.py", "\\u202a-\\u202e", "\\u202a-\\u202d", f"{COLOURS} {GATE}"),
    Mutant("render/sanitize.py", "\\x7f-\\x9f", "\\x7f", f"{COLOURS} {GATE}"),
    Mutant("render/sanitize.py", "\\U000e0000-\\U000e007f", "", f"{COLOURS} {GATE}"),
    Mutant("render/sanitize.py", "out.append(readable_colours(code[0]))", "out.append(code[0])", f"{COLOURS} {GATE}"),
    Mutant("render/sanitize.py", "found[0] if found[1] is None else _visible(found)", "found[0]", f"{COLOURS} {GATE}"),
    Mutant("render/sanitize.py", '"-", "@"', '"@"', f"{COLOURS} {GATE}"),
    Mutant("render/sanitize.py", "line.lstrip()[:1]", "line[:1]", f"{COLOURS} {GATE}"),
    Mutant("render/colours.py", "elif number in BLACK_OR_WHITE:", "elif False:", COLOURS),
    Mutant("render/colours.py", "DARKEST < _luminance(red, green, blue) < LIGHTEST", "True", COLOURS),
    Mutant("render/colours.py", "DARKEST < _luminance(*_rgb(index)) < LIGHTEST", "True", COLOURS),
    Mutant("render/colours.py", "if number == 38:", "if True:", COLOURS),
    Mutant("cli/_output.py", "super().write(terminal_text(s))", "super().write(s)", COLOURS),
    Mutant("cli/_output.py", 'f"reread: {safe(text)}"', 'f"reread: {text}"', "tests/test_hard_use.py -k control"),
    Mutant("cli/_output.py", "safe_json(text.decode())", "text.decode()", "tests/test_hard_use.py -k json"),
    Mutant("cli/_output.py", "if not sys.stdout.isatty():", "if True:", f"{GATE} -k 'raw or jsonl'"),
    Mutant("render/usage_table.py", "csv_cell(", "str(", GATE),
    Mutant("render/markdown_text.py", "{_known_language(language)}", "{language}", MARKDOWN),
    Mutant("render/markdown_text.py", "{_known_language(language[0]) if language else ''}", "{opening[4]}", MARKDOWN),
    Mutant(
        "render/markdown_text.py",
        "escape(safe(' '.join(title.split())))",
        "safe(' '.join(title.split()))",
        f"{MARKDOWN} {GATE}",
    ),
    Mutant("render/markdown_text.py", "safe(' '.join(title.split()))", "safe(title)", f"{MARKDOWN} {GATE}"),
    Mutant("render/markdown_text.py", 'found = lines[at].strip(" \\t")', "found = lines[at].strip()", MARKDOWN),
    Mutant("render/markdown_text.py", 'and any("<" in span for span in spans)', "and False", MARKDOWN),
    Mutant(
        "render/markdown_text.py",
        'return ("\\\\!" if following == "[" else sign), at + 1',
        "return sign, at + 1",
        MARKDOWN,
    ),
    Mutant("render/markdown_text.py", 'if following == "<":\n            return "&lt;", at + 2\n', "", MARKDOWN),
    Mutant("render/markdown_text.py", "(?:https?://|mailto:)", "(?:\\w+:)", MARKDOWN),
    Mutant("render/markdown_text.py", "self._close_addresses(line, runs)", "pass", MARKDOWN),
    Mutant("render/markdown_text.py", "max(3, 1 + max(map(len", "max(3, 0 + max(map(len", MARKDOWN),
    Mutant(
        "render/markdown_text.py",
        'return ("&amp;" if _ENTITY.match(line, at) else sign), at + 1',
        "return sign, at + 1",
        MARKDOWN,
    ),
    Mutant(
        "disk/regular.py",
        "    for matches, code, reason in _KINDS:\n        if matches(mode):",
        "    for matches, code, reason in _KINDS:\n        if False:",
        REGULAR,
    ),
    Mutant("disk/regular.py", "check_regular(os.fstat(descriptor).st_mode, path)", "pass", REGULAR),
    Mutant("disk/regular.py", "if os.path.exists(path):", "if False:", REGULAR),
    Mutant("disk/regular.py", "above.mkdir(mode=PRIVATE_FOLDER", "above.mkdir(mode=0o755", REGULAR),
    Mutant(
        "disk/regular.py",
        "PRIVATE_FILE, PRIVATE_FOLDER = 0o600",
        "PRIVATE_FILE, PRIVATE_FOLDER = 0o644",
        f"{REGULAR} tests/test_disk_cache.py",
    ),
    Mutant("disk/regular.py", "or status.st_uid == os.geteuid()", "or True", STORE),
    Mutant("disk/regular.py", 'flags | getattr(os, "O_NOFOLLOW", 0)', "flags", STORE),
    Mutant("disk/regular.py", "if size > largest:", "if False:", f"{STORE} {REGULAR}"),
    Mutant("disk/cache.py", "if size > LARGEST:", "if False:", STORE),
    Mutant("disk/cache.py", " and _has_only_tables(database)", "", STORE),
    Mutant("disk/cache.py", "found.get(table.name) != table.sql", "False", STORE),
    Mutant("disk/cache.py", "SQLITE_LIMIT_LENGTH, LARGEST_VALUE", "SQLITE_LIMIT_LENGTH, 1 << 30", STORE),
    Mutant("disk/cache.py", "max_page_count = {LARGEST // page}", "max_page_count = 4294967294", STORE),
    Mutant("disk/derived.py", "f\"typeof({name}) = '{kind.lower()}'\"", '"TRUE"', STORE),
    Mutant("disk/derived.py", "if not unpacking.eof:", "if False:", STORE),
    Mutant("disk/derived.py", "in (self._tables() if paths else ())", "in [self._name]", f"{STORE} -k forgets"),
    Mutant("disk/derived.py", "except (OverflowError, UnicodeError):", "except UnicodeError:", FOUND),
    Mutant("disk/frames.py", "decompress(frame, LARGEST_FRAME)", "decompress(frame)", f"{STORE} -k bomb"),
    Mutant("disk/frames.py", ' and decompressor.decompress(b"", 1):', " and False:", f"{STORE} -k bomb"),
    Mutant("disk/kept.py", "status.st_size <= LARGEST_MAP", "True", f"{FILES} -k sparse"),
    Mutant("disk/layout.py", "if real.startswith(tops):", "if True:", FILES),
    Mutant("index/store.py", "if type(error).__name__ != PANIC:", "if True:", f"{STORE} -k panic"),
    Mutant("index/store.py", "all(stat.S_ISREG(one.st_mode) for one in found[1:])", "True", f"{STORE} -k linked_list"),
    Mutant("index/segments.py", "return checksum == footer.crc", "return True", f"{STORE} -k bit"),
    Mutant("index/segments.py", "if mark != MARK or left < 0 or", "if False or", f"{STORE} -k bit"),
    Mutant("index/segments.py", "before == state and ", "", f"{STORE} -k after_a_day"),
    Mutant("index/segments.py", " and 0 <= now - seen < CHECK_SECONDS", "", f"{STORE} -k after_a_day"),
    Mutant("index/store.py", "            make_private(self._folder)\n", "", f"{STORE} -k owner"),
    Mutant("index/store.py", "if damaged is not None:", "if False:", f"{STORE} -k bit"),
    Mutant(
        "index/index_files.py", "update.cursors.pop(path, None)", "pass", "tests/test_one_bad_file.py -k first_part"
    ),
    Mutant(
        "session/saved_fold.py",
        "if any(count > saved.head.size",
        "if False and any(count > 0",
        f"{STORE} -k than_bytes",
    ),
    Mutant("redaction/session_files.py", "filename_for(session.id or 'session')", "session.id", f"{FILES} -k id_of"),
    Mutant("cli/share.py", "filename_for(session.id or 'session')[:8]", "session.id[:8]", f"{FILES} -k id_of"),
    Mutant("reader/site_export.py", "if os.path.realpath(path) != os.path.join(", "if False and os.path.join(", FILES),
    Mutant("server/routes.py", "if len(body) > LARGEST_BODY:", "if False:", f"{FILES} -k request"),
    Mutant("reports/facts_cache.py", "with naming_file(path):", "if True:", "tests/test_one_bad_file.py -k stats"),
    Mutant("dataset/manifest.py", "if not found.names_own_files(machine):", "if False:", f"{TABLES} -k elsewhere"),
    Mutant("dataset/manifest.py", "_ID.fullmatch(part.id)\n", "True\n", f"{TABLES} -k elsewhere"),
    Mutant("dataset/manifest.py", "_MONTH.fullmatch(part.month))", "True)", f"{TABLES} -k elsewhere"),
    Mutant("dataset/manifest.py", "all(map(_TABLE.fullmatch, part.rows))", "True", f"{TABLES} -k elsewhere"),
    Mutant("dataset/manifest.py", "self.machine == machine and ", "", f"{TABLES} -k elsewhere"),
    Mutant("disk/manifest.py", " or found.machine != machine", "", "tests/test_mirror.py -k another_machine"),
    Mutant("disk/manifest.py", ' and "\\n" not in piece.name', "", "tests/test_mirror.py -k break"),
    Mutant("dataset/sql.py", "open_regular(path).close()", "pass", f"{TABLES} -k damaged"),
    Mutant("disk/cache.py", '"PRAGMA secure_delete = ON"', '"PRAGMA secure_delete = OFF"', "tests/test_disk_cache.py"),
    Mutant(
        "session/saved_fold.py",
        "        target.chmod(0o600)\n",
        "",
        "tests/test_saved_fold.py -k budget",
    ),
    Mutant(
        "session/saved_fold.py",
        "or read(max(0, head.size - len(head.proof)), len(head.proof)) != head.proof:",
        ":",
        "tests/test_saved_fold.py -k 'not restored_is and not counted'",
    ),
    Mutant("reader/export_formats.py", "stat_file(session.path).st_mode & 0o666", "0o666", REGULAR),
    Mutant("reader/site_export.py", "is_session_key(", "bool(", REGULAR),
    Mutant("recording/resume_command.py", "if _PLAIN_ID.fullmatch(id)", "if id", RESUME),
    Mutant("recording/resume_command.py", "if own and run.argv", "if run.argv", RESUME),
    Mutant("recording/resume_command.py", "trusted=own or", "trusted=True or", RESUME),
    Mutant("recording/resume_command.py", 'f"./{cwd}" if cwd.startswith("-") else cwd', "cwd", RESUME),
    Mutant("recording/resume_command.py", "if _is_printable(word) else _escaped(word)", "", RESUME),
    Mutant("recording/resume_command.py", "Path(os.path.realpath(path))", "Path(path)", RESUME),
    Mutant("cli/resume.py", "if not found.trusted and not yes:", "if False:", RESUME),
    Mutant(
        "render/search_results.py", 'if hit.session.startswith("-"):', "if False:", "tests/test_index.py -k command_for"
    ),
    Mutant(
        "errors.py",
        'raise Unreadable(f"Cannot read {path}: {reason}; please report this.", path=str(path)) from error',
        "raise",
        "tests/test_one_bad_file.py",
    ),
]
"""Every guard, and how it could be missing."""


def main() -> int:
    """Try the mutants, and say which survive."""
    words = sys.argv[1:]
    chosen = [one for one in MUTANTS if not words or any(word in one.file or word in one.old for word in words)]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        for mutant in chosen:
            outcome = _try(mutant, Path(folder) / "src")
            survivors += outcome != "noticed"
            print(f"{outcome:>8}  {mutant.file}: {mutant.old.strip()!r} -> {mutant.new!r}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survived")
    return 1 if survivors else 0


def _try(mutant: Mutant, source: Path) -> str:
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    path = source / "reread" / mutant.file
    text = path.read_text()
    if mutant.old not in text:
        return "NO CODE"
    path.write_text(text.replace(mutant.old, mutant.new, 1))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "--no-header",
        "-p",
        "no:cacheprovider",
        *shlex.split(mutant.tests),
    ]
    environment = {**os.environ, "PYTHONPATH": f"{source}:{ROOT / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=HANGING)
    except subprocess.TimeoutExpired:
        return "noticed"
    return {0: "SURVIVED", 1: "noticed"}.get(done.returncode, "NO TESTS")


if __name__ == "__main__":
    sys.exit(main())
