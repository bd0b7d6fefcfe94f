"""Choosing a session and what to show of it: `latest`, projects, calls, answers, and combinations that are refused."""

import json
from pathlib import Path

import pytest
from batches import table
from command import run
from effort import one_in

import reread
from reread.base.paths import SAMPLES
from reread.cli import ALIASES, SYNONYMS, all_verbs
from reread.model.conversation import Call
from reread.render.selection import Selection, matches_tool, selected_turns

HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
REAL = sorted((Path(__file__).parent / "real").rglob("*.jsonl"))[::6]


def all_calls(session: reread.Session) -> list[Call]:
    return [call for conversation in (session.conversation, *session.agents.values()) for call in conversation.calls]


class TestSession:
    """Which session a verb is about."""

    @pytest.mark.parametrize("verb", ["show", "export", "resume --dry-run", "replay --speed=instant"])
    def test_the_newest_one_is_the_default(self, verb: str) -> None:
        assert run("--demo", *verb.split()).stdout == run("--demo", verb.split()[0], "latest", *verb.split()[1:]).stdout

    def test_the_newest_one_of_a_project(self) -> None:
        assert run("--demo", "show", "--project", "almanac").stdout == run("--demo", "show", "6a0f8d43").stdout
        done = run("--demo", "show", "--project", "nowhere")
        assert (done.returncode, done.stderr) == (
            1,
            "reread: No sessions of nowhere; "
            "there are /home/sam/code/almanac, /home/sam/code/harbor, /home/sam/code/lantern.\n",
        )

    def test_a_project_and_a_name_are_refused(self) -> None:
        done = run("--demo", "show", "d2a9", "--project", "harbor")
        assert done.returncode == 2 and "Cannot use --project with 'd2a9'" in done.stderr

    @pytest.mark.parametrize(
        ("name", "id", "title"),
        [("d2a95e17", "d2a94e17", "Dead-letter queue"), ("ceiling", "8c1f0b52", "Fix the flaky ceiling test")],
    )
    def test_an_unknown_id_says_which_may_be_meant(self, name: str, id: str, title: str) -> None:
        done = run("--demo", "show", name)
        assert done.returncode == 2
        assert f"No session matches {name!r}; did you mean {id}" in done.stderr and title in done.stderr

    def test_an_ambiguous_id_lists_titles_and_dates(self, tmp_path: Path) -> None:
        folder = tmp_path / "projects" / "p"
        folder.mkdir(parents=True)
        for n in (1, 2):
            record = {"type": "user", "sessionId": f"ab{n}", "message": {"content": f"Title {n}"}}
            (folder / f"ab{n}.jsonl").write_text(json.dumps(record | {"timestamp": "2026-11-15T12:00:00Z"}) + "\n")
        said = run("show", "ab", "--root", str(tmp_path)).stderr
        assert "'ab' matches 2 sessions; use more of the id" in said
        assert all(f"  ab{n}  2026-11-15 " in said and f"Title {n}" in said for n in (1, 2))

    def test_an_id_in_two_folders_says_how_to_choose(self, tmp_path: Path) -> None:
        record = {"type": "user", "sessionId": "ab", "message": {"content": "Title"}}
        roots = [tmp_path / "one", tmp_path / "two words"]
        for root in roots:
            for project in ("p", "q"):
                (root / "projects" / project).mkdir(parents=True)
            (root / "projects/p/ab.jsonl").write_text(json.dumps(record) + "\n")
        both = [word for root in roots for word in ("--root", str(root))]
        said = run("show", "ab", *both).stderr
        assert f"the id is the same, so choose the folder with one of --root {roots[0]}, --root '{roots[1]}'" in said
        assert run("show", "ab", "--root", str(roots[1])).returncode == 0
        (roots[0] / "projects/q/ab.jsonl").write_text(json.dumps(record) + "\n")
        said = run("show", "ab", *both).stderr
        assert "matches 3 sessions; the id is the same, so use the path:" in said


class TestCalls:
    """`--tool`, `--file` and `--errors`."""

    @one_in(3)
    @pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem[:40])
    @pytest.mark.parametrize(
        "selection", [Selection(tool_names=("bash",)), Selection(errors=True), Selection(files=("*.py",))], ids=str
    )
    def test_json_has_exactly_the_calls_that_fit(self, path: Path, selection: Selection) -> None:
        session = reread.open(path)
        value = json.loads(
            reread.export(session, "json", **{n: getattr(selection, n) for n in ("tool_names", "errors", "files")})
        )
        shown = [call["id"] for part in (value, *value["agents"].values()) for call in part["calls"]]
        on_branch = {
            id(c) for conv in (session.conversation, *session.agents.values()) for t in conv.turns for c in t.calls
        }
        wanted = [c.id for c in all_calls(session) if id(c) in on_branch and selection.shows_call(c)]
        assert sorted(shown) == sorted(wanted)

    def test_only_these_calls_and_the_prompts_of_their_turns_are_shown(self) -> None:
        shown = run("--demo", "show", "d2a9", "--tool", "edit").stdout
        session = reread.open(HARBOR)
        marked = [line.split()[1] for line in shown.splitlines() if line.lstrip()[:2] in ("✓ ", "✗ ", "… ")]
        edits = [call for turn in session.turns for call in turn.calls if call.name == "Edit"]
        assert marked.count("Edit") >= len(edits) > 0 and "Bash" not in marked
        for turn in session.turns:
            assert turn.prompt is not None
            first = turn.prompt.text.split()[:3]
            assert (" ".join(first) in shown) == selection_has(turn.calls)

    def test_errors_are_the_calls_that_failed(self) -> None:
        value = json.loads(run("--demo", "show", "8c1f", "--errors", "-f", "json").stdout)
        session = reread.open(next(SAMPLES.glob("projects/*/8c1f*.jsonl")))
        failed = [call.id for call in all_calls(session) if call.state == "failed"]
        assert failed and [call["id"] for call in value["calls"]] == failed

    def test_a_file_is_found_by_path_end_and_pattern(self) -> None:
        counts = {
            name: len(json.loads(run("--demo", "show", "8c1f", "--file", name, "-f", "json").stdout)["calls"])
            for name in ("backoff.py", "/home/sam/code/harbor/src/harbor/backoff.py", "*/harbor/backoff.py", "off.py")
        }
        *found, part = counts.values()
        assert found[0] > 0 and len(set(found)) == 1 and part == 0

    def test_a_tool_that_was_not_used_says_so(self) -> None:
        done = run("--demo", "show", "8c1f", "--tool", "nonsense")
        assert done.returncode == 1 and "This session used no tool 'nonsense'; there are Bash, Edit" in done.stderr

    def test_tool_names_are_patterns_in_any_case(self) -> None:
        assert matches_tool("WebFetch", ["webfetch"]) and matches_tool("WebFetch", ["web*"])
        assert matches_tool("mcp__browser__click", ["click"]) and matches_tool("mcp__browser__click", ["mcp__browser*"])
        assert not matches_tool("Bash", ["BashOutput"]) and not matches_tool("BashOutput", ["bash"])


def selection_has(calls: list[Call]) -> bool:
    return Selection(tool_names=("edit",)).has_call(calls)


class TestAnswers:
    """`--only answers`."""

    @table("path", REAL)
    def test_each_turn_has_its_prompt_and_at_most_one_answer(self, path: Path) -> None:
        conversation = reread.open(path).conversation
        turns = {turn.index: turn for turn in conversation.turns}
        for turn in selected_turns(conversation, Selection(only="answers")):
            answers = [message for message in turn.messages if message is not turn.prompt]
            said = [m for m in turns[turn.index].messages if m.kind == "response" and m.text.strip()]
            assert len(answers) == min(1, len(said))
            assert not answers or not [m for m in said if m.index > answers[0].index and not m.calls]

    def test_they_are_shown_without_calls_and_thinking(self) -> None:
        shown = run("--demo", "show", "d2a9", "--only", "answers").stdout
        assert "✓" not in shown and "∴" not in shown
        session = reread.open(HARBOR)
        for turn in session.turns:
            assert turn.prompt is not None and " ".join(turn.prompt.text.split()[:3]) in shown

    def test_they_can_be_exported(self, tmp_path: Path) -> None:
        done = run("--demo", "export", "d2a9", "--only", "answers", "-o", str(tmp_path / "it.md"))
        assert done.returncode == 0
        whole = run("--demo", "export", "d2a9").stdout
        assert 0 < len((tmp_path / "it.md").read_text()) < len(whole) / 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("show HARBOR -f raw --turns 2", "Cannot use --format with --turns: `raw` prints the whole file as it is."),
        ("show HARBOR -f raw --json", "Cannot use --json with --format"),
        ("show HARBOR -f raw --errors", "Cannot use --format with --errors"),
        (
            "show HARBOR --omit tools --only tools",
            "Cannot use --omit tools with --only tools: that would show nothing.",
        ),
        ("show HARBOR --omit tools --tool bash", "Cannot use --omit with --tool"),
        ("show HARBOR --omit words", "Cannot omit 'words'; use thinking, tools, images, agents."),
        ("show HARBOR --omit agents", "Cannot omit images or agents here"),
        ("export HARBOR --omit agents", "Cannot omit agents without --redact"),
        ("show HARBOR --only text --errors", "Cannot use --only with --errors"),
        ("export HARBOR -o x.pdf", "Cannot tell the format from 'x.pdf'; use one of .html,"),
        ("export HARBOR -o x", "Cannot tell the format from 'x'"),
        ("export HARBOR HARBOR -o both.html", "become a folder of pages, not a file; use -o both."),
        ("export HARBOR HARBOR -f json -o both", "can only be exported as a folder of pages"),
        ("export HARBOR --omit images -f json", "Cannot omit images from json"),
        ("replay HARBOR --speed instant --since 999h", "No line lies in that part; the recording takes "),
        ("replay HARBOR --speed instant --max-gap 2s", "Cannot use --max-gap with --speed instant"),
        ("replay HARBOR --full", "Cannot use --full without --format terminal"),
        ("replay HARBOR --since 1s --as-claude -p hi", "Cannot use --as-claude with --since"),
        ("tail HARBOR --format json -n 3", "Cannot use --format with --limit"),
        ("ls -n 0", "0 is not in the range x>=1"),
        ("usage --prices --csv", "Cannot use --prices with --csv"),
        ("check --schema --drift", "Cannot use --schema with --drift"),
        ("capture --pty -", "Cannot use --pty"),
        ("capture --full -- true", "Cannot use --full without --format terminal"),
        ("capture --pertty -- true", "No option --pertty; did you mean"),
        ("shwo", "No command 'shwo'; did you mean `reread show`?"),
        ("cost", "No command 'cost'; did you mean `reread usage`?"),
        ("restore", "No command 'restore'; did you mean `reread keep --restore`?"),
        ("help shwo", "No command 'shwo'; did you mean `reread show`?"),
        ("--demo diff 8c1f:9", "No turn 9; this session has 5 turns."),
        ("--demo diff 8c1f:0 8c1f:7", "No turn 7; this session has 5 turns."),
        ("show --turnz 2", "No option --turnz; did you mean --turns?"),
        (
            "search --match exact --no-verify",
            "No option --no-verify; to search for it, write `--` in front of the query.",
        ),
        ("search -xyz", "No option -x; to search for it, write `--` in front of the query."),
        ("show --format pdf", "Run `reread show --help` for help."),
    ],
)
def test_what_would_be_ignored_is_refused_in_one_line(words: str, said: str, tmp_path: Path) -> None:
    done = run(*words.replace("HARBOR", str(HARBOR)).split(), home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("reread: ") and said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("grep jitter --json", "search jitter --json"),
        ("log --sort updated", "ls --sort updated"),
        ("list -n 2", "ls -n 2"),
        ("help", "--help"),
        ("help ls", "ls --help"),
        ("help grep", "search --help"),
    ],
)
def test_words_of_other_programs_run_the_verb(typed: str, meant: str) -> None:
    done = run("--demo", *typed.split())
    assert done.stdout and done.returncode == 0
    assert done.stdout == run("--demo", *meant.split()).stdout


def test_every_synonym_leads_to_a_verb() -> None:
    assert {meant.split()[0] for meant in (*SYNONYMS.values(), *ALIASES.values())} <= {*all_verbs(), "--version"}
    assert not {*SYNONYMS, *ALIASES} & {*all_verbs()}


def test_a_short_option_prints_the_version() -> None:
    assert run("-V").stdout == f"reread, version {reread.__version__}\n"


def test_the_header_has_the_period_and_the_cost() -> None:
    wide = {"TZ": "UTC", "COLUMNS": "200"}
    lines = {id: run("--demo", "show", id, env=wide).stdout.splitlines()[1] for id in ("8c1f", "f27b")}
    assert lines["8c1f"].endswith(" · 2026-11-09 08:12 – 08:17 · $0.15")
    assert lines["f27b"].endswith(" · $0.08")
