"""From commits to the turns that wrote their lines, on a repository whose every line is known."""

import hashlib
import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from batches import table
from click.testing import CliRunner, Result
from command import offered
from committing import Rig, work
from effort import SAMPLE, one_in, sampled
from exported import check_agent_trace
from making import user, write

import reread
from reread import cli
from reread.attribution.commit_lines import LineSource
from reread.attribution.commit_lines import _closing as closing_lines  # pyright: ignore[reportPrivateUsage]
from reread.attribution.commit_lines import _fill_gaps as fill_gaps  # pyright: ignore[reportPrivateUsage]
from reread.attribution.reviewing import MOST_BETWEEN, _Reviewer  # pyright: ignore[reportPrivateUsage]
from reread.attribution.session_trail import SessionTrail, TrailCommit, TrailTurn, read_trails
from reread.base import jsontext
from reread.base.text import short_session
from reread.errors import Misuse, NotFound, Undecided
from reread.facts.scope import Scope
from reread.facts.sessions import open_sessions
from reread.facts.store import FactStore
from reread.git import command as git_command
from reread.git import notes as git_notes
from reread.git.command import git_output
from reread.git.notes import CommitNote, NotedLines, read_notes, remove_notes, write_notes
from reread.git.repository import MOST_LINES, GitCommit, Repository
from reread.git.repository import _seconds as seconds  # pyright: ignore[reportPrivateUsage]
from reread.value_types import Review

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEY_LINES = [hashlib.sha512(bytes([n])).hexdigest()[:64] for n in range(90)]
LIKELY = "db_password = Zx81-quokka-lantern"


def run(*words: object) -> Result:
    """Run `reread`; what it refuses is in the result."""
    return CliRunner().invoke(cli.reread, list(map(str, words)))


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def reviewed(rig: Rig, which: str | None = None, **options: object) -> Review:
    rig.finish()
    chosen = which if which is not None or "pr" in options else f"{rig.first}..HEAD"
    return reread.review(chosen, repository=rig.repository, root=rig.claude, redact=False, **options)  # type: ignore[arg-type]


def lines_of(review: Review, number: int = -1) -> list[tuple[int, int, str | None, int | None, str | None]]:
    found = [lines for file in review.commits[number].files for lines in file.lines]
    return [(one.first, one.last, one.session and one.session[:8], one.turn, one.evidence) for one in found]


def test_branches_are_completed(rig: Rig) -> None:
    assert offered("reread", "review", "--repo", str(rig.repository), "HEAD..ma") == ["plain,HEAD..main"]


@sampled
@pytest.mark.parametrize("seed", [7] if SAMPLE else [7, 8, 9, 12])
def test_nearly_all_lines_are_on_the_right_turn_and_no_wrong_one_is_called_certain(tmp_path: Path, seed: int) -> None:
    rig = Rig(tmp_path, seed)
    work(rig, 40 if SAMPLE else 200)
    score = rig.score(reviewed(rig))
    assert score.wrong == 0
    assert score.right / score.lines >= 0.95 and score.hand_right / score.hand >= 0.95


def test_the_lines_are_those_that_git_counts(rig: Rig) -> None:
    work(rig, 12)
    review = reviewed(rig)
    for commit in review.commits:
        counted = rig.git("show", "--numstat", "-M", "--format=", commit.sha).splitlines()
        assert commit.lines == sum(int(line.split("\t")[0]) for line in counted)
        assert commit.lines == commit.by_sessions + commit.unexplained
    assert review.lines == sum(commit.lines for commit in review.commits)


def test_two_sessions_and_a_person_in_one_commit_and_two_commits_in_one_turn(rig: Rig) -> None:
    one, two = rig.session(), rig.session()
    rig.prompt(one, "Write it")
    rig.write(one, "a.py", 0, 0, ["first = 1", "second = 2"])
    rig.prompt(two, "Add to it")
    rig.write(two, "a.py", 2, 0, ["third = 3"])
    rig.hand("a.py", 0, 0, ["# by hand"])
    rig.commit(two, "Both")
    rig.write(two, "b.py", 0, 0, ["fourth = 4"])
    rig.commit(two, "Another of the same turn")
    review = reviewed(rig)
    assert lines_of(review, 0) == [
        (1, 1, None, None, None),
        (2, 3, "00000000", 1, "blame"),
        (4, 4, "00000001", 1, "blame"),
    ]
    assert lines_of(review, 1) == [(1, 1, "00000001", 1, "blame")]
    parts = {(part.session[:8], part.turn): part.evidence for part in review.commits[0].turns}
    assert parts == {("00000000", 1): ["lines"], ("00000001", 1): ["recorded", "lines"]}
    assert [(turn.prompt, len(turn.commits), turn.lines) for turn in review.turns] == [
        ("Write it", 1, 2),
        ("Add to it", 2, 2),
    ]
    assert review.cost_usd == pytest.approx(sum(turn.cost_usd or 0 for turn in review.turns)) and review.cost_usd > 0
    assert review.cost_usd == pytest.approx(reread.usage(root=rig.claude).totals.cost_usd)
    shown = run("--root", rig.claude, "review", "HEAD^!", "--repo", rig.repository).output
    assert "Wrote 2 lines, 1 of which is in none of these commits\n" in shown


def test_guesses_say_what_they_are(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(
        session, "a.py", 0, 0, ["value_one=call(first_one, 'second')", "another_value = 17", "the_closing_line = 3"]
    )
    rig.heredoc(session, "b.py", ["from_a_command = 1"])
    rig.reformat("a.py")
    rig.commit(session, "Formatted")
    rig.rename(None, "a.py", "renamed_by_hand.py")
    rig.hand("renamed_by_hand.py", 0, 0, [f"much_that_is_new_{n} = {n}" for n in range(40)])
    rig.git("rm", "-q", "--cached", "a.py")
    rig.commit(None, "Moved")
    review = reviewed(rig)
    assert lines_of(review, 0) == [
        (1, 3, "00000000", 1, "reformatted"),
        (4, 5, "00000000", 1, "blame"),
        (1, 1, "00000000", 1, "command"),
    ]
    assert lines_of(review, 1) == [(1, 43, None, None, None), (44, 45, "00000000", 1, "moved")]
    every = [lines for commit in review.commits for file in commit.files for lines in file.lines]
    assert all(lines.guess == (lines.evidence not in (None, "blame")) for lines in every)


@pytest.mark.parametrize(("stay", "known"), [(6, True), (3, True), (2, False)])
def test_lines_that_a_formatter_broke_are_known_in_a_file_that_had_another_name(
    rig: Rig, stay: int, known: bool
) -> None:
    """Only the lines that stay tell what the file was: no commit has it under the name that the session knows."""
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "old.py", 0, 0, [*(f"value_of_{n} ={n}" for n in range(stay)), "total=call(value_of_1, 'x')"])
    rig.rename(None, "old.py", "new.py")
    rig.commit(None, "Under another name")
    rig.reformat("new.py")
    rig.hand("new.py", stay + 3, 0, ["# by hand"])
    rig.commit(None, "Format")
    assert [row[1] for row in lines_of(reviewed(rig)) if row[4] == "reformatted"] == [stay + 3] * known


@table(
    ("lines", "added", "known", "filled"),
    [
        ("some ) more", (0, 1, 2), "R-B", False),
        ("some ) more", (0, 1, 2), "R-A", True),
        ("some ) more", (0, 1, 2), "A-R", True),
        ("some ) more", (0, 1, 2), "A-A", False),
        ("some ) more", (0, 1, 2), "--R", False),
        ("some ) more", (1, 2), "-R", False),
        ("some ) ] more", (0, 1, 2, 3), "R--R", True),
        ("some ) ] more", (0, 1, 2, 3), "R--B", False),
        ("some ) more more", (0, 1, 3), "R-B", True),
        ("some )", (0, 1), "R-", True),
        ("some _", (0, 1), "R-", False),
        ("some word", (0, 1), "R-", False),
        ("some _ more", (0, 1, 2), "R-R", True),
    ],
)
def test_a_line_that_says_nothing_is_of_the_turn_around_it(
    lines: str, added: tuple[int, ...], known: str, filled: bool
) -> None:
    """Each letter is a source: R reformatted, A of the same turn, B of another; `-` is none, `_` a blank line."""
    of = {"R": LineSource("a", 1, "reformatted"), "A": LineSource("a", 1, "blame"), "B": LineSource("b", 1, "blame")}
    found = [of.get(letter) for letter in known]
    fill_gaps(added, found, [b"" if line == "_" else line.encode() for line in lines.split()])
    gap = known.index("-")
    assert found[gap] == (of["R"] if filled else None)
    assert [one for one, letter in zip(found, known, strict=True) if letter != "-"] == [
        of[x] for x in known if x != "-"
    ]


@pytest.mark.parametrize(
    ("lines", "added", "known", "last", "count"),
    [
        ("call( ) ), more", (0, 1, 2, 3), "R---", 0, 2),
        ("call( ) ), more", (0, 1, 2, 3), "R---", 1, 1),
        ("call( ) _ ),", (0, 1, 2, 3), "R---", 0, 1),
        ("call( ) ), }", (0, 1, 3), "R--", 0, 1),
        ("more call( ) ),", (1, 2, 3), "R-R", 0, 1),
        ("call( )", (0,), "R", 0, 0),
    ],
)
def test_a_formatter_closes_a_line_with_lines_of_brackets(
    lines: str, added: tuple[int, ...], known: str, last: int, count: int
) -> None:
    found = [LineSource("a", 1, "reformatted") if letter == "R" else None for letter in known]
    texts = [b"" if line == "_" else line.encode() for line in lines.split()]
    assert closing_lines(added, found, last, texts) == count


@pytest.mark.parametrize(
    ("text", "time"), [("17", 17), ("9" * 12, 1 << 35), ("", 0), ("-5", 0), ("x", 0), ("9" * 5000, 0), ("٣", 0)]
)
def test_a_commit_may_state_any_time(text: str, time: int) -> None:
    assert seconds(text) == time


def test_prompts_that_were_rewound_belong_to_the_turn_before(tmp_path: Path) -> None:
    parents = {"one": None, "two": "one", "dropped": "two", "three": "two"}
    records = [{**user(name), "uuid": name, "parentUuid": parent} for name, parent in parents.items()]
    path, gone, unread = write(tmp_path, *records), tmp_path / "none.jsonl", list[str]()
    with closing(FactStore()) as store:
        files = open_sessions(store, [path, gone], unread=unread)
        (trail,) = read_trails(store, Scope(root=tmp_path), files).values()
    assert [turn.dropped for turn in trail.turns] == [[], ["dropped"], []]
    assert [turn.prompt for turn in trail.turns] == ["one", "two", "three"] and unread == [str(gone)]


def test_turns_of_several_sessions_are_in_the_order_of_time(rig: Rig) -> None:
    one, two = rig.session(), rig.session()
    for n, session in enumerate((one, one, two)):
        rig.prompt(session, f"Write {n}")
        rig.write(session, f"{n}.py", 0, 0, [f"value_of_file_{n} = {n}"])
    rig.commit(None, "All")
    assert [(turn.session[:8], turn.turn) for turn in reviewed(rig).turns] == [
        *(("00000000", 1), ("00000000", 2), ("00000001", 1))
    ]


def test_some_of_the_turns_between_two_that_wrote_lines_are_shown(rig: Rig) -> None:
    session = rig.session()
    for number in range(1, MOST_BETWEEN + 5):
        rig.prompt(session, f"Question {number}")
        if number in (2, MOST_BETWEEN + 4):
            rig.write(session, f"{number}.py", 0, 0, [f"value_{number} = {number}"])
    rig.commit(session, "Two files")
    assert [turn.turn for turn in reviewed(rig).turns] == [*range(2, 53), 54]


def test_lines_of_a_work_tree_that_is_gone_are_certain(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, ".claude/worktrees/w1/a.py", 0, 0, ["alpha_value = 1", "beta_value = 2"])
    rig.rename(None, ".claude/worktrees/w1/a.py", "a.py")
    (rig.repository / ".claude" / "worktrees" / "w1").rmdir()
    rig.commit(None, "Merge")
    assert lines_of(reviewed(rig)) == [(1, 2, "00000000", 1, "blame")]


def test_short_lines_are_known_in_a_file_that_had_another_name(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "old.py", 0, 0, [f"name{n} = {n}" for n in range(4)])
    rig.rename(None, "old.py", "new.py")
    rig.commit(None, "Under another name")
    assert lines_of(reviewed(rig)) == [(1, 4, "00000000", 1, "moved")]


def test_a_commit_that_was_made_anew_has_the_lines_of_when_it_was_made_first(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1", "beta_value = 2"])
    rig.hand("a.py", 0, 0, ["by_hand = 0"])
    rig.commit(None, "Both")
    rig.prompt(session, "Write it anew")
    rig.write(session, "a.py", 0, 3, ["gamma_value = 3"])
    rig.tick()
    rig.git("commit", "-q", "--amend", "-m", "Both, again")
    assert lines_of(reviewed(rig)) == [(1, 1, None, None, None), (2, 3, "00000000", 1, "blame")]


def test_what_was_tried_and_undone_and_the_tests_are_there(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Try it")
    rig.write(session, "a.py", 0, 0, [f"attempt_{n} = {n}" for n in range(10)])
    rig.call(session, "Bash", {"command": "pytest -q"}, {"stdout": "1 failed"}, failed=True)
    rig.prompt(session, "No, undo that")
    rig.call(session, "Bash", {"command": "git checkout a.py"}, {"stdout": ""})
    rig.prompt(session, "Now properly")
    rig.write(session, "a.py", 0, 10, ["the_right_way = 1"])
    rig.call(session, "Bash", {"command": "pytest -q"}, {"stdout": "1 passed"})
    rig.commit(session, "Done")
    review = reviewed(rig)
    assert [(turn.turn, turn.lines, turn.written, len(turn.commits)) for turn in review.turns] == [(3, 1, 1, 1)]
    rig.prompt(session, "One more in the first file")
    rig.write(session, "b.py", 0, 0, ["attempt_0 = 0 of the other"])
    rig.commit(session, "More")
    rig.prompt(session, "A question")
    rig.prompt(session, "Last")
    rig.write(session, "b.py", 1, 0, ["the_end = 1"])
    rig.commit(session, "End")
    turns = {turn.turn: turn for turn in reviewed(rig).turns}
    assert list(turns) == [3, 4, 5, 6] and turns[5].commits == []
    assert [(test.passed, test.failed) for test in turns[3].tests] == [(1, 0)]
    shown = run("--root", rig.claude, "review", f"{rig.first}..HEAD", "--repo", rig.repository).output
    assert "Tests: pytest -q: 1 run passed\n" in shown


def test_a_rebased_commit_is_known_by_its_subject_and_time(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    rig.commit(session, "First of three")
    rig.hand("b.py", 0, 0, ["by_hand = 1"])
    rig.commit(None, "Second")
    rig.write(session, "a.py", 1, 0, ["beta_value = 2"])
    rig.commit(session, "Third")
    rig.rebase(1, "b.py")
    review = reviewed(rig)
    assert [commit.subject for commit in review.commits] == ["First of three", "Second", "Add by hand", "Third"]
    assert lines_of(review) == [(2, 2, "00000000", 1, "blame")]
    assert review.commits[-1].turns[0].evidence == ["rewritten", "lines"]


SHA = "abcdef0" + "1" * 33


@table(
    ("sha", "subject", "time", "evidence"),
    [
        (SHA, None, 0, "recorded"),
        (SHA[:7], "Other", 0, "recorded"),
        ("abcdef0222", "Add it", 99_000, "rewritten"),
        ("1" * 40, "Add it", 99_000, "rewritten"),
        ("1" * 40, "Add it", 219_000, "rewritten"),
        ("1" * 40, "Add it", 98_999, None),
        ("1" * 40, "Add it", 219_001, None),
        ("1" * 40, "Other", 100_000, None),
        ("1" * 40, None, 100_000, None),
    ],
)
def test_a_commit_that_a_session_made_is_known_by_its_sha_or_its_subject_and_time(
    sha: str, subject: str | None, time: int, evidence: str | None
) -> None:
    commits = [
        GitCommit(sha=one, parents=[], authored=100, committed=900, author="", message=message)
        for one, message in (("2" * 40, ""), (SHA, "Add it\n"))
    ]
    trail = SessionTrail("s", "/p", [], [], [TrailCommit(sha, 3, subject, None, time)], [])
    found = _Reviewer._find_recorded(SimpleNamespace(_commits=commits, _trails={"s.jsonl": trail}))  # type: ignore[arg-type]
    assert found == ({SHA: [("s.jsonl", 3, evidence)]} if evidence else {})


@table(
    ("project", "branches", "spans", "turn"),
    [
        ("/p", [], [(99_000, 99_500)], 1),
        ("/p", ["b"], [(100_999, 100_999)], 1),
        ("/p", ["other"], [(99_000, 99_500)], None),
        ("/q", [], [(99_000, 99_500)], None),
        ("/p", [], [(101_000, 102_000)], None),
        ("/p", [], [(0, 99_500)], None),
        ("/p", [], [(1, 100_000 - 600_000)], 1),
        ("/p", [], [(1, 100_000 - 600_001)], None),
        ("/p", [], [(98_000, 98_500), (99_000, 99_500), (97_000, 99_900)], 2),
    ],
)
def test_a_commit_is_of_the_latest_turn_that_was_at_work(
    project: str, branches: list[str], spans: list[tuple[int, int]], turn: int | None
) -> None:
    turns = [
        TrailTurn(number, "", start, end, 0.0, None, [], [], 0, [], b"") for number, (start, end) in enumerate(spans, 1)
    ]
    traces = SimpleNamespace(relative=lambda path: "x" if path == "/p/x" else None)
    reviewer = SimpleNamespace(_trails={"s": SessionTrail("s", project, branches, turns, [], [])}, _traces=traces)
    commit = GitCommit(sha=SHA, parents=[], authored=100, committed=900, author="", message="")
    assert _Reviewer._by_time(reviewer, commit, "b") == ([("s", turn)] if turn else [])  # type: ignore[arg-type]


def test_a_commit_without_any_line_of_a_session_is_linked_by_time_as_a_guess(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Delete it")
    rig.call(session, "Bash", {"command": "ls"}, {"stdout": ""})
    rig.hand("c.py", 0, 0, ["something_by_hand = 1"])
    rig.commit(None, "By hand while it ran")
    (part,) = reviewed(rig).commits[0].turns
    assert part.evidence == ["time"] and part.guess and part.lines == 0


def test_trailers_name_a_session_of_another_machine(rig: Rig) -> None:
    rig.hand("c.py", 0, 0, ["line"])
    other = "8c1f0000-1111-4222-8333-444455556666"
    rig.commit(
        None,
        f"Subject\n\nText.\n\nCo-Authored-By: Claude <noreply@anthropic.com>\nClaude-Session: https://claude.ai/code/{other}",
    )
    review = reviewed(rig)
    assert lines_of(review) == [(1, 1, other[:8], None, "trailer")]
    (part,) = review.commits[0].turns
    assert (part.session, part.turn, part.evidence) == (other, None, ["trailer"])
    assert review.turns[0].prompt is None
    assert short_session("session_01AbcdEfGh") == "01AbcdEf"


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("a\n\nClaude-Session: session_01AbcdEf", "session_01AbcdEf"),
        ("a\n\nclaude-session:8c1f0000-1111-4222-8333-444455556666", "8c1f0000-1111-4222-8333-444455556666"),
        ("a\n\nClaude-Session: 8c1f0000-1111-4222-8333-444455556666\n\nmore text", None),
        ("a\n\nClaude-Session: $(touch x)", None),
        ("", None),
    ],
)
def test_a_trailer_is_in_the_last_paragraph(message: str, named: str | None) -> None:
    commit = GitCommit(sha="a" * 40, parents=[], authored=0, committed=0, author="", message=message)
    assert commit.session == named


def test_a_commit_alone_may_be_the_first_one(rig: Rig) -> None:
    rig.hand("a.py", 0, 0, ["alpha_value = 1"])
    sha = rig.commit(None, "Second")
    assert [(c.sha, c.lines) for c in reviewed(rig, f"{rig.first}^!").commits] == [(rig.first, 1)]
    assert [(c.sha, c.lines) for c in reviewed(rig, "HEAD^!").commits] == [(sha, 1)]


def test_a_range_with_too_many_commits_says_so(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.commit(None, "Earlier")
    rig.commit(None, "Later")
    words = ("--root", rig.claude, "review", f"{rig.first}..HEAD", "--repo", rig.repository)
    assert "Earlier" in run(*words).output and "Only the last" not in run(*words).output
    monkeypatch.setattr("reread.git.repository.MOST_COMMITS", 1)
    done = run(*words)
    assert "Only the last 1 commits" in done.output and "Later" in done.output and "Earlier" not in done.output


def test_a_branch_begins_where_it_left_the_default_one(rig: Rig) -> None:
    rig.git("checkout", "-q", "-b", "feature/x")
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    rig.commit(session, "On the branch")
    review = reviewed(rig, "feature/x")
    assert [commit.subject for commit in review.commits] == ["On the branch"] and review.branch == "feature/x"
    for same in (reviewed(rig, "main..feature/x"), reviewed(rig, "main..HEAD"), reviewed(rig, "main..")):
        assert same == review
    assert reread.review(repository=rig.repository, root=rig.claude, redact=False) == review
    with pytest.raises(Misuse, match="name a commit or a range"):
        reviewed(rig, "main")
    with pytest.raises(NotFound, match="git log"):
        reviewed(rig, "nowhere..HEAD")
    with pytest.raises(Misuse, match="Name one"):
        reread.review("HEAD", pr=3, repository=rig.repository)


def test_one_commit_is_reviewed_alone(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    first = rig.commit(session, "First")
    rig.git("checkout", "-q", "-b", "side")
    rig.write(session, "b.py", 0, 0, ["beta_value = 2"])
    second = rig.commit(session, "Second")
    rig.git("checkout", "-q", "main")
    rig.git("merge", "-q", "--no-ff", "-m", "Merged", "side")
    for name, subject in {first: "First", second[:9]: "Second", "HEAD": "Merged", "HEAD^2": "Second"}.items():
        assert [commit.subject for commit in reviewed(rig, name).commits] == [subject]
    with pytest.raises(Misuse, match="name a commit or a range"):
        reread.review(repository=rig.repository)


def test_a_branch_is_compared_with_the_default_branch_that_has_most_of_it(rig: Rig) -> None:
    """The one that was fetched may be older than the own one, and the other way round."""
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    rig.commit(session, "On main")
    rig.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    rig.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    rig.git("checkout", "-q", "-b", "feature")
    rig.write(session, "b.py", 0, 0, ["beta_value = 2"])
    rig.commit(session, "On the branch")
    assert [commit.subject for commit in reviewed(rig, "feature").commits] == ["On the branch"]
    rig.git("update-ref", "refs/remotes/origin/main", "refs/heads/main")
    rig.git("update-ref", "refs/heads/main", "refs/heads/main~1")
    assert [commit.subject for commit in reviewed(rig, "feature").commits] == ["On the branch"]


def test_a_pull_request_is_found_by_its_ref_and_by_the_session_that_made_it(rig: Rig) -> None:
    rig.git("checkout", "-q", "-b", "feature")
    session = rig.session()
    rig.prompt(session, "Open a pull request")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    sha = rig.commit(session, "On the branch")
    output = {"stdout": "https://github.com/acme/shop/pull/7\n"}
    rig.call(session, "Bash", {"command": "gh pr create --fill"}, output)
    rig.records[session][0]["gitBranch"] = "feature"
    assert [commit.sha for commit in reviewed(rig, pr=7).commits] == [sha]
    with pytest.raises(NotFound, match="git fetch origin pull/8/head"):
        reviewed(rig, pr=8)
    rig.git("update-ref", "refs/pull/8/head", sha)
    assert [commit.sha for commit in reviewed(rig, pr=8).commits] == [sha]


def test_sessions_of_another_folder_are_found_by_the_commits_that_they_made(rig: Rig, tmp_path: Path) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "src/a.py", 0, 0, ["alpha_value = 1"])
    rig.commit(session, "Here")
    rig.finish()
    moved = rig.repository.rename(tmp_path / "elsewhere")
    review = reread.review(f"{rig.first}..HEAD", repository=moved, root=rig.claude, redact=False)
    assert lines_of(review) == [(1, 1, "00000000", 1, "blame")]


def test_a_pull_request_of_another_repository_is_not_taken_for_one_of_this(rig: Rig, tmp_path: Path) -> None:
    session = rig.session()
    rig.prompt(session, "Open it")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    rig.commit(session, "Begin it")
    made = {"stdout": "https://github.com/acme/shop/pull/7\n", "stderr": ""}
    rig.call(session, "Bash", {"command": "gh pr create --fill"}, made)
    rig.finish()
    other = Rig(tmp_path / "other")
    other.git("checkout", "-q", "-b", "feature")
    other.hand("b.py", 0, 0, ["beta_value = 2"])
    other.commit(None, "Elsewhere")
    other.git("branch", "-f", "main", other.first)
    assert reread.review(pr=7, repository=rig.repository, root=rig.claude).commits
    for record in rig.records[session]:
        record["gitBranch"] = "feature"
    rig.finish()
    with pytest.raises(NotFound):
        reread.review(pr=7, repository=other.repository, root=rig.claude)


def planted(rig: Rig, secret: str) -> None:
    session = rig.session()
    rig.prompt(session, f"Use this: {secret} and go on")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    rig.call(session, "Bash", {"command": f"TOKEN={TOKEN} pytest -q"}, {"stdout": ""})
    rig.commit(session, f"Add {TOKEN}")
    rig.finish()


@pytest.mark.parametrize("form", ["markdown", "html", "json", None])
def test_a_planted_secret_is_in_no_review(rig: Rig, form: str | None, tmp_path: Path) -> None:
    planted(rig, TOKEN)
    words = ["--root", rig.claude, "review", f"{rig.first}..HEAD", "--repo", rig.repository]
    done = run(*words, *(["-f", form] if form else []))
    assert done.exit_code == 0, done.output
    assert TOKEN not in done.output and TOKEN[:20] not in done.output and "redacted-" in done.output
    out = tmp_path / f"review.{form or 'md'}"
    assert run(*words, "-o", out).exit_code == 0 and TOKEN not in out.read_text()
    assert TOKEN in run(*words, "--no-redact").output


def test_a_likely_secret_has_to_be_decided_about(rig: Rig, tmp_path: Path) -> None:
    planted(rig, LIKELY)
    words = ["--root", rig.claude, "review", f"{rig.first}..HEAD", "--repo", rig.repository]
    out, decisions = tmp_path / "review.md", tmp_path / "decisions.json"
    done = run(*words, "-o", out, "--review", decisions)
    assert isinstance(done.exception, Undecided) and not out.exists() and "quokka" not in done.output
    with pytest.raises(Undecided):
        reread.review(f"{rig.first}..HEAD", repository=rig.repository, root=rig.claude)
    value = json.loads(decisions.read_text())
    for finding in value["findings"]:
        finding["decision"] = "keep"
    decisions.write_text(json.dumps(value))
    assert run(*words, "-o", out, "--review", decisions).exit_code == 0 and "quokka" in out.read_text()
    assert run(*words, "-o", out, "--replace-likely").exit_code == 0 and "quokka" not in out.read_text()
    review = reread.review(f"{rig.first}..HEAD", repository=rig.repository, root=rig.claude, replace_likely=True)
    assert review.redacted and "quokka" not in str(review)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("sunshine", "DB_PASSWORD=sunshine"),  # a common word
        ("correct horse battery", 'passphrase: "correct horse battery"'),
        ("k9-Xw77-tartan", "signing_secret: k9-Xw77-tartan"),  # odd by itself
        (f"k9-Xw77-tartan {' '.join(f'item{n}-of-9' for n in range(40))}", "signing_secret: k9-Xw77-tartan"),
    ],
)
def test_what_only_another_part_of_a_session_calls_a_secret_is_found(rig: Rig, value: str, named: str) -> None:
    session = rig.session()
    rig.prompt(session, f"Write it, and log in with {value} first")
    value = value.partition(" item")[0]
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    rig.commit(session, "Log in")
    rig.finish()
    options = {"repository": rig.repository, "root": rig.claude}
    which = f"{rig.first}..HEAD"
    assert value in (reread.review(which, **options).turns[0].prompt or "")  # type: ignore[arg-type]
    shown = f"SHOP=1\n{named}\nPORT=80\n"
    rig.call(session, "Bash", {"command": "cat .env"}, {"stdout": json.dumps({"text": shown}), "stderr": ""})
    rig.finish()
    for _ in range(2):  # the second time from the catalogue
        with pytest.raises(Undecided):
            reread.review(which, **options)  # type: ignore[arg-type]
        review = reread.review(which, **options, replace_likely=True)  # type: ignore[arg-type]
        assert value not in (review.turns[0].prompt or value)
    words = ("--root", rig.claude, "review", which, "--repo", rig.repository, "--note", "prompts")
    assert isinstance(run(*words).exception, Undecided) and reread.notes(repository=rig.repository) == {}
    assert run(*words, "--replace-likely").exit_code == 0
    assert value not in rig.git("notes", "--ref=refs/notes/reread", "show", "HEAD")


@one_in(3)
@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_no_secret_is_cut_in_two_before_it_is_looked_for(rig: Rig, shift: int) -> None:
    """Half of a token has no form by which it would be known."""
    session = rig.session()
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----"])
    words = "word " * ((7940 - len(key)) // 5) + "x" * (shift % 5)
    rig.prompt(session, f"{key} {words}{'y' * shift} {TOKEN} and so on " + "more " * 100)
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    for command in ("pytest {}", "git checkout {}"):
        given = {"command": command.format(f"{'z' * (35 + shift)} {TOKEN} --quiet")}
        rig.call(session, "Bash", given, {"stdout": "1 passed", "stderr": ""})
    rig.commit(session, "Test it")
    rig.finish()
    review = reread.review(f"{rig.first}..HEAD", repository=rig.repository, root=rig.claude)
    assert TOKEN[:12] not in jsontext.dumps(review).decode() and review.turns[0].tests and review.turns[0].undoing
    digest = reread.digest(root=rig.claude, redact=True, since="2000-01-01")
    assert TOKEN[:12] not in jsontext.dumps(digest).decode() and digest.projects


def test_the_json_has_the_schema_that_it_prints(rig: Rig) -> None:
    planted(rig, "nothing")
    schema = json.loads(run("review", "--schema").output)
    assert set(schema["$defs"]["Review"]["properties"]) == set(Review.__struct_fields__)
    done = run("--root", rig.claude, "review", f"{rig.first}..HEAD", "--repo", rig.repository, "--json")
    assert msgspec.json.decode(done.output, type=Review).commits


def test_nothing_in_a_prompt_or_a_name_acts(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "<script>alert(1)</script>\n# head\n\x1b[31mred ](javascript:x)")
    rig.write(session, "<img src=x>.py", 0, 0, ["alpha_value = 1"])
    rig.commit(session, "<b>subject</b> [x](y)")
    rig.finish()
    words = ["--root", rig.claude, "review", f"{rig.first}..HEAD", "--repo", rig.repository]
    page = run(*words, "-f", "html").output
    assert "<script" not in page and "<b>" not in page and "<img" not in page and "&lt;script&gt;" in page
    markdown = run(*words, "-f", "markdown").output
    assert " <script" not in markdown and "\n# head" not in markdown and "\x1b" not in markdown + run(*words).output


# Agent Trace


def test_an_agent_trace_has_the_lines_of_each_turn(rig: Rig) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "src/a.py", 0, 0, ["alpha_value = 1", "beta_value = 2"])
    rig.prompt(session, "Add to it")
    rig.write(session, "src/a.py", 1, 0, ["between_value = 3"])
    rig.finish()
    opened = reread.open(rig.projects / f"{rig.id(session)}.jsonl")
    (file,) = check_agent_trace(opened)["files"]
    ranges = {
        talk["related"][0]["url"].partition("#")[2]: [(one["start_line"], one["end_line"]) for one in talk["ranges"]]
        for talk in file["conversations"]
    }
    assert file["path"] == "src/a.py" and ranges == {"turn-1": [(1, 1), (3, 3)], "turn-2": [(2, 2)]}
    assert file["conversations"][0]["url"] == f"urn:uuid:{rig.id(session)}"
    assert file["conversations"][0]["contributor"]["model_id"] == "anthropic/claude-opus-4-5-20251101"
    (file,) = json.loads(reread.export(opened, "agent-trace", turns=(2, 2)))["files"]
    assert [len(talk["ranges"]) for talk in file["conversations"]] == [1]


# Notes


def test_notes_tell_whoever_clones_who_wrote_the_lines(rig: Rig, tmp_path: Path) -> None:
    session = rig.session()
    rig.prompt(session, f"Write it with {TOKEN}")
    rig.write(session, "src/a.py", 0, 0, ["alpha_value = 1", "beta_value = 2"])
    rig.hand("src/a.py", 1, 0, ["by_hand = 3"])
    sha = rig.commit(session, "With notes")
    rig.finish()
    rig.git("config", "user.name", "a")
    rig.git("config", "user.email", "a@example.org")
    which = f"{rig.first}..HEAD"
    assert reread.notes(which, repository=rig.repository, root=rig.claude) == {}
    words = ["--root", rig.claude, "review", which, "--repo", rig.repository, "--note"]
    assert run(*words, "show").exit_code == 1 and run(*words, "write").exit_code == 0
    raw = rig.git("notes", "--ref=refs/notes/reread", "show", sha)
    assert "Write it" not in raw and rig.id(session) in raw
    assert run(*words, "show").output.splitlines()[1].split() == ["src/a.py", "1", "00000000", "turn", "1"]
    clone, empty = tmp_path / "clone", tmp_path / "empty"
    empty.mkdir()
    rig.git("clone", "-q", str(rig.repository), str(clone))
    fetched = "refs/notes/reread:refs/notes/reread"
    subprocess.run(["git", "fetch", "-q", "origin", fetched], cwd=clone, check=True)
    (clone / "src/a.py").write_text("# not committed\n" + (clone / "src/a.py").read_text())
    lines = reread.blame(clone / "src/a.py", root=empty)
    assert [(line.session, line.turn, line.evidence, line.commit) for line in lines] == [
        (None, None, None, None),
        (rig.id(session), 1, "note", sha),
        (None, None, None, None),
        (rig.id(session), 1, "note", sha),
    ]
    review = reread.review(which, repository=clone, root=empty)
    assert [row[2:] for row in lines_of(review)] == [("00000000", 1, "note"), (None,) * 3, ("00000000", 1, "note")]
    assert run("--root", empty, "blame", clone / "src/a.py").output.count(f"note of {sha[:7]}") == 2
    reread.notes(which, repository=rig.repository, root=rig.claude, write=True, prompts=True)
    raw = rig.git("notes", "--ref=refs/notes/reread", "show", sha)
    assert "Write it with" in raw and TOKEN not in raw
    subprocess.run(["git", "fetch", "-q", "origin", f"+{fetched}"], cwd=clone, check=True)
    shown = run("--root", empty, "blame", clone / "src/a.py").output
    assert shown.count(f"(note of {sha[:7]}) Write it with ") == 2
    review = reread.review(which, repository=clone, root=empty)
    assert [(turn.prompt, turn.noted) for turn in review.turns] == [(json.loads(raw)["lines"][0]["prompt"], True)]
    shown = run("--root", empty, "review", which, "--repo", clone).output
    assert "not on this machine; a git note has its prompt:\n  │ Write it with " in shown
    assert reread.notes(which, repository=rig.repository, remove=True) and reread.notes(repository=rig.repository) == {}


def test_a_prompt_that_others_noted_is_redacted_and_is_never_that_of_a_session_that_is_here(rig: Rig) -> None:
    rig.hand("a.py", 0, 0, ["one", "two"])
    sha = rig.commit(None, "By others")
    here = rig.session()
    rig.prompt(here, "Write it")
    rig.finish()

    def write(session: str) -> None:
        prompt = f"Use {TOKEN} {'x ' * 9000}"
        one = NotedLines(path="a.py", first=1, last=2, session=session, turn=7, guess=True, prompt=prompt)
        write_notes(Repository(rig.repository), {sha: CommitNote(lines=[one])})

    write("elsewhere")
    (turn,) = reread.review(f"{rig.first}..HEAD", repository=rig.repository, root=rig.claude).turns
    assert turn.noted and turn.prompt is not None and turn.prompt.startswith("Use [redacted-github-token-1] x")
    assert TOKEN not in turn.prompt and len(turn.prompt) <= 2000
    (shown, bar) = run("--root", rig.claude, "blame", rig.repository / "a.py").output.splitlines()
    assert f" (note of {sha[:7]}, a guess) Use " in shown and bar.startswith("│")
    write(rig.id(here))
    assert [(turn.turn, turn.prompt, turn.noted) for turn in reviewed(rig).turns] == [(7, None, False)]


def test_what_others_noted_about_other_lines_stays(rig: Rig) -> None:
    rig.hand("a.py", 0, 0, ["one", "two", "three"])
    sha = rig.commit(None, "By others")
    rig.git("config", "user.name", "a")
    rig.git("config", "user.email", "a@example.org")
    repository = Repository(rig.repository)
    theirs = CommitNote(lines=[NotedLines(path="a.py", first=1, last=3, session="theirs", turn=4)])
    ours = CommitNote(lines=[NotedLines(path="a.py", first=2, last=2, session="ours", turn=1, guess=True)])
    assert write_notes(repository, {sha: theirs}) == 1 and write_notes(repository, {sha: ours}) == 1
    found = read_notes(repository)[sha]
    assert [(one.first, one.last, one.session) for one in found.lines] == [
        (1, 1, "theirs"),
        (2, 2, "ours"),
        (3, 3, "theirs"),
    ]
    assert write_notes(repository, {sha: ours}) == 0


def noted(path: str, *ranges: tuple[int, int]) -> CommitNote:
    lines = [NotedLines(path=path, first=first, last=last, session="s", turn=1) for first, last in ranges]
    return CommitNote(lines=lines)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"version":9,"lines":[]}', '{"version":1,"lines":[{"path":"a"}]}', "\xff"),
        *(json.dumps(msgspec.to_builtins(noted("a", *ranges))) for ranges in ([(1, 9), (2, 3)], [(5, 5), (1, 1)])),
        json.dumps(msgspec.to_builtins(noted("a", (2, 1)))),
    ],
)
def test_a_note_that_is_none_of_ours_is_left_out_and_stays(rig: Rig, text: str) -> None:
    rig.git("notes", "--ref=refs/notes/reread", "add", "--allow-empty", "-m", text, "HEAD")
    repository = Repository(rig.repository)
    before = rig.git("rev-parse", "refs/notes/reread")
    assert read_notes(repository) == {}
    left: dict[str, str] = {}
    assert write_notes(repository, {rig.first: noted("a", (1, 1))}, left=left) == 0 and list(left) == [rig.first]
    assert remove_notes(repository, [rig.first]) == 0 and rig.git("rev-parse", "refs/notes/reread") == before


def test_the_commits_whose_notes_were_left_are_named(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    session = rig.session()
    shas = []
    for name in ("a.py", "b.py"):
        rig.prompt(session, f"Write {name}")
        rig.write(session, name, 0, 0, [f"value_of_{name} = 1"])
        shas.append(rig.commit(session, f"Add {name}"))
    rig.finish()
    rig.git("notes", "--ref=refs/notes/reread", "add", "-m", "theirs", shas[0])

    def note(which: str, deed: str) -> tuple[int, str]:
        done = run("--root", rig.claude, "review", which, "--repo", rig.repository, "--note", deed)
        return done.exit_code, done.output.replace("reread: ", "")

    foreign = f"{shas[0][:7]} was left as it is: it has a note that is not reread's, or that a newer reread wrote.\n"
    assert note("HEAD~1^!", "write") == (1, foreign)
    assert note("HEAD~1^!", "remove") == (1, "No notes of reread about these commits.\n")
    with monkeypatch.context() as small:
        small.setattr(git_notes, "LARGEST_NOTE", 20)
        assert note("HEAD^!", "write") == (
            1,
            f"{shas[1][:7]} was left as it is: its note would be larger than 4 MB.\n",
        )
    code, output = note(f"{rig.first}..HEAD", "write")
    assert code == 0 and output.startswith(foreign) and shas[1][:7] in output
    assert note("HEAD^!", "write") == note("HEAD^!", "show")
    assert note(f"{rig.first}^!", "write") == (
        1,
        "No session on this machine wrote a line of these commits: there is nothing to note.\n",
    )
    assert rig.git("notes", "--ref=refs/notes/reread", "show", shas[0]).strip() == "theirs"


def test_a_note_about_very_many_lines_takes_no_more_than_one_about_few() -> None:
    wide = noted("a", (1, 10**15))
    joined = noted("a", (5, 6), (10, 10)).joined(wide)
    assert [(one.first, one.last) for one in joined.lines] == [(1, 10**15)]
    assert joined.line("a", 10**14) is not None and joined.line("b", 1) is None and joined.line("a", 0) is None


def test_notes_that_are_written_at_once_are_all_kept(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(rig.repository)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    rig.git("config", "user.useConfigOnly", "true")

    def write(first: int) -> None:
        for line in range(first, first + 8):
            assert write_notes(repository, {rig.first: noted("a", (2 * line, 2 * line))}) == 1

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, (10, 20, 30)))
    assert len(read_notes(repository)[rig.first].lines) == 24
    assert "reread@localhost" in rig.git("log", "--format=%ce", "refs/notes/reread")  # no name is configured here


WRITER = """
import sys
from reread.git.notes import CommitNote, NotedLines, write_notes
from reread.git.repository import Repository
repository, who, shas, count = Repository(sys.argv[1]), sys.argv[2], sys.argv[3].split(","), int(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
for turn in range(1, count + 1):
    line = NotedLines(path=who, first=turn, last=turn, session=who, turn=turn)
    assert write_notes(repository, {sha: CommitNote(lines=[line]) for sha in shas}) == len(shas)
    print(turn, flush=True)
"""
"""Writes notes about several commits again and again, and says after each that it is written."""


def writer(rig: Rig, who: str, shas: list[str], count: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(rig.repository), who, ",".join(shas), str(count)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def turns_in_notes(rig: Rig, who: str) -> list[list[int | None]]:
    return [
        [one.turn for one in note.lines if one.path == who] for note in read_notes(Repository(rig.repository)).values()
    ]


def test_notes_of_two_processes_are_all_kept(rig: Rig) -> None:
    shas = [rig.first, rig.commit(None, "Second")]
    both = [writer(rig, who, shas, 8) for who in ("one", "two")]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate() and process.returncode for process in both] == [0, 0]
    assert [turns_in_notes(rig, who) for who in ("one", "two")] == [[[*range(1, 9)]] * 2] * 2


@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_process_that_is_killed_leaves_notes_whole_and_those_that_it_had_written(rig: Rig, after: int) -> None:
    shas = [rig.first, rig.commit(None, "Second")]
    process = writer(rig, "one", shas, 10_000)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    said = [int(process.stdout.readline()) for _ in range(after)][-1]
    process.kill()
    said = max([said, *map(int, process.communicate()[0].split())])
    other = writer(rig, "two", shas, 1)
    assert other.communicate("go\n")[0] == "1\n" and other.returncode == 0
    first, second = turns_in_notes(rig, "one")
    assert first == second and first in ([*range(1, said + 1)], [*range(1, said + 2)])
    assert turns_in_notes(rig, "two") == [[1], [1]]
    rig.git("fsck", "--strict")


def test_notes_are_written_whole_or_not_at_all(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """An end in the middle of writing, as of a process that is killed, changes nothing."""
    repository = Repository(rig.repository)
    write_notes(repository, {rig.first: noted("a", (1, 1))})
    before = rig.git("rev-parse", "refs/notes/reread")
    whole = git_notes.git_change
    monkeypatch.setattr(
        git_notes, "git_change", lambda *words, given: whole(*words, given=given.removesuffix(b"done\n"))
    )
    with pytest.raises(reread.Unwritable):
        write_notes(repository, {rig.first: noted("a", (2, 2))})
    assert rig.git("rev-parse", "refs/notes/reread") == before


def test_a_note_is_found_under_any_name_and_with_prompts_has_the_name_that_git_knows(rig: Rig, tmp_path: Path) -> None:
    session = rig.session()
    rig.prompt(session, "Write it for ann.lee@quokkamail.com")
    for name in ("ünï ann.lee@quokkamail.com.py", "a\nb.py"):
        rig.write(session, name, 0, 0, ["alpha_value = 1"])
    rig.commit(session, "Odd names")
    rig.finish()
    found = reread.notes(f"{rig.first}..HEAD", repository=rig.repository, root=rig.claude, write=True, prompts=True)
    (note,) = found.values()
    assert [one.path for one in note.lines] == ["a\nb.py", "ünï ann.lee@quokkamail.com.py"]
    assert all("ann.lee" not in (one.prompt or "ann.lee") for one in note.lines)
    (tmp_path / "empty").mkdir()
    for one in note.lines:
        assert reread.blame(rig.repository / one.path, root=tmp_path / "empty")[0].evidence == "note"


# Hostile repositories


def test_nothing_that_a_repository_configures_is_run(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "a.py", 0, 0, ["alpha_value = 1"])
    rig.hand(".gitattributes", 0, 0, ["*.py diff=evil filter=evil"])
    rig.hand("sub/b.py", 0, 0, ["beta_value = 1"])
    sha = rig.commit(session, "Here")
    mark = tmp_path / "run"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\necho x >> {mark}\ncat\n")
    program.chmod(0o755)
    hooks = rig.repository / ".git" / "hooks"
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "post-rewrite"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    for name in (
        *("core.fsmonitor", "core.pager", "pager.log", "pager.diff", "core.sshCommand", "core.askPass", "core.editor"),
        *("diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge"),
        *(
            "gpg.program",
            "credential.helper",
            "core.alternateRefsCommand",
            "sequence.editor",
            "uploadpack.packObjectsHook",
        ),
        *("remote.origin.uploadpack", "alias.log", "alias.diff-tree"),
    ):
        rig.git("config", name, str(program))
    for name, value in {
        "log.showSignature": "true",
        "remote.origin.url": f"ext::{program} %S",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "protocol.ext.allow": "always",
        "core.repositoryFormatVersion": "1",
        **dict.fromkeys(("blame.ignoreRevsFile", "mailmap.file", "core.attributesFile", "diff.orderFile"), str(pipe)),
    }.items():
        rig.git("config", name, value)
    rig.git("config", "--add", "blame.ignoreRevsFile", ".git-blame-ignore-revs")
    for name in (".mailmap", "sub/.gitattributes"):  # nothing of the work tree is read
        os.mkfifo(rig.repository / name)
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EDITOR"):
        monkeypatch.setenv(name, str(program))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    review = reviewed(rig)
    assert review.commits[0].lines == 3 and not mark.exists()
    which = f"{rig.first}..HEAD"
    assert reread.notes(which, repository=rig.repository, root=rig.claude, write=True) and not mark.exists()
    (tmp_path / "empty").mkdir()
    rig.hand("a.py", 0, 0, ["by_hand = 2"])
    lines = reread.blame(rig.repository / "a.py", root=tmp_path / "empty")
    assert [line.evidence for line in lines] == [None, "note"] and not mark.exists()
    blob = git_output(rig.repository / ".git", "rev-parse", f"{sha}:a.py").decode().strip()
    (rig.repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()  # a clone that would fetch it
    with pytest.raises(reread.Unreadable):
        reviewed(rig)
    assert not mark.exists()


def test_names_of_all_kinds_links_modules_and_binary_files_are_followed_or_left_out(rig: Rig, tmp_path: Path) -> None:
    session = rig.session()
    rig.prompt(session, "Write them")
    names = ["-n", "--help", "a\nb.py", "tab\there", 'quo"te', "ünï.py", "@@ -1 +1 @@", ":(top)x"]
    for number, name in enumerate(names):
        rig.write(
            session, name, 0, 0, [f"value_number_{number} = {number}", "@@ -1,9 +1,9 @@", "diff --git a/x b/x", "-- a"]
        )
    (rig.repository / "link").symlink_to("/etc/passwd")
    Path(os.fsdecode(os.fsencode(rig.repository) + b"/\xff\xfe.txt")).write_bytes(b"bytes\xff\n")
    (rig.repository / "binary").write_bytes(bytes(range(256)) * 20)
    (rig.repository / "no-end").write_text("one\ntwo")
    rig.commit(session, "All kinds")
    rig.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    rig.commit(session, "A module")
    review = reviewed(rig)
    files = {file.path: file for file in review.commits[0].files}
    assert {*names} <= set(files) and "link" not in files and "binary" not in files
    for name in names:
        assert sum(lines.count for lines in files[name].lines if lines.session) == 4
    assert files["no-end"].lines[0].count == 2
    rig.finish()
    for form in ("markdown", "html", "json"):
        done = run("--root", rig.claude, "review", f"{rig.first}..HEAD", "--repo", rig.repository, "-f", form)
        assert done.exit_code == 0, done.output


def test_a_link_that_becomes_a_file_and_the_reverse_do_not_shift_the_lines_of_others(rig: Rig) -> None:
    (rig.repository / "b-link").symlink_to("README.md")
    rig.hand("c-file", 0, 0, ["first_line", "second_line"])
    rig.commit(None, "Before")
    (rig.repository / "b-link").unlink()
    (rig.repository / "c-file").unlink()
    (rig.repository / "c-file").symlink_to("README.md")
    (rig.repository / "b-link").write_text("one\ntwo\nthree\n")
    (rig.repository / "d.py").write_text("four\n")
    rig.git("add", "-A")
    rig.git("commit", "-qm", "Changed")
    (commit,) = reviewed(rig, "HEAD~1..HEAD").commits
    assert {file.path: sum(lines.count for lines in file.lines) for file in commit.files} == {"b-link": 3, "d.py": 1}


@pytest.mark.parametrize("name", ["--output=x", "-h", "--upload-pack=x", "HEAD\n--help", "", "a..--output=x"])
def test_a_name_is_never_an_option_of_git(rig: Rig, name: str, tmp_path: Path) -> None:
    with pytest.raises((NotFound, Misuse)):
        reviewed(rig, name)
    assert not (rig.repository / "x").exists() and not Path("x").exists()


def test_no_program_of_the_current_folder_is_git(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/run\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    assert Repository(rig.repository).sha_of("HEAD") == rig.first and not (tmp_path / "run").exists()
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(NotFound, match="No program git"):
        git_output(rig.repository / ".git", "version")


def test_what_git_prints_is_never_cut_silently(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_command, "LONGEST_OUTPUT", 20)
    with pytest.raises(reread.Unreadable, match="prints more"):
        git_output(rig.repository / ".git", "log")


def test_little_is_kept_of_what_git_complains_about() -> None:
    kept: list[bytes] = []
    git_command._collect(io.BytesIO(b"x" * 4096 * 20), kept)
    assert b"".join(kept) == b"x" * 4096 * 16


@pytest.mark.parametrize(
    "name",
    [
        *("HEAD", "config", "packed-refs", "refs/heads/evil", "info/attributes", "objects/info/alternates", "shallow"),
        *(
            "objects/ab/" + "0" * 38,
            "refs/linked",
            "elsewhere of include",
            "elsewhere of alternates",
            "common of worktree",
        ),
    ],
)
def test_a_pipe_among_the_files_of_git_is_not_waited_for(
    rig: Rig, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_command, "git_output", lambda *_, **__: pytest.fail("git was started"))
    own, pipe, folder = rig.repository / ".git", tmp_path / "beside" / "pipe", rig.repository
    pipe.parent.mkdir()
    if name.endswith("include"):
        with (own / "config").open("a") as config:
            config.write(f"[include]\n\tpath = {pipe}\n")
    elif name.endswith("alternates"):
        (own / "objects/info/alternates").write_text(f"{pipe.parent}\n")
    elif name.endswith("worktree"):
        folder = tmp_path / "tree"
        folder.mkdir()
        (folder / ".git").write_text(f"gitdir: {tmp_path}/own\n")
        (tmp_path / "own").mkdir()
        (tmp_path / "own/commondir").write_text("../beside\n")
    elif name.endswith("linked"):
        (own / name).symlink_to(pipe)
    else:
        pipe = own / name
        pipe.parent.mkdir(exist_ok=True)
        pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with pytest.raises(NotFound, match="pipe or a device"):
        Repository(folder)


def test_a_repository_that_keeps_git_waiting_is_given_up(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_command, "SECONDS_TO_FIND", 0.2)
    monkeypatch.setattr(git_command, "refuse_pipes", lambda _: None)
    (rig.repository / ".git" / "HEAD").unlink()
    os.mkfifo(rig.repository / ".git" / "HEAD")
    with pytest.raises(NotFound, match=r"longer than 0\.2 seconds"):
        Repository(rig.repository)


def test_a_huge_commit_is_bounded(rig: Rig) -> None:
    (rig.repository / "huge.txt").write_text("x\n" * (MOST_LINES + 10))
    (rig.repository / "line.txt").write_text("y" * (9 << 20))
    rig.truth = {}
    rig.git("add", "-A")
    rig.git("commit", "-qm", "Huge")
    (commit,) = reviewed(rig).commits
    assert commit.lines == 0


def test_a_folder_without_a_repository_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="No git repository"):
        Repository(tmp_path)
    done = subprocess.run(["git", "init", "-q", "--bare", tmp_path / "bare"], check=True)
    assert done.returncode == 0
    with pytest.raises(NotFound):
        Repository(tmp_path / "bare")


@pytest.mark.parametrize("place", ["-other", "fork"])
def test_what_several_files_have_counts_once(rig: Rig, place: str) -> None:
    """A session that was moved, and one that a fork copied."""
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "a.py", 0, 0, ["first_value = 1", "second_value = 2"])
    rig.commit(session, "Both")
    alone = reviewed(rig)
    (file,) = rig.projects.glob("*.jsonl")
    name, data = file.stem, file.read_bytes()
    other = name.replace("0000", "f02c", 1) if place == "fork" else name
    copy = rig.projects.parent / (place if place != "fork" else "-shop") / f"{other}.jsonl"
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(data.replace(name.encode(), other.encode()))
    review = reviewed(rig)
    assert (review.cost_usd, review.lines, review.by_sessions) == (alone.cost_usd, alone.lines, alone.by_sessions)
    assert [(turn.session, turn.turn, turn.lines) for turn in review.turns] == [
        (turn.session, turn.turn, turn.lines) for turn in alone.turns
    ]
