"""Shape and work formulas: arithmetic on axes, and nothing that could run code or eat the machine."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.library.formulas import FormulaError, evaluate_formula, evaluate_shape, names_in

AXES = {"M": 200, "K": 300, "N": 7}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2*M*K*N", 840_000),
        ("M + K - N", 493),
        ("(M + 127) // 128", 2),
        ("N**2", 49),
        ("2*(M + K) // N", 142),
        (" M ", 200),
        ("3", 3),
    ],
)
def test_formulas_are_integer_arithmetic_over_the_axes(formula: str, value: int) -> None:
    assert evaluate_formula(formula, AXES) == value


@pytest.mark.parametrize(
    ("formula", "word"),
    [
        ("__import__('os').system('true')", "holds"),
        ("M.bit_length()", "holds"),
        ("[M]", "holds"),
        ("M / K", "holds"),
        ("M if K else N", "holds"),
        ("-M", "holds"),
        ("True", "holds"),
        ("1.5*M", "holds"),
        ("'M'", "holds"),
        ("2**-1", "holds"),
        ("lambda: 1", "holds"),
        ("M; K", "is not a formula"),
        ("M *", "is not a formula"),
        ("", "is not a formula"),
        ("M\0", "is not a formula"),
        ("Q + 1", "'Q', which is no axis; axes: M, K, N"),
        ("9**9", "exponent 9"),
        ("M // (N - 7)", "divides by zero"),
        ("(2**8)**8", "exceeds 2**63"),
        ("1" * 150 + "*M", "exceeds 2**63"),
        ("M+" * 200 + "1", "the limit is 200"),
        ("(" * 99 + "M" + ")" * 99, None),
    ],
)
def test_whatever_is_no_formula_is_refused_with_the_reason(formula: str, word: str | None) -> None:
    if word is None:
        assert evaluate_formula(formula, AXES) == 200
        return
    with pytest.raises(FormulaError) as refused:
        evaluate_formula(formula, AXES)
    assert word in str(refused.value)


def test_the_names_of_a_formula_are_its_axes() -> None:
    assert names_in("2*(M + K) // 4") == {"M", "K"}


def test_a_shape_mixes_integers_names_and_products() -> None:
    assert evaluate_shape(("2*N", 128, "K"), AXES) == (14, 128, 300)


@pytest.mark.parametrize("dim", [0, "N - 7", "N - 8"])
def test_a_dimension_below_one_is_refused(dim: str | int) -> None:
    with pytest.raises(FormulaError, match="at least 1"):
        evaluate_shape((dim,), AXES)


@given(st.integers(0, 10**4), st.integers(0, 10**4), st.integers(1, 10**4))
def test_formulas_agree_with_python(m: int, k: int, n: int) -> None:
    axes = {"M": m, "K": k, "N": n}
    assert evaluate_formula("(M + K) * N - K // N + M**2", axes) == (m + k) * n - k // n + m**2


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_a_formula_error(text: str) -> None:
    with suppress(FormulaError):
        assert isinstance(evaluate_formula(text, AXES), int)
