"""A filter of sessions chooses the same in every verb, in Python and in the reader."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import cli
from making import SESSION, answer, reply, result, told, use, user, write

import reread
from reread.addons.mcp.answers import search_answer, sessions_answer, usage_answer
from reread.base.scope_options import ALL, OF_LISTS, OF_RESPONSES, OF_SESSIONS, SCOPE_OPTIONS
from reread.facts.scope import FILTERS, ScopeOptions
from reread.server.library import SessionLibrary
from reread.server.reports import REPORTS

OTHER = SESSION.replace("5e55", "f02c")
VALUES: dict[str, tuple[str, int]] = {
    "since": ("2027-01-01", 0),
    "until": ("2020-01-01", 0),
    "tz": ("UTC", 2),
    "project": ("/work/other", 1),
    "person": ("nobody-*", 0),
    "machine": ("nobody-*", 0),
    "tag": ("release", 1),
    "branch": ("topic", 1),
    "model": ("sonnet", 1),
    "tool": ("Bash", 2),
    "state": ("failed", 2),
    "failed": ("1", 1),
}
"""A value of each option, and how many of the two sessions it chooses."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session whose last command failed, and another one, of another project, branch and model."""
    folder = tmp_path_factory.mktemp("scope")
    for id, is_error, more in (
        (SESSION, False, {}),
        (OTHER, True, {"cwd": "/work/other", "gitBranch": "topic"}),
    ):
        calls = [use("c1", command="make lint"), use("c2", command="make test")]
        said = reply(*calls, id=f"m{id}", stop_reason="end_turn")
        model = "claude-sonnet-4-5-20250929" if is_error else "claude-opus-4-5-20251101"
        said["message"] |= {"model": model, "usage": {"input_tokens": 1000, "output_tokens": 50}}
        records = [user("Test it"), {**said, "requestId": f"r{id}"}]
        for name, bad in (("c1", not is_error), ("c2", is_error)):
            records.append(answer(result(name, "Exit code 1" * bad, is_error=bad)))
        names = {"c1": f"c1{id}", "c2": f"c2{id}"}
        lines = json.loads(
            json.dumps(told(*records)).replace('"c1"', f'"{names["c1"]}"').replace('"c2"', f'"{names["c2"]}"')
        )
        lines = [
            {**line, "uuid": f"{id[:4]}{line['uuid']}", "parentUuid": None, "sessionId": id, **more} for line in lines
        ]
        write(folder, *lines, name=id)
    return folder


def test_one_list_has_every_filter() -> None:
    assert set(VALUES) == set(SCOPE_OPTIONS) == set(ALL)
    assert set(ScopeOptions.__annotations__) == {*SCOPE_OPTIONS, "root"}
    assert set(FILTERS) == set(SCOPE_OPTIONS) - {"since", "until", "tz"}


@pytest.fixture(autouse=True)
def tagged(root: Path) -> None:
    """The other session has a tag."""
    reread.tag_sessions(OTHER, add="release", root=root)


@pytest.mark.parametrize("name", ALL)
def test_a_filter_chooses_the_same_in_every_way(root: Path, name: str) -> None:
    text, sessions = VALUES[name]
    value: Any = True if not SCOPE_OPTIONS[name].metavar else text
    options = {name: value}
    typed = [f"--{name}"] if value is True else [f"--{name}", text]

    def printed(verb: str, *more: str) -> Any:
        return json.loads(cli(verb, "--root", root, "--json", *more, *typed).stdout)

    library = SessionLibrary([root], count=False)
    library.refresh()
    counts = {
        "stats()": len(reread.stats(root=root, by="session", **options)),
        "stats": len(printed("stats", "--by", "session")["rows"]),
        "/api/reports/stats": len(REPORTS["stats"].answer(library, {"by": "session", name: text})["rows"]),
    }
    if name in OF_RESPONSES:
        counts |= {
            "usage()": len(reread.usage(root=root, by="session", **options)),
            "usage": len(printed("usage", "--by", "session")["rows"]),
            "/api/reports/usage": len(REPORTS["usage"].answer(library, {"by": "session", name: text})["rows"]),
        }
    if name in OF_SESSIONS:
        counts |= {
            "advise()": reread.advise(root=root, **options).sessions,
            "advise": printed("advise")["sessions"],
            "/api/reports/advice": REPORTS["advice"].answer(library, {name: text})["sessions"],
        }
    if name in OF_LISTS:
        listed = json.loads(cli("ls", "--root", root, "--json", *typed).stdout)
        found = json.loads(cli("search", "test", "--root", root, "--json", *typed).stdout)["hits"]
        counts |= {
            "ls": len(listed),
            "search": len({hit["path"] for hit in found}),
            "search()": len({hit.path for hit in reread.search("test", root=root, **options)}),
            "MCP search": len(
                {*re.findall(r"reread://session/([\w-]+)", search_answer("test", roots=[root], **options))}
            ),
            "MCP sessions": len({*re.findall(r"reread://session/([\w-]+)", sessions_answer(roots=[root], **options))}),
        }
    assert counts == dict.fromkeys(counts, sessions)
    if name in OF_RESPONSES:
        rows = usage_answer(by="session", roots=[root], **options).partition(" ")[0]
        assert rows == str(sessions)


def test_sessions_whose_last_command_failed_are_listed_and_searched(root: Path, tmp_path: Path) -> None:
    """Whatever their files are called, and only those below the folder that was asked for."""
    (file,) = root.rglob(f"{OTHER}.jsonl")
    renamed = tmp_path / "projects" / "p" / "notes.jsonl"
    renamed.parent.mkdir(parents=True)
    renamed.write_bytes(file.read_bytes())
    for folder, path in ((root, file), (tmp_path, renamed)):
        where = ["--root", folder, "--failed", "--json"]
        assert [header["path"] for header in json.loads(cli("ls", *where).stdout)] == [str(path)]
        for query in (["test"], ["--match=regex", "Tes?t"], ["--match=exact", "Test"]):
            found = json.loads(cli("search", *query, *where).stdout)
            assert {hit["path"] for hit in found["hits"]} == {str(path)}, query
        assert {hit.path for hit in reread.search("test", root=folder, failed=True)} == {str(path)}
        answered = search_answer("test", failed=True, roots=[folder])
        assert OTHER[:8] in answered or "notes" in answered
    assert {Path(hit.path).stem for hit in reread.search("test", root=root)} == {OTHER, SESSION}
    assert "No matches" in search_answer("test", failed=True, roots=[tmp_path], without={OTHER, "notes"})


def test_no_session_is_found_where_none_failed(root: Path, tmp_path: Path) -> None:
    (file,) = root.rglob(f"{SESSION}.jsonl")
    copy = tmp_path / "projects" / "p" / file.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(file.read_bytes())
    (tmp_path / "history.jsonl").write_text(
        json.dumps({"display": "gone", "timestamp": 1, "project": "/w", "sessionId": OTHER}) + "\n"
    )
    assert list(reread.search("test", root=tmp_path)) and not list(reread.search("test", root=tmp_path, failed=True))
    assert cli("ls", "--root", tmp_path, "--only", "prompts").exit_code == 0
    assert cli("ls", "--root", tmp_path, "--only", "prompts", "--failed").exit_code == 1
