"""What the compiler reads of a module: the kernel, and the functions and classes of the module it reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

__all__ = ["Function", "KernelCode", "Site", "nodes_of"]

Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Fields that the compiler does not follow: they are for Python and for readers.
_UNREAD: Final = frozenset({"decorator_list", "annotation", "returns"})
#: No name of interest is longer, and a hostile text could spell one of thousands of parts.
_MAX_PARTS: Final = 8


class Site(NamedTuple):
    """A node that the compiler reads.

    Attributes:
        function: Whose body it stands in: the kernel, or a function it reaches.
        node: It.
    """

    function: Function
    node: ast.AST


@dataclass(frozen=True, eq=False)
class KernelCode:
    """A kernel and all that the compiler reads of its module.

    Attributes:
        tree: The module.
        entry: Name of the kernel.
        version: NKI version it is compiled for.
    """

    tree: ast.Module
    entry: str
    version: str

    @cached_property
    def kernel(self) -> Function | None:
        """The kernel's definition: called `entry`, or passed to a call that is assigned to it."""
        if self.entry in self.functions:
            return self.functions[self.entry]
        wrapped = self.bound.get(self.entry)
        if isinstance(wrapped, ast.Call) and wrapped.args and isinstance(wrapped.args[0], ast.Name):
            return self.functions.get(wrapped.args[0].id)
        return None

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Functions of the module; of several with one name, the last."""
        return {s.name: s for s in self._statements if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)}

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Classes of the module."""
        return {s.name: s for s in self._statements if isinstance(s, ast.ClassDef)}

    @cached_property
    def bound(self) -> dict[str, ast.expr]:
        """What the module's own variables are bound to."""
        return {
            target.id: statement.value
            for statement in self._statements
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None
            for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
            if isinstance(target, ast.Name)
        }

    @cached_property
    def imported(self) -> dict[str, str]:
        """The dotted name that each imported name stands for."""
        found: dict[str, str] = {}
        for statement in self._statements:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    first = alias.name.partition(".")[0]
                    found[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                for alias in statement.names:
                    found[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
        return found

    @cached_property
    def reached(self) -> tuple[Function, ...]:
        """The kernel and the functions of the module that it reaches by name, methods of classes included."""
        if self.kernel is None:
            return ()
        found: dict[Function, None] = {self.kernel: None}
        pending = [self.kernel]
        while pending:
            for callee in self._callees(pending.pop()):
                if callee not in found:
                    found[callee] = None
                    pending.append(callee)
        return tuple(found)

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Every node that the compiler reads."""
        return tuple(Site(function, node) for function in self.reached for node in nodes_of(function))

    def locals_of(self, function: Function) -> frozenset[str]:
        """Return the names that `function` binds itself."""
        return self._locals[function]

    def dotted(self, node: ast.AST, function: Function) -> str:
        """Return the full dotted name that an expression spells; empty where it begins with no import."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < _MAX_PARTS:
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.locals_of(function):
            return ""
        root = self.imported.get(node.id)
        return ".".join((root, *reversed(parts))) if root else ""

    @cached_property
    def _locals(self) -> dict[Function, frozenset[str]]:
        return {function: frozenset(_bound_in(function)) for function in self.reached}

    @cached_property
    def _statements(self) -> tuple[ast.stmt, ...]:
        """The module's statements, those inside its ifs, tries and withs too, in order."""
        return tuple(_flatten(self.tree.body))

    def _callees(self, function: Function) -> Iterator[Function]:
        own = frozenset(_bound_in(function))
        for node in nodes_of(function):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id in own:
                continue
            if node.id in self.functions:
                yield self.functions[node.id]
            elif node.id in self.classes:
                yield from (m for m in self.classes[node.id].body if isinstance(m, ast.FunctionDef))


def nodes_of(function: Function) -> Iterator[ast.AST]:
    """Yield what the compiler reads of a function: its defaults and its body, inner functions included."""
    defaults = [*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)]
    pending: list[ast.AST] = [*reversed(function.body), *reversed(defaults)]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(
            [
                child
                for name, value in ast.iter_fields(node)
                if name not in _UNREAD
                for child in (value if isinstance(value, list) else [value])
                if isinstance(child, ast.AST)
            ]
        )


def _bound_in(function: Function) -> Iterator[str]:
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.arg
    yield from (argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None)
    for node in nodes_of(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def _flatten(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    pending = statements[::-1]
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        blocks = [
            getattr(part, field, [])
            for part in (statement, *getattr(statement, "handlers", ()))
            for field in ("body", "orelse", "finalbody")
        ]
        pending += [inner for block in blocks for inner in block][::-1]
