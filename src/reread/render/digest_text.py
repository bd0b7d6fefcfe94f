"""A digest as text, as Markdown and as an HTML page that mail programs show: half a page, or all that was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from reread.accounting.billing import sum_known
from reread.base.format import money_text, period_text
from reread.base.paths import path_name
from reread.base.sanitize import safe_line
from reread.base.text import cut_words, plural, wrapped
from reread.render.listings import NAME, PLAIN, QUIET, STRONG, Span
from reread.render.markdown_text import inline
from reread.render.report_table import unread_note
from reread.reports.digest_report import Digest, DigestProject, DigestSession, DigestTest

MOST = 12
"""Files and prompts of a session that are named in full; of more, the number is said."""
MOST_PROJECTS, MOST_SESSIONS, MOST_OPEN, MOST_FAILURES = 8, 18, 5, 6
"""What half a page names of each; of more, the number is said."""
LONGEST_RUN = 60
"""Characters of a prompt that runs have in common."""
UNKNOWN = "cost unknown"
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "h1{font-size:1.4em}h2{font-size:1.15em;border-bottom:1px solid #ddd}h3{font-size:1em;margin-bottom:.2em}"
    "p,ul{margin:.2em 0 .6em}.quiet{color:#666}code{font-size:.9em}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}h2{border-color:#444}.quiet{color:#999}}"
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
Line = tuple[str, str]
"""The kind of a line (title, project, session, facts, head, item), and its text."""


def digest_markdown(made: Digest, *, full: bool = False) -> str:
    """Return a digest as Markdown: half a page, or in full."""
    marks = {"title": "# ", "project": "## ", "session": "### ", "facts": "", "head": "", "item": "- "}
    lines = list(_lines(made, full))
    ends = ["\n" if kind == "item" and after == "item" else "\n\n" for (kind, _), (after, _) in pairwise(lines)]
    texts = (f"{marks[kind]}{inline(text)}" for kind, text in lines)
    return "".join(map("".join, zip(texts, [*ends, "\n"], strict=True)))


def digest_lines(made: Digest, *, full: bool = False, width: int | None = None) -> Iterator[list[Span]]:
    """Yield a digest as lines of text for a terminal: half a page, or in full."""
    before = ""
    for kind, text in _lines(made, full):
        if before and (kind, before) != ("item", "item"):
            yield []
        mark, before = "- " if kind == "item" else "", kind
        style = {"title": STRONG, "project": STRONG, "session": NAME, "facts": QUIET}.get(kind, PLAIN)
        for number, line in enumerate(wrapped(text, width - len(mark) if width is not None else None)):
            yield [(style, f"{' ' * len(mark) if number else mark}{line}")]


def digest_html(made: Digest, *, full: bool = False) -> str:
    """Return a digest as one HTML page without scripts: half a page, or in full."""
    tags = {"title": "h1", "project": "h2", "session": "h3", "facts": 'p class="quiet"', "head": "p", "item": "li"}
    out: list[str] = []
    inside = False
    for kind, text in _lines(made, full):
        if (kind == "item") != inside:
            inside = kind == "item"
            out.append("<ul>" if inside else "</ul>")
        out.append(f"<{tags[kind]}>{escape(text)}</{tags[kind].split()[0]}>")
    body = "\n".join([*out, *(["</ul>"] if inside else [])])
    return PAGE.format(title=escape(_title(made)), style=STYLE, body=body)


def _title(made: Digest) -> str:
    days = made.since.date(), made.until.date()
    whole = made.until.time() == made.since.time() == made.since.min.time()
    if whole and (days[1] - days[0]).days == 1:
        return f"Sessions of {days[0]:%A}, {days[0]}"
    return f"Sessions from {made.since:%Y-%m-%d %H:%M} to {made.until:%Y-%m-%d %H:%M}"


def _lines(made: Digest, full: bool) -> Iterator[Line]:
    yield "title", _title(made)
    done = [one for project in made.projects for one in project.sessions]
    if not done:
        yield "facts", "No session did anything."
        return
    commits = sum(len(project.commits) for project in made.projects)
    files = sum(len(project.files) for project in made.projects)
    facts = (plural(len(done), "session"), plural(len(made.projects), "project"), plural(files, "file"))
    yield "facts", " · ".join((*facts, plural(commits, "commit"), _cost(made.cost_usd)))
    if full:
        for project in made.projects:
            yield from _project_lines(project)
            for session in project.sessions:
                yield from _session_lines(session)
    else:
        yield from _outcomes(made, done)
    if made.unread:
        yield "facts", unread_note(made.unread)
    if made.redacted:
        yield "facts", "Secrets and personal details are replaced."


def _project_lines(project: DigestProject) -> Iterator[Line]:
    count = plural(len(project.sessions), "session")
    yield "project", f"{safe_line(path_name(project.project) or project.project)}: {_cost(project.cost_usd)}, {count}"
    yield "facts", safe_line(project.project)


def _outcomes(made: Digest, done: Sequence[DigestSession]) -> Iterator[Line]:
    """Yield half a page: the dearest sessions by project with what came of them, what failed, and what is open."""
    typed = sorted((one for one in done if not one.automated), key=lambda one: -(one.cost_usd or 0.0))
    shown = {one.session for one in typed[:MOST_SESSIONS]}
    named = [one for one in made.projects if any(session.session in shown for session in one.sessions)][:MOST_PROJECTS]
    for project in named:
        yield next(_project_lines(project))
        told = [one for one in project.sessions if one.session in shown]
        yield from (("item", _outcome(one)) for one in told)
        if more := [one for one in project.sessions if one.session not in shown and not one.automated]:
            yield "item", f"and {len(more)} more, {_costs(more)}"
    if others := [one for project in made.projects if project not in named for one in project.sessions]:
        count = plural(len(made.projects) - len(named), "project")
        yield "facts", f"In {count} more: {plural(len(others), 'session')}, {_costs(others)}."
    if automated := [one for one in done if one.automated]:
        yield "facts", _automated(automated)
    if failed := sum(one.failed_calls for one in done):
        counted: Counter[str] = Counter()
        for one in done:
            counted.update({failure.name: failure.times for failure in one.failures})
        most = ", ".join(f"{name} {times}" for name, times in counted.most_common(MOST_FAILURES))
        more_names = f" and {len(counted) - MOST_FAILURES} more" if len(counted) > MOST_FAILURES else ""
        total = sum(one.calls for one in done)
        yield "facts", safe_line(f"Failed: {failed} of {plural(total, 'call')}: {most}{more_names}.")
    if left := [one for one in typed if one.open_failure]:
        yield "head", "Open, as the last command failed:"
        yield from (("item", _left(one)) for one in left[:MOST_OPEN])
        if len(left) > MOST_OPEN:
            yield "item", f"and {len(left) - MOST_OPEN} more: reread ls --failed"


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
    yield "session", safe_line(one.title or one.session)
    calls = f"{plural(one.calls, 'call')}{f', {one.failed_calls} failed' if one.failed_calls else ''}"
    cost = money_text(one.cost_usd) if one.cost_usd is not None else ""
    facts = (period_text(one.started, one.ended), safe_line(one.git_branch or ""), calls, cost, one.session[:8])
    yield "facts", safe_line(" · ".join(fact for fact in facts if fact))
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
        yield "head", f"{head}:"
        yield from (("item", item) for item in items[:MOST])
        if len(items) > MOST:
            yield "item", f"and {len(items) - MOST} more"
