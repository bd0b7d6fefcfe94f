"""A review: commits, the turns that wrote their lines, and what is known of each."""

from __future__ import annotations

from datetime import datetime

from reread.base.structs import FrozenStruct
from reread.reports.digest_report import DigestTest

RECORDED, REWRITTEN, LINES, NOTE, TRAILER, TIME = "recorded", "rewritten", "lines", "note", "trailer", "time"
EVIDENCE = {
    RECORDED: "the session made the commit",
    REWRITTEN: "the session made a commit with this subject at this time",
    LINES: "the turn wrote its lines",
    NOTE: "a git note says so",
    TRAILER: "the commit's Claude-Session trailer names the session",
    TIME: "the session worked here at that time",
}
"""The evidence that links a turn to a commit, in the order of its weight."""
GUESSED_EVIDENCE = (REWRITTEN, TIME)


class ReviewLines(FrozenStruct):
    """Added lines of a file that one turn wrote, or no session."""

    first: int
    last: int
    session: str | None = None
    """None if no session explains them: they are by hand, or by a program that no session ran."""
    turn: int | None = None
    evidence: str | None = None
    """`blame`, `note`, or the guesses `ambiguous`, `moved`, `reformatted`, `command` and `trailer`."""
    guess: bool = False

    @property
    def count(self) -> int:
        """How many lines there are."""
        return self.last - self.first + 1


class ReviewFile(FrozenStruct):
    """A file to which a commit adds lines."""

    path: str
    old_path: str | None = None
    """Its path before, if it was renamed."""
    lines: list[ReviewLines]


class ReviewPart(FrozenStruct):
    """The part of a turn in a commit."""

    session: str
    turn: int | None
    lines: int
    """Added lines that it wrote, the guessed ones included."""
    guessed: int
    evidence: list[str]
    guess: bool
    """True if only guesses link the turn to the commit."""


class ReviewCommit(FrozenStruct):
    """A commit and the turns that made it."""

    sha: str
    subject: str
    time: datetime
    merge: bool
    lines: int
    """Lines that it adds; 0 for a merge, whose lines are those of its parents."""
    by_sessions: int
    """Lines that sessions explain, the guessed ones included."""
    guessed: int
    turns: list[ReviewPart]
    files: list[ReviewFile]

    @property
    def unexplained(self) -> int:
        """Lines that no session explains."""
        return self.lines - self.by_sessions


class ReviewTurn(FrozenStruct):
    """A turn behind the commits."""

    session: str
    turn: int | None
    prompt: str | None = None
    """None if the session is not on this machine, and no git note has its prompt."""
    noted: bool = False
    """True if the session is not on this machine: the prompt is what a git note says."""
    started: datetime | None = None
    model: str | None = None
    cost_usd: float | None = None
    commits: list[str]
    """The commits it is part of; none for a turn between others, which left no line."""
    lines: int = 0
    """Its lines in these commits."""
    written: int = 0
    """Lines that it wrote to files of the repository; some may be in other commits, undone or changed."""
    deleted: list[str] = []
    """Files that it deleted."""
    undoing: list[str] = []
    """Commands that put files back to what git has."""
    dropped: list[str] = []
    """Prompts after it that were rewound."""
    denied: int = 0
    """Calls that a person refused."""
    tests: list[DigestTest] = []


class Review(FrozenStruct):
    """Commits with the turns that wrote their lines."""

    repository: str
    """The name of its folder."""
    first: str | None
    """The commit before the first."""
    last: str
    branch: str | None
    commits: list[ReviewCommit]
    """The oldest first."""
    turns: list[ReviewTurn]
    """In the order of time; each once."""
    lines: int
    by_sessions: int
    guessed: int
    cost_usd: float | None
    """Of all turns, each counted once; None if it is not known of any."""
    redacted: bool = False
    unread: list[str] = []
    """Sessions that could not be read."""

    @property
    def unexplained(self) -> int:
        """Lines that no session explains."""
        return self.lines - self.by_sessions
