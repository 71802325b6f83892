"""A kernel is compiled once per kind of arguments and then reused, so it must depend on them alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from pipeline.emulator.frontend.language.code import Function, KernelCode
from pipeline.emulator.frontend.language.rule import DEVICE, GUIDE, Breach, LanguageRule
from pipeline.emulator.operations.table import Severity

__all__ = ["RULES"]

_CACHING: Final = f"{GUIDE}, Kernel Caching"

#: Modules whose answers change from call to call, or that act on the world.
_IMPURE: Final = frozenset(
    {
        "builtins",
        "ctypes",
        "datetime",
        "gc",
        "importlib",
        "inspect",
        "io",
        "os",
        "pathlib",
        "random",
        "secrets",
        "shutil",
        "socket",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uuid",
    }
)
#: What of them says nothing about the world.
_CONSTANTS: Final = frozenset({"sys.float_info", "sys.maxsize", "sys.stderr", "sys.stdout"})
_IMPURE_BUILTINS: Final = frozenset({"input", "open"})
_CONTAINERS: Final = frozenset({"list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict"})
_MUTATORS: Final = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    }
)


def _impure(code: KernelCode) -> Iterator[Breach]:
    # Attributes first, which spell what they are taken from too.
    loads: list[tuple[Function, ast.Attribute | ast.Name]] = [*code.sites(ast.Attribute)]
    loads += code.sites(ast.Name)
    for function, node in loads:
        if isinstance(node.ctx, ast.Load) and (name := _impure_name(code, node, function)):
            yield Breach(
                function,
                node.lineno,
                f"{name}: a kernel is compiled once for its arguments and must depend on nothing else; "
                "pass what it needs as an argument",
            )


def _impure_name(code: KernelCode, node: ast.Name | ast.Attribute, function: Function) -> str:
    if isinstance(node, ast.Name):
        own = node.id in code.locals_of(function) or node.id in code.functions or node.id in code.bound
        if node.id in _IMPURE_BUILTINS and not own and node.id not in code.imported:
            return node.id
    name = code.dotted(node, function)
    package, _, rest = name.partition(".")
    if any(name == known or name.startswith(f"{known}.") for known in _CONSTANTS):
        return ""
    # The module alone does nothing yet.
    return name if (package in _IMPURE and rest) or name.startswith("numpy.random.") else ""


def _is_container(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        called = value.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        return name in _CONTAINERS
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _mutations(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield the name and line of every variable whose contents are changed in place."""
    for node in nodes:
        target: ast.AST | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target = node.func.value if node.func.attr in _MUTATORS else None
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            target = node.value
        while isinstance(target, ast.Subscript | ast.Attribute):
            target = target.value
        if isinstance(target, ast.Name):
            yield target.id, getattr(node, "lineno", 0)


def _state(code: KernelCode) -> frozenset[str]:
    """Return the module's own containers."""
    return frozenset(name for name, value in code.bound.items() if _is_container(value))


def _written_state(code: KernelCode) -> Iterator[Breach]:
    state = _state(code)
    if not state:
        return
    for function in code.reached:
        own = code.locals_of(function)
        for name, line in _mutations(code.nodes(function)):
            if name in state and name not in own:
                yield Breach(
                    function,
                    line,
                    f"{name} lives outside the kernel and is changed in it: kernels are cached, so this may "
                    "happen once or never; return the value or write a tensor",
                )


def _read_state(code: KernelCode) -> Iterator[Breach]:
    state = _state(code)
    changed = state & {name for name, _ in _mutations(ast.walk(code.tree))} if state else state
    written = {(breach.function, breach.line) for breach in _written_state(code)}
    for function, node in code.sites(ast.Name):
        if node.id not in changed or node.id in code.locals_of(function):
            continue
        if (function, node.lineno) not in written:
            yield Breach(
                function,
                node.lineno,
                f"{node.id} lives outside the kernel and the module changes it: kernels are cached by their "
                "arguments, so a change may go unnoticed; pass it as an argument",
            )


RULES: Final = (
    LanguageRule(
        "impure", "files, clocks, random numbers, the environment", _impure, f"{_CACHING}; {DEVICE}"
    ),
    LanguageRule(
        "state-written",
        "changing a container that lives outside the kernel",
        _written_state,
        _CACHING,
        Severity.WARNING,
    ),
    LanguageRule(
        "state-read",
        "reading a container outside the kernel that the module changes",
        _read_state,
        _CACHING,
        Severity.WARNING,
    ),
)
