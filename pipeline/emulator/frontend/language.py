"""The subset of Python that the NKI compiler accepts inside a kernel.

Only what the documentation says is refused is refused here. Sources: NKI 0.3.0 release notes and migration
guide (keyword-only parameters, ``is``), language guide (exceptions, context managers other than
``nl.no_reorder``, generators and coroutines are not among the listed constructs; facts/nki.md section 1.5).
"""

from __future__ import annotations

import ast

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind

__all__ = ["assigned_names", "check_kernel", "parse"]

_REFUSED: dict[type[ast.AST], str] = {
    ast.Try: "try: the NKI compiler has no exceptions; check with if or assert",
    ast.TryStar: "try: the NKI compiler has no exceptions; check with if or assert",
    ast.Yield: "yield: kernels and the functions inside them cannot be generators",
    ast.YieldFrom: "yield: kernels and the functions inside them cannot be generators",
    ast.AsyncFunctionDef: "async: the NKI compiler has no coroutines",
    ast.AsyncFor: "async: the NKI compiler has no coroutines",
    ast.AsyncWith: "async: the NKI compiler has no coroutines",
    ast.Await: "await: the NKI compiler has no coroutines",
    ast.Is: "the operator 'is': not supported since NKI 0.3; use ==",
    ast.IsNot: "the operator 'is not': not supported since NKI 0.3; use !=",
}


def parse(source: str, filename: str) -> ast.Module:
    """Parse a submission.

    Raises:
        KernelError: If it is not Python, with the line.
    """
    try:
        return ast.parse(source, filename)
    except SyntaxError as error:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"syntax error: {error.msg}", error.lineno or 0
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError | MemoryError) else str(error)
        raise KernelError(KernelErrorKind.COMPILE_ERROR, f"cannot be parsed: {reason}") from None


def check_kernel(module: ast.Module, entry: str) -> None:
    """Refuse what the NKI compiler refuses in the kernel called `entry`.

    Raises:
        KernelError: For the first such construct, with its line.
    """
    definitions = [
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == entry
    ]
    if not definitions:
        return
    kernel = definitions[-1]
    if kernel.args.kwonlyargs:
        raise _refusal(kernel, "keyword-only parameters (after *): not supported since NKI 0.3; remove the *")
    if kernel.args.vararg or kernel.args.kwarg:
        raise _refusal(kernel, "*args or **kwargs: kernels need named parameters")
    for node in [kernel, *(node for statement in kernel.body for node in ast.walk(statement))]:
        if isinstance(node, ast.Compare):
            for operator in node.ops:
                if type(operator) in _REFUSED:
                    raise _refusal(node, _REFUSED[type(operator)])
        elif type(node) in _REFUSED:
            raise _refusal(node, _REFUSED[type(node)])
        elif isinstance(node, ast.With) and not all(_is_no_reorder(item.context_expr) for item in node.items):
            raise _refusal(node, "with: only nl.no_reorder() is a context manager in a kernel")


def assigned_names(module: ast.Module) -> dict[int, str]:
    """Return, per line of a call whose result is assigned to one variable, that variable's name."""
    return {
        node.value.lineno: node.targets[0].id
        for node in ast.walk(module)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    }


def _is_no_reorder(expression: ast.expr) -> bool:
    function = expression.func if isinstance(expression, ast.Call) else expression
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "no_reorder"


def _refusal(node: ast.AST, message: str) -> KernelError:
    return KernelError(KernelErrorKind.COMPILE_ERROR, message, getattr(node, "lineno", 0))
