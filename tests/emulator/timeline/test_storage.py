"""Which intermediate results a program keeps in a narrow type, and where it reads them."""

import itertools

import pytest

from pipeline.emulator.timeline import stored_dtypes
from tests.emulator.program_builder import ProgramBuilder

ROWS, COLUMNS = 128, 64


def started(dtype: str = "float32"):
    builder = ProgramBuilder()
    return builder, builder.load(builder.input((ROWS, COLUMNS), dtype))


def test_a_row_sum_kept_narrow_and_then_computed_with_is_named_with_its_line():
    builder, data = started()
    total, result = builder.tensor((ROWS, 1), "float16"), builder.tensor((ROWS, COLUMNS), "float32")
    builder.add("tensor_reduce", dst=total, op="add", data=data, axis=1)
    builder.add("tensor_scalar", dst=result, data=data, op0="multiply", operand0=builder.view(total))
    builder.store(result)
    assert stored_dtypes(builder.program()) == {"float16": (12,)}  # the third, counted from 10


def test_what_came_narrow_from_an_input_is_no_intermediate_result_however_it_is_copied():
    builder, data = started("bfloat16")
    copy, wide = builder.tensor((ROWS, COLUMNS), "bfloat16"), builder.tensor((ROWS, COLUMNS), "float32")
    builder.add("tensor_copy", dst=copy, src=data)
    builder.add("tensor_scalar", dst=wide, data=copy, op0="multiply", operand0=2.0)
    builder.store(wide)
    assert stored_dtypes(builder.program()) == {}


def test_an_input_that_a_copy_rounds_is_an_intermediate_result():
    builder, data = started("float32")
    copy, wide = builder.tensor((ROWS, COLUMNS), "bfloat16"), builder.tensor((ROWS, COLUMNS), "float32")
    builder.add("tensor_copy", dst=copy, src=data)
    builder.add("tensor_scalar", dst=wide, data=copy, op0="multiply", operand0=2.0)
    builder.store(wide)
    assert list(stored_dtypes(builder.program())) == ["bfloat16"]


def test_a_rounded_result_stays_rounded_through_copies_into_a_wider_type_of_storage():
    builder, data = started("float32")
    narrow, copy = (builder.tensor((ROWS, COLUMNS), "bfloat16") for _ in range(2))
    wide = builder.tensor((ROWS, COLUMNS), "float32")
    builder.add("tensor_scalar", dst=narrow, data=data, op0="multiply", operand0=2.0)
    builder.add("tensor_copy", dst=copy, src=narrow)
    builder.add("tensor_scalar", dst=wide, data=copy, op0="add", operand0=1.0)
    builder.store(wide)
    assert list(stored_dtypes(builder.program())) == ["bfloat16"]


def test_a_result_that_is_rounded_on_the_way_out_is_kept_for_nothing():
    builder, data = started("float32")
    narrow = builder.tensor((ROWS, COLUMNS), "bfloat16")
    builder.add("tensor_scalar", dst=narrow, data=data, op0="multiply", operand0=2.0)
    builder.store(narrow)
    assert stored_dtypes(builder.program()) == {}


@pytest.mark.parametrize("transposes", [True, False])
def test_operands_of_a_matmul_may_be_narrow_and_a_transpose_on_its_engine_computes_nothing(transposes):
    builder, data = started("float32")
    weights = builder.tensor((ROWS, COLUMNS), "bfloat16")
    builder.add("activation", dst=weights, op="exp", data=data)
    other = builder.load(builder.input((ROWS, ROWS), "bfloat16"))
    turned = builder.tensor((COLUMNS, ROWS), "bfloat16" if transposes else "float32", "psum")
    builder.add(
        "nc_matmul", dst=turned, stationary=weights, moving=other, accumulate=False, is_transpose=transposes
    )
    builder.store(turned)
    assert stored_dtypes(builder.program()) == {}


def test_zeros_that_pad_the_copy_of_an_input_make_it_no_intermediate_result():
    builder = ProgramBuilder()
    source = builder.input((ROWS // 2, COLUMNS), "bfloat16")
    padded, wide = builder.tensor((ROWS, COLUMNS), "bfloat16"), builder.tensor((ROWS, COLUMNS), "float32")
    builder.add("memset", dst=padded, value=0.0)
    builder.add("dma_copy", dst=builder.block(padded, slice(0, ROWS // 2), slice(None)), src=source)
    builder.add("tensor_scalar", dst=wide, data=padded, op0="multiply", operand0=2.0)
    builder.store(wide)
    assert stored_dtypes(builder.program()) == {}


@pytest.mark.parametrize(("value", "kept"), [(0.0, []), (-0.5, []), (0.1, ["bfloat16"])])
def test_choosing_the_larger_rounds_nothing_where_both_fit(value, kept):
    # bfloat16 holds 0 and -0.5; 0.1 has no end in binary.
    builder, data = started("bfloat16")
    largest, positive = builder.tensor((ROWS, 1), "bfloat16"), builder.tensor((ROWS, COLUMNS), "bfloat16")
    shifted, wide = (builder.tensor((ROWS, COLUMNS), "float32") for _ in range(2))
    builder.add("tensor_reduce", dst=largest, op="maximum", data=data, axis=1)
    builder.add("tensor_scalar", dst=shifted, data=data, op0="subtract", operand0=builder.view(largest))
    builder.add("tensor_scalar", dst=positive, data=data, op0="maximum", operand0=value)
    builder.add("tensor_tensor", dst=wide, data1=positive, data2=shifted, op="multiply")
    builder.store(wide)
    found = stored_dtypes(builder.program())
    assert [name for name in found if name == "bfloat16"] == kept
    assert found["float32"] == (14,)


def test_a_rounded_result_is_followed_through_copies_written_in_any_order():
    builder, data = started("float32")
    tiles = [builder.tensor((ROWS, COLUMNS), "bfloat16") for _ in range(6)]
    wide = builder.tensor((ROWS, COLUMNS), "float32")
    # The last copy first, as a loop would have it the second time round.
    for source, target in reversed(list(itertools.pairwise(tiles))):
        builder.add("tensor_copy", dst=target, src=source)
    builder.add("activation", dst=tiles[0], op="exp", data=data)
    builder.add("tensor_scalar", dst=wide, data=tiles[-1], op0="multiply", operand0=2.0)
    builder.store(wide)
    assert list(stored_dtypes(builder.program())) == ["bfloat16"]
