"""The findings of `reread secrets`, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from reread.base.sanitize import safe_line
from reread.base.text import plural, truncate
from reread.redaction.spans import CERTAIN, LEVELS
from reread.render.listings import PLAIN, QUIET, STRONG, Span
from reread.reports.secrets_report import Secret, SecretsReport

MAX_CONTEXT = 110


def secret_lines(report: SecretsReport) -> Iterator[list[Span]]:
    """Yield the secrets, file by file, in the format of compiler messages, and the totals."""
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
