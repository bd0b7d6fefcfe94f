"""Search over all sessions from the command line and through the server."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from batches import table
from click.testing import CliRunner
from indexes import open_reader
from limits import PATIENCE
from making import answer, jsonl, reply, result, told, use, user
from test_server import running

from reread.base.paths import SAMPLES
from reread.cli import reread
from reread.errors import Misuse
from reread.index.find import search
from reread.index.hits import JSON_FIELDS
from reread.server import library_search
from reread.server.library import SessionLibrary
from reread.server.library_search import SearchService


def run(*words: str) -> Any:
    return CliRunner().invoke(reread, ["--demo", *words])


def test_results_are_grouped_and_say_how_to_read_on() -> None:
    done = run("search", "dead letter", "in:prompts", "-n", "1")
    lines = done.stdout.splitlines()
    assert lines[0] == "Dead-letter queue  /home/sam/code/harbor"
    assert "reread --demo show d2a94e17:" in lines[1]
    assert "prompt" in lines[2]
    assert "dead" in lines[3].lower()
    assert lines[-1] == "3 matches in 1 session; 1 shown", "letters is a form of letter"


def test_json_has_exactly_these_fields() -> None:
    value = json.loads(run("search", "tool:bash pytest", "--json", "-n", "2").stdout)
    assert list(value) == ["hits", "total", "with_all", "with_some", "words", "corrected", "facets"]
    assert value["words"] == ["pytest"] and value["facets"]["tool"]["bash"] >= 2
    assert [tuple(hit) for hit in value["hits"]] == [JSON_FIELDS] * 2
    assert value["total"] >= 2
    assert {hit["tool"] for hit in value["hits"]} == {"Bash"}
    assert all(Path(hit["path"]).is_relative_to(SAMPLES) for hit in value["hits"])


def test_a_search_without_results_and_a_bad_query_have_plain_messages() -> None:
    assert "No matches" in run("search", "zyzzyva").stderr and run("search", "zyzzyva").exit_code == 1
    assert isinstance(run("search", "before:whenever").exception, Misuse)
    assert isinstance(run("search", "--match=regex", "(").exception, Misuse)
    nothing = json.loads(run("search", "zyzzyva", "--json").stdout)
    assert (nothing["hits"], nothing["total"], nothing["corrected"]) == ([], 0, {"zyzzyva": ""})


def test_what_cannot_be_asked_is_refused() -> None:
    for words, message in {
        ("!=",): "No words in '!='",
        ("NOT",): "No words in 'NOT'",
        ("retry", "--open", "--json"): "Cannot use --open with --json",
        ("retry", "--since", "2026-11-15", "--until", "2026-11-01"): "Nothing lies between",
    }.items():
        error = run("search", *words).exception
        assert isinstance(error, Misuse) and message in str(error), words
    for option in ("--file", "--tool", "--model", "--project"):
        assert "is a variable not set" in run("search", "retry", option, "").stderr, option
    assert run("search", "*", "--errors").exit_code == 0


def test_a_word_that_is_said_twice_counts_once() -> None:
    once, twice = (search(query, root=SAMPLES) for query in ("retry", "retry RETRY retry"))
    assert (twice.words, twice.total, twice.with_all) == (once.words, once.total, once.with_all)
    assert [(one.link, one.score) for one in twice] == [(one.link, one.score) for one in once]


@table(
    ("query", "corrected"),
    [
        ("Größe", {"Größe": ""}),
        ("e\u0301tude", {"\u00e9tude": ""}),
        ("backoffé", {"backoffé": "backoff"}),
        ("データベース retry", {"データベース": ""}),
        ("ceilng", {"ceilng": "ceiling"}),
    ],
)
def test_a_word_that_nothing_has_is_named_as_it_was_written(query: str, corrected: dict[str, str]) -> None:
    assert search(query, root=SAMPLES).corrected == corrected


def test_open_goes_to_the_place_in_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("reread.server.run.serve", lambda *paths, **options: opened.append(options))
    run("search", "dead letter", "in:titles", "--open")
    assert opened[0]["at"].startswith("#/s/d2a94e17-0c58-4f6b-8a1d-7be3905f26c4")
    assert opened[0]["demo"]


def test_a_cold_start_loads_no_more_than_it_needs() -> None:
    code = "import sys, reread.index.find; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"starlette", "uvicorn", "rich", "watchfiles", "asyncio"} & set(loaded)


def test_the_server_finds_titles_first_then_texts() -> None:
    with running(SessionLibrary([SAMPLES], count=False)) as site:
        site.get("/api/library")
        found = site.get("/api/search?q=dead+letter&count=5")
        assert [row["title"] for row in found["titles"]] == ["Dead-letter queue"]
        first = found["sessions"][0]
        assert first["key"] == "d2a94e17-0c58-4f6b-8a1d-7be3905f26c4"
        assert first["hits"][0]["link"].startswith(f"#/s/{first['key']}")
        assert found["total"] > 5
        assert found["next"] == 5
        more = site.get("/api/search?q=dead+letter&count=200&start=5")
        assert more["titles"] == []
        assert more["next"] is None
        hits = [hit for page in (found, more) for session in page["sessions"] for hit in session["hits"]]
        assert len(hits) >= found["total"] and hits[0]["stage"] == "all"
        assert found["with_all"] == len(
            {one["key"] for page in (found, more) for one in page["sessions"] if one["hits"][0]["stage"] == "all"}
        )
        assert found["facets"]["kind"]["prompt"] > 0 and found["facets"]["tool"]["bash"] > 0
        assert site.status("/api/search?q=") == 400
        assert site.status("/api/search?q=is:odd") == 400
        assert site.status("/api/search?q=!=") == 400, "a query without words lists no sessions, as everywhere"


def test_what_is_written_is_found_by_the_next_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_search, "FRESH_SECONDS", 0.0)
    path = tmp_path / "root/projects/p/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("first"))))
    service = SearchService(SessionLibrary([tmp_path / "root"], count=False))
    assert service.search("needle").total == 0
    with path.open("ab") as file:
        file.write(jsonl(*told(reply("the needle", use("t1", command="ls")), answer(result("t1", "more")))))
    assert service.search("needle").total == 1
    service.close()


def test_much_is_indexed_by_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_search, "SMALL", 10)
    monkeypatch.setattr(library_search, "FRESH_SECONDS", 0.0)
    path = tmp_path / "root/projects/p/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("a needle"))))
    service = SearchService(SessionLibrary([tmp_path / "root"], count=False))
    assert service.search("needle").pending > 0
    deadline = time.monotonic() + PATIENCE
    while (found := service.search("needle")).pending and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (found.total, found.pending, found.note) == (1, 0, "")
    service.close()


def test_a_server_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "root/projects/p/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("a needle"))))
    service = SearchService(SessionLibrary([tmp_path / "root"], count=False))
    assert service.search("needle").total == 1
    (path.parent / "b.jsonl").write_bytes(jsonl(*told(user("a needle"))))
    code = f"import reread; print(len(list(reread.search('needle', root={str(tmp_path / 'root')!r}))))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == "2"
    assert open_reader() is not None
    service.close()


def test_the_id_in_a_command_is_as_long_as_it_must_be(tmp_path: Path) -> None:
    for id in (
        "5e551017-0000-4000-8000-000000000001",
        "5e551017-0000-4000-8000-000000000002",
        "ca97ca97-0000-4000-8000-000000000003",
        "capture",
    ):
        path = tmp_path / "projects" / "p" / f"{id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*told(user(f"needle in {id}", sessionId=id))))
    lines = CliRunner().invoke(reread, ["search", "needle", "--root", str(tmp_path)]).stdout.splitlines()
    commands = sorted(line.split(" show ")[1].split(" --")[0] for line in lines if " show " in line)
    assert commands == [
        "5e551017-0000-4000-8000-000000000001:1",
        "5e551017-0000-4000-8000-000000000002:1",
        "ca97ca97:1",
        "capture:1",
    ]
