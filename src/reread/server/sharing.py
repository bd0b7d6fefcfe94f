"""Reviews before sessions are shared: what was found and decided, the preview, the document."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reread.base.coerce import as_dict
from reread.errors import Misuse, NotFound
from reread.reader.redacted_export import Redaction
from reread.reader.share_schema import ShareFinding, ShareReview
from reread.session.session import open  # noqa: A004

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}
SUFFIXES = {"markdown": "md"}
PREVIEW = ".shared-"


class ShareReviews:
    """The review of each session, as long as the server runs."""

    def __init__(self, find: Callable[[str], Path]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._redactions: dict[str, Redaction] = {}
        self._previews: dict[str, Path] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def find(self, key: str) -> Path:
        """Return the file of a session or of a preview."""
        if PREVIEW in key:
            path = self._previews.get(key)
            if path is None:
                raise NotFound("This preview is gone; open it again from the session's Share pane.")
            return path
        return self._find(key)

    def review(self, key: str, *, preview: str | None = None) -> ShareReview:
        """Return what was found in a session and what was decided."""
        redaction = self._redaction(key)
        findings = [ShareFinding.of(finding) for finding in redaction.findings]
        return ShareReview(findings=findings, undecided=len(redaction.undecided), preview=preview)

    def change(self, key: str, body: Any) -> ShareReview:
        """Apply a decision, replace a text, or make a preview; return the review as it is then."""
        request = as_dict(body)
        action = request.get("action")
        redaction = self._redaction(key)
        with self._lock:
            if action == "decide":
                everywhere = request.get("everywhere") is True
                redaction.decide(str(request.get("id")), str(request.get("decision")), everywhere=everywhere)
            elif action == "text":
                redaction.replace_text(str(request.get("text") or ""))
            elif action == "preview":
                return self.review(key, preview=self._preview(key, redaction))
            else:
                raise Misuse(f"Unknown action {action!r}; use 'decide', 'text' or 'preview'.")
        return self.review(key)

    def document(self, key: str, form: str, **selection: Any) -> tuple[bytes, str, str]:
        """Return the finished document, its media type and a name for it."""
        if form not in MEDIA_TYPES:
            raise Misuse(f"Unknown format {form!r}; use {', '.join(MEDIA_TYPES)}.")
        with self._lock:
            document = self._redaction(key).export(form, **selection)
        return document, MEDIA_TYPES[form], f"{key}-shared.{SUFFIXES.get(form, form)}"

    def _redaction(self, key: str) -> Redaction:
        if key not in self._redactions:
            self._redactions[key] = Redaction(open(self._find(key)))
        return self._redactions[key]

    def _preview(self, key: str, redaction: Redaction) -> str:
        """Write the session as others will see it, for the reader to open it; return its key."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="reread-")
        name = f"{key}{PREVIEW}{len(self._previews) + 1}"
        copy = redaction.copy_to(Path(self._folder.name) / name)
        if copy.path is not None:
            self._previews[name] = copy.path
        return name
