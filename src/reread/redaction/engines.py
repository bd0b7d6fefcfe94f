"""Other scanners, which are asked too if they are installed."""

from __future__ import annotations

from collections.abc import Sequence

from reread.redaction.kingfisher import find_kingfisher, kingfisher_secrets
from reread.redaction.redactor import Engine


def installed_engines() -> Sequence[Engine]:
    """Return the other scanners of this machine."""
    return [kingfisher_secrets] if find_kingfisher() is not None else []
