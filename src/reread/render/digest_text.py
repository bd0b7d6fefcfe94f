"""A digest as Markdown and as an HTML page that mail programs show."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from reread.base.format import money_text, period_text
from reread.base.paths import path_name
from reread.base.sanitize import safe_line
from reread.base.text import plural
from reread.render.markdown_text import inline
from reread.render.report_table import unread_note
from reread.reports.digest_report import Digest, DigestProject, DigestSession, DigestTest

MOST = 12
"""Files and prompts of a session that are named; of more, the number is said."""
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


def digest_markdown(made: Digest) -> str:
    """Return a digest as Markdown."""
    marks = {"title": "# ", "project": "## ", "session": "### ", "facts": "", "head": "", "item": "- "}
    lines = list(_lines(made))
    ends = ["\n" if kind == "item" and after == "item" else "\n\n" for (kind, _), (after, _) in pairwise(lines)]
    texts = (f"{marks[kind]}{inline(text)}" for kind, text in lines)
    return "".join(map("".join, zip(texts, [*ends, "\n"], strict=True)))


def digest_html(made: Digest) -> str:
    """Return a digest as one HTML page without scripts."""
    tags = {"title": "h1", "project": "h2", "session": "h3", "facts": 'p class="quiet"', "head": "p", "item": "li"}
    out: list[str] = []
    inside = False
    for kind, text in _lines(made):
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


def _lines(made: Digest) -> Iterator[Line]:
    yield "title", _title(made)
    sessions = sum(len(project.sessions) for project in made.projects)
    if not sessions:
        yield "facts", "No session did anything."
        return
    commits = sum(len(project.commits) for project in made.projects)
    files = sum(len(project.files) for project in made.projects)
    facts = (plural(sessions, "session"), plural(len(made.projects), "project"), plural(files, "file"))
    yield "facts", " · ".join((*facts, plural(commits, "commit"), money_text(made.cost_usd) or UNKNOWN))
    for project in made.projects:
        yield from _project_lines(project)
    if made.unread:
        yield "facts", unread_note(made.unread)


def _project_lines(project: DigestProject) -> Iterator[Line]:
    cost = money_text(project.cost_usd) or UNKNOWN
    yield "project", f"{safe_line(path_name(project.project) or project.project)}: {cost}"
    yield "facts", safe_line(project.project)
    for session in project.sessions:
        yield from _session_lines(session)


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
        f"{plural(count, 'run')} {word}" for count, word in ((test.passed, "passed"), (test.failed, "failed")) if count
    )
    last = f"; the last run {'passed' if test.last_passed else 'failed'}" if test.passed and test.failed else ""
    return f"{safe_line(test.command)}: {runs}{last}"


def _list(head: str, items: list[str]) -> Iterator[Line]:
    if items:
        yield "head", f"{head}:"
        yield from (("item", item) for item in items[:MOST])
        if len(items) > MOST:
            yield "item", f"and {len(items) - MOST} more"
