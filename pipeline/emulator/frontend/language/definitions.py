"""Signatures, classes and decorators of what the compiler reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from pipeline.emulator.frontend.language.code import Function, KernelCode
from pipeline.emulator.frontend.language.rule import (
    DEVICE,
    FRONT_END,
    GUIDE,
    NOTES_0_3,
    Breach,
    LanguageRule,
)
from pipeline.emulator.operations.table import Severity

__all__ = ["RULES"]

#: What a class may inherit from, as a part of the base's name; named tuples are in dispute.
_BASES: Final = ("NKIObject", "Enum", "NamedTuple")


def _helpers(code: KernelCode) -> tuple[Function, ...]:
    return tuple(function for function in code.reached if function is not code.kernel)


def _kernel(code: KernelCode) -> tuple[Function, ...]:
    return () if code.kernel is None else (code.kernel,)


def _keyword_only(functions: tuple[Function, ...]) -> Iterator[Breach]:
    for function in functions:
        if function.args.kwonlyargs:
            yield Breach(
                function,
                function.lineno,
                "keyword-only parameters (after *): not supported since NKI 0.3; remove the *",
            )


def _variable(functions: tuple[Function, ...]) -> Iterator[Breach]:
    for function in functions:
        if function.args.vararg or function.args.kwarg:
            yield Breach(
                function, function.lineno, "*args or **kwargs: functions of a kernel need named parameters"
            )


def _list_defaults(code: KernelCode) -> Iterator[Breach]:
    for function in _kernel(code):
        for default in (*function.args.defaults, *function.args.kw_defaults):
            if isinstance(default, ast.List):
                yield Breach(
                    function,
                    default.lineno,
                    "a list as default of a kernel's parameter: lists are no kernel arguments since NKI 0.3; "
                    "use a tuple",
                )


def _last_part(expression: ast.expr) -> str:
    return (
        expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")
    )  # empty for a base that is computed


def _is_plain(definition: ast.ClassDef) -> bool:
    bases = [_last_part(base) for base in definition.bases]
    if any(base.endswith(("Error", "Exception")) for base in bases):
        return False  # only raised, which another rule refuses
    return not bases or not all(any(known in base for known in _BASES) for base in bases)


def _plain_classes(code: KernelCode) -> Iterator[Breach]:
    for function, node in code.sites(ast.Call):
        if not isinstance(node.func, ast.Name):
            continue
        definition = code.classes.get(node.func.id)
        if definition is None or node.func.id in code.locals_of(function) or not _is_plain(definition):
            continue
        yield Breach(
            function,
            node.lineno,
            f"{definition.name}() makes an object of a class that a kernel cannot use: it must inherit from "
            f"nl.NKIObject and nothing else (line {definition.lineno})",
        )


def _is_jit(decorator: ast.expr, code: KernelCode) -> bool:
    expression = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(expression, ast.Name):
        return code.imported.get(expression.id) == "nki.jit"
    return isinstance(expression, ast.Attribute) and expression.attr == "jit"


def _nested_kernels(code: KernelCode) -> Iterator[Breach]:
    jitted = {
        name
        for name, function in code.functions.items()
        if function is not code.kernel and any(_is_jit(d, code) for d in function.decorator_list)
    }
    for function, node in code.sites(ast.Call):
        if not isinstance(node.func, ast.Name):
            continue
        name = node.func.id
        if name in jitted and name not in code.locals_of(function):
            yield Breach(
                function,
                node.lineno,
                f"{name}() is decorated with @nki.jit itself: decorate the outermost kernel only, and launch "
                f"{name} elsewhere with nki.jit({name})(...)",
            )


RULES: Final = (
    LanguageRule(
        "keyword-only",
        "keyword-only parameters of the kernel",
        lambda code: _keyword_only(_kernel(code)),
        NOTES_0_3,
    ),
    LanguageRule(
        "keyword-only-helper",
        "keyword-only parameters of a function it calls",
        lambda code: _keyword_only(_helpers(code)),
        DEVICE,
        Severity.WARNING,
    ),
    LanguageRule(
        "variable-parameters",
        "`*args` and `**kwargs` of the kernel",
        lambda code: _variable(_kernel(code)),
        FRONT_END,
    ),
    LanguageRule(
        "variable-parameters-helper",
        "`*args` and `**kwargs` of a function it calls",
        lambda code: _variable(_helpers(code)),
        FRONT_END,
        Severity.WARNING,
    ),
    LanguageRule("list-argument", "a list as default of a kernel's parameter", _list_defaults, NOTES_0_3),
    LanguageRule(
        "plain-class",
        "an object of a class that does not inherit from `nl.NKIObject` alone",
        _plain_classes,
        f"{GUIDE}, Class Support; {FRONT_END}",
    ),
    LanguageRule(
        "nested-kernel",
        "a call of a function that has `@nki.jit` itself",
        _nested_kernels,
        "update guide of 0.2, against nki-library of 2026-04-13, whose kernels call decorated ones",
        Severity.WARNING,
    ),
)
