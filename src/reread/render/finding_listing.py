"""The findings of `reread check` and `reread secrets`, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reread.base.sanitize import safe_line
from reread.base.text import plural, truncate
from reread.render.listings import PLAIN, QUIET, STRONG, Span
from reread.reports.check_report import CheckReport

if TYPE_CHECKING:
    from reread.reports.secrets_report import Secret, SecretsReport

MAX_CONTEXT = 110


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


def secret_lines(report: SecretsReport) -> Iterator[list[Span]]:
    """Yield the secrets, file by file, in the format of compiler messages, and the totals."""
    from reread.redaction.spans import CERTAIN, LEVELS  # loaded late: `check` looks for no secrets

    for file in report.files:
        by_value: dict[tuple[int, str], list[Secret]] = {}
        for secret in sorted(file.secrets, key=lambda secret: (LEVELS.index(secret.level), secret.line)):
            by_value.setdefault((LEVELS.index(secret.level), secret.id), []).append(secret)
        for first, *others in by_value.values():
            more = f" and {plural(len(others), 'more place')}" if others else ""
            yield [
                (PLAIN, safe_line(f"{file.path}:{first.line}: ")),
                (STRONG if first.level == CERTAIN else PLAIN, f"{first.level}: {first.kind}"),
                (PLAIN, safe_line(f" {first.mask}{more}")),
            ]
            if first.context:
                yield [(QUIET, safe_line(f"    {truncate(first.context, MAX_CONTEXT)}"))]
    counts = ", ".join(f"{count:,} {sort}" for sort, count in report.totals.items())
    yield [(PLAIN, f"{plural(report.scanned, 'file')}: {counts}")]
