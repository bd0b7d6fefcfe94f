"""Advice on what is loaded and never used: MCP servers, tools and skills."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reread.accounting.billing import PICOS_PER_DOLLAR
from reread.base.choices import AdviceKind
from reread.base.text import plural
from reread.facts.loaded import SERVER, SKILL, TOOL, server_of
from reread.reports.advice_facts import OFTEN, Advice, AdviceSession, CommandWords, is_mentioned, newest

CHARS_PER_TOKEN = 4
"""What a token of a definition is taken for: the API counts requests, not their parts."""
MOST_NAMES = 4
"""So many servers, tools or skills are named in what to do; the subject names all of them."""
NEEDED_TOOLS = frozenset(
    "Agent AskUserQuestion Bash BashOutput Edit EnterPlanMode ExitPlanMode Glob Grep KillShell MultiEdit Read Skill"
    " Task TaskOutput TaskStop TodoWrite ToolSearch Write".split()
)
"""Tools that any session may need, also if some did not."""


class _Subject:
    """Something that is loaded: how it is spelled, and how long its definition is in each session."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.chars: dict[str, int | None] = {}
        """Its characters in each session, by the path of the file; None if only the name is recorded."""


Subjects = dict[tuple[str, str], _Subject]
"""Subjects by their kind and the name that all spellings of it have in common."""


def unused(sessions: Sequence[AdviceSession], typed: CommandWords, *, everywhere: bool) -> Iterator[Advice]:
    """Yield what nobody used in any project, if that is known, and by project what is used elsewhere."""
    sessions = list({facts.session: facts for facts in sessions}.values())  # two files of a session are one
    least = min(OFTEN, len(sessions))
    projects: dict[str, list[AdviceSession]] = {}
    for facts in sessions:
        projects.setdefault(facts.project, []).append(facts)
    nowhere = _idle(sessions, least) if everywhere else {}
    yield from _unused_advice(nowhere, sessions, "", typed)
    for project, own in projects.items():
        idle = {key: one for key, one in _idle(own, least).items() if key not in nowhere and key[0] != TOOL}
        yield from _unused_advice(idle, own, project, typed)


def _idle(sessions: Sequence[AdviceSession], least: int) -> Subjects:
    """Return what so many sessions loaded, none used, and no memory mentions."""
    used = {(kind, spelled) for facts in sessions for kind, name in _used(facts) for spelled in _spellings(kind, name)}
    plugins = {name.partition(":")[0] for kind, name in used if kind == SKILL and ":" in name}
    found: Subjects = {}
    known: set[tuple[str, str]] = set()
    for facts in sessions:
        for kind, name, chars in facts.loaded:
            key = kind, _server_key(name) if kind == SERVER else name
            is_used = any((kind, spelled) in used for spelled in _spellings(kind, name))
            is_needed = kind == TOOL and name in NEEDED_TOOLS
            is_part = kind == SKILL and ":" in name and name.partition(":")[0] in plugins  # none is left out alone
            if is_used or is_needed or is_part or key in known:
                continue
            if is_mentioned(name, facts):
                known.add(key)
                continue
            subject = found.setdefault(key, _Subject(name))
            subject.name = name if name != key[1] else subject.name
            before = subject.chars.get(facts.path)
            subject.chars[facts.path] = before if chars is None else chars + (before or 0)
    return {key: one for key, one in found.items() if key not in known and len(one.chars) >= least}


def _used(facts: AdviceSession) -> Iterator[tuple[str, str]]:
    yield from facts.used
    yield from ((SKILL, name) for name in facts.commands)
    yield from ((SERVER, server) for kind, name in facts.used if kind == TOOL and (server := server_of(name)))


def _spellings(kind: str, name: str) -> set[str]:
    """Return the names that something may be used by: a skill of a plug-in also without that."""
    return {_server_key(name)} if kind == SERVER else {name, name.rpartition(":")[2]} if kind == SKILL else {name}


def _server_key(name: str) -> str:
    """Return the name of a server as it is in the names of its tools."""
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_-]", "_", name)).strip("_")


def _unused_advice(
    idle: Subjects, sessions: Sequence[AdviceSession], project: str, typed: CommandWords
) -> Iterator[Advice]:
    for kind, (advice, group, what) in UNUSED.items():
        picos = {facts.path: facts.picos_per_token / CHARS_PER_TOKEN for facts in sessions}
        found = [one for (of, _), one in idle.items() if of == kind]
        costs = {one.name: sum(picos[path] * (chars or 0) for path, chars in one.chars.items()) for one in found}
        names = sorted(costs, key=lambda name: (-costs[name], name))
        if not names:
            continue
        priced = [one for one in found if any(chars is not None for chars in one.chars.values())]
        loaded = [facts for facts in sessions if any(facts.path in one.chars for one in found)]
        most = max(sum(one.chars.get(facts.path) or 0 for one in found) for facts in loaded)
        was = "was" if len(names) == 1 else "were"
        yield Advice(
            kind=advice,
            subject=", ".join(names),
            deed=_leave_out(kind, names, project),
            text=f"{plural(len(names), what)} {was} loaded in {plural(len(loaded), 'session')} and never used",
            project=project or None,
            count=len(loaded),
            tokens=most // CHARS_PER_TOKEN if priced else None,
            tokens_estimated=bool(priced),
            cost_usd=sum(costs.values()) / PICOS_PER_DOLLAR if priced else None,
            command=typed.all("stats", *(["--project", project] if project else []), "--by", group),
            places=newest(typed.place(facts, None, None) for facts in loaded),
        )


UNUSED: dict[str, tuple[AdviceKind, str, str]] = {
    SERVER: ("unused_mcp_servers", "mcp_server", "MCP server"),
    TOOL: ("unused_tools", "tool", "tool"),
    SKILL: ("unused_skills", "skill", "skill"),
}
"""The kinds of what is loaded: the kind of advice, the group of statistics that shows it, and what it is called."""


def _leave_out(kind: str, names: Sequence[str], project: str) -> str:
    """Say how to leave out what nobody uses: in all projects, or in one."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    listed = f"{UNUSED[kind][2]}{'s' if len(names) > 1 else ''} {', '.join(names[:MOST_NAMES])}{more}"
    if kind == TOOL:
        return f"Deny the {listed} in `permissions.deny` of ~/.claude/settings.json"
    if kind == SKILL:
        own, plugins = any(":" not in name for name in names), any(":" in name for name in names)
        places = [*(["`/skills`"] if own else []), *(["`/plugin`" + " (those of plug-ins)" * own] if plugins else [])]
        return f"Turn off the {listed} in {' and '.join(places)}"
    is_own = not any(name.startswith(("plugin:", "plugin_", "claude.ai ", "claude_ai_")) for name in names)
    if is_own and not project:
        return f"Remove the {listed} with `claude mcp remove {names[0] if len(names) == 1 else 'NAME'}`"
    return f"Turn off the {listed} in `/mcp`"
