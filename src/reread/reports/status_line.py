"""One line about a session for Claude Code's status line: what it and today cost, budgets, context, cache, limits.

It is printed every few hundred milliseconds while someone types, so it starts with almost no imports, counts nothing
itself and reads small files only: what today costs was written down by `spending`, which runs beside when that is old.
Whatever goes wrong, it prints an empty line in time, because an error would stand in the middle of somebody's screen.
"""

from __future__ import annotations

import json
import os
import sys
import time
from _thread import start_new_thread

from reread.base.coerce import as_dict, as_list
from reread.base.own_folders import cache_path
from reread.storage.safe_open import make_own_folder, open_no_link, open_plain, read_own

TYPE_CHECKING = False  # loading types takes as long as all else
if TYPE_CHECKING:
    from typing import Any

SPENDING, RATE_LIMITS = "spending-{}.json", "rate-limits-{}.json"
MARK = "spending-{}.counting"
"""A file that is touched when counting starts, and locked until it ends."""
FRESH_SECONDS = 60.0
"""How old what is written down, and the last start of a count, may be before it is counted again."""
LIMIT_SECONDS = 0.8
"""When an empty line is printed instead."""
LARGEST = 1 << 20
TAIL = 1 << 17
"""How many bytes of the end of a transcript are read."""
LONGEST = 300
"""Characters of the line."""
DEFAULT = "{cost} · today {today} · {left} left · context {context} · cache until {cache} · {limits}"
FIELDS = ("cost", "today", "left", "context", "cache", "limits", "model", "project")
LIVES = {"ephemeral_1h_input_tokens": 3600, "ephemeral_5m_input_tokens": 300}
"""How many seconds each kind of cache lives after it was used."""
WINDOWS = {"five_hour": "5 h", "seven_day": "7 d"}
"""The names of the windows of rate limits in the line."""


def main(words: list[str]) -> None:
    """Print the line for the JSON on standard input, and exit with 0."""
    _limit_time()
    text = ""
    try:
        text = status_text(sys.stdin.buffer.read(LARGEST + 1), template_of(words))
    except Exception:  # whatever it is, the screen of the client is no place for it
        text = ""
    _print(text)


def template_of(words: list[str]) -> str:
    """Return the value of --format among words."""
    for n, word in enumerate(words):
        if word == "--format" and n + 1 < len(words):
            return words[n + 1]
        if word.startswith("--format="):
            return word.partition("=")[2]
    return DEFAULT


def status_text(data: bytes, template: str = DEFAULT) -> str:
    """Return the line for what Claude Code gives a status line; empty if it is anything else.

    A part of the template between ` · ` is left out if one of its fields is unknown.
    """
    given = as_dict(json.loads(data)) if 0 < len(data) <= LARGEST else {}
    limits = {name: limit for name, limit in _part(given, "rate_limits").items() if limit_text(name, limit)}
    values = _values(given, limits)
    if not any(values.values()):
        return ""
    if limits:
        _keep(RATE_LIMITS, {"rate_limits": limits})
    values |= _spent(given, _spending())
    parts = (_filled(part, values) for part in template.split(" · "))
    return " · ".join(part for part in parts if part)[:LONGEST]


def now_seconds() -> float:
    """Return the time in seconds since 1970."""
    return time.time()


def cache_file(name: str) -> str:
    """Return the path of a file in the folder for caches.

    Each set of configuration folders has files of its own, with other sessions and limits.
    """
    return os.path.join(cache_path(), name.format(_configs_key()))


def _configs_key() -> str:
    """Return what tells the configuration folders of this environment from others."""
    import zlib

    given = os.environ.get("CLAUDE_CONFIG_DIR", "").split(",")
    folders = [path.strip() for path in given if path.strip()]
    folders = folders or ["~/.claude", os.environ.get("XDG_CONFIG_HOME") or "~/.config"]
    paths = [os.path.abspath(os.path.expanduser(path)) for path in folders]
    return f"{zlib.crc32(os.fsencode(','.join(paths))):08x}"


def _values(given: dict[str, Any], limits: dict[str, Any]) -> dict[str, str]:
    context, cache = _part(given, "context_window"), _part(given, "prompt_cache")
    used, expires = _number(context.get("used_percentage")), _number(cache.get("expires_at"))
    if used is None:
        used = _used_share(context)
    if expires is None and not cache:
        expires = _cache_end(given.get("transcript_path"))
    return {
        "cost": _money(_number(_part(given, "cost").get("total_cost_usd"))),
        "context": "" if used is None else f"{used:.0f}%",
        "cache": _clock(expires) if expires is not None and expires > now_seconds() else "",
        "limits": ", ".join(filter(None, (limit_text(name, limit) for name, limit in limits.items()))),
        "model": _text(_part(given, "model").get("display_name")),
        "project": _text(os.path.basename(_folder(given).rstrip("/"))),
    }


def _folder(given: dict[str, Any]) -> str:
    folder = _part(given, "workspace").get("project_dir") or given.get("cwd")
    return folder if isinstance(folder, str) else ""


def _spent(given: dict[str, Any], spending: dict[str, Any]) -> dict[str, str]:
    budgets = [one for one in map(as_dict, as_list(spending.get("budgets"))) if _counts(one, given)]
    lefts = [_number(one.get("left_usd")) for one in budgets]
    least = min((left for left in lefts if left is not None), default=None)
    return {"today": _money(_number(spending.get("today_usd"))), "left": _money(least)}


def _counts(budget: dict[str, Any], given: dict[str, Any]) -> bool:
    """True if what this session costs counts for a budget: it is for all, for its project or for its model."""
    folder, project, model = _folder(given).lower(), budget.get("project"), budget.get("model")
    if isinstance(project, str):
        name = project.lower().rstrip("/")
        if not f"{folder}/".startswith(f"{name}/") and name not in folder.replace("\\", "/").split("/"):
            return False
    id = _part(given, "model").get("id")
    return not isinstance(model, str) or (isinstance(id, str) and _fits(id.partition("[")[0], model))


def _fits(model: str, pattern: str) -> bool:
    """True if a model has an id, or is of a family, or fits a pattern with asterisks."""
    if "*" not in pattern:
        return pattern == model or (pattern.isalpha() and pattern in model.split("-"))
    import fnmatch

    return fnmatch.fnmatchcase(model, pattern)


def _filled(part: str, values: dict[str, str]) -> str:
    """Return a part of the template with its fields; empty if one of them is unknown."""
    for name, value in values.items():
        if "{" + name + "}" in part:
            if not value:
                return ""
            part = part.replace("{" + name + "}", value)
    return part


def limit_text(name: str, value: object) -> str:
    """Return how much of a rate limit is used, and until when if that is much; empty if it is over or does not say."""
    limit = as_dict(value)
    used, resets = _number(limit.get("used_percentage")), _number(limit.get("resets_at"))
    if used is None or (resets is not None and resets <= now_seconds()):
        return ""
    until = f" until {_clock(resets)}" if resets is not None and used >= 80 else ""
    return f"{WINDOWS.get(name, _text(name.replace('_', ' ')))} {used:.0f}%{until}"


def _used_share(context: dict[str, Any]) -> float | None:
    used, size = _number(context.get("total_input_tokens")), _number(context.get("context_window_size"))
    return None if used is None or not size else 100 * used / size


def _cache_end(path: object) -> float | None:
    """Return when the cache of the last response of a transcript ends."""
    if not isinstance(path, str) or not path.endswith(".jsonl"):
        return None
    from datetime import datetime

    try:
        with open_plain(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            lines = file.read(TAIL).split(b"\n")
        for line in reversed(lines):
            if b'"cache_creation' in line and line.endswith(b"}"):
                record = as_dict(json.loads(line))
                used = _part(_part(record, "message"), "usage")
                if not used:  # a text that quotes a response
                    continue
                bought = _part(used, "cache_creation")
                seconds = next((life for name, life in LIVES.items() if _number(bought.get(name))), 300)
                stamp = _text(record.get("timestamp")).replace("Z", "+00:00")
                return datetime.fromisoformat(stamp).timestamp() + seconds
    except (OSError, ValueError, OverflowError):
        return None
    return None


def _spending() -> dict[str, Any]:
    """Return what is written down of today; have it counted in the background if that is old."""
    found: dict[str, Any] = {}
    try:
        found = as_dict(json.loads(read_own(cache_file(SPENDING), LARGEST)))
    except (OSError, ValueError):
        pass
    at, start, end = (_number(found.get(name)) or 0.0 for name in ("at", "from", "until"))
    clock = now_seconds()
    if not 0 <= clock - at < FRESH_SECONDS:
        _start_counting(clock)
    return found if start <= clock < end else {}


def _start_counting(clock: float) -> None:
    """Count in another process that outlives this one, unless one was started just now."""
    mark = cache_file(MARK)
    try:
        if 0 <= clock - os.stat(mark).st_mtime < FRESH_SECONDS:
            return
    except OSError:
        pass
    if not _is_written(mark, b"counting"):
        return
    words = [sys.executable, "-P", "-m", "reread.reports.spending"]
    if hasattr(os, "posix_spawn"):
        null = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, null, number) for number in range(3)]
        os.posix_spawn(sys.executable, words, os.environ, file_actions=actions, setpgroup=0)
        os.close(null)
    else:
        import subprocess

        subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _keep(name: str, value: dict[str, Any]) -> None:
    """Write a small file, unless it says the same."""
    path, text = cache_file(name), json.dumps(value).encode()
    try:
        if read_own(path, LARGEST) == text:
            return
    except OSError:
        pass
    temporary = f"{path}.{os.getpid()}"
    if _is_written(temporary, text):
        os.replace(temporary, path)


def _is_written(path: str, text: bytes) -> bool:
    """Write a file that only this user can read; False in a folder of others, who could put links there."""
    try:
        make_own_folder(os.path.dirname(path))
        with open(open_no_link(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(text)
    except OSError:
        return False
    return True


def _limit_time() -> None:
    """End with an empty line if it takes too long, whatever it waits for."""

    def end() -> None:
        time.sleep(LIMIT_SECONDS)
        os.write(1, b"\n")
        os._exit(0)

    start_new_thread(end, ())


def _print(text: str) -> None:
    try:
        os.write(1, f"{text}\n".encode("utf-8", "replace"))
    finally:
        os._exit(0)


def _part(value: dict[str, Any], name: str) -> dict[str, Any]:
    return as_dict(value.get(name))


def _number(value: object) -> float | None:
    """Return a number that can be shown; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e15 < value < 1e15:
        return None
    return float(value)


def _text(value: object) -> str:
    """Return a text without what acts on a terminal."""
    return "".join(filter(str.isprintable, value))[:60] if isinstance(value, str) else ""


def _money(dollars: float | None) -> str:
    return "" if dollars is None else f"-${-dollars:,.2f}" if dollars < 0 else f"${dollars:,.2f}"


def _clock(seconds: float) -> str:
    try:
        return time.strftime("%H:%M", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return ""
