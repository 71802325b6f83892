"""An exception of a kernel says where in the author's code it arose, and shows no code of ours."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from pipeline.emulator.frontend.errors import KernelError
from pipeline.emulator.frontend.locating import locate, position_of
from pipeline.emulator.frontend.signature import bind_arguments


def kernel(x: Any) -> Any:
    """Stand for a kernel."""


def refused() -> KernelError:
    """Provoke a refusal that is raised in our code, from this file."""
    with pytest.raises(KernelError) as caught:
        bind_arguments(kernel, (), {})
    return caught.value


def test_an_error_without_a_line_gets_that_of_the_innermost_frame_of_theirs() -> None:
    error = locate(refused())
    assert error.file == __file__
    assert error.line == refused.__code__.co_firstlineno + 3
    assert str(error).startswith(f"test_locating.py, line {error.line}: ")


def test_a_line_that_no_frame_explains_is_of_the_kernels_file() -> None:
    error = refused()
    error.line = 100_000
    assert locate(error, kernel).file == __file__
    assert error.line == 100_000


def test_a_line_without_a_known_file_stays_without_one() -> None:
    error = refused()
    error.line = 100_000
    assert str(locate(error)).startswith("line 100000: ")


def test_the_traceback_holds_frames_of_theirs_only() -> None:
    error = refused()
    assert any("signature.py" in frame.filename for frame in traceback.extract_tb(error.__traceback__))
    located = locate(error)
    assert {frame.filename for frame in traceback.extract_tb(located.__traceback__)} == {__file__}
    assert position_of(located)[0] == __file__


def test_an_exception_that_was_never_raised_has_no_position() -> None:
    assert position_of(ValueError("x")) == ("", 0)
    assert locate(KernelError("compile_error", "x")).file == ""
