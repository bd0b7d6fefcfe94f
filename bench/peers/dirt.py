"""The damage that files of real users have: each kind is done to the same clean session."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import truth
from truth import Item

LONG = 12_000_000
SUMMARY = b'{"type":"summary","summary":"%b","leafUuid":"x"}'
Lines = list[bytes]


class Damaged(NamedTuple):
    """A file, and the lines whose content a careful reader still finds in it."""

    data: bytes
    whole: Sequence[bytes]


def harm(lines: Lines, place: int) -> dict[str, Damaged]:
    """Every kind of damage, done at the line `place`, which holds part of the conversation like the one before it."""
    before, here, after = lines[:place], lines[place], lines[place + 1 :]
    torn = here[: len(here) // 2]

    def with_line(line: bytes) -> bytes:
        return joined([*before, line, here, *after])

    def instead(line: bytes) -> bytes:
        return joined([*before, line, *after])

    return {
        "none": Damaged(joined(lines), lines),
        "last line torn": Damaged(joined(lines) + torn, lines),
        "a torn line in the middle": Damaged(with_line(torn), lines),
        "a torn piece, then a whole record in the same line": Damaged(instead(torn + here), lines),
        "two records in one line (`}{`)": Damaged(joined([*before[:-1], before[-1] + here, *after]), lines),
        "512 NUL bytes before a record": Damaged(instead(b"\0" * 512 + here), lines),
        "a line of 12 MB": Damaged(instead(longer(here)), lines),
        "bytes that are not UTF-8": Damaged(with_line(SUMMARY % b"\xff\xfe"), lines),
        "half a surrogate pair": Damaged(with_line(SUMMARY % b"\\ud83d"), lines),
        "an unknown type, and lines that are no objects": Damaged(
            with_line(b'{"type":"hologram","uuid":7}\nnull\n[1]\n"x"'), lines
        ),
        "byte order mark, CRLF": Damaged(b"\xef\xbb\xbf" + joined(lines).replace(b"\n", b"\r\n"), lines),
        "nothing at all": Damaged(b"", []),
    }


def joined(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def longer(line: bytes) -> bytes:
    """The same record with 12 MB more in its text."""
    row = json.loads(line)
    row["message"]["content"][0]["text"] += "\n\n" + "many words " * (LONG // 11)
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def place_for_harm(lines: Lines) -> int:
    """The first answer that is a response of one line and comes right after another line of the conversation."""
    found = [json.loads(line) for line in lines]
    ids = Counter((row.get("message") or {}).get("id") for row in found)
    kinds = [{item.kind for item in truth.items_of([row])} for row in found]
    alone = (n for n in range(1, len(lines)) if "answers" in kinds[n] and ids[found[n]["message"]["id"]] == 1)
    return next(n for n in alone if kinds[n - 1])


def items(damaged: Damaged) -> list[Item]:
    return list(dict.fromkeys(truth.items_of(map(json.loads, damaged.whole))))


def write_trees(session: Path, root: Path) -> dict[str, tuple[Path, Damaged]]:
    """A configuration folder for each kind of damage, with one session in it."""
    lines = session.read_bytes().splitlines()
    trees: dict[str, tuple[Path, Damaged]] = {}
    for number, (name, damaged) in enumerate(harm(lines, place_for_harm(lines)).items()):
        path = root / f"{number}" / "projects" / session.parent.name / session.name
        path.parent.mkdir(parents=True)
        path.write_bytes(damaged.data)
        trees[name] = root / f"{number}", damaged
    return trees
