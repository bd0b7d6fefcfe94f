"""The responses behind figures of usage: each with its address, what it did, and its part of the sum."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command import run
from limits import assert_linear
from making import SESSION, answer, reply, result, told, use, user
from making import write as write_session

import reread
from reread.base.paths import SAMPLES
from reread.reports.item_list import listed_items, rows_to_list


@pytest.mark.parametrize("options", [(), ("--by", "model"), ("--by", "agent"), ("--by", "day,project", "--tz", "UTC")])
def test_a_list_sums_up_to_the_figures_and_each_address_leads_there(options: tuple[str, ...], tmp_path: Path) -> None:
    listed = json.loads(run("--demo", "usage", "--list", "--json", *options, home=tmp_path).stdout)
    report = reread.usage(root=SAMPLES)
    assert sum(one["responses"] for one in listed) == report.totals.responses
    assert sum(one["tokens"] for one in listed) == report.totals.tokens
    assert sum(one["cost_usd"] or 0 for one in listed) == pytest.approx(report.totals.cost_usd)
    assert [one["cost_usd"] or 0 for one in listed] == sorted((one["cost_usd"] or 0 for one in listed), reverse=True)
    for one in listed[:: max(1, len(listed) // 8)]:
        place = reread.open(one["address"], root=SAMPLES)
        assert place.at.turn is not None and one["what"]
        assert one["message"] in {message.id for message in place.messages}


def test_what_is_listed_is_the_dearest_of_each_group(tmp_path: Path) -> None:
    shown = run("--demo", "usage", "--by", "thread", "--list", "-n", "5", home=tmp_path, env={"COLUMNS": "60"})
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 60 and len([line for line in lines if line.startswith("  ")]) == 5
    totals = {row["thread"]: row["responses"] for row in reread.usage(root=SAMPLES, by="thread").rows}
    heads = [line for line in lines if not line.startswith("  ")]
    assert heads and all(f"of {totals[head.split()[0]]} responses)" in head for head in heads)
    assert "-n N lists more" in shown.stderr and "shows the first" in shown.stderr
    command = shown.stderr.partition("`")[2].partition("`")[0].split()
    assert run(*command[1:], home=tmp_path).returncode == 0
    assert run("--demo", "usage", "--list", "--fail-over", "0", home=tmp_path).returncode == 1


def test_a_response_is_named_by_what_it_called_or_said(tmp_path: Path) -> None:
    lines = told(
        user("Build."),
        reply("Now.", use("c1", command="make"), use("c2", command="make test"), id="m1", usage={"output_tokens": 9}),
        reply("Done:\nall of it", id="m2", usage={"output_tokens": 8}),
    )
    path = write_session(tmp_path, *lines, name=SESSION)
    report = reread.usage(root=tmp_path)
    first, second = listed_items(report, rows_to_list(report))
    assert (str(first.address), first.more["what"], first.more["tokens"]) == (
        f"{SESSION}:1.1",
        "Bash make, Bash make test",
        9,
    )
    assert (str(second.address), second.more["what"]) == (f"{SESSION}:1", "Done: all of it")
    rows = rows_to_list(report)
    path.unlink()
    assert [(str(one.address), one.more["what"], one.more["tokens"]) for one in listed_items(report, rows)] == [
        (SESSION, "", 9),
        (SESSION, "", 8),
    ]


def test_secrets_in_lists_are_replaced(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    called = reply(use("c1", command=f"git push https://x:{key}@github.com/a/b"), id="m1", usage={"output_tokens": 9})
    failed = answer(result("c1", f"Exit code 1\nfatal: refused {key}", is_error=True))
    write_session(tmp_path, *told(user("Push."), called, failed, reply(key, id="m2", usage={"output_tokens": 9})))
    for verb, form in ((verb, form) for verb in ("stats", "usage") for form in ((), ("--json",))):
        shown = run("--root", str(tmp_path), verb, "--list", *form, home=tmp_path).stdout
        assert "[github-token]" in shown and key[:12] not in shown


def test_all_responses_of_a_session_are_listed_in_linear_time(tmp_path: Path) -> None:
    def prepare(size: int) -> Callable[[], object]:
        used = {"output_tokens": 9}
        turns = [(user("Go on."), reply("Done.", id=f"m{number}", usage=used)) for number in range(size)]
        write_session(tmp_path / str(size), *told(*(one for turn in turns for one in turn)), name=SESSION)
        report = reread.usage(root=tmp_path / str(size))
        rows = rows_to_list(report)
        return lambda: listed_items(report, rows)

    assert_linear(prepare, 3000, enough=1.5)
