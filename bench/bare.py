"""A minimal count in Python, as a lower limit: decode lines with usage, count each response once, sum by day and model.

It ignores time zones, prices, projects, forks, agents and damaged lines, and stores nothing for the next run.
"""

import gc
import sys
from pathlib import Path

import msgspec


class Usage(msgspec.Struct, gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class Message(msgspec.Struct, gc=False):
    model: str = ""
    id: str = ""
    usage: Usage | None = None


class Row(msgspec.Struct, gc=False):
    message: Message
    requestId: str = ""
    timestamp: str = ""


def count(folder: Path) -> dict[tuple[str, str], list[int]]:
    decode = msgspec.json.Decoder(Row).decode
    best: dict[tuple[str, str], Row] = {}
    for path in folder.rglob("*.jsonl"):
        with path.open("rb", buffering=1 << 20) as file:
            for line in file:
                if b'"usage"' not in line:
                    continue
                row = decode(line)
                if row.message.usage is not None:
                    key = (row.message.id, row.requestId)
                    known = best.setdefault(key, row)
                    if row.message.usage.output_tokens >= known.message.usage.output_tokens:
                        best[key] = row
    totals: dict[tuple[str, str], list[int]] = {}
    for row in best.values():
        counts = msgspec.structs.astuple(row.message.usage)
        sums = totals.setdefault((row.timestamp[:10], row.message.model), [0] * len(counts))
        sums[:] = map(sum, zip(sums, counts, strict=True))
    return totals


if __name__ == "__main__":
    gc.disable()
    for group, sums in sorted(count(Path(sys.argv[1])).items()):
        print(*group, *sums)
