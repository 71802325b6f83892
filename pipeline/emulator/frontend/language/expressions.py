"""Expressions and values that the compiler does not evaluate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from pipeline.emulator.frontend.language.code import KernelCode
from pipeline.emulator.frontend.language.rule import (
    DEVICE,
    FRONT_END,
    GUIDE,
    NOTES_0_3,
    Breach,
    LanguageRule,
    about_nodes,
)
from pipeline.emulator.operations.table import Severity

__all__ = ["RULES"]

_SIGNED_LIMIT: Final = 1 << 31
_UNSIGNED_LIMIT: Final = 1 << 32


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _identities(code: KernelCode, with_none: bool) -> Iterator[Breach]:
    for function, node in code.sites(ast.Compare):
        operands = [node.left, *node.comparators]
        for place, operator in enumerate(node.ops):
            if not isinstance(operator, ast.Is | ast.IsNot):
                continue
            if (_is_none(operands[place]) or _is_none(operands[place + 1])) is with_none:
                shown, instead = ("is", "==") if isinstance(operator, ast.Is) else ("is not", "!=")
                refused = "refused by the documentation of" if with_none else "not supported since"
                yield Breach(
                    function, node.lineno, f"the operator {shown!r}: {refused} NKI 0.3; use {instead}"
                )


def _integers(code: KernelCode, least: int, limit: int | None) -> Iterator[Breach]:
    """Yield the integer literals from `least` on, below `limit`; one below zero counts by what it spells."""
    negated = {id(node.operand) for _, node in code.sites(ast.UnaryOp) if isinstance(node.op, ast.USub)}
    for function, node in code.sites(ast.Constant):
        if type(node.value) is not int or node.value < least or (limit is not None and node.value >= limit):
            continue
        if id(node) in negated and node.value == _SIGNED_LIMIT:
            continue
        yield Breach(
            function,
            node.lineno,
            f"the integer {_shown(node.value)}: integers of the language have 32 bits; use a float, or build "
            "it in a tensor",
        )


def _shown(value: int) -> str:
    return str(value) if value < 1 << 64 else f"of {value.bit_length()} bits"


def _keys(code: KernelCode) -> Iterator[Breach]:
    for function, node in code.sites(ast.Dict):
        for key in node.keys:
            if isinstance(key, ast.Constant) and not isinstance(key.value, str):
                shown = _shown(key.value) if type(key.value) is int else repr(key.value)[:20]
                yield Breach(
                    function,
                    key.lineno,
                    f"the dictionary key {shown}: keys must be strings; use a string or a list",
                )


def _unpackings(code: KernelCode) -> Iterator[Breach]:
    message = "* and ** before a value: the published front end does not unpack; write the parts out"
    for function, starred in code.sites(ast.Starred):
        yield Breach(function, starred.lineno, message)
    for function, call in code.sites(ast.Call):
        if any(keyword.arg is None for keyword in call.keywords):
            yield Breach(function, call.lineno, message)
    for function, display in code.sites(ast.Dict):
        if None in display.keys:
            yield Breach(function, display.lineno, message)


def _is_formatted(node: ast.AST) -> bool:
    return isinstance(node, ast.FormattedValue) and node.format_spec is not None


def _is_matrix_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult)


RULES: Final = (
    about_nodes(
        "comprehension",
        "comprehensions and generator expressions",
        "a comprehension or generator expression: the compiler has none; write a for loop that appends",
        ast.ListComp,
        ast.SetComp,
        ast.DictComp,
        ast.GeneratorExp,
        source=f"{FRONT_END}; {DEVICE}",
    ),
    about_nodes(
        "lambda",
        "`lambda`",
        "lambda: the published front end refuses it; define a function at the top level of the module",
        ast.Lambda,
        source=FRONT_END,
        severity=Severity.WARNING,
    ),
    about_nodes(
        "assignment-expression",
        "`:=`",
        "':=': the published front end refuses it; assign in a statement of its own",
        ast.NamedExpr,
        source=FRONT_END,
        severity=Severity.WARNING,
    ),
    about_nodes(
        "set-display",
        "a set",
        "a set: the language has lists, tuples and dictionaries; use a tuple",
        ast.Set,
        source=f"{GUIDE}, NKI Values; {FRONT_END}",
        severity=Severity.WARNING,
    ),
    LanguageRule("unpacking", "`*` and `**` before a value", _unpackings, FRONT_END, Severity.WARNING),
    about_nodes(
        "format-specifier",
        "a format specifier in an f-string",
        "a format specifier in an f-string: the published front end refuses it; leave out what follows ':'",
        ast.FormattedValue,
        where=_is_formatted,
        source=FRONT_END,
        severity=Severity.WARNING,
    ),
    about_nodes(
        "matrix-operator",
        "`@` between values",
        "'@': the published front end refuses it; use nisa.nc_matmul",
        ast.BinOp,
        ast.AugAssign,
        where=_is_matrix_product,
        source=FRONT_END,
        severity=Severity.WARNING,
    ),
    LanguageRule("identity", "`is` and `is not`", lambda code: _identities(code, with_none=False), NOTES_0_3),
    # AWS's own library of the same release compares so in most kernels, and the front end takes it for ==.
    LanguageRule(
        "identity-of-none",
        "`is None` and `is not None`",
        lambda code: _identities(code, with_none=True),
        f"{NOTES_0_3}, against nki-library of 2026-04-13 and {FRONT_END}",
        Severity.WARNING,
    ),
    LanguageRule(
        "integer-width",
        "an integer that does not fit 32 bits",
        lambda code: _integers(code, _UNSIGNED_LIMIT, None),
        f"{GUIDE}, NKI Values; {FRONT_END}",
    ),
    LanguageRule(
        "integer-sign",
        "an integer that fits 32 bits without a sign only",
        lambda code: _integers(code, _SIGNED_LIMIT, _UNSIGNED_LIMIT),
        f"{GUIDE}, NKI Values (which does not say whether signed); {FRONT_END}",
        Severity.WARNING,
    ),
    LanguageRule(
        "dictionary-keys",
        "a dictionary key that is no string",
        _keys,
        f"{GUIDE}, NKI Values; update guide of 0.2",
    ),
)
