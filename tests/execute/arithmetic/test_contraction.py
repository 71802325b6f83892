"""Products of matrices of any shape, and Einstein sums, give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.execute.arithmetic.arithmetic import Unsupported
from pipeline.execute.arithmetic.bounds import RunningError
from pipeline.execute.arithmetic.value import Value

ARITHMETIC = RunningError("float32", "float32")


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape)


def value(array: np.ndarray) -> Value:
    return Value(ARITHMETIC, ARITHMETIC.represent(array), derived=False)


EINSTEIN_SUMS = {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "ij,jk": ((3, 4), (4, 5)),
    "kj,ij->ik": ((5, 4), (3, 4)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "bqhd,bkhd->bhqk": ((2, 3, 4, 5), (2, 6, 4, 5)),
    "...ij,...jk->...ik": ((2, 3, 4), (2, 4, 5)),
    "i,i->": ((7,), (7,)),
    "i,j->ij": ((3,), (4,)),
    "ij,ij->ij": ((3, 4), (3, 4)),
    "ijk,kl->li": ((2, 3, 4), (4, 5)),
    "ij->ji": ((3, 4),),
    "ij->i": ((3, 4),),
    "ii->i": ((4, 4),),
    "ii": ((4, 4),),
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 5)),
    "ij,jk,ik->i": ((2, 3), (3, 4), (2, 4)),
    "b i j, b j -> b i": ((2, 3, 4), (2, 4)),
}


@pytest.mark.parametrize("subscripts", EINSTEIN_SUMS)
def test_einstein_sums(subscripts: str) -> None:
    arrays = [draw(*shape) for shape in EINSTEIN_SUMS[subscripts]]
    result = np.einsum(subscripts, *(value(array) for array in arrays), optimize=True)
    np.testing.assert_allclose(result.values, np.einsum(subscripts, *arrays), atol=1e-12)
    assert result.parts[1].shape == result.shape


MATRICES = (
    ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((3, 1), (1, 5)),
    ((6, 2, 3, 4), (2, 4, 5)),
)  # fmt: skip


@pytest.mark.parametrize("shapes", MATRICES, ids=str)
def test_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (draw(*shape) for shape in shapes)
    for result in (value(a) @ value(b), value(a) @ b, a @ value(b)):
        np.testing.assert_allclose(result.values, a @ b, atol=1e-12)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 5)), ((4,), (4,)), ((2, 3, 4), (4,)), ((3, 4), (2, 4, 5))], ids=str
)
def test_dot(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (draw(*shape) for shape in shapes)
    np.testing.assert_allclose(np.dot(value(a), value(b)).values, np.dot(a, b), atol=1e-12)


@pytest.mark.parametrize("axes", [0, 1, 2, ([0, 1], [1, 0])], ids=str)
def test_tensordot(axes: object) -> None:
    a, b = draw(4, 4), draw(4, 4)
    result = np.tensordot(value(a), value(b), axes)  # type: ignore[arg-type]
    np.testing.assert_allclose(result.values, np.tensordot(a, b, axes), atol=1e-12)  # type: ignore[arg-type]


def test_a_sum_over_no_terms_is_zero() -> None:
    result = value(np.zeros((3, 0))) @ value(np.zeros((0, 2)))
    np.testing.assert_array_equal(result.values, np.zeros((3, 2)))


def test_what_does_not_fit_is_not_known() -> None:
    with pytest.raises(Unsupported):
        value(draw(3, 4)) @ value(draw(3, 4))
    with pytest.raises(Unsupported):
        np.einsum("ij,jk->ik", value(draw(3, 4)), value(draw(1, 5)))
