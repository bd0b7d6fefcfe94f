"""A review as Markdown for a pull request, as an HTML page without scripts, and as lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reread.attribution.review_values import (
    EVIDENCE,
    Review,
    ReviewCommit,
    ReviewFile,
    ReviewPart,
    ReviewTurn,
)
from reread.base.format import date_text, money_text
from reread.base.sanitize import safe, safe_line
from reread.base.text import one_line, plural, short_session
from reread.git.notes import CommitNote
from reread.render.digest_text import UNKNOWN, test_text
from reread.render.document_text import (
    FACTS,
    HEAD,
    ITEM,
    QUOTE,
    SUBHEAD,
    TITLE,
    Line,
    document_html,
    document_markdown,
)
from reread.render.listings import NAME, PLAIN, QUIET, STRONG, Span

SHA, PROMPT = 7, 120
"""How much of a commit's name and, beside a commit, of a prompt is shown."""
MOST_RANGES = 20
QUOTED = "blockquote{border-left:3px solid #bbb;margin:.3em 0;padding-left:.8em;overflow-wrap:anywhere}"
BY_HAND = "by hand or unknown"


def review_markdown(review: Review) -> str:
    """Return a review as Markdown."""
    return document_markdown(_lines(review))


def review_html(review: Review) -> str:
    """Return a review as one HTML page without scripts."""
    return document_html(_title(review), _lines(review), style=QUOTED)


def review_lines(review: Review) -> Iterator[list[Span]]:
    """Yield a review as lines for the terminal."""
    styles = {TITLE: STRONG, HEAD: STRONG, SUBHEAD: NAME, FACTS: QUIET, ITEM: PLAIN, QUOTE: PLAIN}
    marks = {ITEM: "  ", QUOTE: "  │ ", FACTS: "  "}
    before = ""
    for kind, text in _lines(review):
        if kind in (HEAD, SUBHEAD) and before:
            yield []
        yield [(styles[kind], f"{marks.get(kind, '')}{text}")]
        before = kind


def note_lines(notes: Mapping[str, CommitNote]) -> Iterator[list[Span]]:
    """Yield the notes about commits as lines for the terminal."""
    for sha, note in notes.items():
        yield [(NAME, sha[:SHA])]
        for one in note.lines:
            lines = f"{one.first}" if one.first == one.last else f"{one.first}–{one.last}"
            guess = " (a guess)" if one.guess else ""
            prompt = f": {one_line(one.prompt, PROMPT)}" if one.prompt else ""
            text = f"  {one.path} {lines}  {_turn_name(one.session, one.turn)}{guess}{prompt}"
            yield [(PLAIN, safe_line(text))]


def _title(review: Review) -> str:
    which = review.branch or (f"{review.first[:SHA]}..{review.last[:SHA]}" if review.first else review.last[:SHA])
    return safe_line(f"Prompts behind {which} in {review.repository}")


def _lines(review: Review) -> Iterator[Line]:
    yield TITLE, _title(review)
    facts = [plural(len(review.commits), "commit"), f"{plural(review.lines, 'added line')}: {_counts(review)}"]
    facts += [plural(sum(bool(turn.commits) for turn in review.turns), "turn"), money_text(review.cost_usd) or UNKNOWN]
    yield FACTS, " · ".join(facts)
    prompts = {(turn.session, turn.turn): turn for turn in review.turns}
    if review.commits:
        yield HEAD, "Commits"
    for commit in review.commits:
        yield from _commit_lines(commit, prompts)
    if review.turns:
        yield HEAD, "Prompts, in order"
    for turn in review.turns:
        yield from _turn_lines(turn)


def _counts(one: Review | ReviewCommit) -> str:
    guessed = f" ({one.guessed:,} guessed)" if one.guessed else ""
    return f"{one.by_sessions:,} by sessions{guessed}, {one.unexplained:,} {BY_HAND}"


def _commit_lines(commit: ReviewCommit, turns: dict[tuple[str, int | None], ReviewTurn]) -> Iterator[Line]:
    yield SUBHEAD, safe_line(f"{commit.sha[:SHA]} {commit.subject}")
    if commit.merge:
        yield FACTS, "A merge: its lines are those of the commits that it joins."
    else:
        yield FACTS, f"{plural(commit.lines, 'added line')}: {_counts(commit)}" if commit.lines else "No added lines."
    for part in commit.turns:
        turn = turns.get((part.session, part.turn))
        prompt = one_line(turn.prompt, PROMPT) if turn is not None and turn.prompt else ""
        yield ITEM, safe_line(": ".join(text for text in (_part_text(part), prompt) if text))
    left = [text for file in commit.files if (text := _left_text(file))]
    if left and commit.turns:
        yield ITEM, safe_line(f"{BY_HAND.capitalize()}: {'; '.join(left[:MOST_RANGES])}{_more(len(left))}")


def _more(count: int) -> str:
    return f"; and {count - MOST_RANGES} more files" if count > MOST_RANGES else ""


def _part_text(part: ReviewPart) -> str:
    guess = "a guess: " if part.guess else ""
    guessed = f", {part.guessed} of them guessed" if part.guessed and not part.guess else ""
    lines = f"{plural(part.lines, 'line')}{guessed}; " if part.lines else ""
    return f"{_turn_name(part.session, part.turn)} ({lines}{guess}{', '.join(EVIDENCE[one] for one in part.evidence)})"


def _turn_name(session: str, turn: int | None) -> str:
    return f"{short_session(session)}{f' turn {turn}' if turn is not None else ''}"


def _left_text(file: ReviewFile) -> str:
    left = [lines for lines in file.lines if lines.session is None]
    ranges = [f"{one.first}" if one.first == one.last else f"{one.first}–{one.last}" for one in left]
    more = f" and {len(ranges) - MOST_RANGES} more" if len(ranges) > MOST_RANGES else ""
    return f"{file.path} {', '.join(ranges[:MOST_RANGES])}{more}" if left else ""


def _turn_lines(turn: ReviewTurn) -> Iterator[Line]:
    cost = money_text(turn.cost_usd) if turn.cost_usd is not None else ""
    started = date_text(turn.started) if turn.started is not None else ""
    name = _turn_name(turn.session, turn.turn)
    yield SUBHEAD, safe_line(" · ".join(text for text in (name, started, cost) if text))
    if turn.prompt is None or turn.noted:
        yield FACTS, f"The session is not on this machine{'; a git note has its prompt:' if turn.noted else '.'}"
    if turn.prompt is not None:
        yield from ((QUOTE, safe(line)) for line in turn.prompt.strip().split("\n"))
    yield from ((ITEM, safe_line(text)) for text in _turn_facts(turn))


def _turn_facts(turn: ReviewTurn) -> Iterable[str]:
    if turn.commits:
        yield f"In {', '.join(sha[:SHA] for sha in turn.commits[:MOST_RANGES])}: {plural(turn.lines, 'line')}"
    else:
        yield "No line of it is in these commits."
    if turn.written > turn.lines:
        left = turn.written - turn.lines
        are = "is" if left == 1 else "are"
        yield f"Wrote {plural(turn.written, 'line')}, {left:,} of which {are} in none of these commits"
    if turn.deleted:
        yield f"Deleted {', '.join(turn.deleted[:MOST_RANGES])}"
    yield from (f"Put files back: {command}" for command in turn.undoing)
    yield from (f"Rewound: {one_line(prompt, PROMPT)}" for prompt in turn.dropped)
    if turn.denied:
        yield f"Refused {plural(turn.denied, 'call')}"
    yield from (f"Tests: {test_text(test)}" for test in turn.tests)
