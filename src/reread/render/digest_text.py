"""A digest as text, as Markdown and as an HTML page that mail programs show: half a page, or all that was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reread.accounting.billing import sum_known
from reread.base.format import money_text, period_text
from reread.base.paths import path_name
from reread.base.sanitize import safe_line
from reread.base.text import cut_words, plural, wrapped
from reread.render.document_text import (
    FACTS,
    HEAD,
    ITEM,
    PARAGRAPH,
    SUBHEAD,
    TITLE,
    Line,
    document_html,
    document_markdown,
)
from reread.render.listings import NAME, PLAIN, QUIET, STRONG, Span
from reread.render.report_table import unread_note
from reread.reports.digest_report import Digest, DigestProject, DigestSession, DigestTest

MOST = 12
"""Files and prompts of a session that are named in full; of more, the number is said."""
MOST_PROJECTS, MOST_SESSIONS, MOST_OPEN, MOST_FAILURES = 8, 18, 5, 6
"""What half a page names of each; of more, the number is said."""
LONGEST_RUN = 60
"""Characters of a prompt that runs have in common."""
UNKNOWN = "cost unknown"


def digest_markdown(made: Digest, *, full: bool = False) -> str:
    """Return a digest as Markdown: half a page, or in full."""
    return document_markdown(_lines(made, full))


def digest_lines(made: Digest, *, full: bool = False, width: int | None = None) -> Iterator[list[Span]]:
    """Yield a digest as lines of text for a terminal: half a page, or in full."""
    before = ""
    for kind, text in _lines(made, full):
        if before and (kind, before) != (ITEM, ITEM):
            yield []
        mark, before = "- " if kind == ITEM else "", kind
        style = {TITLE: STRONG, HEAD: STRONG, SUBHEAD: NAME, FACTS: QUIET}.get(kind, PLAIN)
        for number, line in enumerate(wrapped(text, width - len(mark) if width is not None else None)):
            yield [(style, f"{' ' * len(mark) if number else mark}{line}")]


def digest_html(made: Digest, *, full: bool = False) -> str:
    """Return a digest as one HTML page without scripts: half a page, or in full."""
    return document_html(_title(made), _lines(made, full))


def _title(made: Digest) -> str:
    days = made.since.date(), made.until.date()
    whole = made.until.time() == made.since.time() == made.since.min.time()
    if whole and (days[1] - days[0]).days == 1:
        return f"Sessions of {days[0]:%A}, {days[0]}"
    return f"Sessions from {made.since:%Y-%m-%d %H:%M} to {made.until:%Y-%m-%d %H:%M}"


def _lines(made: Digest, full: bool) -> Iterator[Line]:
    yield TITLE, _title(made)
    done = [one for project in made.projects for one in project.sessions]
    if not done:
        yield FACTS, "No session did anything."
        return
    commits = sum(len(project.commits) for project in made.projects)
    files = sum(len(project.files) for project in made.projects)
    facts = (plural(len(done), "session"), plural(len(made.projects), "project"), plural(files, "file"))
    yield FACTS, " · ".join((*facts, plural(commits, "commit"), _cost(made.cost_usd)))
    if full:
        for project in made.projects:
            yield from _project_lines(project)
            for session in project.sessions:
                yield from _session_lines(session)
    else:
        yield from _outcomes(made, done)
    if made.unread:
        yield FACTS, unread_note(made.unread)
    if made.redacted:
        yield FACTS, "Secrets and personal details are replaced."


def _project_lines(project: DigestProject) -> Iterator[Line]:
    count = plural(len(project.sessions), "session")
    yield HEAD, f"{safe_line(path_name(project.project) or project.project)}: {_cost(project.cost_usd)}, {count}"
    yield FACTS, safe_line(project.project)


def _outcomes(made: Digest, done: Sequence[DigestSession]) -> Iterator[Line]:
    """Yield half a page: the dearest sessions by project with what came of them, what failed, and what is open."""
    typed = sorted((one for one in done if not one.automated), key=lambda one: -(one.cost_usd or 0.0))
    shown = {one.session for one in typed[:MOST_SESSIONS]}
    named = [one for one in made.projects if any(session.session in shown for session in one.sessions)][:MOST_PROJECTS]
    for project in named:
        yield next(_project_lines(project))
        told = [one for one in project.sessions if one.session in shown]
        yield from ((ITEM, _outcome(one)) for one in told)
        if more := [one for one in project.sessions if one.session not in shown and not one.automated]:
            yield ITEM, f"and {len(more)} more, {_costs(more)}"
    if others := [one for project in made.projects if project not in named for one in project.sessions]:
        count = plural(len(made.projects) - len(named), "project")
        yield FACTS, f"In {count} more: {plural(len(others), 'session')}, {_costs(others)}."
    if automated := [one for one in done if one.automated]:
        yield FACTS, _automated(automated)
    if failed := sum(one.failed_calls for one in done):
        counted: Counter[str] = Counter()
        for one in done:
            counted.update({failure.name: failure.times for failure in one.failures})
        most = ", ".join(f"{name} {times}" for name, times in counted.most_common(MOST_FAILURES))
        more_names = f" and {len(counted) - MOST_FAILURES} more" if len(counted) > MOST_FAILURES else ""
        total = sum(one.calls for one in done)
        yield FACTS, safe_line(f"Failed: {failed} of {plural(total, 'call')}: {most}{more_names}.")
    if left := [one for one in typed if one.open_failure]:
        yield PARAGRAPH, "Open, as the last command failed:"
        yield from ((ITEM, _left(one)) for one in left[:MOST_OPEN])
        if len(left) > MOST_OPEN:
            yield ITEM, f"and {len(left) - MOST_OPEN} more: reread ls --failed"


def _outcome(one: DigestSession) -> str:
    """Return what came of a session in one line: what it committed and changed, and whether its tests passed."""
    commits = [commit.subject or commit.sha[:7] for commit in one.commits]
    facts = [
        f"committed “{commits[0]}”{f' and {len(commits) - 1} more' if commits[1:] else ''}" if commits else "",
        ", ".join(dict.fromkeys(f"#{pull.number} {pull.action or ''}".strip() for pull in one.pull_requests)),
    ]
    if one.files:
        lines = f"+{sum(file.added for file in one.files)} −{sum(file.removed for file in one.files)}"
        facts.append(f"{plural(len(one.files), 'file')} {lines}")
    if one.tests:
        facts.append(f"tests {_ended(one.tests[-1].last_passed)}")
    facts += [_cost(one.cost_usd) if one.cost_usd is not None else "", one.session[:8]]
    return safe_line(" · ".join(fact for fact in (one.title or "Untitled", *facts) if fact))


def _automated(runs: Sequence[DigestSession]) -> str:
    prompts = Counter(one.prompts[0] for one in runs)
    most = cut_words(prompts.most_common(1)[0][0], LONGEST_RUN)
    others = f" and {plural(len(prompts) - 1, 'other prompt')}" if len(prompts) > 1 else ""
    return safe_line(f"Automated: {plural(len(runs), 'run')} of “{most}”{others}, {_costs(runs)}.")


def _left(one: DigestSession) -> str:
    return safe_line(f"{one.title or 'Untitled'}: {one.open_failure} · {one.session[:8]}")


def _cost(amount: float | None) -> str:
    return money_text(amount) or UNKNOWN


def _costs(sessions: Sequence[DigestSession]) -> str:
    return _cost(sum_known(one.cost_usd for one in sessions))


def _session_lines(one: DigestSession) -> Iterator[Line]:
    yield SUBHEAD, safe_line(one.title or one.session)
    calls = f"{plural(one.calls, 'call')}{f', {one.failed_calls} failed' if one.failed_calls else ''}"
    cost = money_text(one.cost_usd) if one.cost_usd is not None else ""
    facts = (period_text(one.started, one.ended), safe_line(one.git_branch or ""), calls, cost, one.session[:8])
    yield FACTS, safe_line(" · ".join(fact for fact in facts if fact))
    yield from _list("Asked", list(map(safe_line, one.prompts)))
    files = [(file.path.removeprefix(f"{one.project}/"), file) for file in one.files]
    yield from _list("Changed", [f"{safe_line(name)} +{file.added} −{file.removed}" for name, file in files])
    yield from _list("Committed", [safe_line(f"{commit.sha[:7]} {commit.subject}".strip()) for commit in one.commits])
    pulls = [safe_line(f"#{pull.number} {pull.action or ''} {pull.url or ''}") for pull in one.pull_requests]
    yield from _list("Pull requests", pulls)
    yield from _list("Tests", [test_text(test) for test in one.tests])


def test_text(test: DigestTest) -> str:
    runs = ", ".join(
        f"{plural(count, 'run')} {_ended(passed)}"
        for count, passed in ((test.passed, True), (test.failed, False), (test.unknown, None))
        if count
    )
    last = f"; the last run {_ended(test.last_passed)}" if test.passed and test.failed else ""
    return f"{safe_line(test.command)}: {runs}{last}"


def _ended(passed: bool | None) -> str:
    return "with unknown outcome" if passed is None else "passed" if passed else "failed"


def _list(head: str, items: list[str]) -> Iterator[Line]:
    if items:
        yield PARAGRAPH, f"{head}:"
        yield from ((ITEM, item) for item in items[:MOST])
        if len(items) > MOST:
            yield ITEM, f"and {len(items) - MOST} more"
