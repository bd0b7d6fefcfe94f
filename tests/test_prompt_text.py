"""What stands in user text, taken apart."""

import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st
from limits import within
from making import WORDS

from reread.model.prompt_text import KINDS, parse_prompt, prompt_kind

TAGS = st.sampled_from([*KINDS, "system-reminder", "ide_selection", "div", "summary", "tool-use-id"])
MARKUP = st.lists(
    st.one_of(
        st.text(max_size=5),
        st.sampled_from(WORDS),
        st.builds("<{}>".format, TAGS),
        st.builds("</{}>".format, TAGS),
        st.builds("<{0}>x</{0}>".format, TAGS),
    ),
    max_size=8,
).map("".join)


class TestKind:
    """The kind of a text by how it begins."""

    @table(("tag", "kind"), KINDS.items())
    def test_the_first_tag_tells(self, tag: str, kind: str) -> None:
        assert prompt_kind(f"<{tag}>x</{tag}>") == kind
        assert prompt_kind(f"\n  <{tag}>x</{tag}>") == kind
        assert prompt_kind(f"Look at <{tag}>x</{tag}>") == "prompt"

    @table(
        "typed",
        [
            "",
            " ",
            "hello",
            "<b>bold</b>",
            "< 5",
            "<",
            "<command-nam",
            "<Command-Name>",
            "<ide_selection>never closed",
        ],
    )
    def test_what_a_person_may_type_is_a_prompt(self, typed: str) -> None:
        assert prompt_kind(typed) == "prompt"

    @pytest.mark.parametrize("tag", ["system-reminder", "ide_opened_file", "ide_selection"])
    def test_an_addition_alone_is_meta(self, tag: str) -> None:
        assert prompt_kind(f"<{tag}>x</{tag}>\n<{tag}>y</{tag}>\n") == "meta"

    def test_additions_before_something_do_not_hide_it(self) -> None:
        before = "<system-reminder>x</system-reminder>"
        assert prompt_kind(f"{before}typed") == "prompt"
        assert prompt_kind(f"{before}<command-name>/x</command-name>") == "command"
        assert prompt_kind(f"{before}<bash-stdout>x</bash-stdout>") == "output"

    def test_an_interrupt_is_one_only_where_the_text_begins_with_it(self) -> None:
        assert prompt_kind("[Request interrupted by user]") == "interrupt"
        assert prompt_kind("[Request interrupted by user for tool use]") == "interrupt"
        assert prompt_kind("I see [Request interrupted by user]") == "prompt"


class TestTakingApart:
    """A text with the client's additions set aside."""

    @table(
        ("text", "name", "args"),
        [
            ("<command-name>/model</command-name>", "/model", ""),
            (
                "<command-name>/fix</command-name>\n<command-message>fix</command-message>\n"
                "<command-args>a b</command-args>",
                "/fix",
                "a b",
            ),
            ("<command-message>init is analyzing</command-message>", "init is analyzing", ""),
            ("<bash-input>ls -l</bash-input>", "!", "ls -l"),
            ("<user-memory-input>always test</user-memory-input>", "#", "always test"),
            ("<command-name>/x</command-name><command-args>if a < b</command-args>", "/x", "if a < b"),
            ("<command-name>/x</command-name><command-args><b>bold</b></command-args>", "/x", "<b>bold</b>"),
            ("<command-name>/unclosed", "", ""),
        ],
    )
    def test_a_command_has_its_name_and_what_follows(self, text: str, name: str, args: str) -> None:
        speech = parse_prompt(text)
        assert speech.kind == "command" and speech.command is not None
        assert (speech.command.name, speech.command.args) == (name, args)

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("<local-command-stdout>a\nb</local-command-stdout>", "a\nb"),
            ("<bash-stdout>\nout\n</bash-stdout><bash-stderr></bash-stderr>", "out"),
            ("<bash-stdout></bash-stdout><bash-stderr>err</bash-stderr>", "err"),
            ("<local-command-stdout></local-command-stdout>", ""),
            ("<bash-stdout><html>x</html></bash-stdout>", "<html>x</html>"),
        ],
    )
    def test_an_output_is_shown_without_its_tags(self, text: str, shown: str) -> None:
        assert parse_prompt(text).text == shown

    @pytest.mark.parametrize("text", ["<bash-stdout>cut off", "<local-command-stdout>never closed"])
    def test_output_that_was_cut_is_shown(self, text: str) -> None:
        assert parse_prompt(text).text

    def test_a_notification_has_its_parts_by_tag(self) -> None:
        text = (
            "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>t1</tool-use-id>\n"
            "<status>completed</status>\n<summary>Agent done</summary>\n"
            "<result>It <b>works</b>: 1 < 2</result>\n</task-notification>\nRead the output file."
        )
        speech = parse_prompt(text)
        assert (speech.kind, speech.text) == ("notification", "Agent done")
        assert speech.fields["tool-use-id"] == "t1"
        assert speech.fields["result"] == "It <b>works</b>: 1 < 2"
        assert speech.fields["status"] == "completed"

    def test_additions_before_and_after_are_asides(self) -> None:
        text = (
            "<ide_selection>sel</ide_selection>\n<system-reminder>one</system-reminder>\n"
            "What I <b>typed</b>\n"
            "<system-reminder>two</system-reminder>\n<system-reminder>three</system-reminder>"
        )
        speech = parse_prompt(text)
        assert speech.text.strip() == "What I <b>typed</b>"
        assert sorted(aside.text for aside in speech.asides) == ["one", "sel", "three", "two"]

    def test_a_reminder_in_the_middle_was_typed(self) -> None:
        text = "Why does <system-reminder>x</system-reminder> stand there?"
        assert (parse_prompt(text).text, parse_prompt(text).asides) == (text, ())

    def test_plain_text_is_left_as_it_is(self) -> None:
        assert parse_prompt("  two\n\nlines ").text == "  two\n\nlines "

    @given(MARKUP)
    def test_no_text_raises_and_the_kind_is_the_same(self, text: str) -> None:
        speech = parse_prompt(text)
        assert speech.kind == prompt_kind(text)
        assert isinstance(speech.text, str)


@table(
    "text",
    [
        "x" + " " * 40_000 + "y",
        "x" + "\n" * 40_000 + "y",
        "<system-reminder>" * 10_000,
        "x<system-reminder>" * 10_000 + "</system-reminder>y",
        "<system-reminder>a</system-reminder>" * 10_000,
        "x" + "<system-reminder>a</system-reminder>" * 2_000,
        "<task-notification>" + "<a>" * 10_000,
        "<task-notification>" + "<a " * 10_000,
        "<command-name>" * 5_000,
        "<ide_selection>" * 10_000 + "</ide_selection>",
    ],
)
def test_no_text_takes_long(text: str) -> None:
    with within(0.5):
        parse_prompt(text)
