"""The functions of a module that may be called through a value: an alias, a table, an object, a closure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol

__all__ = ["Function", "behind_value"]

Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Python calls these where an object is made or shown, the compiler does not.
_HOST_METHODS: Final = frozenset({"__init__", "__new__", "__post_init__", "__repr__", "__str__"})


class _Names(Protocol):
    """What the names of a module stand for."""

    @property
    def functions(self) -> Mapping[str, Function]: ...

    @property
    def classes(self) -> Mapping[str, ast.ClassDef]: ...

    @property
    def values(self) -> Mapping[str, Iterable[ast.expr]]: ...


def behind_value(
    module: _Names, value: ast.expr, told: set[tuple[str, bool]] | None = None
) -> list[Function]:
    """Return the functions of `module` that `value` holds, by name, in the order they are found.

    What is called where the value is made has run in Python by then: of such a function only what it returns
    counts, of such a class the methods of its objects.

    Args:
        module: What names stand for.
        value: An expression at the module's top level.
        told: Names that were followed before, each with whether it was called; new ones are added.
    """
    found: dict[Function, None] = {}
    pending: list[ast.expr] = [value]
    told = set() if told is None else told
    while pending:
        expression = pending.pop(0)
        for name, is_called in _mentions(expression):
            if (name, is_called) in told:
                continue
            told.add((name, is_called))
            if name in module.functions:
                function = module.functions[name]
                if is_called:
                    inner, returned = _results(function)
                    found.update(dict.fromkeys(inner))
                    pending += returned
                else:
                    found[function] = None
            if name in module.classes:
                definition = module.classes[name]
                found.update(dict.fromkeys(_methods(definition, made=is_called)))
                pending += [base for base in definition.bases if isinstance(base, ast.Name)]
                pending += [
                    s.value
                    for s in definition.body
                    if isinstance(s, ast.Assign | ast.AnnAssign) and s.value is not None
                ]
            pending += module.values.get(name, ())
    return list(found)


def _mentions(expression: ast.expr) -> Iterator[tuple[str, bool]]:
    """Yield the names that an expression reads, each with whether it is called there and then."""
    pending: list[tuple[ast.AST, bool]] = [(expression, False)]
    while pending:
        node, later = pending.pop()
        later = later or isinstance(node, ast.Lambda)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id, False
        called = node.func if isinstance(node, ast.Call) and not later else None
        if isinstance(called, ast.Name):
            yield called.id, True
        pending += [
            (child, later)
            for child in ast.iter_child_nodes(node)
            if not (child is called and isinstance(called, ast.Name))
        ]


def _methods(definition: ast.ClassDef, *, made: bool) -> list[Function]:
    methods = [member for member in definition.body if isinstance(member, ast.FunctionDef)]
    return [method for method in methods if not made or method.name not in _HOST_METHODS]


def _results(function: Function) -> tuple[list[Function], list[ast.expr]]:
    """Return the inner functions that a function returns, and the expressions it returns."""
    nodes = list(ast.walk(function))
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    names = {name for value in returned for name, is_called in _mentions(value) if not is_called}
    inner = [
        node
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node is not function
        and node.name in names
    ]
    return inner, returned
