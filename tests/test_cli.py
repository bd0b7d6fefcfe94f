"""The command line, run as a process."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import pytest
from batches import part, table
from command import REREAD, run
from effort import one_in
from limits import child_process

import reread
from reread.base.paths import SAMPLES
from reread.cli import DROPPED, MERGED, RENAMED, all_verbs
from reread.cli import reread as group
from reread.cli._option_types import MAX_COMPLETIONS
from reread.cli._output import ITEMS_PER_WRITE, print_json
from reread.server.library import SessionLibrary
from reread.server.reports import REPORTS

HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))


def test_without_a_verb_it_prints_the_help() -> None:
    done = run()
    assert done.returncode == 0
    for verb in ("ls", "show", "search", "keep"):
        assert f"reread {verb}" in done.stdout


def test_the_whole_help_says_what_each_verb_does() -> None:
    shown = [run(*words).stdout for words in (["--help", "--all"], ["help", "--all"])]
    assert shown[0] == shown[1] and len(run("--help").stdout.splitlines()) <= 24
    for verb in all_verbs():
        assert re.search(rf"^  {verb}  +[A-Z]\w+ .*", shown[0], re.MULTILINE), verb
    assert run("ls", "--all").stderr.startswith("reread: No option --all;")


def test_it_prints_its_version() -> None:
    assert run("--version").stdout == f"reread, version {reread.__version__}\n"


def test_ls_groups_sessions_by_project_newest_first() -> None:
    done = run("--demo", "ls")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("/")] == [
        "/home/sam/code/lantern",
        "/home/sam/code/harbor",
        "/home/sam/code/almanac",
    ]
    assert any("d2a94e17" in line and "Dead-letter queue" in line for line in lines)


def test_ls_json_is_the_headers() -> None:
    listed = json.loads(run("--demo", "ls", "--json").stdout)
    assert {header["id"] for header in listed} == {h.id for h in reread.sessions(root=SAMPLES)}
    assert set(listed[0]) == set(reread.value_types.Header.__struct_fields__)


@pytest.mark.parametrize("count", [0, 1, ITEMS_PER_WRITE, 2 * ITEMS_PER_WRITE + 1])
def test_a_list_is_printed_in_batches_as_one_array(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    items = [{"n": n, "text": f"a\n]{n}", "within": [n]} for n in range(count)]
    print_json(items)
    assert capsys.readouterr().out == json.dumps(items, indent=2) + "\n"


def test_root_goes_before_or_after_the_verb() -> None:
    assert run("--root", str(SAMPLES), "ls").stdout == run("ls", "--root", str(SAMPLES)).stdout


class TestDemo:
    """Every verb finds the same bundled samples and does not change them."""

    @pytest.fixture
    def shown(self) -> dict[str, Any]:
        """The samples as the web server lists them."""
        library = SessionLibrary([SAMPLES], demo=True, count=False)
        return {row.id: row for row in library.listing().sessions}

    def test_the_option_works_before_and_after_the_verb(self) -> None:
        assert run("--demo", "ls").stdout == run("ls", "--demo").stdout

    def test_ls_lists_what_the_server_lists(self, shown: dict[str, Any]) -> None:
        listed = json.loads(run("--demo", "ls", "--json").stdout)
        assert [header["id"] for header in listed] == list(shown) and len(listed) == 9
        assert [header["title"] for header in listed] == [row.title for row in shown.values()]

    def test_usage_counts_what_the_server_counts(self, shown: dict[str, Any]) -> None:
        counted = json.loads(run("--demo", "usage", "--by", "session", "--json").stdout)
        whole = REPORTS["usage"].answer(SessionLibrary([SAMPLES], demo=True, count=False), {"by": "session"})
        assert counted["totals"] == whole["totals"] and len(counted["rows"]) == len(shown)

    def test_check_reads_all_samples_and_show_the_latest(self, shown: dict[str, Any]) -> None:
        files = json.loads(run("--demo", "check", "--json").stdout)["files"]
        assert len([file for file in files if not Path(file["path"]).name.startswith("agent-")]) == len(shown)
        assert run("--demo", "show", "latest").stdout.startswith(next(iter(shown.values())).title)

    def test_the_captured_sample_can_be_replayed_and_impersonates_claude(self) -> None:
        played = run("--demo", "replay", "latest", "--speed=instant").stdout.splitlines()
        assert json.loads(played[-1])["result"].startswith("## 0.5.0")
        asked = "Write the changelog entry for 0.5.0 from the commits since v0.4.2."
        done = run("--demo", "replay", "latest", "--as-claude", "-p", asked)
        assert done.stdout.startswith("## 0.5.0"), done.stderr

    def test_captures_do_not_write_to_the_samples(self) -> None:
        before = sorted(SAMPLES.rglob("*"))
        done = run("--demo", "capture", "--", "echo", "hi")
        assert done.returncode == 2 and "leave out --demo" in done.stderr
        assert sorted(SAMPLES.rglob("*")) == before
        assert "claude --resume 1d5e92c7" in run("--demo", "resume", "7a3d", "--dry-run").stdout


OWN_HELP = {
    ("--root", "capture"),
    ("--root", "resume"),
    *(("--format", verb) for verb in ("export", "capture", "replay", "resume")),
    ("--tool", "ls"),
    ("--errors", "ls"),
    ("--limit", "ls"),
    ("--sort", "usage"),
    *((option, "search") for option in ("--tool", "--errors", "--file", "--model", "--limit")),
    ("--tool", "stats"),
    ("--file", "ls"),
    ("--file", "files"),
    ("--format", "share"),
    *(("--output", verb) for verb in ("file", "keep", "share", "tables")),
    ("--text", "tables"),
    ("--text", "sql"),
    ("--from", "sql"),
    ("--keep-deleted", "tables"),
    *(("--to", verb) for verb in ("capture", "keep", "share", "tables")),
    *(("--check", verb) for verb in ("keep", "share", "tables")),
    *(("--team", verb) for verb in ("budget", "digest", "serve", "stats")),
    ("--exec", "digest"),
    *(("--full", verb) for verb in ("digest", "advise", "check")),
    *(("--limit", verb) for verb in ("tail", "brief")),
    *(("--only", verb) for verb in ("ls", "delete", "search")),
    *(("--sort", verb) for verb in ("ls", "search")),
    *((option, "replay") for option in ("--since", "--until")),
    *((option, "rerun") for option in ("--model", "--turns")),
    *(("--output", verb) for verb in ("sql", "rerun")),
    ("--list", "usage"),
    ("--undo", "archive"),
    *(("--dry-run", verb) for verb in ("delete", "keep")),
    *(("--yes", verb) for verb in ("keep", "resume")),
    *((option, "budget") for option in ("--project", "--model")),
    *((option, "delete") for option in ("--tool", "--errors", "--file", "--undo")),
    *((option, "resume") for option in ("--in", "--generation")),
    ("--schema", "check"),
    *((option, "digest") for option in ("--format", "--output")),
    *((option, "review") for option in ("--format", "--output", "--pr")),
    *((option, "statusline") for option in ("--format", "--install", "--uninstall")),
}
"""Options whose help differs from that of other verbs: captures write to --root, export has a default format, `ls` and
`search` choose sessions and texts instead of calls, and a session has another schema than its file, a budget is
for one project, `resume` and `delete` act on whole sessions, what is served of a team is not counted, and what is in
full, the most, or only one kind, is said of each thing. `archive --undo` takes no name, `share --undo` does."""
OWN_TYPES = {
    ("--file", "ls"),
    *(("--format", verb) for verb in ("export", "share")),
    *(("--output", verb) for verb in ("file", "keep", "share", "tables")),
    *(("--to", verb) for verb in ("capture", "keep", "share")),
    ("--from", "sql"),
    *(("--only", verb) for verb in ("ls", "delete", "search")),
    *(("--sort", verb) for verb in ("ls", "search")),
    *((option, "replay") for option in ("--since", "--until")),
    *((option, "rerun") for option in ("--model", "--turns")),
    *(("--output", verb) for verb in ("sql", "rerun")),
    *((option, "budget") for option in ("--project", "--model", "--team")),
    *((option, "delete") for option in ("--file", "--undo")),
    ("--undo", "archive"),
    ("--output", "digest"),
    ("--output", "review"),
    ("--format", "statusline"),
}
"""Options that name another kind of thing: a folder to keep sessions in, one file and not several."""
OWN_SHORT_NAMES = {("--format", "tail"), ("--format", "statusline")}
"""`tail -f` already has another meaning, and a status line has a text as its format."""


def options() -> dict[str, dict[str, click.Option]]:
    """Return every option by its long name and verb."""
    found: dict[str, dict[str, click.Option]] = defaultdict(dict)
    verbs = {verb: group.get_command(click.Context(group), verb) for verb in all_verbs()}
    for verb, command in {"reread": group, **verbs}.items():
        for option in command.params:
            if isinstance(option, click.Option):
                found[next(name for name in option.opts if name.startswith("--"))][verb] = option
    return found


MOST_OPTIONS = 100
"""A new option takes the place of another one: 0.3 had 126 of them, and nobody knew them all."""


class TestOptions:
    """An option has the same meaning for every verb."""

    def test_there_are_not_too_many(self) -> None:
        """Each name counts, also that of a switch that turns something off."""
        commands = (group, *(group.get_command(click.Context(group), verb) for verb in all_verbs()))
        named = {name for command in commands for one in command.params for name in (*one.opts, *one.secondary_opts)}
        assert len([name for name in named if name.startswith("--")]) <= MOST_OPTIONS

    def test_what_says_the_same_as_an_old_option_is_there(self) -> None:
        known = options()
        for old, now in RENAMED.items():
            verb, _, name = old.rpartition(" ")
            words = [word for word in re.findall(r"--[a-z-]+", now) if not now.startswith("`")]
            now_on = [known[word] for word in words] or [known["--json"]]
            verb = verb or next(verb for verb in now_on[0] if verb != "reread" and verb not in known.get(name, ()))
            assert all(verb in verbs for verbs in now_on), old
            assert run(verb, name).stderr.endswith(f"No option {name} any more; use {now}.\n")
        for old, reason in DROPPED.items():
            verb, _, name = old.rpartition(" ")
            assert run(verb or "usage", name).stderr.endswith(f"No option {name} any more; leave it out: {reason}.\n")
        assert {*MERGED} & {*all_verbs()} == set()
        for name, now in MERGED.items():
            verb, option, *_ = now.split()
            assert verb in known[option]
            assert run(name, "x").stderr == f"reread: `reread {name}` is `reread {now}` now.\n"

    @table(("name", "verbs"), options().items())
    def test_it_has_one_help_text_and_one_type(self, name: str, verbs: dict[str, click.Option]) -> None:
        def one(values: Iterable[Any]) -> bool:
            return len(set(values)) == 1

        alike = [option for verb, option in verbs.items() if (name, verb) not in OWN_TYPES]
        assert one((o.metavar, o.multiple, o.is_flag, type(o.type)) for o in alike)
        helps = {option.help for verb, option in verbs.items() if (name, verb) not in OWN_HELP}
        assert len(helps) <= 1
        assert one(tuple(option.opts) for verb, option in verbs.items() if (name, verb) not in OWN_SHORT_NAMES)

    @table(("name", "verbs"), options().items())
    def test_its_help_is_a_sentence_that_says_whether_it_repeats(
        self, name: str, verbs: dict[str, click.Option]
    ) -> None:
        for verb, option in verbs.items():
            assert option.help and option.help[0].isupper() and option.help.endswith("."), verb
            assert option.multiple == ("Repeatable." in option.help) or (name, verb) in OWN_HELP, verb
            assert option.is_flag or option.metavar or isinstance(option.type, click.Choice), verb


@table(
    ("filters", "expected"),
    [
        (["--tool", "NotebookEdit"], {"6a0f8d43"}),
        (["--size", "300k-"], {"d2a94e17"}),
        (["--tool", "NotebookEdit", "--tool", "LSP"], {"6a0f8d43", "b90c6f28"}),
        (["--project", "/home/sam/code/almanac"], {"6a0f8d43", "f27b5c90", "1d9c4e83"}),
        (
            ["--project", "/home/sam/code/almanac", "--project", "/home/sam/code/lantern/"],
            {"6a0f8d43", "f27b5c90", "1d9c4e83", "4e7d31aa", "b90c6f28", "c3e81f6d"},
        ),
        (["--since", "2026-11-12"], {"7a3d0c16", "b90c6f28"}),
        (["--limit", "1"], {"b90c6f28"}),
        (["--only", "captured"], {"7a3d0c16"}),
        (["--tool", "NoSuchTool"], set()),
    ],
)
def test_ls_filters(filters: list[str], expected: set[str]) -> None:
    listed = json.loads(run("--demo", "ls", "--json", *filters).stdout)
    assert {header["id"][:8] for header in listed} == expected


def test_ls_finds_sessions_with_errors() -> None:
    listed = [reread.open(header["path"]) for header in json.loads(run("--demo", "ls", "--json", "--errors").stdout)]
    assert listed
    for one in listed:
        assert any(c.state == "failed" for c in one.calls) or any(m.kind == "error" for m in one.messages)


@table(
    ("words", "message"),
    [
        (["completion"], "Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish. Run `reread completion"),
        (["files", "latest", "again"], "Got unexpected extra argument (again). Run `reread files --help` for help."),
        (["sql", ""], "Empty query; is a variable not set?"),
        *(
            (["usage", "--fail-over", cost], f"Invalid cost {cost}; use a number of dollars, such as 0.50.")
            for cost in ("nan", "-1", "1e999", "much")
        ),
        (["usage", "--by", "cache", "--fail-over", "1"], "Cannot use --by with --fail-over"),
        (["budget", "remove"], "Remove which budget? Name day, week, month, all, --project, --model or --team."),
        (["budget", "remove", "all", "--model", "opus"], "Cannot remove all budgets and single ones"),
        (["budget", "show", "day"], "Cannot show single budgets"),
        (["delete", "--yes", "--only", ","], "Cannot choose only ','; use starred"),
        (["delete", "--yes", "--only", "trash"], "Cannot choose only 'trash'; use starred"),
        (["ls", "--only", ""], "Cannot choose only ''; use starred"),
        (["--all"], "No such option '--all'."),
        (["diff", "8c1f@7"], "No path 7; this session has only path 0."),
        (["serve", "--root", "/nowhere", "--no-open"], "No folder /nowhere; pass a configuration or projects folder"),
    ],
)
def test_a_wrong_use_is_told_in_one_line(words: list[str], message: str) -> None:
    done = run("--demo", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", ["stats", "usage"])
def test_groups_may_be_none_or_repeated(verb: str) -> None:
    for by in ("", ","):
        done = run("--demo", verb, "--by", by)
        assert done.returncode == 0 and done.stdout.splitlines()[1].startswith("Total")
    assert run("--demo", verb, "--by", "day,day").stdout == run("--demo", verb, "--by", "day").stdout


def test_an_empty_list_names_the_folders_and_the_demo() -> None:
    done = run("ls")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No sessions in" in done.stderr and "--demo" in done.stderr


@pytest.mark.parametrize("words", ["usage", "stats", "usage --json", "search jitter", "show"])
def test_a_newcomer_without_sessions_is_told_so_and_named_the_demo(words: str) -> None:
    done = run(*words.split())
    assert "No sessions" in done.stderr and "--demo" in done.stderr
    narrowed = run("--demo", *words.split(), "--project", "nowhere").stderr
    assert "No sessions in" not in narrowed and "No sessions found" not in narrowed


def test_show_prints_no_escape_codes(tmp_path: Path) -> None:
    done = run("--demo", "show", "d2a9")
    assert done.returncode == 0 and "▌" in done.stdout
    assert "\x1b" not in done.stdout
    hostile = {"type": "user", "sessionId": "s", "message": {"content": "\x1b]0;owned\x07\x1b[31mred\u202e"}}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(hostile))
    shown = run("show", str(path)).stdout
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown and "owned" in shown


def test_show_raw_is_the_file() -> None:
    done = subprocess.run([*REREAD, "show", str(HARBOR), "--format=raw"], capture_output=True, check=True)
    assert done.stdout == HARBOR.read_bytes()


def test_show_json_has_the_names_of_the_library() -> None:
    shown = json.loads(run("show", str(HARBOR), "--format", "json").stdout)
    session = reread.open(HARBOR)
    assert (shown["id"], shown["title"], shown["project"]) == (session.id, session.title, session.project)
    assert [m["id"] for m in shown["messages"]] == [m.id for m in session.messages]
    assert [(c["name"], c["state"]) for c in shown["calls"]] == [(c.name, c.state) for c in session.calls]
    assert [t["prompt"]["text"] for t in shown["turns"]] == [t.prompt.text for t in session.turns if t.prompt]
    assert shown["agents"].keys() == session.agents.keys()
    assert len(shown["ledger"]) == len(session.records)
    assert shown["branches"][0]["active"] is True


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("show HARBOR --turns 99", "No turn 99; this session has 14 turns."),
        ("show HARBOR --turns 99- --format json", "No turn 99; this session has 14 turns."),
        ("show HARBOR --turns 99-100 --format markdown", "No turn 99; this session has 14 turns."),
        ("show HARBOR@1 --turns 99", "No turn 99; path 1 has 14 turns."),
        ("export HARBOR --turns 99 --format html", "No turn 99; this session has 14 turns."),
    ],
)
def test_a_turn_or_run_beyond_the_end_is_an_error_with_the_count(words: str, said: str) -> None:
    done = run(*words.replace("HARBOR", str(HARBOR)).split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"reread: {said}\n")


def test_export_can_omit_images() -> None:
    png = "iVBORw0KGgo"
    assert png in run("--demo", "export", "b90c", "-f", "html").stdout
    assert png not in run("--demo", "export", "b90c", "-f", "html", "--omit", "images").stdout


def test_export_of_any_folder_takes_its_sessions_but_not_their_agents(tmp_path: Path) -> None:
    for name in ("one.jsonl", "agent-a1.jsonl"):
        (tmp_path / name).write_bytes(HARBOR.read_bytes())
    done = run("export", str(tmp_path), "-f", "html", "-o", str(tmp_path / "site"))
    assert done.stderr.endswith(": 1 written, 0 unchanged\n")


def test_a_session_can_be_read_from_a_pipe() -> None:
    done = run("show", "-", stdin=HARBOR.read_bytes())
    assert "Dead-letter queue" in done.stdout


@table(
    "words",
    [
        "show",
        "show nope",
        "show /no/such/file.jsonl",
        f"show {SAMPLES}",
        "ls --since soon",
        "ls --size big",
        "ls --root /no/such/folder",
        "check",
        "check /no/such",
        "nonsense",
    ],
)
def test_misuse_exits_with_2_and_a_message(words: str) -> None:
    done = run(*words.split())
    assert done.returncode == 2
    assert done.stderr.strip() and "Traceback" not in done.stderr


def test_a_closed_pipe_is_not_an_error() -> None:
    command = f"{REREAD[0]} show {HARBOR} --format json | head -c 10"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_check_of_a_healthy_session_finds_no_error_and_exits_with_0() -> None:
    done = run("check", str(HARBOR))
    assert done.returncode == 0
    assert "0 errors" in done.stdout.splitlines()[-1]


def test_check_of_a_broken_file_names_the_line_and_exits_with_1(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"type": "summary", "summary": "s"}\n{nonsense\n{"type": "summary", "summary": "t"}\n')
    done = run("check", str(path))
    assert done.returncode == 1
    assert done.stdout.startswith(f"{path}:2: error: ")


def test_check_json_accounts_for_every_record() -> None:
    report = json.loads(run("check", str(SAMPLES), "--json").stdout)
    assert set(report) == {"files", "totals"}
    for file in report["files"]:
        assert {"path", "dialects", "lines", "records", "fates", "findings"} == set(file)
        assert sum(file["fates"].values()) == file["records"]
        assert file["lines"] == len(reread.open(Path(file["path"])).lines)
    assert report["totals"]["records"] == sum(file["records"] for file in report["files"])
    assert report["totals"]["tools"]["Bash"] > 0 and report["totals"]["types"]["assistant"] > 0
    paths = [file["path"] for file in report["files"]]
    kept = list(SAMPLES.rglob("*.jsonl.zst"))
    assert len(paths) == len(set(paths)) == len(list(SAMPLES.rglob("*.jsonl"))) + len(kept)


def test_check_drift_lists_unknown_types_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = ('{"type": "user", "sessionId": "s", "zebra": 1, "message": {"content": "x"}}', '{"type": "yak"}', "{}")
    path.write_text("\n".join(rows) + "\n")
    drift = run("check", str(path), "--drift").stdout
    assert "user.zebra" in drift and "yak" in drift and "  (no type)\n" in drift
    assert "No unknown types" in run("check", str(HARBOR), "--drift").stdout


def test_check_drift_as_json_lists_drift_only() -> None:
    rules = Path(__file__).parent / "fixtures" / "rules"
    report = json.loads(run("check", str(rules), "--drift", "--json").stdout)
    codes = {finding["code"] for file in report["files"] for finding in file["findings"]}
    assert codes == {
        *("unknown-type", "unknown-subtype", "unknown-block", "unknown-field", "unknown-tool"),
        *("changed-type", "wrong-type"),
    }
    assert all(file["findings"] for file in report["files"])
    assert report["totals"]["infos"] == sum(
        finding["level"] == "info" for file in report["files"] for finding in file["findings"]
    )


def test_check_schema_is_a_json_schema() -> None:
    schema = json.loads(run("check", "--schema").stdout)
    assert "anyOf" in schema and "$defs" in schema


def test_tail_prints_changes_as_json_lines_and_ends_on_interrupt(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = HARBOR.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0])
    command = [*REREAD, "tail", str(path), "--format", "json"]
    changes: list[dict[str, Any]] = []
    with child_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=lambda: changes.extend(map(json.loads, process.stdout)))
        reader.start()
        for n, line in enumerate(lines[1:40]):  # until the process has started and printed a few, however slowly
            with path.open("ab") as file:
                file.write(line)
            time.sleep(0.1 * n)
            if len(changes) >= 3:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(150) == 130
        reader.join(150)
        assert process.stderr.read().strip() == ""
    numbers = [change["line"] for change in changes]
    assert len(changes) >= 3 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert all({"kind", "fate", "message", "call", "agent"} <= change.keys() for change in changes)


@one_in(4)
@pytest.mark.parametrize("encoding", part(["cp1252", "latin-1", "ascii", "utf-8"], 2))
@pytest.mark.parametrize("words", [("ls",), ("show", "d2a9"), ("usage",), ("export", "d2a9")], ids=" ".join)
def test_output_that_is_not_utf_8_does_not_fail(words: tuple[str, ...], encoding: str) -> None:
    environment = {
        **os.environ,
        "PYTHONIOENCODING": encoding,
        "HOME": "/nonexistent",
        "CLAUDE_CONFIG_DIR": "/nonexistent",
    }
    done = subprocess.run([*REREAD, "--demo", *words], capture_output=True, env=environment, check=True)
    assert done.stdout and not done.stderr


class TestCompletion:
    """Shell completion."""

    def completions(self, *words: str, **variables: str) -> str:
        request = {"_REREAD_COMPLETE": "zsh_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        return run(env={**request, **variables}).stdout

    def test_verbs(self) -> None:
        assert "\nshow\n" in self.completions("reread", "s")

    def test_session_ids_with_their_titles(self) -> None:
        output = self.completions("reread", "--demo", "show", "d2")
        assert f"{HARBOR.stem}\nDead-letter queue" in output and "8c1f0b52" not in output

    def test_a_wrong_root_prints_nothing_into_the_line(self) -> None:
        request = {"_REREAD_COMPLETE": "bash_complete", "COMP_WORDS": "reread --root nope show ", "COMP_CWORD": "4"}
        done = run(env=request)
        assert (done.returncode, done.stderr) == (0, "")

    def test_a_title_cannot_send_escape_codes(self, tmp_path: Path) -> None:
        record = {
            "type": "user",
            "uuid": "u",
            "sessionId": "d2x",
            "message": {"role": "user", "content": "\x1b[31mred"},
        }
        project = tmp_path / "projects" / "p"
        project.mkdir(parents=True)
        (project / "d2x.jsonl").write_text(json.dumps(record) + "\n")
        output = self.completions("reread", "show", "d2", CLAUDE_CONFIG_DIR=str(tmp_path))
        assert "d2x" in output and "\x1b" not in output

    @pytest.mark.parametrize("words", [("--root", "DIR", "show", "s"), ("show", "--root", "DIR", "s")], ids=" ".join)
    def test_session_ids_below_a_root(self, words: tuple[str, ...], tmp_path: Path) -> None:
        (tmp_path / "projects" / "p").mkdir(parents=True)
        for n in range(MAX_COMPLETIONS + 1):
            (tmp_path / "projects" / "p" / f"s{n:03}.jsonl").write_text('{"type":"summary","summary":"A title"}\n')
        output = self.completions("reread", *(str(tmp_path) if word == "DIR" else word for word in words))
        assert output.count("A title") == MAX_COMPLETIONS

    @pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
    @pytest.mark.parametrize(
        ("words", "expected"),
        [(("show", "d2"), ["d2x"]), (("show", ""), ["latest", "d2x"]), (("ls", "--project", ""), ["app"])],
        ids=lambda words: " ".join(words),
    )
    def test_bash_offers_what_is_known_and_nothing_that_it_would_run(
        self, words: tuple[str, ...], expected: list[str], tmp_path: Path
    ) -> None:
        project = tmp_path / "projects" / "p"
        project.mkdir(parents=True)
        for name, folder in (("d2x", "app"), ("d2$(touch run)", "$(touch run)"), ("d2`touch run`", "a;touch run")):
            (project / f"{name}.jsonl").write_text(
                json.dumps({"type": "user", "uuid": "u", "cwd": f"/{folder}"}) + "\n"
            )
        script = """
            eval "$(reread completion bash)"; compopt() { :; }
            COMP_WORDS=(reread "$@"); COMP_CWORD=$#; _reread_completion reread; printf '%s\\n' "${COMPREPLY[@]}"
        """
        path = f"{Path(REREAD[0]).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "CLAUDE_CONFIG_DIR": str(tmp_path)}
        done = subprocess.run(["bash", "-c", script, "bash", *words], env=environment, capture_output=True, check=True)
        assert done.stdout.decode().splitlines() == expected

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_every_shell_has_a_script(self, shell: str) -> None:
        assert "_REREAD_COMPLETE" in run("completion", shell).stdout


def test_a_configuration_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    missing, work = str(tmp_path / "typo"), tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_text("x = 1\n")
    git = ("git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (["init", "--quiet"], ["add", "a.py"], ["commit", "--quiet", "--message", "x"]):
        subprocess.run([*git, *words], check=True)
    of_work = [["blame", str(work / "a.py")], ["review", "HEAD", "--repo", str(work)]]
    for words in [
        ["search", "x"],
        *of_work,
        *([verb] for verb in "ls show usage check digest keep now".split()),
    ]:
        said = run(*words, home=tmp_path, env={"CLAUDE_CONFIG_DIR": missing}).stderr
        assert f"CLAUDE_CONFIG_DIR={missing} (no such folder: {missing})" in said, words


def test_an_export_without_a_pair_says_so(tmp_path: Path) -> None:
    done = run("--demo", "export", "8c1f", "-f", "pairs", "-o", str(tmp_path / "pairs.jsonl"))
    assert (done.returncode, done.stdout) == (1, "") and "so there is no pair" in done.stderr
    assert not list(tmp_path.iterdir())
    assert run("--demo", "export", "d2a9", "-f", "pairs", "-o", str(tmp_path / "pairs.jsonl")).returncode == 0


def test_reports_are_lists_of_their_rows() -> None:
    for report in (reread.usage(root=SAMPLES), reread.stats(root=SAMPLES), reread.cache_breaks(root=SAMPLES)):
        assert list(report) == report.rows and report.rows
