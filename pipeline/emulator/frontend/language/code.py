"""What the compiler reads of a module: the kernel, and the functions and classes of the module it reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from pipeline.emulator.frontend.language.values import Function, behind_value

__all__ = ["Function", "KernelCode"]

_Node = TypeVar("_Node", bound=ast.AST)

#: Fields that the compiler does not follow: they are for Python and for readers.
_UNREAD: Final = frozenset({"decorator_list", "annotation", "returns"})
#: No name of interest is longer, and a hostile text could spell one of thousands of parts.
_MAX_PARTS: Final = 8


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
        """The kernel's definition: what `entry` is bound to last, itself or within a call or a table."""
        last = next((s for s in reversed(self._statements) if self.entry in _binds(s)), None)
        if isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef):
            return last
        values = [] if last is None else _values_in(last)
        found = next((f for value in values for f in behind_value(self, value)), None)
        return found or self.functions.get(self.entry)

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
    def is_defined(self) -> bool:
        """Whether anything in the text binds the kernel's name at the top level."""
        if self.entry in self.functions or self.entry in self.classes or self.entry in self.imported:
            return True
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return any(
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == self.entry
            for statement in self._statements
            if not isinstance(statement, definitions)
            for node in ast.walk(statement)
        )

    @cached_property
    def values(self) -> dict[str, list[ast.expr]]:
        """All that the module's own variables are bound to or filled with, in loops and by methods too."""
        found: dict[str, list[ast.expr]] = {}
        for statement in self._statements:
            for name in _binds(statement) | _fills(statement):
                found.setdefault(name, []).extend(_values_in(statement))
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                # A table may be filled by its own method as a decorator.
                for decorator in statement.decorator_list:
                    for node in ast.walk(decorator):
                        if isinstance(node, ast.Name) and node.id not in self.imported:
                            found.setdefault(node.id, []).append(ast.Name(statement.name, ast.Load()))
        return found

    @cached_property
    def reached(self) -> tuple[Function, ...]:
        """The kernel and the functions of the module that it reaches by name, methods of classes included.

        So are those in the defaults of what is reached, in the variables that it reads, and the functions of
        the module that decorate it.
        """
        if self.kernel is None:
            return ()
        found: dict[Function, None] = {self.kernel: None}
        pending, told, followed = [self.kernel], set[str](), set[tuple[str, bool]]()
        while pending:
            function = pending.pop()
            names = self._names_used(function)
            if function is self.kernel:
                names |= {self.entry} | {
                    node.id
                    for decorator in function.decorator_list
                    for node in ast.walk(decorator)
                    if isinstance(node, ast.Name)
                }
            behind = [new for name in sorted(names - told) for new in self._behind(name, followed)]
            for default in (*function.args.defaults, *function.args.kw_defaults):
                behind += [] if default is None else behind_value(self, default, followed)
            told |= names
            new = [function for function in dict.fromkeys(behind) if function not in found]
            found.update(dict.fromkeys(new))
            pending += new
        return tuple(found)

    def sites(self, *kinds: type[_Node]) -> Iterator[tuple[Function, _Node]]:
        """Yield every node of some types that the compiler reads, each after the function it stands in."""
        for kind in kinds:
            yield from self._by_type.get(kind, ())

    def nodes(self, function: Function) -> list[ast.AST]:
        """Return what the compiler reads of a function: its body, inner functions included."""
        known = self._nodes.get(function)
        if known is None:
            known = self._nodes[function] = list(_nodes_of(function))
        return known

    def locals_of(self, function: Function) -> frozenset[str]:
        """Return the names that `function` binds itself."""
        known = self._locals.get(function)
        if known is None:
            known = self._locals[function] = frozenset(_bound_in(function, self.nodes(function)))
        return known

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
    def _nodes(self) -> dict[Function, list[ast.AST]]:
        return {}

    @cached_property
    def _by_type(self) -> dict[type[ast.AST], list[tuple[Function, Any]]]:
        found: dict[type[ast.AST], list[tuple[Function, Any]]] = {}
        for function in self.reached:
            if isinstance(function, ast.AsyncFunctionDef):
                found.setdefault(ast.AsyncFunctionDef, []).append((function, function))
            for node in self.nodes(function):
                found.setdefault(type(node), []).append((function, node))
        return found

    @cached_property
    def _locals(self) -> dict[Function, frozenset[str]]:
        return {}

    @cached_property
    def _statements(self) -> tuple[ast.stmt, ...]:
        """The module's statements, those inside its ifs, tries and withs too, in order."""
        return tuple(_flatten(self.tree.body))

    def _names_used(self, function: Function) -> set[str]:
        """Return the names that `function` takes from its module."""
        own = self.locals_of(function)
        return {
            node.id
            for node in self.nodes(function)
            if type(node) is ast.Name and type(node.ctx) is ast.Load and node.id not in own
        }

    def _behind(self, name: str, followed: set[tuple[str, bool]]) -> list[Function]:
        """Return the functions, or the methods of the class, that a name of the module stands for."""
        return behind_value(self, ast.Name(name, ast.Load()), followed)


def _nodes_of(function: Function) -> Iterator[ast.AST]:
    # Not the defaults of parameters: Python evaluates those where the function is defined.
    pending: list[ast.AST] = [*reversed(function.body)]
    while pending:
        node = pending.pop()
        yield node
        children: list[ast.AST] = []
        for name in node._fields:
            value = getattr(node, name, None)
            if name in _UNREAD or value is None:
                continue
            if type(value) is list:
                children += [child for child in value if isinstance(child, ast.AST)]
            elif isinstance(value, ast.AST):
                children.append(value)
        pending += reversed(children)


def _bound_in(function: Function, nodes: list[ast.AST]) -> Iterator[str]:
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.arg
    yield from (argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None)
    for node in nodes:
        if type(node) is ast.Name:
            if type(node.ctx) is not ast.Load:
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


def _binds(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds where it stands, those inside its blocks aside."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    heads = [node for _, value in ast.iter_fields(statement) for node in _heads(value)]
    return {
        node.id
        for head in heads
        for node in ast.walk(head)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _heads(value: object) -> list[ast.AST]:
    parts = value if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, ast.expr | ast.withitem)]


def _fills(statement: ast.stmt) -> set[str]:
    """Return the names of tables that a statement puts something into."""
    match statement:
        case ast.Assign(targets=targets):
            places: list[ast.expr] = [t for t in targets if isinstance(t, ast.Subscript | ast.Attribute)]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))):
            places = [owner]
        case _:
            places = []
    names = set()
    for place in places:
        while isinstance(place, ast.Subscript | ast.Attribute):
            place = place.value
        if isinstance(place, ast.Name):
            names.add(place.id)
    return names


def _values_in(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    values = [getattr(statement, field, None) for field in ("value", "iter", "test", "subject")]
    values += [item.context_expr for item in getattr(statement, "items", ())]
    return [value for value in values if isinstance(value, ast.expr)]
