"""Reviews before sessions are shared: what was found and decided, and the document."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from reread.base.coerce import as_dict, as_list
from reread.errors import Misuse
from reread.reader.library_schema import ShareChoices, ShareFinding, ShareReview
from reread.reader.redacted_export import Redaction
from reread.redaction.findings import SensitiveText
from reread.render.selection import Selection, parse_turns
from reread.session.session import open  # noqa: A004

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}
SUFFIXES = {"markdown": "md"}


class SharedSession:
    """One session that is to be shared: what is chosen of it, and what was decided."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts: list[str] = []
        self.choices: ShareChoices = ShareChoices()
        self.redaction: Redaction = Redaction(open(path))

    @property
    def selection(self) -> dict[str, Any]:
        """The selection, as an export takes it."""
        turns = {"turns": parse_turns(self.choices.turns)} if self.choices.turns.strip() else {}
        return {"thinking": self.choices.thinking, "images": self.choices.images, **turns}

    def findings(self) -> list[SensitiveText]:
        """Return the findings in what is chosen."""
        whole = self.choices.thinking and not self.choices.turns
        return self.redaction.findings if whole else self.redaction.included("html", **self.selection)

    def replace_text(self, text: str) -> None:
        """Have a text replaced."""
        self.redaction.replace_text(text)
        self._texts.append(text)

    def choose(self, choices: Any) -> None:
        """Choose what is shared; decisions stay."""
        try:
            chosen = msgspec.convert(choices, ShareChoices)
        except msgspec.ValidationError as error:
            raise Misuse(f"Invalid choices: {error}.") from None
        if chosen.turns.strip():
            Selection(turns=parse_turns(chosen.turns)).turn_numbers(len(self.redaction.session.turns))
        before, self.choices = self.choices, chosen
        if (before.agents, before.images) != (chosen.agents, chosen.images):
            decided = {finding.id: finding.decision for finding in self.redaction.findings if finding.decision}
            self.redaction = Redaction(open(self._path), agents=chosen.agents, images=chosen.images)
            for text in self._texts:
                self.redaction.replace_text(text)
            self.redaction.decide_all(decided)


class ShareReviews:
    """The review of each session, as long as the server runs."""

    def __init__(self, find: Callable[[str], Path]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._sessions: dict[str, SharedSession] = {}

    def review(self, key: str) -> ShareReview:
        """Return what was found in what is chosen of a session, and what was decided."""
        shared = self._shared(key)
        with self._lock:  # what was decided since the copy was made would not be found in it
            findings = shared.findings()
        undecided = sum(finding.decision is None for finding in findings)
        found = [ShareFinding.of(finding) for finding in findings]
        return ShareReview(findings=found, undecided=undecided, choices=shared.choices)

    def change(self, key: str, body: Any) -> ShareReview:
        """Apply a decision or a choice, or replace a text; return the review as it is then."""
        request = as_dict(body)
        action = request.get("action")
        shared = self._shared(key)
        with self._lock:
            if action == "decide":
                everywhere = request.get("everywhere") is True
                ids = [str(id) for id in as_list(request.get("ids"))]
                shared.redaction.decide(ids, str(request.get("decision")), everywhere=everywhere)
            elif action == "text":
                shared.replace_text(str(request.get("text") or ""))
            elif action == "choose":
                shared.choose(request.get("choices"))
            else:
                raise Misuse(f"Unknown action {action!r}; use 'decide', 'text' or 'choose'.")
        return self.review(key)

    def document(self, key: str, form: str) -> tuple[bytes, str, str]:
        """Return the finished document, its media type and a name for it."""
        if form not in MEDIA_TYPES:
            raise Misuse(f"Unknown format {form!r}; use {', '.join(MEDIA_TYPES)}.")
        shared = self._shared(key)
        with self._lock:
            document = shared.redaction.export(form, **shared.selection)
        return document, MEDIA_TYPES[form], f"{key}-shared.{SUFFIXES.get(form, form)}"

    def preview(self, key: str) -> bytes:
        """Return the page as others would see it now; what is undecided is hidden in it."""
        shared = self._shared(key)
        with self._lock:
            return shared.redaction.preview(**shared.selection)

    def _shared(self, key: str) -> SharedSession:
        with self._lock:  # a page asks for the review and the preview at once: one that came later would lose decisions
            if key not in self._sessions:
                self._sessions[key] = SharedSession(self._find(key))
            return self._sessions[key]
