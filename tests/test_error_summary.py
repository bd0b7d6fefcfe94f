"""The line of an error text that is shown on a call's row."""

from batches import table
from limits import within

from reread.base.text import telling_line

CASES = {
    "": "",
    "  \n\n": "",
    "String to replace not found in file.": "String to replace not found in file.",
    'Traceback (most recent call last):\n  File "a.py", line 1\n    f()\nValueError: no\n': "ValueError: no",
    "F.\n=== FAILURES ===\n    def test():\n>       assert f() == 2\nE       assert 1 == 2\n1 failed": "assert 1 == 2",
    "> app@1.0.0 build\n> tsc\n\nsrc/a.ts(3,1): error TS2304: Cannot find name 'x'.\n": (
        "src/a.ts(3,1): error TS2304: Cannot find name 'x'."
    ),
    "   Compiling app\nerror[E0308]: mismatched types\n --> src/main.rs:2:5": "error[E0308]: mismatched types",
    "npm ERR! code ENOENT\nnpm ERR! syscall open": "npm ERR! code ENOENT",
    "checking\nls: cannot access '/x': No such file or directory": "ls: cannot access '/x': No such file or directory",
    "======\nall is well\nand so on": "all is well",
}


@table(("text", "line"), CASES.items())
def test_the_line_that_says_why(text: str, line: str) -> None:
    assert telling_line(text) == line


@table("piece", ["a", "error", "E ", "\n", "x\n", "Error:\n", "=", "A.", "no such"])
def test_any_text_takes_little_time(piece: str) -> None:
    with within(2):
        telling_line(piece * 300_000)
