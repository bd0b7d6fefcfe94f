"""The findings of `reread check`, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from reread.base.sanitize import safe_line
from reread.base.text import plural
from reread.reports.check_report import CheckReport


def check_lines(report: CheckReport, *, verbose: bool = False) -> Iterator[str]:
    """Findings in the format of compiler messages, and their totals."""
    for file in report.files:
        for finding in file.findings:
            if verbose or finding.level != "info":
                yield safe_line(f"{file.path}:{finding.line}: {finding.level}: {finding.text} [{finding.code}]")
    totals = report.totals
    found = ((totals.errors, "error"), (totals.warnings, "warning"), (totals.infos, "note"))
    counts = ", ".join(plural(count, noun) for count, noun in found)
    hint = " (-v shows the notes)" if totals.infos and not verbose else ""
    read = ", ".join(plural(n, noun) for n, noun in ((totals.files, "file"), (totals.records, "record")))
    yield f"{read}: {counts}{hint}"


def drift_lines(report: CheckReport) -> Iterator[str]:
    """Unknown types, tools and fields, and values of other types, the most frequent first."""
    totals = report.totals
    unknown = {**totals.unknown_types, **totals.unknown_fields, **totals.changed_types}
    for name, count in sorted(unknown.items(), key=lambda item: (-item[1], item[0])):
        yield safe_line(f"{count:8,}  {name}")
    if not unknown:
        read = f"{plural(totals.records, 'record')} of {plural(totals.files, 'file')}"
        yield f"No unknown types, tools or fields in {read}."
