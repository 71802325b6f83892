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
from collections.abc import Iterable
from typing import Final

__all__ = ["distill"]

#: Packages whose import does nothing to anybody.
_HARMLESS: Final = frozenset(
    {
        "__future__",
        "abc",
        "collections",
        "copy",
        "dataclasses",
        "enum",
        "fractions",
        "functools",
        "itertools",
        "logging",
        "math",
        "ml_dtypes",
        "neuronxcc",
        "nki",
        "nkilib",
        "numbers",
        "numpy",
        "operator",
        "os",
        "sys",
        "torch",
        "typing",
        "typing_extensions",
        "warnings",
    }
)
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
    {
        "attrgetter",
        "builtins",
        "ctypes",
        "ctypeslib",
        "delitem",
        "f_back",
        "f_globals",
        "f_locals",
        "gc",
        "gi_frame",
        "importlib",
        "inspect",
        "methodcaller",
        "modules",
        "os",
        "setitem",
        "sys",
        "tb_frame",
    }
)
#: What of a module is no door: settings and constants are the same in every trace, and output is no input.
_PARTS: Final = {
    "os": frozenset({"environ", "get", "getenv"}),
    "sys": frozenset({"flush", "float_info", "maxsize", "stderr", "stdout", "write"}),
}
#: Special names that ordinary code reads.
_PLAIN_SPECIALS: Final = frozenset({"__doc__", "__init__", "__main__", "__name__", "__post_init__"})
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
    _sift(tree.body, _imported(tree), dropped)
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


def _imported(tree: ast.Module) -> frozenset[str]:
    """Return the names under which modules and their members are known."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _sift(statements: Iterable[ast.stmt], imported: frozenset[str], dropped: list[ast.stmt]) -> None:
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
            case ast.If(test=test) if _is_plain(test, imported):
                pass
            case ast.Try():
                pass
            case ast.For(target=target, iter=source) if _is_plain(source, imported) and _binds(target):
                pass
            case _:
                if not _defines(statement, imported):
                    dropped.append(statement)
                continue
        for block in blocks:
            _sift(block, imported, dropped)


def _defines(statement: ast.stmt, imported: frozenset[str]) -> bool:
    """Whether a statement only imports, defines, or binds names to plain expressions."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Assert():
            return _is_plain(statement, imported)
        case ast.Import() | ast.ImportFrom():
            return _is_harmless(statement)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return _is_plain(statement, imported)
        case ast.Assign(targets=targets):
            return all(map(_binds, targets)) and _is_plain(statement, imported)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return _binds(target) and _is_plain(statement, imported)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            # A table that is filled step by step.
            return method in _MUTATORS and name not in imported and _is_plain(statement, imported)
        case _:
            return False


def _binds(target: ast.expr) -> bool:
    """Whether an assignment binds names only, or fills a table of the module's own."""
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_binds, target.elts))
    return isinstance(target, ast.Name)


def _is_plain(tree: ast.AST, imported: frozenset[str]) -> bool:
    """Whether code reaches for nothing but its own names and the public ones of what it imports."""
    nodes = list(ast.walk(tree))
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings do nothing
    return all(_is_plain_node(node, imported) for node in nodes if id(node) not in said or _acts(node))


def _acts(node: ast.AST) -> bool:
    return not isinstance(node, ast.Constant)


def _is_plain_node(node: ast.AST, imported: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name not in _REFLECTION and (not _is_special(name) or name in _PLAIN_SPECIALS)
        case ast.Attribute(attr=name, ctx=context, value=value):
            if name in _DOORS or (_is_special(name) and name not in _PLAIN_SPECIALS):
                return False
            root = _root(value)
            if root in imported and (name.startswith("_") or name not in _PARTS.get(root, {name})):
                return False
            return isinstance(context, ast.Load) or root in ("self", "cls")
        case ast.Subscript(ctx=context, value=value):
            return isinstance(context, ast.Load) or _root(value) not in imported
        case ast.Call(func=ast.Name(id="getattr"), args=arguments):
            named = arguments[1] if len(arguments) > 1 else None
            if not isinstance(named, ast.Constant) or not isinstance(named.value, str):
                return False
            return named.value not in _DOORS and not _is_special(named.value)
        case ast.Constant(value=str(text)):
            return all(name in _PLAIN_SPECIALS for name in _SPECIAL.findall(text))
        case ast.Import() | ast.ImportFrom():
            return _is_harmless(node)
        case _:
            return True


def _is_harmless(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom) and node.level:
        return False
    names = [alias.name for alias in node.names]
    modules = names if isinstance(node, ast.Import) else [node.module or ""]
    if isinstance(node, ast.Import) and all(
        alias.name in _PARTS and not alias.asname for alias in node.names
    ):
        return True
    parts = {part for name in (*names, *modules) for part in name.split(".")}
    return parts.isdisjoint(_DOORS) and all(name.partition(".")[0] in _HARMLESS for name in modules)


def _root(node: ast.AST) -> str:
    """Return the name that an attribute or subscript begins with; empty where it begins with none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
