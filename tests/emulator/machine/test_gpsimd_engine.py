import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.legality import fidelity
from pipeline.emulator.operations import Fidelity
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


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 4)), min_size=1, max_size=4),
    st.integers(-100, 100),
    st.integers(-100, 100),
)
def test_iota_walks_up_to_four_dimensions(pattern, offset, multiplier):
    steps = [step for step, _ in pattern]
    expected = [
        [
            offset + partition * multiplier + sum(i * step for i, step in zip(index, steps, strict=True))
            for index in np.ndindex(*(count for _, count in pattern))
        ]
        for partition in range(3)
    ]
    flat = tuple(number for pair in pattern for number in pair)
    got = iota((3, len(expected[0])), "int32", pattern=flat, offset=offset, channel_multiplier=multiplier)
    assert got.tolist() == expected


@pytest.mark.parametrize("value", [0, 7, -3])
def test_the_offset_may_be_a_register(value):
    builder = ProgramBuilder()
    builder.registers = 1
    numbers, kept = builder.tensor((2, 3), "int32"), builder.tensor((2, 3), "float32")
    ones = builder.tensor((2, 3), "float32")
    builder.add("memset", dst=ones, value=1.0)
    builder.add("register_move", dst=(0,), src=value)
    builder.add("iota", dst=numbers, pattern=(1, 3), offset=(0,))
    builder.add(
        "affine_select",
        dst=kept,
        pattern=(1, 3),
        channel_multiplier=0,
        on_true_tile=ones,
        on_false_value=0.0,
        cmp_op="greater",
        offset=(0,),
    )
    builder.store(numbers)
    builder.store(kept)
    got, selected = run(builder)
    assert got.tolist() == [[value, value + 1, value + 2]] * 2
    assert selected.tolist() == [[float(value + i > 0) for i in range(3)]] * 2


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


@pytest.mark.parametrize(
    ("op", "dtype", "level"),
    [
        ("add", "int32", Fidelity.APPROXIMATE),  # through float32 or exact: not documented
        ("add", "bfloat16", Fidelity.APPROXIMATE),  # nor is the order
        ("average", "float32", Fidelity.APPROXIMATE),
        ("maximum", "int32", Fidelity.EXACT),
        ("bitwise_or", "int32", Fidelity.EXACT),
    ],
)
def test_partition_reduction_says_how_far_it_is_the_devices(op, dtype, level):
    builder = ProgramBuilder()
    data = builder.load(builder.input((4, 2), dtype))
    builder.add("tensor_partition_reduce", dst=builder.tensor((1, 2), dtype), op=op, data=data)
    assert fidelity(builder.program())["tensor_partition_reduce"] is level
