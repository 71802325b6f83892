"""View algebra, against NumPy: an array of 0, 1, 2, ... holds at each place its own address."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.emulator.frontend.values import DynamicSlice
from pipeline.emulator.frontend.views import View, ViewError, contiguous

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)
TILES = st.lists(st.integers(1, 6), min_size=2, max_size=4).map(tuple)


def addresses(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(prod(shape)).reshape(shape)


def gathered(view: View) -> np.ndarray:
    """Return the addresses a view touches, computed from the definition of an access pattern."""
    result = np.full(view.shape, view.offset)
    for axis, (stride, count) in enumerate(view.dims):
        steps = np.arange(count) * stride
        result = result + steps.reshape([-1 if position == axis else 1 for position in range(len(view.dims))])
    return result


@st.composite
def slices(draw: st.DrawFn, size: int) -> slice:
    start = draw(st.integers(0, size - 1))
    stop = draw(st.integers(start + 1, size))
    step = draw(st.integers(1, 4))
    negative = draw(st.booleans())
    return slice(start - size if negative else start, stop, step)


@st.composite
def shapes_and_slices(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[object, ...]]:
    shape = draw(SHAPES)
    return shape, tuple(draw(slices(size)) for size in shape)


@given(SHAPES)
def test_a_fresh_view_addresses_every_element_in_row_major_order(shape: tuple[int, ...]) -> None:
    assert np.array_equal(gathered(contiguous(shape)), addresses(shape))


@given(shapes_and_slices())
def test_slicing_selects_what_numpy_selects(case: tuple[tuple[int, ...], tuple[object, ...]]) -> None:
    shape, key = case
    view = contiguous(shape).select(key, on_chip=False)
    assert np.array_equal(gathered(view), addresses(shape)[key])


@given(shapes_and_slices(), st.data())
def test_slicing_a_slice_selects_what_numpy_selects(
    case: tuple[tuple[int, ...], tuple[object, ...]], data: st.DataObject
) -> None:
    shape, key = case
    view = contiguous(shape).select(key, on_chip=False)
    second = tuple(data.draw(slices(size)) for size in view.shape)
    assert np.array_equal(gathered(view.select(second, on_chip=False)), addresses(shape)[key][second])


@given(SHAPES.filter(lambda shape: len(shape) > 1), st.data())
def test_an_integer_drops_the_dimension_in_hbm(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    position = data.draw(st.integers(-shape[axis], shape[axis] - 1))
    key = (*[slice(None)] * axis, position)
    view = contiguous(shape).select(key, on_chip=False)
    assert np.array_equal(gathered(view), addresses(shape)[key])


@pytest.mark.parametrize(
    ("shape", "key", "expected"),
    [
        # The examples of the language guide, section on tensor indexing.
        ((64, 64, 64), (0, 0, 10), (1, 1)),
        ((64, 64, 64), (slice(None), 0), (64, 64)),
        ((64, 64, 64), (slice(None), 0, 10), (64, 1)),
        ((64, 64, 64), (slice(0, 64), 0, slice(0, 64)), (64, 64)),
        ((64, 64, 64), (slice(None), slice(None), slice(None, None, 2)), (64, 64, 32)),
        ((64, 64, 64), (Ellipsis,), (64, 64, 64)),
        ((64, 64, 64), (0, Ellipsis, slice(None)), (1, 64, 64)),
        ((128, 64), (slice(None), DynamicSlice(8, 16)), (128, 16)),
        ((128, 64), (Ellipsis, 0), (128, 1)),
        ((128, 64), 5, (1, 64)),
    ],
)
def test_on_chip_indexing_keeps_the_partition_and_two_dimensions(
    shape: tuple[int, ...], key: object, expected: tuple[int, ...]
) -> None:
    assert contiguous(shape).select(key, on_chip=True).shape == expected


def test_a_kept_partition_keeps_the_stride_of_the_tensor() -> None:
    view = contiguous((128, 64)).select((3, slice(8, 16)), on_chip=True)
    assert view == View(3 * 64 + 8, ((64, 1), (1, 8)))


def test_a_fully_indexed_hbm_tensor_keeps_one_dimension() -> None:
    view = contiguous((4, 8)).select((1, 2), on_chip=False)
    assert (view.offset, view.shape) == (10, (1,))


@pytest.mark.parametrize(
    ("key", "fragment"),
    [
        (slice(0, 129), "slice 0:129 is out of bounds for dimension 0 of size 128"),
        (slice(128, 128), "is empty"),
        (slice(64, 32), "is empty"),
        (128, "index 128 is out of bounds for dimension 0 of size 128"),
        (-129, "out of bounds"),
        (DynamicSlice(120, 16), "nl.ds(120, 16) is out of bounds"),
        (DynamicSlice(2.0, 16), "nl.ds takes compile-time integers"),  # type: ignore[arg-type]
        ((slice(None), slice(0, 8, 0)), "step 0"),
        ((slice(None), slice(8, 0, -1)), "step -1"),
        (slice(0, 128, 2), "partitions are contiguous"),
        ((0, 0, 0), "3 indices for 2 dimensions"),
        ((Ellipsis, Ellipsis), "one ellipsis"),
        (None, "None is no index"),
        (True, "True is no index"),
        (1.5, "cannot index with float"),
        ("a", "cannot index with str"),
        ((slice(None), slice(0.0, 4)), "compile-time integers"),
    ],
)
def test_an_index_that_does_not_exist_is_refused(key: object, fragment: str) -> None:
    with pytest.raises(ViewError, match=r"dimension|index|slice|step|partition") as caught:
        contiguous((128, 64)).select(key, on_chip=True)
    assert fragment in str(caught.value)


@given(TILES, st.data())
def test_permute_reorders_as_numpy_does(shape: tuple[int, ...], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    assert np.array_equal(
        gathered(contiguous(shape).permute(order, on_chip=False)), addresses(shape).transpose(order)
    )


@given(SHAPES, st.data())
def test_splitting_a_dimension_reshapes_it(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    factor = data.draw(st.sampled_from([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0]))
    view = contiguous(shape).split(axis, (factor, -1), on_chip=False)
    expected = addresses(shape).reshape(*shape[:axis], factor, shape[axis] // factor, *shape[axis + 1 :])
    assert np.array_equal(gathered(view), expected)


@given(shapes_and_slices(), st.data())
def test_a_reshape_either_addresses_the_same_elements_in_order_or_is_refused(
    case: tuple[tuple[int, ...], tuple[object, ...]], data: st.DataObject
) -> None:
    shape, key = case
    view = contiguous(shape).select(key, on_chip=False)
    order = data.draw(st.permutations(range(len(view.dims))))
    view = view.permute(order, on_chip=False)
    total = prod(view.shape)
    first = data.draw(st.sampled_from([n for n in range(1, total + 1) if total % n == 0]))
    array = addresses(shape)[key].transpose(order)
    try:
        reshaped = view.reshape((first, total // first), on_chip=False)
    except ViewError:
        # NumPy, asked for the same without a copy, must refuse it too.
        copy = np.arange(prod(shape)).reshape(shape)[key].transpose(order)
        assert not np.shares_memory(copy, copy.reshape(first, total // first))
    else:
        assert np.array_equal(gathered(reshaped), array.reshape(first, total // first))


@given(SHAPES.filter(lambda shape: len(shape) > 1), st.data())
def test_flattening_contiguous_dimensions_merges_them(shape: tuple[int, ...], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(shape) - 1))
    last = data.draw(st.integers(first, len(shape) - 1))
    expected = addresses(shape).reshape(*shape[:first], -1, *shape[last + 1 :])
    assert np.array_equal(gathered(contiguous(shape).flatten(first, last, on_chip=False)), expected)


def test_flattening_permuted_dimensions_is_refused() -> None:
    view = contiguous((128, 4, 8)).permute((0, 2, 1), on_chip=True)
    with pytest.raises(ViewError, match="do not lie contiguously"):
        view.flatten(1, 2, on_chip=True)


@given(TILES, st.integers(2, 5))
def test_broadcasting_repeats_a_dimension_of_size_one(shape: tuple[int, ...], size: int) -> None:
    axis = len(shape) - 1
    view = contiguous((*shape, 1)).broadcast(axis + 1, size, on_chip=True)
    assert np.array_equal(gathered(view), np.repeat(addresses((*shape, 1)), size, axis + 1))


@given(TILES, st.data())
def test_expanding_and_squeezing_cancel(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(1, len(shape)))
    view = contiguous(shape)
    expanded = view.expand(axis, on_chip=True)
    assert expanded.shape == (*shape[:axis], 1, *shape[axis:])
    assert expanded.squeeze(axis, on_chip=True) == view


@given(TILES, st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]))
def test_reinterpreting_sees_the_bytes_numpy_sees(shape: tuple[int, ...], width: int, new_width: int) -> None:
    shape = (*shape[:-1], shape[-1] * 4)
    types = {1: np.uint8, 2: np.uint16, 4: np.uint32}
    base = np.arange(prod(shape) * width, dtype=np.uint8)
    expected = base.view(types[width]).reshape(shape).view(types[new_width])
    view = contiguous(shape).reinterpret(width, new_width)
    assert np.array_equal(base.view(types[new_width])[gathered(view)], expected)


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda view: view.permute((1, 0, 2), on_chip=True), "moves the partition"),
        (lambda view: view.permute((0, 1), on_chip=True), "no permutation"),
        (lambda view: view.reshape((64, 2, 32), on_chip=True), "changes the partition"),
        (lambda view: view.reshape((128, 33), on_chip=True), "does not have the 4096 elements"),
        (lambda view: view.split(0, (2, 64), on_chip=True), "splits the partition"),
        (lambda view: view.broadcast(0, 4, on_chip=True), "partition dimension"),
        (lambda view: view.broadcast(1, 4, on_chip=True), "has size 4, not 1"),
        (lambda view: view.squeeze(1, on_chip=True), "has size 4, not 1"),
        (lambda view: view.expand(0, on_chip=True), "expand_dim(0)"),
        (lambda view: view.flatten(0, 1, on_chip=True), "partition dimension"),
        (lambda view: view.flatten(1, 3, on_chip=True), "dimension 3 of a tensor with 3 dimensions"),
        (lambda view: view.select((slice(None), 0, slice(0, 3)), True).reinterpret(2, 4), "not divisible"),
        (lambda view: view.permute((0, 2, 1), on_chip=True).reinterpret(4, 2), "contiguous last dimension"),
    ],
)
def test_a_view_that_does_not_exist_is_refused(change: object, fragment: str) -> None:
    with pytest.raises(ViewError) as caught:
        change(contiguous((128, 4, 8)))  # type: ignore[operator]
    assert fragment in str(caught.value)
