"""Statements that the compiler has no form for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from pipeline.emulator.frontend.language.code import KernelCode
from pipeline.emulator.frontend.language.rule import (
    DEVICE,
    FRONT_END,
    GUIDE,
    Breach,
    LanguageRule,
    about_nodes,
)

__all__ = ["RULES"]

_RUN_TIME_LOOPS: Final = frozenset({"dynamic_range", "fori_loop", "while_loop"})


def _called(node: ast.AST) -> str:
    """Return the last part of the name of what is called, empty if it has none."""
    function = node.func if isinstance(node, ast.Call) else node
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_no_reorder(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and all(
        _called(item.context_expr) == "no_reorder" for item in node.items
    )


def _has_else(node: ast.AST) -> bool:
    return bool(getattr(node, "orelse", None))


def _loops_in_no_reorder(code: KernelCode) -> Iterator[Breach]:
    for function, node in code.sites(ast.With):
        if not _is_no_reorder(node):
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and (name := _called(inner)) in _RUN_TIME_LOOPS:
                yield Breach(
                    function,
                    inner.lineno,
                    f"nl.{name} inside nl.no_reorder(): no run-time loop can stand there; put no_reorder "
                    "into the loop's body",
                )


def _inner_definitions(code: KernelCode) -> Iterator[Breach]:
    for function, inner in code.sites(ast.FunctionDef):
        yield Breach(
            function,
            inner.lineno,
            f"def {inner.name} inside a function: define it at the top level of the module",
        )


def _loop_bodies(code: KernelCode) -> Iterator[ast.expr]:
    """Yield the arguments that are bodies of run-time loops."""
    for _, node in code.sites(ast.Call):
        place = {"fori_loop": 2, "while_loop": 1}.get(_called(node))
        if place is not None:
            yield from node.args[place : place + 1]
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "body_fun")


def _inner_calls(code: KernelCode) -> Iterator[Breach]:
    inner = {(function, definition.name) for function, definition in code.sites(ast.FunctionDef)}
    bodies = {id(argument) for argument in _loop_bodies(code)}
    for function, node in code.sites(ast.Name):
        if (function, node.id) in inner and isinstance(node.ctx, ast.Load) and id(node) not in bodies:
            yield Breach(
                function,
                node.lineno,
                f"{node.id} is an inner function: it can only be the body of nl.fori_loop or nl.while_loop; "
                "define it at the top level of the module to call it",
            )


RULES: Final = (
    about_nodes(
        "exceptions",
        "`try`",
        "try: the NKI compiler has no exceptions; check with if or assert",
        ast.Try,
        ast.TryStar,
    ),
    about_nodes(
        "raise",
        "`raise`",
        "raise: the NKI compiler has no exceptions; use assert",
        ast.Raise,
        source=f"{FRONT_END}; {DEVICE}",
    ),
    about_nodes(
        "context-manager",
        "`with`, other than `nl.no_reorder()`",
        "with: only nl.no_reorder() is a context manager in a kernel",
        ast.With,
        where=lambda node: not _is_no_reorder(node),
    ),
    about_nodes(
        "coroutine",
        "`async` and `await`",
        "async: the NKI compiler has no coroutines",
        ast.AsyncFunctionDef,
        ast.AsyncFor,
        ast.AsyncWith,
        ast.Await,
    ),
    about_nodes(
        "generator",
        "`yield`",
        "yield: kernels and the functions inside them cannot be generators",
        ast.Yield,
        ast.YieldFrom,
    ),
    about_nodes(
        "outer-variable",
        "`global` and `nonlocal`",
        "global and nonlocal: a kernel cannot assign to variables outside it; pass values and return them",
        ast.Global,
        ast.Nonlocal,
    ),
    about_nodes(
        "inner-class",
        "a class defined in a function",
        "class inside a function: define it at the top level of the module",
        ast.ClassDef,
    ),
    about_nodes(
        "inner-import",
        "an import in a function",
        "import inside a function: import at the top of the module",
        ast.Import,
        ast.ImportFrom,
        source=f"{FRONT_END}; {DEVICE}",
    ),
    about_nodes("delete", "`del`", "del: not supported in a kernel; leave it out", ast.Delete),
    about_nodes("match", "`match`", "match: not supported in a kernel; use if and elif", ast.Match),
    about_nodes(
        "loop-else",
        "`else` after a loop",
        "else after a loop: not supported in a kernel; use a flag",
        ast.For,
        ast.While,
        where=_has_else,
    ),
    LanguageRule(
        "loop-in-no-reorder",
        "a run-time loop inside `nl.no_reorder()`",
        _loops_in_no_reorder,
        "nki/deep-dives/nki-dynamic-loops.rst, Interaction with no_reorder; update guide of 0.6",
    ),
    LanguageRule(
        "inner-function",
        "a function defined in a function",
        _inner_definitions,
        f"{FRONT_END}; run-time loops take one since 0.6 ({GUIDE} and stubs show none before)",
        until="0.6",
    ),
    LanguageRule(
        "inner-function-call",
        "an inner function used other than as body of a run-time loop",
        _inner_calls,
        f"{DEVICE}; update guide of 0.6",
        since="0.6",
    ),
)
