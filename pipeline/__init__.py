"""Pre-grades NKI kernel submissions the way an expert reviewer would."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.api import Grader, Result, grade, grade_async

__all__ = ["Grader", "Result", "__version__", "grade", "grade_async"]

__version__: Final = "0.1.0"


def __getattr__(name: str) -> object:
    # Loaded on first use: the command line must answer --help without LangGraph and DuckDB.
    if name in ("Grader", "Result", "grade", "grade_async"):
        return getattr(importlib.import_module("pipeline.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
