"""Cases of nki-library (April 2026): what `library.toml` lists."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from evals.kernels.case import Case
from evals.kernels.library_tests import TestCase

__all__ = ["CASES"]

_LISTED: Final = Path(__file__).with_suffix(".toml")


def _case(listed: dict[str, Any]) -> Case:
    arguments = listed.pop("arguments", {})
    if isinstance(arguments, list):
        # Several tables in place of one, as one would not fit a line.
        arguments = {name: value for part in arguments for name, value in part.items()}
    if "targets" in listed:
        listed["targets"] = tuple(listed["targets"])
    return TestCase(name=f"library/{listed.pop('name')}", arguments=arguments, **listed)


CASES: Final[tuple[Case, ...]] = tuple(map(_case, tomllib.loads(_LISTED.read_text())["case"]))
