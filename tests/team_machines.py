"""The machines of a team for tests: their sessions, which overlap, and what each of them writes to a bucket."""

import hashlib
import json
import random
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet
from making import answer, jsonl, reply, result, told, use, user

import reread
from reread.catalog.team_settings import TeamSettings
from reread.dataset.figures import RowMask
from reread.dataset.manifest import newest_manifest
from reread.dataset.schema import TABLES
from reread.dataset.table_files import TableFiles, table_files
from reread.dataset.update import TableUpdate
from reread.disk.file_set import find_files

KEY = "0123456789abcdef" * 2
PEOPLE = ("ann", "ben", "cat", "dan", "eve", "fay", "gus")
WORDS = [f"zq{random.Random(n).getrandbits(48):012x}w" for n in range(500)]
"""Words that no file would have by chance."""


def random_id(kind: str, *of: object) -> str:
    """An id as the API makes them."""
    return f"{kind}_01{hashlib.sha256(repr(of).encode()).hexdigest()[:22]}"


def uuid(*of: object) -> str:
    digits = hashlib.sha256(repr(of).encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def session(n: int, turns: int, *, year: int = 2026, months: int = 12, words: bool = False) -> list[dict[str, Any]]:
    """The records of a session; with words, people's words are in everything that could have some."""

    def word(place: int) -> str:
        return WORDS[(n * 37 + place) % len(WORDS)] if words else "plain"

    def api_id(kind: str, *of: object) -> str:
        """An id as the API makes them, that may be a word."""
        made = random_id(kind, *of)
        return f"{kind}_01{word(21)}{made[-7:]}" if words else made

    def model(turn: int) -> str:
        plain = ("claude-opus-5-5", "claude-sonnet-5")[n % 2]
        forms = (plain, f"{plain}[{word(22)}]", f"{plain}@{word(23)}", f"zq{word(24)[2:6]}.anthropic.{plain}", word(11))
        return forms[turn % 5] if words else plain

    out: list[dict[str, Any]] = []
    for turn in range(turns):
        more = {
            "sessionId": uuid("s", n),
            "timestamp": f"{year}-{1 + n % months:02}-{2 + turn % 25:02}T10:{turn % 60:02}:07.123Z",
            "cwd": f"/home/{word(1)}/{word(2)}",
            "gitBranch": word(3),
            "version": word(4) if words and turn % 2 else "2.1.325",
            "entrypoint": word(5) if words else "cli",
        }
        made = (n, turn)
        name = ["Bash", "Edit", f"mcp__{word(6)}__{word(7)}", word(8)][turn % 4 if words else turn % 2]
        call = use(api_id("toolu", *made), name, command=f"{word(9)} --x", file_path=f"/home/{word(10)}.py")
        usage = {
            "input_tokens": 10 + n,
            "output_tokens": 100 + turn,
            "cache_read_input_tokens": 1000 * turn,
            "cache_creation_input_tokens": 7 * n,
        }
        said = reply(
            f"{word(12)} {word(13)}",
            call,
            id=word(14) if words and turn % 5 == 4 else api_id("msg", *made),
            requestId=api_id("req", *made),
            usage=usage,
            stop_reason="tool_use",
            **more,
        )
        said["message"]["model"] = model(turn)
        out += [
            {**user(" ".join(word(place) for place in range(15 + turn, 60 + turn)), **more), "uuid": uuid("p", *made)},
            {**said, "uuid": word(18) if words and turn % 5 == 3 else uuid("r", *made)},
            {
                **answer(result(api_id("toolu", *made), f"Error: {word(19)}", is_error=turn % 3 == 0), **more),
                "uuid": uuid("a", *made),
            },
        ]
    out.append({"type": "custom-title", "customTitle": word(20), "sessionId": uuid("s", n)})
    return told(*out)


STRUCTURE = ("type", "subtype", "role", "timestamp", "name")
SAMPLES = Path(reread.__file__).parent / "samples" / "projects"


def planted(value: Any, name: str = "") -> Any:
    """A value of JSON with a word in each of its texts, but for those that say what kind of record it is."""
    if isinstance(value, dict):
        return {planted(key) if "/" in key else key: planted(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [planted(inner, name) for inner in value]
    if not isinstance(value, str) or name in STRUCTURE:
        return value
    return f"{value} {WORDS[zlib.crc32(value.encode()) % len(WORDS)]}"


def plant_samples(root: Path) -> None:
    """Give a machine the samples, with words in every field that their records and the files beside them have."""
    for path in (*SAMPLES.rglob("*.json"), *SAMPLES.rglob("*.jsonl")):
        project, *below = path.relative_to(SAMPLES).parts
        target = root.joinpath("projects", planted(project), *below)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(jsonl(*(planted(json.loads(line)) for line in path.read_bytes().splitlines())))


class Machine:
    """One machine of the team, with the sessions that it has, in so many months of a year."""

    def __init__(self, folder: Path, n: int, *, months: int = 12, words: bool = False) -> None:
        self.name = f"{PEOPLE[n % len(PEOPLE)]}-{n}"
        self.root = folder / self.name
        self.settings = TeamSettings(
            name=("shop", "lab")[n % 2], person=PEOPLE[n % len(PEOPLE)], key=KEY, shown_alone=False
        )
        project = self.root / "projects" / f"-home-{WORDS[n] if words else 'shop'}"
        project.mkdir(parents=True)
        if words and n == 0:
            plant_samples(self.root)
        for number in (3 * n, 3 * n + 1, 3 * n + 2, 3 * n + 3, 3 * n + 4):  # two of them are the next machine's, too
            year = 2031 if n == 4 and number == 3 * n + 2 and months == 12 else 2026  # a wrong clock
            # the copy that the next machine has was made before the session ended
            turns = 4 + number % 7 if number < 3 * n + 3 else 3
            records = session(number, turns, year=year, months=months, words=words)
            (project / f"{uuid('s', number)}.jsonl").write_bytes(jsonl(*records))

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which `reread` runs on it."""
        return {
            "REREAD_MACHINE": self.name,
            "REREAD_PERSON": self.settings.person or "",
            "REREAD_TEAM": self.settings.name or "",
            "REREAD_TEAM_KEY": KEY,
            "REREAD_CACHE": f"{self.root}-cache",
            "REREAD_HOME": f"{self.root}-home",
        }

    def write(self, bucket: str | Path, *, figures: bool = True) -> None:
        """Write the tables of this machine."""
        self.update(bucket, figures=figures).run()

    def update(self, bucket: str | Path, *, figures: bool = True, keep_deleted: bool = False) -> TableUpdate:
        """Return an update of them."""
        own = RowMask(self.settings) if figures else None
        files = find_files([self.root])
        return TableUpdate(table_files(bucket), self.name, files, figures=own, keep_deleted=keep_deleted)


def write_all(machines: list[Machine], bucket: str | Path) -> None:
    """Let all machines write at once."""
    with ThreadPoolExecutor(len(machines)) as pool:
        for done in [pool.submit(machine.write, bucket) for machine in machines]:
            done.result()


def as_written_by_02(machine: Machine, folder: Path) -> None:
    """Make the tables that a machine wrote with words into those of 0.2: fewer columns, other names, and no hashes."""
    place = TableFiles(folder)
    manifest = newest_manifest(place, machine.name)
    assert manifest is not None
    for kind, _, name in manifest.files():
        table = pyarrow.parquet.read_table(place.path(name), partitioning=None)
        called = TABLES[kind].names_in(2)
        kept = [name for name in table.column_names if name in called and not re.match("cache_(break|rewritten)", name)]
        table = table.select(kept).rename_columns([called[name] for name in kept])
        meta = {**(table.schema.metadata or {}), b"reread.tables_version": b"2"}
        pyarrow.parquet.write_table(table.replace_schema_metadata(meta), place.path(name))
    value = msgspec.to_builtins(manifest)
    for part in (*value["parts"], *value["usage"]):
        del part["sha256"]
    value = {name: value[name] for name in value if name not in ("person", "team", "shown_alone")} | {"version": 2}
    path = folder / "_reread" / machine.name / f"{manifest.sequence:09}.json"
    path.write_bytes(msgspec.json.encode(value))
