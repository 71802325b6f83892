import numpy as np
import pytest

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import run, run_operation

F32 = np.float32


def iota(shape, dtype, **arguments):
    builder = ProgramBuilder()
    tile = builder.tensor(shape, dtype)
    builder.add("iota", dst=tile, **arguments)
    builder.store(tile)
    (got,) = run(builder)
    return got


def test_iota_follows_its_documented_loops():
    pattern = (10, 2, -1, 3)  # [[10, 2], [-1, 3]]
    expected = [
        [5 + 100 * p + 10 * y - x for y in range(2) for x in range(3)]
        for p in range(4)
    ]  # fmt: skip
    got = iota((4, 6), "int32", pattern=pattern, offset=5, channel_multiplier=100)
    assert got.tolist() == expected


def test_iota_casts_its_integers_to_the_destination():
    assert iota((1, 4), "float32", pattern=(3, 4)).tolist() == [[0, 3, 6, 9]]
    assert iota((1, 3), "uint8", pattern=(200, 3)).tolist() == [[0, 200, 255]]


def test_iota_wraps_in_32_bits():
    assert iota((1, 2), "int32", pattern=(1, 2), offset=2**31 - 1).tolist() == [[2**31 - 1, -(2**31)]]


def test_affine_select_keeps_the_lower_triangle():
    data = np.arange(1, 17, dtype=F32).reshape(4, 4)
    (got,) = run_operation(
        "affine_select",
        {"dst": ((4, 4), "float32")},
        {
            "on_true_tile": data,
            "pattern": (-1, 4),
            "channel_multiplier": 1,
            "on_false_value": -9.0,
            "cmp_op": "greater_equal",  # p - i >= 0
        },
    )
    np.testing.assert_array_equal(got, np.where(np.tri(4, dtype=bool), data, -9))


def test_affine_select_passes_wide_integers_unchanged():
    data = np.array([[2**24 + 1, 2**24 + 3]], np.int32)
    (got,) = run_operation(
        "affine_select",
        {"dst": ((1, 2), "int32")},
        {"on_true_tile": data, "pattern": (1, 2), "channel_multiplier": 0, "on_false_value": 0.0},
    )
    assert got.tolist() == [[2**24 + 1, 0]]


@pytest.mark.parametrize(("op", "expected"), [("add", [6, 60]), ("average", [2, 20]), ("maximum", [3, 30])])
def test_partition_reduction_of_floats(op, expected):
    data = np.array([[1, 10], [2, 20], [3, 30]], F32)
    (got,) = run_operation("tensor_partition_reduce", {"dst": ((1, 2), "float32")}, {"data": data, "op": op})
    assert got.tolist() == [expected]


def test_partition_reduction_of_bits():
    data = np.array([[0b011], [0b110]], np.int32)
    for op, expected in (("bitwise_or", 0b111), ("bitwise_and", 0b010)):
        (got,) = run_operation(
            "tensor_partition_reduce", {"dst": ((1, 1), "int32")}, {"data": data, "op": op}
        )
        assert got.item() == expected
