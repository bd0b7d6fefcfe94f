"""Comprehension variables must not reuse a name that the same function reads as a global or builtin.

Python 3.12.0 to 3.12.3 inlines comprehensions (PEP 709) and then raises UnboundLocalError if one comprehension binds
`id` and another one in the same function calls the builtin `id`. Later versions and 3.11 are not affected, so only a
check of the source finds such code before a user does.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from batches import table
from effort import one_in

SOURCE = Path(__file__).parent.parent / "src" / "reread"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
INLINED = (ast.ListComp, ast.SetComp, ast.DictComp)
COMPREHENSIONS = (*INLINED, ast.GeneratorExp)


def scope(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function and its comprehensions, but not those of nested functions and classes."""
    for node in ast.iter_child_nodes(function):
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from scope(node)


def names(nodes: Iterator[ast.AST], context: type[ast.expr_context]) -> Iterator[ast.Name]:
    return (node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context))


def targets(comprehension: ast.AST) -> set[ast.Name]:
    """Return the names that a comprehension binds."""
    return {name for part in comprehension.generators for name in names(ast.walk(part.target), ast.Store)}


def inside(comprehension: ast.AST) -> set[ast.AST]:
    """Return the nodes evaluated in the scope of a comprehension: all but its first iterable."""
    return set(ast.walk(comprehension)) - set(ast.walk(comprehension.generators[0].iter))


def clashes(source: str) -> Iterator[tuple[str, int]]:
    """Yield each global name that a comprehension rebinds in a function that also reads it, with the line."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, FUNCTIONS):
            continue
        nodes = list(scope(function))
        comprehensions = [node for node in nodes if isinstance(node, COMPREHENSIONS)]
        bound = {name for comprehension in comprehensions for name in targets(comprehension)}
        local = {argument.arg for argument in nodes if isinstance(argument, ast.arg)}
        local |= {name.id for name in names(iter(nodes), ast.Store) if name not in bound}
        for name in {name.id for comp in comprehensions if isinstance(comp, INLINED) for name in targets(comp)} - local:
            own = [comp for comp in comprehensions if any(target.id == name for target in targets(comp))]
            covered = {node for comp in own for node in inside(comp)}
            for read in names(iter(nodes), ast.Load):
                if read.id == name and read not in covered:
                    yield name, read.lineno


@table(
    ("source", "found"),
    [
        ("def f(x):\n a = {id for id in x}\n return [id(y) for y in a]", ["id"]),
        ("def f(x):\n a = {id for id in x}\n return {y for y in x if id(y)}, a", ["id"]),
        ("def f(x):\n return [id(y) for y in [id for id in x]]", ["id"]),
        ("def f(x):\n a = {id: 1 for id in x}\n return id(a)", ["id"]),
        ("def f(x):\n a = {id for id in x}\n return [id for id in a]", []),
        ("def f(x, id):\n a = {id for id in x}\n return [id(y) for y in a]", []),
        ("def f(x):\n id = len\n a = {id for id in x}\n return [id(y) for y in a]", []),
        ("def f(x):\n a = set(id for id in x)\n return [id(y) for y in a]", []),
        ("def f(x):\n a = {id for id in x}\n def g(y):\n  return id(y)\n return g, a", []),
        ("a = {id for id in x}\nb = [id(y) for y in a]", []),
    ],
)
def test_the_check_finds_what_python_3_12_0_cannot_run(source: str, found: list[str]) -> None:
    assert [name for name, _ in clashes(source)] == found


@one_in(0)
def test_no_comprehension_rebinds_a_global_of_its_function() -> None:
    for path in SOURCE.rglob("*.py"):
        assert list(clashes(path.read_text(encoding="utf-8"))) == [], path
