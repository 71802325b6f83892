"""What the NKI compiler refuses of Python inside a kernel, and only that."""

from __future__ import annotations

import pytest

from tests.emulator.frontend.kernels import (
    BODY_LINE,
    IMPORTS,
    record,
    record_body,
    refusal,
    refused_submission,
)


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("try:\n    pass\nexcept ValueError:\n    pass", "try"),
        ("with open('f'):\n    pass", "with: only nl.no_reorder()"),
        ("def inner():\n    yield 1", "yield"),
        ("async def inner():\n    pass", "async"),
        ("flag = x is None", "use =="),
        ("flag = x is not None", "use !="),
        ("for i in range(2):\n    flag = [i is None for i in range(3)]", "use =="),
    ],
)
def test_refused_constructs_are_compile_errors_at_their_line(statement: str, fragment: str) -> None:
    error = refusal(statement)
    assert error.kind == "compile_error"
    assert fragment in error.message
    assert error.line >= BODY_LINE


@pytest.mark.parametrize(
    "statement",
    [
        "with nl.no_reorder():\n    pass",
        "values = [i * i for i in range(4)]",
        "scale = lambda v: v * 2\nassert scale(2) == 4",
        "def inner(a, b=2):\n    return a + b\nassert inner(1) == 3",
        "table = {'a': 1}\nassert table.get('b', 2) == 2",
        "i = 0\nwhile i < 3:\n    i += 1",
        "print(f'{x.shape} {x.dtype}')",
        "total = sum(i for i in range(4))",
    ],
)
def test_other_python_is_evaluated_at_compile_time(statement: str) -> None:
    record_body(statement)


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [("x, *, flag=1", "keyword-only"), ("x, *rest", "*args"), ("x, **rest", "**kwargs")],
)
def test_parameters_the_compiler_has_no_form_for_are_refused(parameters: str, fragment: str) -> None:
    error = refused_submission(f"{IMPORTS}@nki.jit\ndef kernel({parameters}):\n    return x\n")
    assert error.kind == "compile_error"
    assert fragment in error.message


def test_host_code_around_the_kernel_may_use_all_of_python() -> None:
    source = f"""{IMPORTS}
try:
    import something_optional
except ImportError:
    something_optional = None

def host(values):
    if values is None:
        raise ValueError("no values")
    with open(values) as stream:
        yield stream

@nki.jit
def kernel(x):
    t = nl.load(x)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out
"""
    assert len(record(source).instructions) == 2
