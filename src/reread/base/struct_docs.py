"""The strings below the fields of a class, which say what they are."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap


def field_docs(struct: type) -> dict[str, str]:
    """Return what the source of a class and of its bases says of each field, as one line."""
    found: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if base.__module__.startswith("reread."):
            found |= _own_docs(base)
    return found


def _own_docs(struct: type) -> dict[str, str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(struct))).body[0]
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        node.target.id: " ".join(after.value.value.split())
        for node, after in itertools.pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    }
