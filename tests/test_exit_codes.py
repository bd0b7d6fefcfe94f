"""The exit codes that the page on the command line lists, verb by verb; what matches nothing is no answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from effort import one_in

from reread.cli import all_verbs, main
from reread.cli._exit_codes import BY_VERB, EVERY_VERB
from reread.cli._unmatched import suggestion

pytestmark = one_in(2)

PAGE = (Path(__file__).parent.parent / "docs/commands.md").read_text()
SECRET = '{"type":"user","uuid":"u","message":{"role":"user","content":"password=' + 'hunter2hunter2"}}\n'
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run the command line in this process, and return the exit code and what was printed."""
    monkeypatch.setattr("reread.cli.guard_output", lambda: None)
    monkeypatch.setattr("reread.cli.open_standard_streams", lambda: None)
    monkeypatch.setattr("gc.freeze", lambda: None)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["reread", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out, err

    return run


NOTHING = {
    "ls": ["--project", "harbr"],
    "search": ["zyzzyva"],
    "show": ["--project", "harbr"],
    "context": ["latest:req3"],
    "diff": ["latest:req4"],
    "tail": ["--project", "harbr"],
    "files": ["--file", "bakoff.py"],
    "blame": [__file__],
    "usage": ["--model", "opsu"],
    "stats": ["--tool", "bsh"],
    "advise": ["--project", "harbr"],
    "resume": ["--project", "harbr"],
    "delete": ["--project", "harbr"],
    "export": ["--project", "harbr", "-o", "x.md"],
    "share": ["--tool", "bsh", "-o", "x.md"],
}
"""What matches nothing, by the verbs that exit with 1 then."""
FOUND = {
    "check": "torn.jsonl",
    "keep": "tested with the archive, in test_keep.py",
    "now": "tested with running processes, in test_now.py",
    "statusline": "tested with settings, in test_status_line.py",
    "budget": "tested in test_budgets.py",
    "digest": "tested in test_digest.py",
    "rerun": "tested with the real client, in tests_rerun",
    "review": "tested in test_review.py",
    "tables": "tested with a bucket, in test_team.py",
}
"""What the others that exit with 1 find."""


def test_every_verb_and_code_has_a_case() -> None:
    assert {verb for verb, codes in BY_VERB.items() if 1 in codes} == {*NOTHING, *FOUND}
    assert set(BY_VERB) <= set(all_verbs())


@pytest.mark.parametrize("verb", NOTHING)
def test_what_matches_nothing_exits_with_1_and_says_so(verb: str, run: Run) -> None:
    code, out, err = run("--demo", verb, *NOTHING[verb])
    assert (code, out) == (1, "")
    assert err.startswith(("reread: No ", "reread: This session used no tool 'bsh'; did you mean Bash?"))
    assert not Path("x.md").exists()


OF_PROJECTS = ("usage", "digest", *(verb for verb, words in NOTHING.items() if "--project" in words))


@pytest.mark.parametrize("verb", OF_PROJECTS)
def test_a_project_without_sessions_is_named_by_every_verb(verb: str, run: Run) -> None:
    code, _, err = run("--demo", verb, "--project", "harbr", *NOTHING.get(verb, [])[2:])
    assert (code, err) == (1, "reread: No sessions of harbr; did you mean harbor?\n")


@pytest.mark.parametrize("verb", ["ls", "search", "files", "usage", "stats", "blame"])
def test_json_is_valid_all_the_same(verb: str, run: Run) -> None:
    code, out, _ = run("--demo", verb, *NOTHING[verb], "--json")
    assert code == 1
    value = json.loads(out)
    assert verb == "blame" or not (value if isinstance(value, list) else value.get("hits") or value.get("rows"))


def test_json_is_the_json_format(run: Run) -> None:
    assert run("--demo", "show", "--json") == run("--demo", "show", "-f", "json")
    assert run("--demo", "show", "--json", "-f", "markdown")[0] == run("--demo", "usage", "--person", "")[0] == 2
    assert run("--demo", "show", "-f", "md") == run("--demo", "show", "-f", "markdown")
    assert "'md' is not one of" in run("tail", "--format", "md")[2]
    for name in ("x.html", "x.json", "x.md"):
        run("--demo", "digest", "--since", "2026-11-09", "-o", name)
    assert [Path(f"x.{suffix}").read_text()[0] for suffix in ("html", "json", "md")] == ["<", "{", "#"]


def test_a_session_that_has_no_such_call_is_printed_and_exits_with_1(run: Run) -> None:
    code, out, err = run("--demo", "show", "--tool", "bsh", "-f", "json")
    assert code == 1 and json.loads(out)["title"] and "did you mean Bash?" in err
    assert run("--demo", "show", "--file", "nosuch.py", "--errors")[0] == 1


def test_findings_exit_with_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "torn.jsonl").write_text('{"type":"user","uuid":"u"\n' * 2)
    (tmp_path / "secret.jsonl").write_text(SECRET)
    assert run("check", "torn.jsonl")[0] == 1
    assert run("share", "--check", "secret.jsonl")[0] == 1
    assert run("share", "secret.jsonl", "-o", "x.md")[0] == 3


@pytest.mark.parametrize("verb", all_verbs())
def test_a_wrong_option_exits_with_2(verb: str, run: Run) -> None:
    code, out, err = run(verb, "--no-such-option")
    assert (code, out) == (2, "") and err.startswith("reread: ")


@pytest.mark.parametrize("words", [["ls"], ["usage"], ["stats"], ["files"], ["search", "jitter"]], ids=" ".join)
def test_an_answer_exits_with_0(words: list[str], run: Run) -> None:
    code, out, _ = run("--demo", *words)
    assert code == 0 and out


def test_no_filter_and_no_session_is_no_failure(run: Run, tmp_path: Path) -> None:
    for verb in ("ls", "usage", "stats"):
        code, _, err = run(verb, "--root", str(tmp_path))
        assert code == 0 and err.startswith("reread: No sessions in ")


@one_in(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", "retry", "--tool", "bsh"], "No session used a tool 'bsh'; did you mean Bash?"),
        (["search", "tool:bsh retry"], "No session used a tool 'bsh'; did you mean Bash?"),
        (["search", "retry", "--model", "opsu"], "No response of a model 'opsu'; did you mean opus?"),
        (["search", "retry", "--branch", "mian"], "on a git branch 'mian'; did you mean main?"),
        (["search", "retry", "--project", "harbr"], "No sessions of harbr; did you mean harbor?"),
        (["search", "project:harbr retry"], "No sessions of harbr; did you mean harbor?"),
        (["search", "retry", "--file", "nosuch.py"], "No call is about a file 'nosuch.py'"),
        (["search", "file:nosuch.py,.,src/No.py -file:x.py"], "No call is about a file 'src/No.py'"),
        (["usage", "--project", "harbr"], "No sessions of harbr; did you mean harbor?"),
        (["usage", "--since", "2100"], "No response fits all of these options."),
        (["stats", "--project", "zzz"], "No sessions of zzz; there are /home/sam/code/almanac,"),
        (["ls", "--tool", "bsh"], "No session used a tool 'bsh'; did you mean Bash?"),
        (["ls", "--since", "2100"], "No matching sessions."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_may_have_been_meant_is_said(words: list[str], said: str, run: Run) -> None:
    code, _, err = run("--demo", *words)
    assert code == 1 and said in err


def test_one_name_of_several_that_matches_nothing_is_named(run: Run) -> None:
    code, out, err = run("--demo", "usage", "--by", "model", "--model", "opus", "--model", "opsu")
    assert code == 0 and "opus" in out and "'opsu'; did you mean opus?" in err
    code, out, err = run("--demo", "ls", "--project", "harbor", "--project", "lantrn")
    assert code == 0 and "harbor" in out and "No sessions of lantrn; did you mean lantern?" in err


def test_known_names_are_listed_if_none_is_close() -> None:
    assert suggestion("zz", {"b", "a"}) == "there are a, b."
    assert suggestion("zz", {f"n{n:02}" for n in range(20)}).endswith(" n11 and 8 more.")


def test_the_table_is_on_the_page() -> None:
    rows = [("all", code, meaning) for code, meaning in EVERY_VERB.items()]
    rows += [(verb, code, meaning) for verb, codes in BY_VERB.items() for code, meaning in codes.items()]
    assert all(f"| {verb} | {code} | {meaning} |" in PAGE for verb, code, meaning in rows)
