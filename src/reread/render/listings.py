"""Lists of sessions, findings and unknown fields as lines of plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reread.base.format import date_text, size_text
from reread.base.text import pad, plural, truncate
from reread.catalog.summaries import Header
from reread.render.format import model_text
from reread.render.sanitize import safe
from reread.reports.check_report import CheckReport

ID, TITLE = 8, 60
"""Widths of columns."""


def header_lines(headers: Sequence[Header]) -> Iterator[str]:
    """Sessions grouped by project, in the order in which they are given."""
    by_project: dict[str, list[Header]] = {}
    for header in headers:
        by_project.setdefault(header.project, []).append(header)
    for project, group in by_project.items():
        guess = " (guessed from the folder name)" if group[0].project_guessed else ""
        yield safe(f"{project}{guess}")
        for header in group:
            id = truncate(safe(header.id), ID, ellipsis="")
            when = date_text(header.updated)
            title = truncate(safe(" ".join(header.title.split())), TITLE)
            facts = (header.git_branch, model_text(header.model), "captured" * header.captured)
            known = safe("  ".join(fact for fact in facts if fact))
            size = size_text(header.size)
            yield f"  {pad(id, ID)}  {when:16}  {size:>8}  {pad(title, TITLE)}  {known}".rstrip()


def report_lines(report: CheckReport, *, verbose: bool = False) -> Iterator[str]:
    """Findings in the format of compiler messages, and their totals."""
    for file in report.files:
        for finding in file.findings:
            if verbose or finding.level != "info":
                yield safe(f"{file.path}:{finding.line}: {finding.level}: {finding.text} [{finding.code}]")
    totals = report.totals
    found = ((totals.errors, "error"), (totals.warnings, "warning"), (totals.infos, "note"))
    counts = ", ".join(plural(count, noun) for count, noun in found)
    hint = " (-v shows the notes)" if totals.infos and not verbose else ""
    read = ", ".join(plural(n, noun) for n, noun in ((totals.files, "file"), (totals.records, "record")))
    yield f"{read}: {counts}{hint}"


def drift_lines(report: CheckReport) -> Iterator[str]:
    """Unknown record types and fields, the most frequent first."""
    totals = report.totals
    unknown = {**totals.unknown_types, **totals.unknown_fields}
    for name, count in sorted(unknown.items(), key=lambda item: (-item[1], item[0])):
        yield safe(f"{count:8,}  {name}")
    if not unknown:
        yield f"No unknown types or fields in {plural(totals.records, 'record')} of {plural(totals.files, 'file')}."
