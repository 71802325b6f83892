"""Parsing from many threads at once, as a batch does, is as safe as from one."""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.library.syntax import parse_expression, parse_module

PIPELINE = Path(__file__).parents[2] / "pipeline"


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_module, "def f(x):\n    return " + "(" * 30 + "x" + ")" * 30 + "\n"),
        (parse_expression, " + ".join(["M * (K - 1)"] * 30)),
    ],
)
def test_threads_that_parse_at_once_all_get_their_tree(parse: Callable[[str], ast.AST], text: str) -> None:
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        with ThreadPoolExecutor(4) as threads:
            trees = list(threads.map(parse, [text] * 400))
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
    assert {ast.dump(tree) for tree in trees} == {ast.dump(parse(text))}


def test_nothing_outside_the_emulator_parses_without_the_lock() -> None:
    parsing = {
        str(path.relative_to(PIPELINE))
        for path in sorted(PIPELINE.rglob("*.py"))
        if "emulator" not in path.parts and re.search(r"\bast\.parse\(", path.read_text())
    }
    assert parsing == {"library/syntax.py"}
