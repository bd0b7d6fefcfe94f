"""How many functions of reread's run under a command, and how deep their deepest call is.

python bench/calls.py show tests/fixtures/... --no-pager
"""

import sys
from collections import Counter
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import click

import reread
from reread.cli import reread as command

HOUSE = str(Path(reread.__file__).parent)


class Calls:
    """The functions that were called, and the deepest chain of them."""

    def __init__(self) -> None:
        self.functions: Counter[CodeType] = Counter()
        self.deepest: list[str] = []
        self._stack: list[CodeType] = []

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Take part in a call or a return; comprehensions, classes and other people's code do not count."""
        code = frame.f_code
        if not code.co_filename.startswith(HOUSE) or code.co_name.startswith("<") or not code.co_flags & CO_OPTIMIZED:
            return
        if event == "call":
            self.functions[code] += 1
            self._stack.append(code)
            if len(self._stack) > len(self.deepest):
                self.deepest = [f"{Path(one.co_filename).relative_to(HOUSE)} {one.co_qualname}" for one in self._stack]
        elif event == "return" and code in self._stack:
            while self._stack.pop() is not code:
                pass


def main() -> None:
    calls = Calls()
    sys.setprofile(calls.note)
    try:
        command(sys.argv[1:], standalone_mode=False)
    except click.ClickException as error:
        error.show()
    finally:
        sys.setprofile(None)
    modules = Counter(code.co_filename for code in calls.functions)
    print(f"{len(calls.functions)} functions of {len(modules)} modules, {len(calls.deepest)} deep", file=sys.stderr)
    print(*calls.deepest, sep="\n", file=sys.stderr)
    rooms = Counter(
        str(Path(name).relative_to(HOUSE).parts[0]) for code in calls.functions for name in [code.co_filename]
    )
    print(*(f"{count:5} {room}" for room, count in rooms.most_common()), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
