"""A submission without what its module does besides defining things.

The tracer shares its process with the submission, whose module can patch it, look at who calls, or bind other
things to the names of `nki`; the program is then not the text's. So the text is traced a second time without
such statements: a program that comes out otherwise is not what the compiler would have made of the text.

What stays: imports of modules that kernels need, definitions, names bound to plain expressions, and ifs,
tries and loops around those. What goes is blanked, so that every line keeps its number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pipeline.emulator.frontend.language.members import is_closed, is_harmless, is_member

__all__ = ["distill"]

#: Built-in functions with which text becomes code, or one name another.
_REFLECTION: Final = frozenset(
    {
        "__build_class__",
        "__builtins__",
        "__import__",
        "breakpoint",
        "compile",
        "delattr",
        "eval",
        "exec",
        "exit",
        "globals",
        "input",
        "locals",
        "open",
        "quit",
        "setattr",
        "vars",
    }
)
#: Attributes through which one comes from a harmless object to the interpreter or to the grader.
_DOORS: Final = frozenset(
    [
        "builtins",
        "ctypes",
        "ctypeslib",
        "gc",
        "importlib",
        "inspect",
        "modules",
        "os",
        "runstring",
        "sys",
        "testing",
        "f_back",
        "f_builtins",
        "f_code",
        "f_generator",
        "f_globals",
        "f_locals",
        "f_trace",
        "tb_frame",
        "tb_next",
        "ag_await",
        "ag_code",
        "ag_frame",
        "cr_await",
        "cr_code",
        "cr_frame",
        "cr_origin",
        "gi_code",
        "gi_frame",
        "gi_yieldfrom",
        "co_code",
        "co_consts",
        "co_freevars",
        "co_names",
        "co_varnames",
    ]
)
#: Special names that ordinary code reads.
_PLAIN_SPECIALS: Final = frozenset({"__doc__", "__main__", "__name__"})
#: Methods that may set attributes of their object, and be called on `super()` only.
_SETTERS: Final = frozenset({"__init__", "__post_init__"})
#: Methods by which NumPy takes an object for a place in memory.
_ADDRESSES: Final = frozenset({"__array_interface__", "__array_struct__"})
#: Built-in classes that others may inherit from without a metaclass of their own.
_BASES: Final = frozenset(
    {"object", "dict", "float", "int", "list", "str", "tuple", "Exception", "ValueError"}
)
#: What is closed and yet no module.
_OBJECTS: Final = frozenset({"os.environ", "sys.stderr", "sys.stdout"})
_SPECIAL: Final = re.compile(r"__\w+__")
_MUTATORS: Final = frozenset({"add", "append", "extend", "insert", "setdefault", "update"})
_PASS: Final = "pass"


def distill(tree: ast.Module, source: str) -> str:
    """Return `source` without the statements that do more than define, `source` itself if there are none.

    Args:
        tree: The module.
        source: Its text.
    """
    dropped: list[ast.stmt] = []
    _sift(tree.body, _survey(tree), dropped)
    if not dropped:
        return source
    lines = source.splitlines(keepends=True)
    for statement in dropped:
        _blank(lines, statement)
    return "".join(lines)


def _blank(lines: list[str], statement: ast.stmt) -> None:
    decorators = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    last = (statement.end_lineno or statement.lineno) - 1
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    lines[first] = f"{indent}{_PASS}\n"
    for number in range(first + 1, last + 1):
        lines[number] = "\n"


@dataclass(frozen=True, eq=False)
class _Module:
    """What is known of a module before its statements are judged.

    Attributes:
        imported: What each imported name may stand for, as dotted names.
        settled: Attributes, by identity, that are what they look like: those that the methods of `_SETTERS`
            set of their own object, and their calls on `super()`.
    """

    imported: dict[str, set[str]]
    settled: frozenset[int]

    def standing_for(self, node: ast.AST) -> set[str]:
        """Return the dotted names that an expression may spell; none if it begins with no import."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        roots = self.imported.get(node.id, set()) if isinstance(node, ast.Name) else set()
        return {".".join((root, *reversed(parts))) for root in roots}


def _survey(tree: ast.Module) -> _Module:
    imported: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                imported.setdefault(alias.asname or first, set()).add(alias.name if alias.asname else first)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                imported.setdefault(alias.asname or alias.name, set()).add(f"{node.module}.{alias.name}")
    return _Module(imported, frozenset(_settled(tree, imported)))


def _settled(tree: ast.Module, imported: Iterable[str]) -> Iterator[int]:
    """Yield the attributes that setters set of `self` or call on `super()`.

    Whoever got hold of a setter could apply it to any object, so no metaclass may see its class.
    """
    nodes = list(ast.walk(tree))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    known = {*_BASES, *imported} - {node.name for node in classes} - bound
    for definition in classes:
        if definition.keywords or not all(_root(base) in known for base in definition.bases):
            known.discard(definition.name)
            continue
        if definition.name not in bound:
            known.add(definition.name)
        for method in definition.body:
            if isinstance(method, ast.FunctionDef) and method.name in _SETTERS and _keeps_self(method):
                yield from map(id, _own_attributes(method))


def _keeps_self(method: ast.FunctionDef) -> bool:
    """Whether `self` is the object itself all through a method."""
    parameters = [*method.args.posonlyargs, *method.args.args]
    if method.decorator_list or not parameters or parameters[0].arg != "self":
        return False
    said = [
        node
        for node in ast.walk(method)
        for _, value in ast.iter_fields(node)
        if value == "self" or (isinstance(value, list) and "self" in value)
    ]
    return all(
        node is parameters[0]
        or isinstance(node, ast.Constant)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        for node in said
    )


def _own_attributes(method: ast.FunctionDef) -> Iterator[ast.Attribute]:
    for node in ast.walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                yield node
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[], keywords=[]), attr=name):
                if name == method.name:
                    yield node


def _sift(statements: Iterable[ast.stmt], module: _Module, dropped: list[ast.stmt]) -> None:
    """Collect the statements that do more than define, with those inside of ifs, tries and loops."""
    for statement in statements:
        blocks = [
            block
            for part in (statement, *getattr(statement, "handlers", ()))
            for field in ("body", "orelse", "finalbody")
            if (block := getattr(part, field, None))
        ]
        match statement:
            case ast.If(test=test) if ast.unparse(test) == "__name__ == '__main__'":
                continue  # it is no script here
            case ast.If(test=test) if _is_plain(test, module):
                pass
            case ast.Try():
                pass
            case ast.For(target=target, iter=source) if _is_plain(source, module) and _binds(target):
                pass
            case _:
                if not _defines(statement, module):
                    dropped.append(statement)
                continue
        for block in blocks:
            _sift(block, module, dropped)


def _defines(statement: ast.stmt, module: _Module) -> bool:
    """Whether a statement only imports, defines, or binds names to plain expressions."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Assert():
            return _is_plain(statement, module)
        case ast.Import() | ast.ImportFrom():
            return _is_harmless(statement)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return _is_plain(statement, module)
        case ast.Assign(targets=targets):
            return all(map(_binds, targets)) and _is_plain(statement, module)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return _binds(target) and _is_plain(statement, module)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            # A table that is filled step by step.
            return method in _MUTATORS and name not in module.imported and _is_plain(statement, module)
        case _:
            return False


def _binds(target: ast.expr) -> bool:
    """Whether an assignment binds names only, or fills a table of the module's own."""
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_binds, target.elts))
    return isinstance(target, ast.Name)


def _is_plain(tree: ast.AST, module: _Module) -> bool:
    """Whether code reaches for nothing but its own names and the harmless ones of what it imports."""
    nodes = list(ast.walk(tree))
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings do nothing
    if not all(_is_plain_node(node, module) for node in nodes if id(node) not in said or _acts(node)):
        return False
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    inner |= {id(side) for node in nodes if isinstance(node, ast.Compare) for side in _compared(node)}
    return all(
        _is_value(node, module, called)
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inner
    )


def _compared(node: ast.Compare) -> list[ast.expr]:
    if all(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):
        return [node.left, *node.comparators]
    return []


def _is_value(node: ast.Name | ast.Attribute, module: _Module, called: set[int]) -> bool:
    """Whether it is no way around these rules to hand around what a name stands for."""
    if not isinstance(node.ctx, ast.Load):
        return True
    if isinstance(node, ast.Name) and node.id == "getattr":
        return id(node) in called
    # The mapping of environment variables and the streams are closed too, and no modules.
    return not any(is_closed(name) for name in module.standing_for(node) - _OBJECTS)


def _acts(node: ast.AST) -> bool:
    return not isinstance(node, ast.Constant)


def _is_plain_node(node: ast.AST, module: _Module) -> bool:
    match node:
        case ast.Name(id=name):
            return name not in _REFLECTION and (not _is_special(name) or name in _PLAIN_SPECIALS)
        case ast.Attribute(attr=name, ctx=context, value=value):
            if id(node) in module.settled:
                return not _is_special(name) or name in _SETTERS
            spelled = module.standing_for(node)
            if spelled:
                return isinstance(context, ast.Load) and all(
                    is_member(path, ()) and not _opens(path) for path in spelled
                )
            return isinstance(context, ast.Load) and not _leads_out(name)
        case ast.Subscript(ctx=context, value=value):
            return isinstance(context, ast.Load) or _root(value) not in module.imported
        case ast.Call(func=ast.Name(id="getattr"), args=arguments):
            named = arguments[1] if len(arguments) > 1 else None
            if not isinstance(named, ast.Constant) or not isinstance(named.value, str):
                return False
            return not _leads_out(named.value)
        case ast.Constant(value=str(text)):
            return all(name in _PLAIN_SPECIALS for name in _SPECIAL.findall(text))
        case ast.MatchClass(kwd_attrs=names):
            return not any(map(_leads_out, names))
        case ast.ClassDef(keywords=keywords):
            return all(
                keyword.arg not in (None, "metaclass") or _is_abstract(keyword) for keyword in keywords
            )
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name not in _ADDRESSES
        case ast.Import() | ast.ImportFrom():
            return _is_harmless(node)
        case _:
            return True


def _leads_out(name: str) -> bool:
    return name in _DOORS or (_is_special(name) and name not in _PLAIN_SPECIALS)


def _is_abstract(keyword: ast.keyword) -> bool:
    return keyword.arg == "metaclass" and ast.unparse(keyword.value) in ("ABCMeta", "abc.ABCMeta")


def _is_harmless(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        return all(is_harmless(alias.name) and not _opens(alias.name) for alias in node.names)
    if node.level or not node.module or not is_harmless(node.module) or _opens(node.module):
        return False
    return all(is_member(node.module, [a.name]) and not _opens(a.name) for a in node.names)


def _opens(dotted: str) -> bool:
    """Whether a dotted name goes on from its package through a door."""
    first, *parts = dotted.split(".")
    return not _DOORS.isdisjoint(parts) or (first in _DOORS and not is_harmless(first))


def _root(node: ast.AST) -> str:
    """Return the name that an attribute or subscript begins with; empty where it begins with none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
