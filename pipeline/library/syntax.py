"""Python and formulas as syntax trees, for threads.

CPython 3.11 and 3.12 count the depth of the tree they build per interpreter, not per call: two threads that
parse at once end in ``SystemError: AST constructor recursion depth mismatch``
(https://github.com/python/cpython/issues/106905). One lock for all of the grader's parsing avoids it.
"""

from __future__ import annotations

import ast
import threading
from typing import Final

__all__ = ["parse_expression", "parse_module"]

_PARSING: Final = threading.Lock()


def parse_module(source: str) -> ast.Module:
    """Parse `source` as a file.

    Raises:
        SyntaxError: If it is not Python; ValueError, RecursionError or MemoryError if it cannot be parsed.
    """
    with _PARSING:
        return ast.parse(source)


def parse_expression(source: str) -> ast.Expression:
    """Parse `source` as one expression; raises as `parse_module` does."""
    with _PARSING:
        return ast.parse(source, mode="eval")
