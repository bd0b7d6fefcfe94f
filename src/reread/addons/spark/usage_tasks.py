"""`usage` by all workers: files that may have something in common are counted together, and others apart.

Copies of a response may be in any files, and what one file says of a session or an agent can decide what counts of
another. So each worker says of its files which responses, sessions and agents they name; Spark brings equal names
together by a shuffle; and files that are linked, over whatever other files, are counted by one task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reread.accounting.dedupe import file_links
from reread.accounting.digest import file_digest
from reread.accounting.workers import ScanJob, scan_all
from reread.addons.spark.files import FilePart, transcripts_below
from reread.addons.spark.query import types
from reread.base import jsontext
from reread.dataset.arrow import RecordBatch, pyarrow
from reread.dataset.schema import USAGE
from reread.errors import Misuse

GROUPS = "groups"
"""The option that names the files to be counted together, as JSON."""


def usage_frame(spark: Any, root: str, task_bytes: int) -> Any:
    """Return the rows of `usage` below a folder or bucket, as a data frame of many tasks."""
    source = spark.read.format("reread").options(table=USAGE.name, taskBytes=str(task_bytes))
    links = source.option("links", "true").load(root)
    links = links.selectExpr("file", "min(file) over (partition by link) as first")
    pairs = links.where("file > first").select("first", "file").distinct().collect()
    names = {hash_of(part.path): part.path for part in parts_below(root)}
    groups = linked((names[row["first"]], names[row["file"]]) for row in pairs)
    return source.options(links="false", groups=jsontext.dumps(groups).decode()).load(root)


def parts_below(root: str) -> list[FilePart]:
    """Return all files below a folder or bucket, in order."""
    return [FilePart.of(path, 0, state.size) for path, state in sorted(transcripts_below(root).states.items())]


def linked(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return names in groups, such that those of a pair are in the same one."""
    above: dict[str, str] = {}

    def root(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = name = above[above[name]]
        return name

    for one, other in pairs:
        above[root(other)] = root(one)
    groups: dict[str, list[str]] = {}
    for name in above:
        groups.setdefault(root(name), []).append(name)
    return list(groups.values())


def usage_tasks(parts: Sequence[FilePart], options: Mapping[str, str], task_bytes: int) -> list[list[FilePart]]:
    """Return the files of each task: those of a group together, about as many as a task reads."""
    try:
        groups = jsontext.loads(options[GROUPS].encode())
        of_file = {name: number for number, names in enumerate(groups) for name in names}
    except (*jsontext.DECODE_ERRORS, TypeError):
        raise Misuse(f"Invalid {GROUPS}; use `reread.spark.count_usage`, which finds them.") from None
    together: dict[int | str, list[FilePart]] = {}
    for part in parts:
        together.setdefault(of_file.get(part.path, part.path), []).append(part)
    tasks: list[list[FilePart]] = []
    size = task_bytes
    for group in together.values():
        if size >= task_bytes:
            tasks.append([])
            size = 0
        tasks[-1] += group
        size += sum(part.end for part in group)
    return tasks


def link_schema() -> Any:
    """Return the columns of links: two hashes, of a file and of what it names."""
    return types.StructType([types.StructField(name, types.LongType()) for name in ("file", "link")])


def links_of(part: FilePart) -> Iterator[RecordBatch]:
    """Yield what a file may have in common with others."""
    path = str(part.local())
    digests = (file_digest(path, digest) for _, digest in scan_all([ScanJob(path, part.end)]))
    found = sorted({hash_of(*name) for digest in digests for name in file_links(digest)})
    columns = [[hash_of(part.path)] * len(found), found]
    yield pyarrow.record_batch([pyarrow.array(column, pyarrow.int64()) for column in columns], ["file", "link"])


def hash_of(*name: str | None) -> int:
    """Return a hash of a name as Spark can hold it."""
    digest = hashlib.blake2b(repr(name).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
