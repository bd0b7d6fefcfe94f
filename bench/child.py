"""What the benchmarks run in a process of its own: `hold PATH` or `follow PATH`."""

import json
import resource
import sys
import threading
import time

import measure

measure.data()
import reread  # noqa: E402  (after the home folder is set)


def hold(path: str) -> None:
    """Open a session, touch its conversation, and tell how much memory that takes."""
    session = reread.open(path)
    sizes = [len(part) for part in (session.turns, session.calls, session.branches, session.ledger)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**measure.private_memory(), "peak": peak, "sizes": sizes}))


def follow(path: str) -> None:
    """Print the time of each change; for each line of stdin, the CPU seconds used so far."""
    session = reread.open(path)
    len(session.turns)
    threading.Thread(target=tell_cpu, daemon=True).start()
    for _ in reread.follow(session):
        print("change", time.monotonic_ns(), flush=True)


def tell_cpu() -> None:
    for _ in sys.stdin:
        print("cpu", int(time.process_time() * 1e9), flush=True)


if __name__ == "__main__":
    {"hold": hold, "follow": follow}[sys.argv[1]](sys.argv[2])
