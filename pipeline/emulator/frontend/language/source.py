"""A submission's text as a syntax tree."""

from __future__ import annotations

import ast

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind

__all__ = ["assigned_names", "parse"]


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
