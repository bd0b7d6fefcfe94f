"""Advice: what is loaded in vain, fails, is denied or expires, and nothing that is used or known already."""

import json
import re
import shlex
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from batches import table
from command import run
from making import answer, attachment, jsonl, reply, result, state, system, use, user
from prompt_cache import Client

import reread
from reread.accounting.prices import bundled_prices
from reread.facts.commands import signature
from reread.reports.advice_report import _when as when  # pyright: ignore[reportPrivateUsage]

SERVERS = {"shop": ["find", "buy"], "idle": ["wait"]}
RULE = "Permission to use Bash with command git push origin has been denied."
PERSON = "The user doesn't want to proceed with this tool use. The tool use was rejected"
LONG = 90_000
"""Characters of a definition that is worth leaving out."""


def shape() -> dict[str, Any]:
    tools = [{"name": name, "description": "d" * LONG} for name in ("Bash", "Cron")]
    tools += [
        {"name": f"mcp__{server}__{tool}", "description": "m" * LONG} for server in SERVERS for tool in SERVERS[server]
    ]
    return state("api-request-shape", shapeHash="1", shape={"system": [], "tools": tools})


READ = "r" * 40_000


def write_sessions(folder: Path, *, memory: str = "", times: int = 3) -> Path:
    """Three sessions that use one server, one skill and no cron, and in which much goes wrong."""
    for number in range(times):
        client = Client(cwd="/work/shop", sessionId=f"5e551017-0000-4000-8000-00000000000{number}")
        client.now += timedelta(days=number)
        client.prompt()
        client.records.append(shape())
        files = [{"path": "/work/shop/CLAUDE.md", "content": memory}]
        client.write(attachment("instructions", {"files": files}))
        listing = f"- pdf: read PDF files\n- deploy: put it on the server, in many steps: {'step, ' * 2000}"
        client.write(attachment("skill_listing", {"names": ["pdf", "deploy"], "content": listing}))
        client.respond(9_000)
        for at, (name, input, answered) in enumerate(
            [
                ("Bash", {"command": "cd /work && npm test -- --all"}, ("Exit code 1\nfailed", True)),
                ("Bash", {"command": "grep -r needle ."}, ("Exit code 1", True)),
                ("Bash", {"command": "git push origin"}, (RULE, True)),
                ("Bash", {"command": "git merge main"}, (PERSON, True)),
                ("mcp__shop__find", {"word": "x"}, ("found", False)),
                ("Skill", {"skill": "pdf"}, ("loaded", False)),
            ]
        ):
            id = f"call{number}-{at}"
            client.write(reply(use(id, name, **input), id=f"m{id}", usage={}, stop_reason="tool_use"))
            client.write(answer(result(id, answered[0], is_error=answered[1])))
        client.respond()
        client.now += timedelta(minutes=30)
        client.prompt()
        client.respond()
        project = folder / "projects" / "-work-shop"
        project.mkdir(parents=True, exist_ok=True)
        (project / f"{client.fields['sessionId']}.jsonl").write_bytes(jsonl(*client.records))
    return folder


def test_each_advice_has_its_evidence(tmp_path: Path) -> None:
    report = reread.advise(root=write_sessions(tmp_path), tz="UTC")
    found = {item.kind: item for item in report.items}
    assert {kind: (item.subject, item.count) for kind, item in found.items()} == {
        "unused_mcp_servers": ("idle", 3),
        "unused_tools": ("Cron", 3),
        "unused_skills": ("deploy", 3),
        "failing_command": ("npm test", 3),
        "repeated_denial": ("git push", 3),
        "cache_habit": ("idle_over_5m", 3),
    }
    assert "mostly from" in found["cache_habit"].text and found["cache_habit"].project is None
    assert found["failing_command"].project == "/work/shop"
    assert "3 of 3 commands that run `npm test` failed (exit 1)" in found["failing_command"].text
    assert found["unused_tools"].text == "1 tool was loaded in 3 sessions and never used"
    assert {kind: item.deed for kind, item in found.items()} == {
        "unused_mcp_servers": "Remove the MCP server idle with `claude mcp remove idle`",
        "unused_tools": "Deny the tool Cron in `permissions.deny` of ~/.claude/settings.json",
        "unused_skills": "Turn off the skill deploy in `/skills`",
        "failing_command": "Say in CLAUDE.md how to run `npm test`, or mend what it needs",
        "repeated_denial": "Say in CLAUDE.md what to do instead of `git push`,"
        " or allow `Bash(git push:*)` in `permissions.allow` of .claude/settings.json",
        "cache_habit": "Before a pause, end the task or run `/compact`; begin the next one with `/clear`",
    }
    for item in report.items:
        assert len({place.session for place in item.places}) == 3 and all(place.title for place in item.places)
        assert all(run(*shlex.split(one.command)[1:]).returncode == 0 for one in (item, *item.places))


def test_what_is_loaded_in_vain_has_a_price(tmp_path: Path) -> None:
    report = reread.advise(root=write_sessions(tmp_path))
    server = next(item for item in report.items if item.kind == "unused_mcp_servers")
    chars = len(json.dumps({"name": "mcp__idle__wait", "description": "m" * LONG}, separators=(",", ":")))
    assert server.tokens == chars // 4 and server.tokens_estimated
    rates = bundled_prices().rates("claude-opus-4-5", 20_767)
    assert rates is not None
    # of three requests, the first and the one after half an hour write the prompt, and one reads it
    assert server.cost_usd == pytest.approx(3 * (chars / 4) * (2 * rates.write_5m + rates.read) / 1e12, rel=0.01)


def test_what_memory_says_is_not_said_again(tmp_path: Path) -> None:
    memory = "Run `npm test` twice. Never git push. The deploy skill and the idle server are for others; so is Cron."
    report = reread.advise(root=write_sessions(tmp_path, memory=memory))
    assert [item.kind for item in report.items] == ["cache_habit"]


def test_a_part_of_a_word_is_not_what_memory_says(tmp_path: Path) -> None:
    memory = (
        "Deployment is idler work; idle-time cronjobs, pnpm tests and git pushes too. See `pre-deploy` and npm testing."
    )
    found = {item.kind for item in reread.advise(root=write_sessions(tmp_path, memory=memory)).items}
    assert found == {item.kind for item in reread.advise(root=write_sessions(tmp_path)).items} and len(found) == 6
    memory = "Call mcp__idle__wait never."
    assert "unused_mcp_servers" not in {
        i.kind for i in reread.advise(root=write_sessions(tmp_path, memory=memory)).items
    }


def test_once_or_twice_is_no_habit(tmp_path: Path) -> None:
    root = write_sessions(tmp_path, times=2)
    first, _ = sorted(root.rglob("*.jsonl"))
    first.with_name(f"{'7'.join(first.stem.rsplit('0', 1))}.jsonl").write_bytes(first.read_bytes())  # of the same calls
    assert {item.kind for item in reread.advise(root=root).items} == {
        "unused_mcp_servers",
        "unused_tools",
        "unused_skills",
    }
    assert reread.advise(root=root, since="2026-11-12").sessions == 0
    assert reread.advise(root=root, project="/work/other").items == []


def test_only_names_cannot_be_priced(tmp_path: Path) -> None:
    file = tmp_path / "projects" / "-work" / "5e551017-0000-4000-8000-000000000001.jsonl"
    file.parent.mkdir(parents=True)
    client = Client()
    client.prompt()
    client.write(system("init", mcp_servers=[{"name": "far", "status": "connected"}]))
    client.write(attachment("skill_listing", {"names": "odd", "content": 7}))
    client.respond()
    file.write_bytes(jsonl(*client.records))
    (item,) = reread.advise(root=tmp_path).items
    assert (item.subject, item.tokens, item.cost_usd) == ("far", None, None)
    assert "what it costs is not recorded" in run("--root", str(tmp_path), "advise").stdout


@pytest.mark.parametrize(
    ("record", "loaded"),
    [
        (
            attachment("mcp_instructions_delta", {"addedNames": ["far", "near"], "addedBlocks": ["x" * LONG]}),
            {"far": 22500},
        ),
        (attachment("skill_listing", {"content": f"- pdf: {READ}\n- web: look{READ}"}), {"web, pdf": 20_004}),
        (attachment("skill_listing", {"names": ["pdf"], "content": f"- pdf: {READ}\n- web: look"}), {"pdf": 10_002}),
        (
            attachment("deferred_tools_delta", {"addedNames": [f"mcp__far__{READ}", f"mcp__far__{READ}"]}),
            {"far": 20_005},
        ),
        (
            system(
                "init",
                mcp_servers=[{"name": "far", "status": "connected"}, {"name": "off", "status": "failed"}, "x", 7],
            ),
            {"far, x": None},
        ),
    ],
)
def test_what_a_record_says_is_loaded(tmp_path: Path, record: Any, loaded: dict[str, int | None]) -> None:
    client = Client()
    client.prompt()
    client.write(record)
    client.respond()
    file = tmp_path / "projects" / "-work" / "5e551017-0000-4000-8000-000000000001.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(jsonl(*client.records))
    assert {item.subject: item.tokens for item in reread.advise(root=tmp_path).items} == loaded
    client.write(user("<command-name>/pdf</command-name>"))  # then it is used
    file.write_bytes(jsonl(*client.records))
    assert not any("pdf" in item.subject for item in reread.advise(root=tmp_path).items)


@pytest.mark.parametrize(
    ("hours", "told"),
    [
        ([9, 10, 11], "09:00 to 12:00"),
        ([22, 23, 0], "22:00 to 01:00"),
        ([9, 9, 17], "09:00 to 12:00"),
        ([9, 9, 17, 3], "09:00 to 12:00"),
        ([1, 9, 17], ""),
        ([9, 9], ""),
        ([], ""),
    ],
)
def test_a_habit_has_a_time_of_the_day(hours: list[int], told: str) -> None:
    assert when([datetime(2026, 11, 10, hour) for hour in hours]) == (f", mostly from {told}" if told else "")


def test_the_command_line(tmp_path: Path) -> None:
    at = ("--root", str(write_sessions(tmp_path)))
    text = run(*at, "advise").stdout
    assert "1 MCP server was loaded in 3 sessions and never used: up to about 22.5k tokens in each request" in text
    assert text.startswith("$") and text.endswith("\nNot shown: 1 more, worth ?; --full shows them.\n")
    assert "\n?: what it costs is not recorded.\n" in text and text.count(" stats --") == 4
    assert "Not shown" not in run(*at, "advise", "--full").stdout
    value = json.loads(run(*at, "advise", "--json").stdout)
    assert value["sessions"] == 3 and len(value["advice"]) == 6
    assert run(*at, "advise", "--project", "/nowhere").returncode == 1
    by_server = json.loads(run(*at, "stats", "--by", "mcp_server", "--json").stdout)
    assert {row["mcp_server"]: row["calls"] for row in by_server["rows"]}["shop"] == 3
    by_skill = json.loads(run(*at, "stats", "--by", "skill", "--json").stdout)
    assert {row["skill"]: row["calls"] for row in by_skill["rows"]}["pdf"] == 3


@table(
    ("command", "expected"),
    [
        ("cd /a && FOO=1 npm test -- --all", "npm test"),
        ("/usr/bin/python3 -u -m pytest tests", "python3 -m pytest"),
        ("python -c 'import a' -m", "python"),
        ("npm run lint -- --fix", "npm run lint"),
        ("npm --prefix web run -s test:unit", "npm run test:unit"),
        ("yarn workspace shop lint", "yarn workspace shop lint"),
        ("pnpm --filter=shop run build", "pnpm run build"),
        ("uv run --with x pytest -q", "uv run pytest"),
        ("uv run python -m mypy src", "uv run python -m mypy"),
        ("poetry run ruff check .", "poetry run ruff check"),
        ("npx --yes playwright test", "npx playwright test"),
        ("npx", "npx"),
        ("make -C web -j4 lint", "make lint"),
        ("docker compose -f a.yml up -d", "docker compose up"),
        ("timeout -k 5 60s npm test", "npm test"),
        ("npm run", "npm run"),
        ("sudo " * 900, "sudo"),
        ("git push origin main", "git push"),
        ("pytest tests/test_a.py | tail", "pytest"),
        ("make", "make"),
        ("cd /a", "cd"),
        ("git push \\\n  --force", "git push"),
        ("\\\nnpm test", "npm test"),
        ("# all of them\nnpm test", "npm test"),
        ("(cd web && make lint)", "make lint"),
        ("for f in *; do npm test $f; done", "npm test"),
        ("if ! npm test; then exit 1; fi", "npm test"),
        ("env A=1 npm test", "npm test"),
        ("  ", None),
        (["x"], None),
    ],
)
def test_the_signature_of_a_command(command: object, expected: str | None) -> None:
    assert signature(command) == expected


@pytest.mark.parametrize(("memory", "advised"), [("", True), ("Use npm run build.", True), ("npm run lint", False)])
def test_scripts_are_told_apart(tmp_path: Path, memory: str, advised: bool) -> None:
    project = tmp_path / "projects" / "-work"
    project.mkdir(parents=True)
    client = Client(cwd="/work")
    client.prompt()
    client.write(attachment("instructions", {"files": [{"path": "/work/CLAUDE.md", "content": memory}]}))
    for n in range(8):
        script, failed = ("lint", True) if n < 3 else ("build", False)
        client.write(reply(use(f"c{n}", "Bash", command=f"npm run {script}"), id=f"m{n}", stop_reason="tool_use"))
        client.write(answer(result(f"c{n}", "Exit code 1" if failed else "ok", is_error=failed)))
    (project / "5e551017-0000-4000-8000-000000000001.jsonl").write_bytes(jsonl(*client.records))
    found = [(item.subject, item.count) for item in reread.advise(root=tmp_path).items]
    assert found == ([("npm run lint", 3)] if advised else [])


@pytest.mark.parametrize("named", ["root", "folder", "demo"])
def test_commands_to_go_on_read_the_same_sessions(tmp_path: Path, named: str) -> None:
    folder = str(write_sessions(tmp_path / "other configuration"))
    before, after = {"root": (["--root", folder], []), "folder": ([], [folder]), "demo": (["--demo"], [])}[named]
    commands = [
        one["command"]
        for item in json.loads(run(*before, "advise", *after, "--json").stdout)["advice"]
        for one in (item, *item["places"])
    ]
    for verb in ("usage", "stats"):
        commands += re.findall("; see `(.*?)`", " ".join(run(*before, verb, *after).stdout.split()))
    assert len(commands) > (1 if named == "demo" else 5)
    for command in dict.fromkeys(commands):
        words = shlex.split(command)
        assert words[0] == "reread" and words[1 : 1 + len(before)] == before
        done = run(*words[1:])
        assert done.returncode == 0 and done.stdout, command


def write_calls(
    root: Path, calls: list[tuple[str, Any, str]], *, cwd: str = "/work/shop", at: int = 0, **more: Any
) -> None:
    """Write a session with calls of Bash, or of other tools, that end with an error."""
    client = Client(cwd=cwd, sessionId=f"5e551017-0000-4000-8000-0000000001{at:02}")
    client.now += timedelta(days=at)
    client.prompt()
    for n, (tool, input, error) in enumerate(calls):
        given = input if isinstance(input, dict) else {"command": input}
        client.write(reply(use(f"c{at}-{n}", tool, **given), id=f"m{at}-{n}", stop_reason="tool_use"))
        client.write(answer(result(f"c{at}-{n}", error, is_error=bool(error))), **more)
    folder = root / "projects" / cwd.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{client.fields['sessionId']}.jsonl").write_bytes(jsonl(*client.records))


@table(
    ("tool", "error", "kind", "deed"),
    [
        ("Bash", RULE, None, "allow `Bash(git push:*)` in `permissions.allow`"),
        ("Bash", "PreToolUse:Bash hook error: [guard]: no", "permission-rule", "narrow the matcher of that hook"),
        ("Bash", "Bash operation blocked by hook:\n- no", None, "narrow the matcher of that hook"),
        ("Bash", "The owner says no", "permission-rule", ""),  # so the client calls a no of whoever uses the SDK
        ("Bash", "The owner says no", None, ""),
        ("WebFetch", "Claude requested permissions to use WebFetch, but", None, "allow `WebFetch` in"),
        ("Bash", RULE, "user-rejected", ""),
        ("Bash", PERSON, None, ""),
        ("Edit", PERSON, "user-rejected", ""),
        ("ExitPlanMode", "Exit plan mode?", None, ""),
        ("AskUserQuestion", "Answer questions?", None, ""),
        ("Write", "Cannot write to /a while in plan mode.", None, ""),
    ],
)
def test_only_what_no_person_denied_is_advised_away(
    tool: str, error: str, kind: str | None, deed: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("home")
    more: dict[str, Any] = {"toolDenialKind": kind} if kind else {}
    write_calls(root, [(tool, "git push origin main" if tool == "Bash" else {"url": "x"}, error)] * 3, **more)
    found = [item.deed for item in reread.advise(root=root).items]
    assert len(found) == bool(deed) and all(deed in one for one in found)


@table(
    ("first", "second", "advised"),
    [
        (["deploy up"] * 2, ["deploy up"], True),
        (["deploy up"] * 3, [], False),
        (["deploy up"] * 2, ["deploy up", "deploy up --ok", "deploy up --ok", "deploy up --ok"], True),
        (["deploy up"] * 2, ["deploy up", *["deploy up --ok"] * 4], False),
        (["npm test"] * 2, ["npm test"], True),
        (["npm test"] * 2, ["npm test", "npm test --ok"], False),
        (["npm run lint:fix"] * 2, ["npm run lint:fix", "npm run lint:fix --ok"], False),
    ],
)
def test_a_command_that_checks_the_work_may_fail(
    first: list[str], second: list[str], advised: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("home")
    for at, commands in enumerate((first, second)):
        write_calls(root, [("Bash", one, "" if one.endswith("--ok") else "Exit code 1") for one in commands], at=at)
    assert [item.kind for item in reread.advise(root=root).items] == ["failing_command"] * advised


def test_one_denial_in_several_projects_is_one_piece_of_advice(tmp_path: Path) -> None:
    for number in range(3):
        client = Client(cwd=f"/work/{number}", sessionId=f"5e551017-0000-4000-8000-00000000000{number}")
        client.prompt()
        for command, said in (("git push", RULE), ("ls x", "Exit code 2")):
            id = f"{number}{command}"
            client.write(reply(use(id, "Bash", command=command), id=f"m{id}", usage={"output_tokens": 9_000}))
            client.write(answer(result(id, said, is_error=True)))
        folder = tmp_path / "projects" / f"-work-{number}"
        folder.mkdir(parents=True)
        (folder / f"{client.fields['sessionId']}.jsonl").write_bytes(jsonl(*client.records))
    (found,) = reread.advise(root=tmp_path).items  # that `ls` finds nothing is no failure to mend
    assert (found.subject, found.count, found.project) == ("git push", 3, None)
    assert found.text == "A rule denied `git push` 3 times in 3 projects" and "--project" not in found.command


def test_a_command_that_fails_in_several_projects_is_one_piece_of_advice(tmp_path: Path) -> None:
    fails = ("PowerShell", "deploy up", "Exit code 1")
    for at in range(6):
        calls = [fails] * 2 if at != 4 else [fails, *[("PowerShell", "deploy up", "")] * 6]  # there it mostly works
        write_calls(tmp_path, calls, cwd=f"/work/{('a', 'b', 'c')[at // 2]}", at=at)
    (found,) = reread.advise(root=tmp_path).items
    assert (found.count, found.project) == (8, None)
    assert found.text == "8 of 8 commands that run `deploy up` failed (exit 1) in 2 projects"
    assert found.command.split()[-5:] == ["--tool", "PowerShell", "--state", "failed", "--list"]
    assert [place.session[-1] for place in found.places] == ["3", "2", "1", "0"]


def test_breaks_that_nobody_can_explain_are_one_piece_of_advice(tmp_path: Path) -> None:
    usages = [{"cache_read_input_tokens": 0, "cache_creation_input_tokens": size} for size in (90_000, 80_000, 95_000)]
    for number in range(3):
        replies = [reply("a", id=f"m{number}{n}", usage=usage) for n, usage in enumerate(usages)]
        folder = tmp_path / "projects" / "-work"
        folder.mkdir(parents=True, exist_ok=True)
        id = f"5e551017-0000-4000-8000-00000000000{number}"
        made = [record | {"sessionId": id, "cwd": "/work"} for record in (user("go"), *replies)]
        (folder / f"{id}.jsonl").write_bytes(jsonl(*made))
    (found,) = reread.advise(root=tmp_path).items
    assert (found.subject, found.count) == ("unknown", 6)
    causes = {row.group["cause"] for row in reread.cache_breaks(root=tmp_path).rows}
    assert causes == {"unknown", "shortened"}


def test_what_another_project_uses_is_left_out_of_one_project(tmp_path: Path) -> None:
    root = write_sessions(tmp_path)
    for number in range(3):  # these use the idle server and the skill
        write_calls(
            root, [("mcp__idle__wait", {}, ""), ("Skill", {"skill": "deploy"}, "")], cwd="/work/other", at=number
        )
    found = {item.kind: item for item in reread.advise(root=root).items}
    assert found["unused_mcp_servers"].project == "/work/shop"
    assert found["unused_mcp_servers"].deed == "Turn off the MCP server idle in `/mcp`"
    assert (found["unused_skills"].project, found["unused_tools"].project) == ("/work/shop", None)
    of_project = {item.kind: item for item in reread.advise(root=root, project="/work/shop").items}
    assert of_project["unused_mcp_servers"].deed == "Turn off the MCP server idle in `/mcp`"
    assert "unused_tools" not in of_project  # other projects may use it


def test_two_spellings_of_a_server_are_one(tmp_path: Path) -> None:
    write_calls(tmp_path, [("mcp__claude_ai_Google_Drive__find", {}, "")])
    (file,) = tmp_path.rglob("*.jsonl")
    names = ["claude.ai Google Drive", "plugin:shop:idle", "plugin_shop_idle"]
    for number in range(3):
        client = Client(cwd="/work/shop", sessionId=f"5e551017-0000-4000-8000-00000000000{number}")
        client.prompt()
        client.write(attachment("mcp_instructions_delta", {"addedNames": names, "addedBlocks": ["x" * LONG] * 3}))
        client.respond()
        file.with_name(f"{client.fields['sessionId']}.jsonl").write_bytes(jsonl(*client.records))
    (item,) = reread.advise(root=tmp_path).items
    assert item.subject == "plugin:shop:idle" and item.tokens == 2 * LONG // 4


def test_what_costs_less_than_a_cent_a_day_is_not_advised(tmp_path: Path) -> None:
    root = write_sessions(tmp_path)
    habit = next(item for item in reread.advise(root=root).items if item.kind == "cache_habit")
    assert habit.cost_usd is not None
    days = int(habit.cost_usd / 0.01)
    for last, is_worth_it in ((days - 1, True), (days + 2, False)):
        client = Client(sessionId="5e551017-0000-4000-8000-000000000077", cwd="/work/shop")
        client.now += timedelta(days=last)
        client.prompt()
        client.respond()
        (root / "projects" / "-work-shop" / "5e551017-0000-4000-8000-000000000077.jsonl").write_bytes(
            jsonl(*client.records)
        )
        assert any(item.kind == "cache_habit" for item in reread.advise(root=root).items) == is_worth_it


def test_a_response_on_behalf_of_a_skill(tmp_path: Path) -> None:
    record = reply(use("c1", "Read", file_path="/a"), id="m1", attributionSkill="pdf")
    file = tmp_path / "s.jsonl"
    file.write_bytes(jsonl({**user("go"), "uuid": "u1"}, {**record, "uuid": "u2", "parentUuid": "u1"}))
    assert reread.stats(file, by="skill").rows[0].group == {"skill": "pdf"}
