"""The stated rule by which a kernel is taken out of a model's response."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.library.markdown import KernelNotFound, extract_kernel

KERNEL = "import nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n"
OTHER = KERNEL.replace("return x", "return y")


def fenced(code: str, info: str = "python", fence: str = "```") -> str:
    return f"{fence}{info}\n{code}{fence}\n"


def refusal(response: str) -> KernelNotFound:
    with pytest.raises(KernelNotFound) as refused:
        extract_kernel(response, "kernel")
    assert refused.value.remedy
    return refused.value


@pytest.mark.parametrize(
    "info", ["python", "py", "python3", "", "Python", 'python title="k.py"', "{.python}"]
)
@pytest.mark.parametrize("fence", ["```", "~~~", "``````"])
def test_the_one_block_that_defines_the_entry_is_the_kernel(info: str, fence: str) -> None:
    response = f"Here it is:\n\n{fenced(KERNEL, info, fence)}\nIt tiles over rows.\n"
    assert extract_kernel(response, "kernel") == KERNEL


def test_other_python_blocks_and_other_languages_are_passed_over() -> None:
    shell = fenced("def kernel(x):\n    not python\n", "bash")
    usage = fenced("out = kernel(x)\n")
    nested = fenced("def outer():\n    def kernel(x):\n        return x\n")
    assert extract_kernel(shell + usage + nested + fenced(KERNEL), "kernel") == KERNEL


def test_an_assignment_defines_the_entry_too() -> None:
    code = "kernel = nki.jit(lambda x: x)\n"
    assert extract_kernel(fenced(code), "kernel") == code


def test_a_kernel_with_a_syntax_error_is_still_the_kernel() -> None:
    broken = "def kernel(x):\n    return (x\n"
    assert extract_kernel(fenced(broken), "kernel") == broken


def test_the_same_block_twice_counts_once() -> None:
    assert extract_kernel(fenced(KERNEL) + "Again, in full:\n" + fenced(KERNEL), "kernel") == KERNEL


def test_several_different_kernels_are_a_reason_with_their_lines() -> None:
    error = refusal("A draft:\n" + fenced(KERNEL) + "Better:\n" + fenced(OTHER))
    assert error.code == "several_kernels"
    assert str(error) == "2 different code blocks define kernel() (at lines 2, 11 of the response)"


def test_a_block_without_the_entry_is_a_reason() -> None:
    error = refusal(fenced("def kernels(x):\n    return x\n"))
    assert error.code == "no_kernel"
    assert str(error) == "none of the 1 Python code blocks in the response defines kernel()"


@pytest.mark.parametrize("response", ["", "I cannot help with that.", KERNEL, fenced(KERNEL, "cpp")])
def test_no_python_block_is_a_reason(response: str) -> None:
    assert refusal(response).code == "no_code_block"


def test_a_response_that_was_cut_off_is_a_reason() -> None:
    error = refusal("Text\n```python\n" + KERNEL)
    assert error.code == "cut_off"
    assert "line 2" in str(error)


def test_a_longer_fence_holds_a_shorter_one() -> None:
    code = 'NOTE = """\n```python\ndef kernel(y): ...\n```\n"""\n' + KERNEL
    assert extract_kernel(fenced(code, fence="````"), "kernel") == code


def test_an_indented_block_loses_its_indentation() -> None:
    indented = "".join(f"   {line}\n" if line else "\n" for line in KERNEL.splitlines())
    assert extract_kernel(f"1. Like this:\n   ```python\n{indented}   ```\n", "kernel") == KERNEL


def test_windows_line_ends_are_read() -> None:
    response = fenced(KERNEL).replace("\n", "\r\n")
    assert extract_kernel(response, "kernel") == KERNEL


def test_inline_code_is_no_fence() -> None:
    assert extract_kernel("Use ```kernel(x)``` so:\n```inline``` text\n" + fenced(KERNEL), "kernel") == KERNEL


@given(st.text(alphabet="`~\n\r python.def kernel():", max_size=200))
def test_no_response_raises_anything_but_its_reason(response: str) -> None:
    with suppress(KernelNotFound):
        assert "kernel" in extract_kernel(response, "kernel")


@pytest.mark.parametrize(
    "line", ["```" + " " * 1_000_000 + "`", "~" * 1_000_000 + "`", " " * 1_000_000 + "```x`"]
)
def test_a_line_made_to_be_tried_in_many_ways_is_tried_in_one(line: str) -> None:
    # A pattern that backtracks does not come back from these.
    assert extract_kernel(f"{line}\n{fenced(KERNEL)}", "kernel") == KERNEL


def test_a_block_too_large_for_any_kernel_is_found_without_being_parsed() -> None:
    code = f"{KERNEL}table = [{'1, ' * 500_000}]\n"
    assert extract_kernel(fenced(code), "kernel") == code
