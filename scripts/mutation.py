"""Change one thing at a time in the program, and see whether a test notices.

    python scripts/mutation.py map [tests/test_x.py ...]      # which test runs which function, and how long it takes
    python scripts/mutation.py try accounting model           # mutants of packages, 60 of each, the same for a seed
    python scripts/mutation.py try index/query.py --sample 0  # every mutant of one file
    python scripts/mutation.py try model --tests tests/test_x.py ...  # against these tests only
    python scripts/mutation.py guards [WORD ...]              # each guard of `guards.py` whose row has one of the words

`map` runs the tests once and writes `build/mutation.json`; run it again when tests have changed much. `try` imports the
program and collects the tests once. For each mutant it forks, gives one function its changed code, and runs the tests
that run this function, the quick ones first. Code outside of functions is changed in a copy of the sources, and Python
started anew. What no test notices is printed as SURVIVED, or as UNTESTED if no test runs it. A survivor that is the
same program has a row in `equivalent_mutants.txt` with the reason, and is not counted. The repository is not changed.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple, NoReturn

import pytest
from guards import GUARDS, Guard

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "reread"
MAP = ROOT / "build" / "mutation.json"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
APART = ("browser", "test_fuzz.py", "test_linear.py", "test_linear_verbs.py", "test_patterns.py", "test_docs.py")
"""Tests that take too long for each mutant, or say nothing of a function."""
ELSEWHERE = ("addons/iceberg/catalog.py", "addons/kingfisher/scanner.py")
"""What `make test-engines` and `make test-share` test."""
MOST = 40.0
"""Seconds of tests that a mutant has to survive, as `map` measured them, which makes them several times as slow."""
HANGING = 60
"""Seconds after which the tests of a mutant hang, if nothing else runs: then, too, they notice, and it is said. It is
ten times as long for a new start."""
PATIENCE = "30"
"""How many seconds a test of a mutant waits for something to happen."""
ANY = "*"
"""Instead of a function: the test may run any."""
ASKED, ASKED_SECONDS = 200, 4.0
"""How many of the parametrized tests of one function are run to see what each runs, and for how long; those that are
not run count as tests of whatever the others run."""
WORKERS = 2

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
ONE_WAY = ("isinstance", "issubclass", "getattr", "setattr", "hasattr", "cast", "min", "max")
"""Functions whose arguments have one order, without which nothing would run, or none."""


STATEMENTS = ("pass", "yield")
"""What replaces a whole statement."""


class Mutant(NamedTuple):
    """One change: a piece of a file's text and what replaces it."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    @property
    def text(self) -> str:
        """What replaces the piece, with as many lines, so that no other function moves."""
        lines = "\n" * (self.old.count("\n") - self.new.count("\n"))
        return f"{self.new}{lines}" if not lines or self.new in STATEMENTS else f"({self.new}{lines})"

    @property
    def change(self) -> str:
        """The change without its line, which other changes move."""
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    def __str__(self) -> str:
        return f"{self.change}  (line {self.line})"


class Maker(ast.NodeVisitor):
    """Collects the mutants of one module."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.data = text.encode()
        self.found: list[Mutant] = []
        self._is_start = False
        """True in what sets the first value of each attribute."""
        self._starts = [0]
        for row in self.data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(row) + 1)
        self.visit(ast.parse(text))

    def _add(self, node: ast.expr | ast.stmt, new: str) -> None:
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        old = self.data[start:end].decode()
        if old != new:
            self.found.append(Mutant(self.file, node.lineno, start, end, old, new))

    def visit_Compare(self, node: ast.Compare) -> None:
        """Turn each comparison into its neighbour."""
        for at, op in enumerate(node.ops):
            ops = [*node.ops[:at], COMPARED[type(op)](), *node.ops[at + 1 :]]
            self._add(node, ast.unparse(ast.Compare(node.left, ops, node.comparators)))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap `and` and `or`, and leave out each operand."""
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add(node, f"({ast.unparse(ast.BoolOp(other, node.values))})")
        for at in range(len(node.values)):
            rest = [*node.values[:at], *node.values[at + 1 :]]
            kept = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
            self._add(node, f"({ast.unparse(kept)})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Leave out a `not`."""
        if isinstance(node.op, ast.Not):
            self._add(node, f"bool({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Compute something else."""
        if type(node.op) in COMPUTED and not _is_text(node):
            other = COMPUTED[type(node.op)]()
            self._add(node, f"({ast.unparse(ast.BinOp(node.left, other, node.right))})")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Take either side of a conditional expression always."""
        self._add(node, f"({ast.unparse(node.body)})")
        self._add(node, f"({ast.unparse(node.orelse)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Take either way of a branch always."""
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self._add(node.test, "True")
            self._add(node.test, "False")
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Count one more, and say the opposite."""
        if isinstance(node.value, bool):
            self._add(node, str(not node.value))
        elif isinstance(node.value, int):
            self._add(node, str(node.value + 1))

    def visit_Return(self, node: ast.Return) -> None:
        """Return nothing."""
        if node.value is not None and ast.unparse(node.value) != "None":
            self._add(node.value, "None")
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave out a statement; a docstring is none."""
        if not isinstance(node.value, ast.Constant):
            self._add(node, "yield" if isinstance(node.value, ast.Yield) else "pass")
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Leave out a change of a name."""
        self._add(node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Leave out a change of something that is there already; without a new name, nothing would run."""
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets) and not self._is_start:
            self._add(node, "pass")
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        """Leave out a deletion."""
        self._add(node, "pass")

    def visit_Call(self, node: ast.Call) -> None:
        """Swap the first two arguments."""
        given = node.args[:2]
        if len(given) == 2 and not any(isinstance(one, ast.Starred) for one in given):
            swapped = ast.Call(node.func, [given[1], given[0], *node.args[2:]], node.keywords)
            if ast.unparse(node.func) not in ONE_WAY:
                self._add(node, ast.unparse(swapped))
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        """Go on below instead of with the next."""
        self._add(node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        """Go on with the next."""
        self._add(node, "pass")

    def visit_Raise(self, node: ast.Raise) -> None:
        """Raise nothing; what an error says is not changed."""
        self._add(node, "pass")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Change a value, but no type."""
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Change the body, but no option of a struct: whether one can be changed or collected is not what it does."""
        for statement in node.body:
            self.visit(statement)

    def visit_arg(self, node: ast.arg) -> None:
        """Leave types as they are."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Change defaults and the body, but no decorator and no type."""
        for default in (*node.args.defaults, *(one for one in node.args.kw_defaults if one)):
            self.visit(default)
        self._is_start = node.name == "__init__"
        for statement in node.body:
            self.visit(statement)
        self._is_start = False

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Like a function."""
        self.visit_FunctionDef(node)  # type: ignore[arg-type]


def _is_text(node: ast.expr) -> bool:
    return any(isinstance(one, ast.JoinedStr | ast.List | ast.Tuple) or _is_string(one) for one in ast.walk(node))


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def mutants_of(place: str) -> list[Mutant]:
    """Every mutant of the packages and modules below `src/reread` that a pattern names."""
    files = sorted(file for path in SOURCE.glob(place) for file in ([path] if path.is_file() else path.rglob("*.py")))
    if not files:
        sys.exit(f"No package or module {place!r} below {SOURCE}.")
    names = [name for file in files if (name := str(file.relative_to(SOURCE))) not in ELSEWHERE]
    return [one for name in names for one in Maker(name, (SOURCE / name).read_text()).found]


class Tests:
    """The collected tests, with the functions that each runs and how long that takes, as `map` wrote it."""

    def __init__(self, items: list[pytest.Item]) -> None:
        known = read_map()
        by_id = {item.nodeid: item for item in items}
        self._functions: dict[str, list[tuple[float, list[pytest.Item]]]] = defaultdict(list)
        self._files: dict[str, list[tuple[float, list[pytest.Item]]]] = defaultdict(list)
        alike: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            if item.nodeid not in known:
                alike[test_of(item)].append(item)
        for test, (seconds, functions) in known.items():
            if meant := [by_id[test]] if test in by_id else alike.get(test):
                for function in functions:
                    self._functions[function].append((seconds, meant))
                for file in {function.partition(":")[0] for function in functions}:
                    self._files[file].append((seconds, meant))

    def of_function(self, function: str) -> list[pytest.Item]:
        """The tests that run a function, as many as there is time for."""
        return list(_within([*self._functions.get(function, []), *self._functions.get(ANY, [])]))

    def of_file(self, file: str) -> list[pytest.Item]:
        """The tests that run any function of a file, or else of its package, as many as there is time for."""
        package = f"{file.rpartition('/')[0]}/"
        others = [row for name, rows in self._files.items() if name.startswith(package) for row in rows]
        return list(_within(self._files.get(file) or others))


def _within(found: list[tuple[float, list[pytest.Item]]]) -> Iterator[pytest.Item]:
    """Yield one of each parametrized test, the quick ones first, then a second of each, and so on, within the time."""
    spent = 0.0
    rounds = max((len(items) for _, items in found), default=0)
    for number in range(rounds):
        for seconds, items in sorted(found, key=lambda row: row[0]):
            if number < len(items):
                spent += seconds + 0.003
                if spent > MOST:
                    return
                yield items[number]


def read_map() -> dict[str, tuple[float, list[str]]]:
    """How long each test takes and which functions it runs, by its name; without parameters, of all of its kind."""
    return json.loads(MAP.read_text()) if MAP.exists() else {}


class Collected:
    """A plug-in of pytest that collects the tests and hands them over instead of running them."""

    def __init__(self, work: Callable[[list[pytest.Item]], None]) -> None:
        self._work = work

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Work with the tests."""
        self._work(session.items)
        return True


def with_tests(work: Callable[[list[pytest.Item]], None], tests: list[str]) -> None:
    """Collect tests, by default all, and do something with them."""
    os.chdir(ROOT)
    apart = [f"--ignore={ROOT / 'tests' / name}" for name in APART]
    words = ["-q", "-n0", "-p", "no:cacheprovider", "--capture=fd", *apart, *(tests or ["tests"])]
    pytest.main(words, [Collected(work)])


def in_child(work: Callable[[], int], seconds: float) -> int | None:
    """Run something in a forked child; return its exit code, or None if it took too long."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = work()
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one test as pytest does."""
    from _pytest.runner import runtestprotocol

    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


# Which test runs what


def make_map(items: list[pytest.Item]) -> None:
    """Run the tests and write down which functions each runs; of many parametrized ones, some speak for the others."""
    alike: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        alike[test_of(item)].append(item)
    asked = [item for same in alike.values() for item in same[:: -(-len(same) // ASKED)]]
    known = {test: row for test, row in read_map().items() if test.partition("[")[0] not in alike}
    with tempfile.TemporaryDirectory() as folder:
        children = [_start(asked[number::WORKERS], Path(folder) / str(number)) for number in range(WORKERS)]
        for number, child in enumerate(children):
            os.waitpid(child, 0)
            for test, seconds, functions in json.loads((Path(folder) / f"{number}.json").read_text()):
                known[test] = (seconds, functions)
                general = test.partition("[")[0]
                if general != test:
                    before, others = known.get(general, (0.0, []))
                    known[general] = (max(before, seconds), sorted({*others, *functions}))
    MAP.parent.mkdir(exist_ok=True)
    MAP.write_text(json.dumps(known))
    say(f"{len(alike)} tests, {sum(known[test][0] for test in alike if test in known):.0f} s")


def _start(items: list[pytest.Item], folder: Path) -> int:
    """Trace tests in a child of its own, and return its id."""
    child = os.fork()
    if child == 0:
        try:
            folder.with_suffix(".json").write_text(json.dumps(_trace(items, folder)))
        finally:
            os._exit(0)
    return child


def _trace(items: list[pytest.Item], folder: Path) -> list[tuple[str, float, list[str]]]:
    """Run tests, and return for each that passes how long it took and which functions it ran."""
    found: list[tuple[str, float, list[str]]] = []
    inside = f"{SOURCE}{os.sep}"
    spent: dict[str, float] = defaultdict(float)
    use_temporary_folder(items[0], folder)
    ran: set[CodeType] = set()
    told = folder.with_suffix(".forked")
    leave = os._exit

    def called(frame: FrameType, event: str, argument: Any) -> None:
        ran.add(frame.f_code)

    def tell_and_leave(code: int) -> NoReturn:
        """End a child that a test forked, and tell which functions it ran: `command.run` has the program in one."""
        sys.settrace(None)
        with told.open("a") as file:
            file.write("".join(f"{name_of(one)}\n" for one in ran if one.co_filename.startswith(inside)))
        leave(code)

    os._exit = tell_and_leave
    for item, following in zip(items, [*items[1:], None], strict=True):
        if spent[test_of(item)] > ASKED_SECONDS / WORKERS:
            continue
        item.session._setupstate.teardown_exact(item)  # of one that was left out after it was announced
        ran.clear()
        told.write_text("")
        start = sum(os.times()[:4])
        threading.settrace(called)
        sys.settrace(called)
        try:
            passed = passes(item, following)
        finally:
            lost = sys.gettrace() is not called  # Python stops tracing when there is no room left on the stack
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            spent[test_of(item)] += sum(os.times()[:4]) - start
        if passed:
            known = ran.copy()  # at once: a thread may still run
            own = {name_of(code) for code in known if code.co_filename.startswith(inside)} | ({ANY} if lost else set())
            own |= {*told.read_text().splitlines()}
            found.append((item.nodeid, round(sum(os.times()[:4]) - start, 4), sorted(own)))
    return found


def test_of(item: pytest.Item) -> str:
    """The name of a test without its parameters."""
    return item.nodeid.partition("[")[0]


def name_of(code: CodeType) -> str:
    """A function's file and qualified name."""
    return f"{Path(code.co_filename).relative_to(SOURCE)}:{code.co_qualname}"


def use_temporary_folder(item: pytest.Item, folder: Path) -> None:
    """Let the tests of a child write to a folder of its own."""
    folder.mkdir()
    item.config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]


# One mutant


class Trial:
    """Tries mutants against the collected tests."""

    def __init__(self, items: list[pytest.Item], folder: Path) -> None:
        self._tests = Tests(items)
        self._folder = folder
        self._sources = Sources(folder)
        self._count = 0

    def outcome(self, mutant: Mutant) -> str:
        """Say what became of a mutant: killed, SURVIVED, or UNTESTED if no test runs it."""
        path = SOURCE / mutant.file
        data = path.read_bytes()
        changed = data[: mutant.start] + mutant.text.encode() + data[mutant.end :]
        try:
            new = compile(changed, str(path), "exec", dont_inherit=True)
        except SyntaxError:
            return "invalid"
        for code in changed_codes(new, compile(data, str(path), "exec", dont_inherit=True)):
            if functions := list(functions_of(code)):
                tests = self._tests.of_function(name_of(code))
                if not tests:
                    return "UNTESTED"
                return self._outcome_of(functions, code, tests)
        return self._try_anew(mutant)

    def _outcome_of(self, functions: list[FunctionType], code: CodeType, items: list[pytest.Item]) -> str:
        self._count += 1
        temporary = self._folder / f"temporary{self._count}"

        def work() -> int:
            use_temporary_folder(items[0], temporary)
            for function in functions:
                function.__code__ = code
            return int(not all(map(passes, items, [*items[1:], None])))

        outcome = in_child(work, HANGING * min(max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), 4.0))
        shutil.rmtree(temporary, ignore_errors=True)
        return {0: "SURVIVED", None: "hangs"}.get(outcome, "killed")

    def _try_anew(self, mutant: Mutant) -> str:
        tests = [item.nodeid for item in self._tests.of_file(mutant.file)]
        if not tests:
            return "UNTESTED"
        with self._sources.changed(mutant.file, mutant.start, mutant.end, mutant.text) as run:
            return "SURVIVED" if run(tests) == 0 else "killed"


def changed_codes(new: CodeType, old: CodeType) -> Iterator[CodeType]:
    """The codes of a module that a change is in, as they are after it, the innermost first."""
    inner = [(one, other) for one, other in zip(_codes(new), _codes(old), strict=False) if one != other]
    if len(_codes(new)) == len(_codes(old)) and len(inner) == 1 and _shell(new) == _shell(old):
        yield from changed_codes(*inner[0])
    yield new


def _codes(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _shell(code: CodeType) -> tuple[Any, ...]:
    """What a code is apart from the codes in it."""
    return code.co_code, code.co_names, [one for one in code.co_consts if not isinstance(one, CodeType)]


def functions_of(code: CodeType) -> Iterator[FunctionType]:
    """The functions in this process that were made from the original of a code."""
    for one in gc.get_objects():
        if type(one) is FunctionType:
            own = one.__code__
            if (
                own.co_firstlineno == code.co_firstlineno
                and own.co_qualname == code.co_qualname
                and own.co_filename == code.co_filename
                and own.co_freevars == code.co_freevars
            ):
                yield one


class Sources:
    """A copy of the sources in which one thing at a time is changed, for a new start of Python."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "src"
        self._bytecode = folder / "bytecode"
        self._time = time.time()
        shutil.copytree(ROOT / "src", self._folder, ignore=shutil.ignore_patterns("__pycache__"))

    @contextmanager
    def changed(self, file: str, start: int, end: int, new: str) -> Iterator[Callable[[list[str]], int | None]]:
        """Change a file, and hand over what runs tests and returns pytest's exit code."""
        path = self._folder / "reread" / file
        original = path.read_bytes()
        path.write_bytes(original[:start] + new.encode() + original[end:])
        self._touch(path)
        try:
            yield self._run
        finally:
            path.write_bytes(original)
            self._touch(path)

    def _touch(self, path: Path) -> None:
        """Give a file a time that it never had, so that no bytecode of it is taken for that of another version."""
        self._time += 2
        os.utime(path, (self._time, self._time))

    def _run(self, tests: list[str]) -> int | None:
        command = [sys.executable, "-m", "pytest", "-x", "-n0", "--no-header", "-p", "no:cacheprovider", *tests]
        own = {"PYTHONPATH": f"{self._folder}:{ROOT / 'tests'}", "PYTHONPYCACHEPREFIX": str(self._bytecode)}
        try:
            return subprocess.run(
                command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, check=False, timeout=10 * HANGING
            ).returncode
        except subprocess.TimeoutExpired:
            return None


# The command line


def try_mutants(items: list[pytest.Item], places: list[str], *, sample: int, seed: int, only: list[str]) -> bool:
    """Try the mutants of packages, and print a figure for each; True if none survived."""
    equivalent = read_equivalent()
    alive = 0
    for place in places:
        found = mutants_of(place)
        known = [one for one in found if one.change in equivalent]
        found = [one for one in found if one.change not in equivalent]
        found = [one for one in found if not only or any(text in one.change for text in only)]
        chosen = sorted(random.Random(seed).sample(found, min(sample or len(found), len(found))))
        start, counts = time.monotonic(), Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(items, Path(folder))
            for mutant in chosen:
                outcome = trial.outcome(mutant)
                counts[outcome] += 1
                if outcome in ("SURVIVED", "UNTESTED", "hangs"):
                    say(f"{outcome:>8}  {mutant}")
        survived = counts["SURVIVED"] + counts["UNTESTED"]
        alive += survived
        killed = counts["killed"] + counts["hangs"]
        judged = killed + survived
        say(
            f"{place}: {killed / max(judged, 1):.0%}, {killed} of {judged} killed; {len(found)} mutants in all,"
            f" {len(known)} known to be the same program; {time.monotonic() - start:.0f} s"
        )
    return not alive


def try_guards(words: list[str]) -> bool:
    """Break each guard, and say which tests do not notice; True if all do."""
    chosen = [one for one in GUARDS if not words or any(word in one.file or word in one.old for word in words)]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        sources = Sources(Path(folder))
        for guard in chosen:
            outcome = _try_guard(guard, sources)
            survivors += outcome != "noticed"
            say(f"{outcome:>8}  {guard.file}: {guard.old.strip()!r} -> {guard.new!r}")
    say(f"{len(chosen)} guards, {survivors} not missed")
    return not survivors


def _try_guard(guard: Guard, sources: Sources) -> str:
    data = (SOURCE / guard.file).read_bytes()
    start = data.find(guard.old.encode())
    if start < 0:
        return "NO CODE"
    with sources.changed(guard.file, start, start + len(guard.old.encode()), guard.new) as run:
        return {0: "SURVIVED", 1: "noticed", None: "noticed"}.get(run(shlex.split(guard.tests)), "NO TESTS")


def read_equivalent() -> set[str]:
    """The changes that make the same program; the reason stands behind `#`."""
    rows = (line.partition("  # ")[0].strip() for line in EQUIVALENT.read_text().splitlines())
    return {row for row in rows if row and not row.startswith("#")}


def say(text: str) -> None:
    """Print past pytest, which captures what is printed."""
    print(text, file=sys.__stdout__, flush=True)


def main() -> int:
    """Run what the command line asks for."""
    os.environ.setdefault("REREAD_TESTS", "every")  # `make test` leaves slow tests out
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("map").add_argument("tests", nargs="*", help="only these test files; the others stay as they are")
    trying = verbs.add_parser("try")
    trying.add_argument("places", nargs="+", help="packages or modules below src/reread, or patterns of them")
    trying.add_argument("--sample", type=int, default=60, help="how many of each; 0 for all")
    trying.add_argument("--seed", type=int, default=1)
    trying.add_argument("--only", action="append", default=[], metavar="TEXT", help="only changes that contain this")
    trying.add_argument("--tests", nargs="+", default=[], help="collect only these test files: it starts sooner")
    verbs.add_parser("guards").add_argument("words", nargs="*")
    chosen = parser.parse_args()
    if chosen.verb == "guards":
        return 0 if try_guards(chosen.words) else 1
    outcome: list[bool] = []

    def work(items: list[pytest.Item]) -> None:
        if chosen.verb == "map":
            make_map(items)
        else:
            outcome.append(try_mutants(items, chosen.places, sample=chosen.sample, seed=chosen.seed, only=chosen.only))

    os.environ.setdefault("REREAD_PATIENCE", PATIENCE)
    with_tests(work, chosen.tests)
    return 0 if all(outcome) else 1


if __name__ == "__main__":
    sys.exit(main())
