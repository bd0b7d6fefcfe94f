"""Who wrote a line, when sessions repeat each other, clocks run back, and files are renamed, deleted and restored."""

from __future__ import annotations

from making import Object, answer, reply, result, use, user
from test_file_history import transcript, wrote

from reread.history.blame_lines import DEEPEST, LineBlame
from reread.history.line_trace import LineChange, TracedVersion, hash_lines, line_changes, line_numbers

Trace = list[TracedVersion]


def version(
    before: str | None,
    after: str | None,
    *,
    call: str | None = None,
    time: int = 0,
    origin: str | None = None,
    added: str = "",
    based: bool = False,
) -> TracedVersion:
    """A version as lines; of an unknown text (None) only the added lines are known."""
    old = line_numbers(before or "")
    if after is None:
        changes = [LineChange(0, 0, line_numbers(added).tobytes())]
    else:
        changes = line_changes(old, line_numbers(after))
    return TracedVersion(
        own=call is not None,
        call=call,
        agent=None,
        turn=1,
        prompt="",
        time=time,
        before=None if before is None else hash_lines(old),
        after=None if after is None else hash_lines(line_numbers(after)),
        changes=changes,
        base=old.tobytes() if based else None,
        origin=origin,
    )


def blamed(text: str, files: dict[str, dict[str, Trace]], path: str = "f") -> list[str]:
    """The session and the call of each line; `-` for a line that no session wrote."""
    blame = LineBlame(lambda name: files.get(name, {}).items(), path)
    origins = blame.of(line_numbers(text))
    return [f"{one.session}:{one.version.call}" if one is not None else "-" for one in origins]


def test_a_fork_that_repeats_a_call_did_not_write_its_lines() -> None:
    own = [version("", "a\n", call="c1", based=True), version("a\n", "a\nb\n", call="c2")]
    fork = [*own, version("a\nb\n", "a\nb\nc\n", call="c3")]
    assert blamed("a\nb\nc\n", {"f": {"A": own, "B": fork}}) == ["A:c1", "A:c2", "B:c3"]


def test_what_nobody_called_is_told_again_by_each_session() -> None:
    outside = version("a\n", "a\nx\n", time=20)
    own = [version("", "a\n", call="c1", time=10, based=True), outside]
    other = [version("a\n", "a\nx\n", time=20, based=True), version("a\nx\n", "a\nx\nb\n", call="c2", time=30)]
    assert blamed("a\nx\nb\n", {"f": {"A": own, "B": other}}) == ["A:c1", "-", "B:c2"]


def test_a_clock_that_runs_back_does_not_change_the_order_of_a_session() -> None:
    own = [version("", "a\n", call="c1", time=100, based=True), version("a\n", "a\nb\n", call="c2", time=50)]
    assert blamed("a\nb\n", {"f": {"A": own}}) == ["A:c1", "A:c2"]
    other = [version("a\nb\n", "a\nB\n", call="c3", time=101, based=True)]
    assert blamed("a\nB\n", {"f": {"B": other, "A": own}}) == ["A:c1", "B:c3"]


def test_sessions_take_turns_in_the_order_of_time() -> None:
    first = [
        version("", "a\n", call="c1", time=10, based=True),
        version("a\nb\n", "a\nc\n", call="c3", time=30, based=True),
    ]
    second = [version("a\n", "a\nb\n", call="c2", time=20, based=True)]
    assert blamed("a\nc\n", {"f": {"B": second, "A": first}}) == ["A:c1", "A:c3"]
    assert blamed("a\nb\n", {"f": {"B": second, "A": first[:1]}}) == ["A:c1", "B:c2"]


def test_sessions_of_one_time_are_in_the_order_that_they_are_given_in() -> None:
    first, second = [version("", "a\n", call="c1", based=True)], [version("a\n", "a\nb\n", call="c2", based=True)]
    assert blamed("a\nb\n", {"f": {"B": first, "A": second}}) == ["B:c1", "A:c2"]


def test_a_file_that_was_deleted_and_is_back_has_its_lines_from_before() -> None:
    own = [version("", "a\nb\n", call="c1", time=10, based=True), version("a\nb\n", "", call="c2", time=20)]
    assert blamed("a\nb\n", {"f": {"A": own}}) == ["A:c1", "A:c1"]


def test_a_file_that_was_deleted_and_then_renamed_has_its_lines_from_before() -> None:
    old = [version("", "a\nb\n", call="c1", time=10, based=True), version("a\nb\n", "", call="c2", time=20)]
    new = [version(None, "a\nb\n", call="c3", time=30, origin="old")]
    assert blamed("a\nb\n", {"old": {"A": old}, "f": {"A": new}}) == ["A:c1", "A:c1"]


def test_a_rename_has_the_lines_of_its_time_and_no_later_ones() -> None:
    old = [version("", "a\n", call="c1", time=10, based=True), version("", "x\n", call="c9", time=90, based=True)]
    new = [version(None, "a\n", call="c2", time=20, origin="old"), version("a\n", "a\nb\n", call="c3", time=30)]
    assert blamed("a\nb\n", {"old": {"A": old}, "f": {"A": new}}) == ["A:c1", "A:c3"]


def test_files_that_were_renamed_into_each_other_end() -> None:
    files = {
        name: {"A": [version(None, "a\n", call=f"c{name}", time=10, origin=other)]}
        for name, other in (("f", "g"), ("g", "f"))
    }
    assert len(blamed("a\n", files)) == 1 and DEEPEST == 20


def test_twenty_renames_are_followed_and_no_more() -> None:
    def files(count: int) -> dict[str, dict[str, Trace]]:
        renamed = (
            version("", "a\n", call=f"c{n}", time=n, origin=f"f{n - 1}" if n else None) for n in range(count + 1)
        )
        return {f"f{n}": {"A": [one]} for n, one in enumerate(renamed)}

    assert blamed("a\n", files(DEEPEST), f"f{DEEPEST}") == ["A:c0"]
    assert blamed("a\n", files(DEEPEST + 1), f"f{DEEPEST + 1}") == ["A:c1"]


def test_what_was_there_before_a_version_is_made_from_the_nearest_that_has_it() -> None:
    own = [
        version("", "a\n", call="c1", time=10, based=True),
        version("a\n", "a\ny\n", call="c2", time=20),
        version("a\ny\n", "a\ny\nz\n", call="c4", time=40),
    ]
    other = [version("a\ny\n", "a\nb\n", call="c3", time=30, based=True)]
    assert blamed("a\ny\nz\n", {"f": {"A": own, "B": other}}) == ["A:c1", "-", "A:c4"]
    assert blamed("a\nz\n", {"f": {"A": [own[0], version("a\n", "a\nz\n", call="c4", time=40)], "B": other}}) == [
        "A:c1",
        "A:c4",
    ]


def test_lines_that_a_version_of_unknown_text_added_are_its_own_if_they_are_seen_later() -> None:
    own = [
        version("", "a\n", call="c1", time=10, based=True),
        version(None, None, call="c2", time=20, added="b\n"),
    ]
    assert blamed("a\nb\nz\n", {"f": {"A": own}}) == ["A:c1", "A:c2", "-"]


def test_a_file_that_was_written_anew_has_nothing_of_its_old_lines() -> None:
    own = [version("", "a\n", call="c1", time=10, based=True), version(None, "a\n", call="c2", time=20)]
    other = [version("", "b\n", call="c0", time=15, based=True)]
    assert blamed("a\n", {"f": {"A": own, "B": other}}) == ["A:c2"]


def shell(id: str, command: str) -> list[Object]:
    return [reply(use(id, "Bash", command=command), id=f"m{id}"), answer(result(id, ""), data={"stdout": ""})]


def test_a_deleted_file_cannot_be_renamed() -> None:
    records = [user("go"), *wrote("w", "a\n"), *shell("x", "rm f"), *shell("y", "mv f g")]
    versions = transcript(*records).files["/w/f"].versions
    assert [(one.action, one.gone) for one in versions] == [("create", False), ("delete", True)]
    renamed = transcript(user("go"), *wrote("w", "a\n"), *shell("y", "mv f g")).files["/w/f"].versions
    assert [(one.action, one.gone, one.other) for one in renamed] == [("create", False, None), ("rename", True, "/w/g")]
