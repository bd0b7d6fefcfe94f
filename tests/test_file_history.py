"""What happened to files: versions against the disk of the real client, and edits against a model of it."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from batches import table
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from making import Object, answer, attachment, reply, result, use, user

import reread
from reread.base.paths import absolute_path
from reread.disk.backups import BackupFiles
from reread.history.changes import KEEPS_ENDINGS, ShellAction, TextEdit, _replaced, shell_actions, with_quotes_of
from reread.history.file_text import FileText
from reread.history.patches import apply_patch, fits, hunks_of
from reread.history.versions import FileHistory, FileVersion

RECORDED = Path(__file__).parent / "file_history"
PROJECT = "/home/dev/proj"
VERSIONS = sorted(path.name for path in RECORDED.iterdir() if path.is_dir() and path.name[0].isdigit())
LINES = "".join(f"line {n}\n" for n in range(1, 13))


def sessions(version: str, scenario: str = "*") -> Iterator[tuple[Path, reread.Session]]:
    for folder in sorted((RECORDED / version).glob(scenario)):
        for path in sorted(folder.glob("projects/*/*.jsonl")):
            if not path.name.startswith("agent-"):
                yield folder, reread.open(path)


def session(version: str, scenario: str) -> reread.Session:
    return next(session for _, session in sessions(version, scenario))


class Disk:
    """What was on disk after each call of a scenario."""

    def __init__(self, folder: Path) -> None:
        seen = json.loads((folder / "disk.json").read_text())
        self.hooked: list[Any] = seen.get("hooked", [])
        self.looks: list[tuple[list[str], dict[str, Any]]] = []
        files = dict(seen["files"])
        for look in seen["looks"]:
            files = {**files, **look["changed"]}
            if "calls" in look:
                self.looks.append((look["calls"], files))

    def after(self, version: FileVersion) -> Any:
        """The hashes of the file after a version's call; False if a later call changed it before anyone looked."""
        calls, files = next(look for look in self.looks if version.call and version.call.id in look[0])
        later = [other.call.id for other in version.history.versions[version.index + 1 :] if other.own and other.call]
        if set(later) & set(calls):
            return False
        return files.get(version.history.path.removeprefix(f"{PROJECT}/"))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def matches(version: FileVersion, truth: Any) -> bool:
    """True if a version that is called known is what was on disk."""
    text = version.after
    if version.gone or text is None:
        return version.gone and truth is None
    if truth is None or version.exact != (text.data is not None):
        return False
    return sha(text.text.encode()) == truth["text"] and (text.data is None or sha(text.data) == truth["bytes"])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_called_known_is_what_was_on_disk(version: str) -> None:
    compared = partial = exact = 0
    for folder, opened in sessions(version):
        disk = Disk(folder)
        for history in opened.files.values():
            for one in history.own:
                truth = disk.after(one)
                partial += not one.whole
                if truth is False or not one.whole:
                    continue
                found = [truth, *disk.hooked]  # a hook ran after the tool, and noted what the tool had written
                assert any(matches(one, each) for each in found), f"{folder}: {one!r}, line {one.line}"
                compared, exact = compared + 1, exact + one.exact
    assert compared > 70
    assert exact > 5
    old_notebooks = 4 if tuple(map(int, version.split("."))) < (2, 1) else 0
    old_endings = 1 if tuple(map(int, version.split("."))) < KEEPS_ENDINGS else 0
    assert partial <= old_notebooks + old_endings, "these clients do not say what is in a notebook"


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_follows_from_the_one_before(version: str) -> None:
    for _, opened in sessions(version):
        for history in opened.files.values():
            for one, after in zip(history.versions, history.versions[1:], strict=False):
                if one.whole and after.before_known and not one.gone:
                    assert one.after is not None and after.before is not None
                    assert one.after.text == after.before.text, after


@pytest.mark.parametrize("version", VERSIONS)
def test_texts_are_the_same_in_any_order_of_asking(version: str) -> None:
    for folder, opened in sessions(version):
        path = opened.path
        assert path is not None
        forwards = {p: [v.after for v in h.versions] for p, h in opened.files.items()}
        again = reread.open(path)
        backwards = {p: [v.after for v in reversed(h.versions)][::-1] for p, h in again.files.items()}
        assert forwards == backwards, folder


def history_of(version: str, scenario: str, name: str) -> FileHistory:
    return session(version, scenario).files[f"{PROJECT}/{name}"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_change_by_hand_is_a_version_with_its_difference(version: str) -> None:
    actions = [one.action for one in history_of(version, "hand", "b.txt").versions]
    assert actions.count("outside") == 1
    outside = history_of(version, "hand", "b.txt").versions[1]
    assert outside.whole and not outside.own and outside.source == "stated"
    assert [line for hunk in outside.hunks for line in hunk.lines if line[0] != " "] == ["-line 5", "+line 5 by hand"]


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != "1.0.128"])
def test_a_rewind_is_a_version_with_the_bytes_of_the_backup(version: str) -> None:
    versions = history_of(version, "rewind", "crlf.txt").versions
    assert [one.action for one in versions] == ["edit", "edit", "rewind", "edit"]
    assert all(one.exact for one in versions)
    rewound, last = versions[2].after, versions[3].after
    assert rewound is not None and last is not None and last.data is not None
    assert versions[0].after == rewound
    assert (
        last.data
        == LINES.replace("line 1\n", "line one\n").replace("line 3", "line three").replace("\n", "\r\n").encode()
    )
    later = history_of(version, "rewind", "later.txt").versions
    assert [one.action for one in later] == ["create", "rewind"]
    assert later[1].gone and later[1].after is None


@pytest.mark.parametrize("version", VERSIONS)
def test_renames_and_deletions_by_plain_commands(version: str) -> None:
    files = session(version, "shell").files
    moved = files[f"{PROJECT}/a.py"].versions[-1]
    assert (moved.action, moved.other, moved.gone) == ("rename", f"{PROJECT}/moved.py", True)
    first = files[f"{PROJECT}/moved.py"].versions[0]
    assert (first.action, first.other, first.whole) == ("rename", f"{PROJECT}/a.py", True)
    assert files[f"{PROJECT}/moved.py"].versions[-1].action == "delete"
    assert [one.action for one in files[f"{PROJECT}/b.txt"].versions] == ["edit", "delete", "create"]
    assert f"{PROJECT}/nowhere.txt" not in files


@pytest.mark.parametrize("version", VERSIONS)
def test_agents_changes_are_among_the_versions(version: str) -> None:
    opened = session(version, "agents")
    history = opened.files[f"{PROJECT}/b.txt"]
    by = [one.agent is not None for one in history.own]
    assert by == [False, True, False]
    assert history.agents == [history.own[1].agent] and history.own[1].agent in opened.agents
    assert {one.turn for one in history.versions} == {1}
    assert all(one.whole for one in history.versions)


@pytest.mark.parametrize("version", VERSIONS)
def test_two_sessions_on_one_file_see_each_other_as_outside(version: str) -> None:
    one, other = (next(s for _, s in sessions(version, "two") if (s.id[0] == "1") == first) for first in (True, False))
    actions = [version.action for version in one.files[f"{PROJECT}/b.txt"].versions]
    assert actions == ["edit", "outside", "edit"]
    assert [version.action for version in other.files[f"{PROJECT}/b.txt"].versions] == ["edit"]


def test_at_a_turn_is_the_last_version_up_to_its_end() -> None:
    opened = session("2.1.325", "hand")
    history = opened.files[f"{PROJECT}/b.txt"]
    ends = [opened.turns[n].messages[0].records[0] for n in (1,)]
    assert history.at(ends[0] - 1) is history.versions[0]
    assert history.at() is history.versions[-1]


BOM, CRLF = "\ufeff", "\r\n"


@pytest.mark.parametrize(
    ("data", "text", "after"),
    [
        (b"a\nb\n", "a\nb\n", b"a\nc\n"),
        (b"a\r\nb\r\n", "a\nb\n", b"a\r\nc\r\n"),
        (f"{BOM}a\nb\n".encode(), "a\nb\n", f"{BOM}a\nc\n".encode()),
        (f"{BOM}a{CRLF}b\n".encode("utf-16-le"), "a\nb\n", f"{BOM}a\nc\n".encode("utf-16-le")),
        (b"a\r\nb\r\nx\n", "a\nb\nx\n", b"a\r\nc\r\nx\r\n"),
        (b"a\nb\r\nx\n", "a\nb\nx\n", b"a\nc\nx\n"),
        (b"\xe9\nb\n", "\ufffd\nb\n", None),
    ],
)
def test_bytes_keep_their_form(data: bytes, text: str, after: bytes | None) -> None:
    file = FileText.from_bytes(data)
    assert (file.text, file.data) == (text, data)
    assert file.edited(text.replace("b", "c")).data == after


@table(
    ("command", "actions"),
    [
        ("mv a b", [ShellAction("rename", "a", "b")]),
        ("mv -f 'a b.txt' sub/", [ShellAction("rename", "a b.txt", "sub/a b.txt")]),
        (
            "git mv a b && rm -rf c d",
            [ShellAction("rename", "a", "b"), ShellAction("delete", "c"), ShellAction("delete", "d")],
        ),
        ("git rm --cached a", []),
        ("rm *.txt", []),
        ("rm $FILE", []),
        ("rm a; ls", []),
        ("rm a || true", []),
        ("rm a &", []),
        ("cd x && rm a", []),
        ("mv a b c/", []),
        ("mv -n a b", []),
        ("rm 'a", []),
        ("rm 'a && b'", []),
        ("echo rm a", []),
        ("rm -i a", []),
    ],
)
def test_only_plain_commands_prove_something(command: str, actions: list[ShellAction]) -> None:
    assert shell_actions(command) == actions


@pytest.mark.parametrize(
    ("path", "folder", "whole"),
    [
        ("a.py", "/work", "/work/a.py"),
        ("/x/../a.py", "/work", "/a.py"),
        ("src\\a.py", "c:\\Work", "C:\\Work\\src\\a.py"),
        ("src/a.py", "C:\\Work", "C:\\Work\\src\\a.py"),
        ("c:/Work/A.py", None, "C:\\Work\\A.py"),
        ("\\\\host\\share\\a", "C:\\", "\\\\host\\share\\a"),
        ("a.py", None, "a.py"),
    ],
)
def test_a_path_has_one_name(path: str, folder: str | None, whole: str) -> None:
    assert absolute_path(path, folder) == whole


def test_quotes_are_written_as_they_were_found() -> None:
    assert with_quotes_of('a "b"', "a \u201cb\u201d", 'a "c" (d\'s)') == "a \u201cc\u201d (d's)"
    assert with_quotes_of("it's", "it\u2019s", "it's 'so'") == "it\u2019s \u2018so\u2019"
    assert with_quotes_of('"b"', '"b"', '"c"') == '"c"'


def patch(start: int, *lines: str) -> Object:
    return {"oldStart": start, "newStart": start, "lines": list(lines)}


def test_a_patch_is_compared_without_tabs_but_never_applied_without_them() -> None:
    hunks = hunks_of([patch(1, " a", "-  b", "+    c")])
    assert fits(hunks, "a\n\tb\n", "a\n\t\tc\n")
    assert not fits(hunks, "a\n\tb\nx\n", "a\n\t\tc\ny\n")
    assert apply_patch(hunks, "a\n  b\n") is None
    assert apply_patch(hunks_of([patch(2, "-b", "+c")]), "a\nb\n") == "a\nc\n"
    assert apply_patch(hunks_of([patch(2, "-x", "+c")]), "a\nb\n") is None


def transcript(*records: Object) -> reread.Session:
    parent, lines = None, list[bytes]()
    for number, record in enumerate(records):
        own = {"uuid": f"u{number}", "parentUuid": parent, "sessionId": "s", "cwd": "/w", "version": "2.1.300"}
        stamp = f"2026-11-01T10:{number // 60 % 60:02}:{number % 60:02}.000Z"
        lines.append(json.dumps({**own, "timestamp": stamp, **record}).encode() + b"\n")
        parent = own["uuid"]
    return reread.open(b"".join(lines))


def edited(id: str, old: str, new: str, original: str | None, *, every: bool = False, **more: Any) -> list[Object]:
    """The records of an edit that the client made."""
    given = {"file_path": "/w/f", "old_string": old, "new_string": new, "replace_all": every}
    data = {"filePath": "/w/f", "oldString": old, "newString": new, "originalFile": original, "replaceAll": every}
    return [
        reply(use(id, "Edit", **given), id=f"m{id}"),
        answer(result(id), data={**data, "structuredPatch": [], **more}),
    ]


def wrote(id: str, content: str, original: str | None = None, **more: Any) -> list[Object]:
    data = {"type": "create" if original is None else "update", "filePath": "/w/f", "content": content}
    records = [reply(use(id, "Write", file_path="/w/f", content=content), id=f"m{id}")]
    return [*records, answer(result(id), data={**data, "structuredPatch": [], "originalFile": original, **more})]


def read(id: str, text: str) -> list[Object]:
    count = text.count("\n") + 1
    file = {"filePath": "/w/f", "content": text, "numLines": count, "startLine": 1, "totalLines": count}
    return [
        reply(use(id, "Read", file_path="/w/f"), id=f"m{id}"),
        answer(result(id), data={"type": "text", "file": file}),
    ]


TEXTS = st.text("ab\n\t \u00e9\U0001f600", max_size=30)


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[Object], list[str]]:
    """Records of edits to a file, each with or without the original, and the text after each."""
    text = draw(TEXTS)
    records, texts = [user("go"), *wrote("w", text)], [text]
    for number in range(draw(st.integers(1, 8))):
        if not text:
            break
        start = draw(st.integers(0, len(text) - 1))
        old = text[start : start + draw(st.integers(1, 5))]
        new, every = draw(TEXTS), draw(st.booleans())
        deleted = f"{old}\n" if not new and not old.endswith("\n") and f"{old}\n" in text else old
        after = text.replace(deleted, new, -1 if every else 1)
        records += edited(
            f"e{number}", old, new, text if draw(st.booleans()) else draw(st.sampled_from(["", None])), every=every
        )
        text = after
        texts.append(text)
    return records, texts


@settings(max_examples=examples(100))
@given(edits())
def test_edits_applied_to_a_state_give_the_next(made: tuple[list[Object], list[str]]) -> None:
    records, texts = made
    versions = transcript(*records).files["/w/f"].versions
    assert [one.after and one.after.text for one in versions] == texts
    assert all(
        one.exact and one.after and one.after.data == text.encode() for one, text in zip(versions, texts, strict=True)
    )
    assert [one.before and one.before.text for one in versions[1:]] == texts[:-1]


@settings(max_examples=examples(60))
@given(edits(), st.data())
def test_an_edit_that_does_not_follow_is_never_called_known(
    made: tuple[list[Object], list[str]], data: st.DataObject
) -> None:
    records, texts = made
    place = data.draw(st.integers(1, len(texts)))
    hand = "changed by hand\n" + texts[-1]
    records = [*records[: 1 + 2 * place], *edited("x", "changed", "found", hand), *records[1 + 2 * place :]]
    versions = transcript(*records).files["/w/f"].versions
    outside = [one for one in versions if one.action == "outside"]
    assert len(outside) >= 1 and outside[0].after and outside[0].after.text == hand
    for one in versions:
        if one.whole and one.call and one.call.id == "x" and one.own:
            assert one.after and one.after.text == hand.replace("changed", "found")


def test_what_the_client_leaves_out_of_results_is_not_taken_for_an_empty_file() -> None:
    versions = transcript(user("go"), *edited("e", "a", "b", "")).files["/w/f"].versions
    assert [(one.whole, one.source) for one in versions] == [(False, None)]
    stripped = wrote("w", "", None, type="update", structuredPatch=[patch(1, "-a", "+b")])
    stripped[0]["message"]["content"][0]["input"]["content"] = "b\n"
    [one] = transcript(user("go"), *stripped).files["/w/f"].versions
    assert one.after and one.after.text == "b\n"


def test_a_proposal_that_waits_for_review_changed_nothing() -> None:
    assert transcript(user("go"), *edited("e", "a", "b", "a\n", staged=True)).files == {}
    assert transcript(user("go"), *wrote("w", "b\n", staged=True)).files == {}


@pytest.mark.parametrize("more", [{"staleRecovered": True}, {"contentNotInModelContext": True}])
def test_an_edit_of_a_changed_file_without_its_original_is_partial(more: Object) -> None:
    versions = (
        transcript(user("go"), *wrote("w", "a\nb\n"), *edited("e", "a", "c", None, **more)).files["/w/f"].versions
    )
    assert [one.whole for one in versions] == [True, False]


def test_a_patch_that_says_otherwise_makes_it_partial() -> None:
    wrong = edited("e", "a", "c", "a\nb\n", structuredPatch=[patch(1, "-a", "+c and more", " b")])
    [one] = transcript(user("go"), *wrong).files["/w/f"].versions
    assert not one.whole and one.after is None and one.before and one.before.text == "a\nb\n"
    assert (one.added, one.removed) == (1, 1)


def test_reads_confirm_and_reveal() -> None:
    files = transcript(user("go"), *wrote("w", "a\n"), *read("r1", "a\n"), *read("r2", "a\nx\n")).files
    assert [one.action for one in files["/w/f"].versions] == ["create", "outside"]
    base = transcript(user("go"), *read("r1", "a\nb\n"), *edited("e", "a", "c", None)).files["/w/f"].versions
    assert [one.after and one.after.text for one in base] == ["c\nb\n"]
    assert not base[0].exact, "a read does not say how lines end"
    assert transcript(user("go"), *read("r1", "a\n"), *read("r2", "b\n")).files == {}


def test_a_file_that_changed_on_disk_is_not_known_until_it_is_seen_again() -> None:
    changed = attachment("edited_text_file", {"filename": "/w/f", "snippet": "1\tx\n2\tb"})
    lost = transcript(user("go"), *wrote("w", "a\nb\n"), changed, *edited("e", "b", "c", None)).files["/w/f"].versions
    assert [(one.action, one.whole) for one in lost] == [("create", True), ("outside", False), ("edit", False)]
    seen = transcript(user("go"), *wrote("w", "a\nb\n"), changed, *read("r", "x\nb\n")).files["/w/f"].versions
    assert [(one.action, one.whole) for one in seen] == [("create", True), ("outside", True)]
    same = attachment("edited_text_file", {"filename": "/w/f", "snippet": "1\ta\n2\tb"})
    assert len(transcript(user("go"), *wrote("w", "a\nb\n"), same).files["/w/f"].versions) == 1


def test_a_file_that_is_there_again_was_made_by_something_else() -> None:
    gone = [reply(use("x", "Bash", command="rm f"), id="mx"), answer(result("x", ""), data={"stdout": ""})]
    back = transcript(user("go"), *wrote("w", "a\n"), *gone, *edited("e", "z", "y", "z\n")).files["/w/f"].versions
    assert [(one.action, one.source) for one in back] == [
        ("create", "stated"),
        ("delete", None),
        ("outside", "stated"),
        ("edit", "applied"),
    ]
    again = transcript(user("go"), *wrote("w", "a\n"), *wrote("v", "b\n")).files["/w/f"].versions
    assert [(one.action, one.whole) for one in again] == [("create", True), ("outside", False), ("create", True)]
    empty = transcript(user("go"), *wrote("w", ""), *wrote("v", "b\n")).files["/w/f"].versions
    assert [one.action for one in empty] == ["create", "create"], "an empty file may be taken for none"


@table(
    ("text", "edits", "after"),
    [
        ("a\nb\n", [("a", "c")], "c\nb\n"),
        ("a a", [("a", "b")], "b a"),
        ("a a", [("a", "b", True)], "b b"),
        ("a\nb\n", [("a", "")], "b\n"),
        ("a\nb\n", [("a\n", "")], "b\n"),
        ("ab", [("a", "")], "b"),
        (" \n", [("", "x")], "x"),
        ("a", [("", "x")], None),
        ("a", [("z", "x")], None),
        ("a", [("a", "b"), ("b", "c")], "c"),
        ("a", [("a", "b"), ("a", "c")], None),
    ],
)
def test_replacements_are_made_as_the_client_makes_them(text: str, edits: list[Any], after: str | None) -> None:
    assert _replaced(text, tuple(TextEdit(*edit) for edit in edits)) == after


def test_failed_and_denied_calls_change_nothing() -> None:
    given = {"file_path": "/w/f", "old_string": "a", "new_string": "b"}
    failed = [reply(use("e", "Edit", **given)), answer(result("e", "no", is_error=True), data="Error: no")]
    assert transcript(user("go"), *failed).files == {}
    assert transcript(user("go"), reply(use("e", "Edit", **given))).files == {}


ODD = (
    None,
    True,
    -1,
    3,
    "",
    "a",
    "a\nb",
    "/w/f",
    "\x00",
    "\ud800",
    "1\ta\n2\tb",
    "rm f",
    "mv f g",
    [],
    {},
    [["a"]],
    [{"lines": ["+a", 1]}],
)
KEYS = """file_path filePath old_string oldString newString new_string content originalFile edits file command
    structuredPatch type bashEditDiff files hunks updated_file original_file numLines totalLines startLine
    replace_all""".split()
TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Bash")


@table("seed", range(8))
def test_garbage_never_raises(seed: int) -> None:
    for number in range(20):
        make_garbage(Random(seed * 1000 + number))


def make_garbage(random: Random) -> None:
    def odd(depth: int = 0) -> Any:
        nested = depth < 2 and random.random() < 0.4
        return {random.choice(KEYS): odd(depth + 1) for _ in range(4)} if nested else random.choice(ODD)

    records = [user("go")]
    for number in range(random.randint(1, 6)):
        call = use(f"c{number}", random.choice(TOOLS), **{"file_path": "/w/f", **odd_fields(random, odd)})
        found = odd_fields(random, odd)
        records += [
            reply(call, id=f"m{number}"),
            answer(result(f"c{number}", random.choice(("ok", "1\ta"))), data=found),
        ]
        records.append(
            attachment(
                random.choice(("file", "edited_text_file")), {"filename": "/w/f", "snippet": odd(), "content": odd()}
            )
        )
        records.append({"type": "file-history-delta", "trackingPath": odd(), "backup": odd(), "messageId": odd()})
        records.append({"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {"f": odd()}}})
    for history in transcript(*records).files.values():
        for version in history.versions:
            assert version.whole or version.after is None
            assert isinstance(version.hunks, list)


def odd_fields(random: Random, odd: Callable[[], Any]) -> Object:
    return {random.choice(KEYS): odd() for _ in range(random.randint(0, 8))}


def test_a_backup_is_read_only_by_its_plain_name(tmp_path: Path) -> None:
    session = tmp_path / "projects" / "p" / "abc.jsonl"
    folder = tmp_path / "file-history" / "abc"
    folder.mkdir(parents=True)
    (folder / "0f@v1").write_bytes(b"copy")
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "0e@v1").symlink_to(tmp_path / "secret")
    (folder / "0d@v1").mkdir()
    backups = BackupFiles([(session, ["abc", "..", "../.."])])
    assert backups.read("0f@v1") == b"copy"
    for name in ("0e@v1", "0d@v1", "../../secret", "../abc/0f@v1", "/etc/passwd", "0f@v1\n", "0f@v2", ""):
        assert backups.read(name) is None


def test_an_edit_keeps_the_quotes_of_the_file_if_its_patch_says_so() -> None:
    def after(*lines: str) -> str | None:
        given = edited("e", 'say "hi"', 'say "ho"', "say \u201chi\u201d\n", oldString="say \u201chi\u201d")
        given[1]["toolUseResult"]["structuredPatch"] = [patch(1, *lines)] if lines else []
        [one] = transcript(user("go"), *given).files["/w/f"].versions
        return one.after.text if one.after is not None else None

    assert after("-say \u201chi\u201d", "+say \u201cho\u201d") == "say \u201cho\u201d\n"
    assert after("-say \u201chi\u201d", '+say "ho"') == 'say "ho"\n'
    assert after() is None


def test_an_edit_is_certain_only_if_nothing_speaks_against_it() -> None:
    def is_whole(**more: Any) -> bool:
        [one] = transcript(user("go"), *edited("e", "a", "c", "a\nb\n", **more)).files["/w/f"].versions
        return one.whole

    right = hashlib.sha256(b"c\nb\n").hexdigest()
    shown = [patch(1, "-a", "+c", " b")]
    assert is_whole() and is_whole(updatedFileSha256=right) and is_whole(userModified=True, structuredPatch=shown)
    assert not is_whole(updatedFileSha256=right[::-1]) and not is_whole(userModified=True)
    [one] = transcript(user("go"), *edited("e", "a", "c", "a\nb\n", appliedNewString="d")).files["/w/f"].versions
    assert one.after and one.after.text == "d\nb\n"


def patched(id: str, *lines: str) -> list[Object]:
    """The records of a patch that was applied."""
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    return [reply(use(id, "apply_patch", patch=text), id=f"m{id}"), answer(result(id, "Success"), data={})]


def test_a_patch_that_adds_a_file_creates_it_or_writes_it_anew() -> None:
    add, delete = ("*** Add File: f", "+a"), ("*** Delete File: f",)
    versions = transcript(user("go"), *patched("p", *add), *patched("q", *add), *patched("r", *delete)).files["/w/f"]
    assert [one.action for one in versions.versions] == ["create", "write", "delete"]
    again = transcript(user("go"), *patched("p", *add), *patched("r", *delete), *patched("q", *add)).files["/w/f"]
    assert [one.action for one in again.versions] == ["create", "delete", "create"]
    assert [one.after.text if one.after else None for one in again.versions] == ["a\n", None, "a\n"]


def test_a_file_that_was_mentioned_is_known_by_what_was_attached() -> None:
    file = {"filePath": "/w/f", "content": "a\nx", "numLines": 2, "startLine": 1, "totalLines": 2}
    shown = attachment("file", {"filename": "/w/f", "content": {"type": "text", "file": file}})
    versions = transcript(user("go"), *wrote("w", "a\n"), shown).files["/w/f"].versions
    assert [(one.action, one.after and one.after.text) for one in versions] == [("create", "a\n"), ("outside", "a\nx")]
    cut = attachment("file", {"filename": "/w/f", "content": {"type": "text", "file": file}, "truncated": True})
    versions = transcript(user("go"), *wrote("w", "a\n"), cut).files["/w/f"].versions
    assert [(one.action, one.whole) for one in versions] == [("create", True), ("outside", False)]


def test_a_command_that_left_nothing_may_have_deleted_the_file() -> None:
    def after(*lines: str) -> tuple[bool, str | None, str | None]:
        data = {"stdout": "", "bashEditDiff": {"files": [{"filePath": "/w/f", "hunks": [patch(1, *lines)]}]}}
        ran = [reply(use("b", "Bash", command="./change"), id="mb"), answer(result("b", ""), data=data)]
        last = transcript(user("go"), *wrote("w", "a\n"), *ran).files["/w/f"].versions[-1]
        assert (last.action, last.added, last.removed) == ("shell", sum(one[0] == "+" for one in lines), 1)
        return last.whole, last.source, last.after.text if last.after is not None else None

    assert after("-a", "+b") == (True, "applied", "b\n")
    assert after("-a") == (False, None, None)


def test_what_an_agent_changed_stands_where_the_main_thread_was() -> None:
    agent = {"isSidechain": True, "agentId": "a1"}
    records = [
        user("one"),
        reply(use("t", "Task", prompt="write it", description="d"), id="mt"),
        {**user("write it"), "parentUuid": None, **agent},
        *({**record, **agent} for record in wrote("w", "a\n")),
        {**answer(result("t")), "parentUuid": "u1"},
        user("two"),
        reply("done", id="m2"),
    ]
    history = transcript(*records).files["/w/f"]
    [version] = history.versions
    assert (version.agent is not None, version.record, version.turn) == (True, 1, 1)
    assert history.at(0) is None and history.at(1) is version and history.at() is version
