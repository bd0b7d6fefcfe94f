"""Parsing the arguments of `claude`: the rules of the real program, each checked against it."""

import pytest
from batches import table

from reread.base.claude_argv import parse_invocation
from reread.errors import Misuse
from reread.fake_claude.usage_errors import check_usage


@table(
    ("arguments", "prompt", "options"),
    [
        (["-p", "Hi"], "Hi", {"--print": ""}),
        (["Hi", "-p"], "Hi", {"--print": ""}),
        (["-p", "--model", "opus", "Hi"], "Hi", {"--print": "", "--model": "opus"}),
        (["-p", "--model=opus", "Hi"], "Hi", {"--print": "", "--model": "opus"}),
        (["-p", "Hi", "--allowedTools", "Bash", "Read", "--verbose"], "Hi", {"--allowedTools": "Bash Read"}),
        (["-p", "Hi", "--resume"], "Hi", {"--resume": ""}),
        (["-p", "--resume", "one", "Hi"], "Hi", {"--resume": "one"}),
        (["-pc", "Hi"], "Hi", {"--print": "", "--continue": ""}),
        (["-r", "one", "-p", "Hi"], "Hi", {"--resume": "one"}),
        (["-p", "--system-prompt", "", "Hi"], "Hi", {"--system-prompt": ""}),
        (["-p", "--system-prompt", "--be-brief", "Hi"], "Hi", {"--system-prompt": "--be-brief"}),
        (["-p", "--", "--not-an-option"], "--not-an-option", {"--print": ""}),
        (["-p", "--some-day-an-option", "--verbose"], None, {"--some-day-an-option": "", "--verbose": ""}),
        (["--model"], None, {"--model": ""}),
        ([], None, {}),
    ],
)
def test_arguments_are_parsed(arguments: list[str], prompt: str | None, options: dict[str, str]) -> None:
    invocation = parse_invocation(arguments)
    assert invocation.prompt == prompt
    assert options.items() <= invocation.options.items()


@table(
    ("arguments", "message"),
    [
        ("-p Hi --output-format stream-json", "--output-format=stream-json requires --verbose"),
        ("-p Hi --output-format bogus", "Allowed choices are text, json, stream-json."),
        ("-p Hi --input-format json", "Allowed choices are text, stream-json."),
        ("-p Hi --input-format stream-json", "--input-format=stream-json requires output-format=stream-json"),
        ("-p Hi --include-partial-messages", "--include-partial-messages requires --print and"),
        ("-p Hi --replay-user-messages", "--replay-user-messages requires both"),
        ("-p Hi --session-id nope", "Invalid session ID. Must be a valid UUID."),
        ("-p Hi --resume", "--resume requires a valid session ID or session title"),
    ],
)
def test_invalid_arguments_are_rejected_with_the_real_message(arguments: str, message: str) -> None:
    with pytest.raises(Misuse, match=message.replace(".", r"\.")):
        check_usage(parse_invocation(arguments.split()))


def test_ordinary_arguments_are_accepted() -> None:
    check_usage(parse_invocation(["-p", "Hi"]))
    check_usage(parse_invocation("--output-format stream-json --verbose --input-format stream-json".split()))
