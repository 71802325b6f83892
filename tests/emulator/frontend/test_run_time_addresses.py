"""Views whose address a register or an index tensor says at run time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.machine import MachineError
from tests.emulator.frontend.kernels import refusal
from tests.emulator.frontend.submissions import execute

ROWS = np.arange(40 * 6, dtype=np.float32).reshape(40, 6)


def gather(index: str, shape: str, *, then: str = "") -> str:
    """A kernel that copies a view of x, addressed through the tile `i` of indices, to its output."""
    return f"""
        @nki.jit
        def kernel(x, indices):
            out = nl.ndarray({shape}, dtype=nl.float32, buffer=nl.shared_hbm)
            i = nl.ndarray(indices.shape, dtype=nl.int32, buffer=nl.sbuf)
            nisa.dma_copy(i, indices)
            tile = nl.zeros({shape}, dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, {index}{then})
            nisa.dma_copy(out, tile)
            return out
    """


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(st.integers(0, 39), min_size=8, max_size=8))
def test_vector_select_reads_a_row_per_index(rows):
    indices = np.array(rows, np.int32)[:, None]
    (out,) = execute(gather("x.vector_select(0, i)", "(8, 6)"), x=ROWS, indices=indices)
    assert np.array_equal(out, ROWS[rows])


def test_ap_with_a_vector_offset_reads_the_pattern_at_each_row():
    indices = np.array([[3], [0], [39]], np.int32)
    view = "x.ap(pattern=[[6, 3], [2, 3]], offset=1, vector_offset=i, indirect_dim=0)"
    (out,) = execute(gather(view, "(3, 3)"), x=ROWS, indices=indices)
    assert np.array_equal(out, ROWS[[3, 0, 39], 1::2])


@pytest.mark.parametrize("row", [0, 17, 39])
def test_select_reads_the_position_that_an_element_names(row):
    indices = np.array([[row]], np.int32)
    (out,) = execute(gather("x.select(0, i).reshape((1, 6))", "(1, 6)"), x=ROWS, indices=indices)
    assert np.array_equal(out, ROWS[row : row + 1])


def test_ap_with_a_scalar_offset_counts_along_the_dimension_of_the_tensor_not_of_the_pattern():
    view = "x.ap(pattern=[[1, 2], [1, 2]], offset=2, scalar_offset=i, indirect_dim=0)"
    (out,) = execute(gather(view, "(2, 2)"), x=ROWS, indices=np.array([[5]], np.int32))
    assert out.tolist() == [[5 * 6 + 2, 5 * 6 + 3], [5 * 6 + 3, 5 * 6 + 4]]


def test_a_scatter_writes_each_row_where_its_index_says_and_leaves_the_rest():
    source = """
        @nki.jit
        def kernel(x, indices):
            out = nl.ndarray((5, 6), dtype=nl.float32, buffer=nl.shared_hbm)
            i = nl.ndarray((3, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.dma_copy(i, indices)
            zeros = nl.zeros((5, 6), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(out, zeros)
            tile = nl.ndarray((3, 6), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x[0:3])
            nisa.dma_copy(out.vector_select(0, i), tile)
            return out
    """
    (out,) = execute(source, x=ROWS, indices=np.array([[4], [0], [2]], np.int32))
    expected = np.zeros((5, 6), np.float32)
    expected[[4, 0, 2]] = ROWS[:3]
    assert np.array_equal(out, expected)


def test_an_index_outside_is_an_error_that_names_row_tensor_and_line():
    with pytest.raises(MachineError) as caught:
        execute(gather("x.vector_select(0, i)", "(2, 6)"), x=ROWS, indices=np.array([[0], [40]], np.int32))
    assert caught.value.rule == "out_of_bounds"
    assert "row 1" in caught.value.message
    assert "x" in caught.value.message
    assert caught.value.line > 0


def test_an_index_outside_leaves_its_row_alone_where_the_kernel_says_skip():
    source = gather("x.vector_select(0, i)", "(3, 6)", then=", oob_mode=nisa.oob_mode.skip")
    (out,) = execute(source, x=ROWS, indices=np.array([[7], [-1], [40]], np.int32))
    assert np.array_equal(out, np.concatenate([ROWS[7:8], np.zeros((2, 6), np.float32)]))


def test_an_index_before_the_first_row_is_outside_also_where_the_view_begins_later():
    view = "x.ap(pattern=[[6, 2], [1, 6]], offset=60, vector_offset=i, indirect_dim=0)"
    with pytest.raises(MachineError, match="row 1"):
        execute(gather(view, "(2, 6)"), x=ROWS, indices=np.array([[0], [-1]], np.int32))
    source = gather(view, "(2, 6)", then=", oob_mode=nisa.oob_mode.skip")
    (out,) = execute(source, x=ROWS, indices=np.array([[0], [-1]], np.int32))
    assert np.array_equal(out, np.concatenate([ROWS[10:11], np.zeros((1, 6), np.float32)]))


def test_a_whole_view_outside_is_an_error_or_skipped():
    view = "x.select(0, i).reshape((1, 6))"
    outside = np.array([[40]], np.int32)
    with pytest.raises(MachineError, match="which holds 240"):
        execute(gather(view, "(1, 6)"), x=ROWS, indices=outside)
    (out,) = execute(gather(view, "(1, 6)", then=", oob_mode=nisa.oob_mode.skip"), x=ROWS, indices=outside)
    assert not out.any()


def test_an_on_chip_column_outside_its_partition_is_an_error_though_it_lies_in_the_tensor():
    source = """
        @nki.jit
        def kernel(x, indices):
            out = nl.ndarray((2, 3), dtype=nl.float32, buffer=nl.shared_hbm)
            i = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.dma_copy(i, indices)
            tile = nl.ndarray((4, 6), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x[0:4])
            part = nl.ndarray((2, 3), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(part, tile.ap(pattern=[[6, 2], [1, 3]], scalar_offset=i, indirect_dim=1))
            nisa.dma_copy(out, part)
            return out
    """
    (out,) = execute(source, x=ROWS, indices=np.array([[3]], np.int32))
    assert np.array_equal(out, ROWS[0:2, 3:6])
    with pytest.raises(MachineError, match="columns 4 to 6"):
        execute(source, x=ROWS, indices=np.array([[4]], np.int32))


def test_tensor_indirection_takes_its_columns_from_a_list_that_16_partitions_share():
    source = """
        @nki.jit
        def kernel(x, indices):
            out = nl.ndarray((32, 20), dtype=nl.float32, buffer=nl.shared_hbm)
            i = nl.ndarray((32, 2), dtype=nl.uint32, buffer=nl.sbuf)
            nisa.dma_copy(i, indices)
            tile = nl.ndarray((32, 6), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x[0:32])
            part = nl.ndarray((32, 20), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(part, tile.indirect(i, num_elem=20), engine=nisa.engine.vector)
            nisa.dma_copy(out, part)
            return out
    """
    indices = np.random.default_rng(0).integers(0, 6, (32, 2)).astype(np.uint32)
    (out,) = execute(source, x=ROWS, indices=indices, target="trn3")
    expected = np.empty((32, 20), np.float32)
    for partition in range(32):
        group = partition // 16 * 16
        for position in range(20):
            expected[partition, position] = ROWS[partition, indices[group + position % 16, position // 16]]
    assert np.array_equal(out, expected)


@pytest.mark.parametrize(
    ("view", "fragments"),
    [
        ("h.vector_select(0, t)", ("integer tensor in SBUF",)),
        ("h.vector_select(1, i)", ("dimension 0",)),
        ("s.vector_select(0, i)", ("HBM",)),
        ("s.select(0, one)", ("partition dimension",)),
        ("h.select(0, i)", ("it must have one",)),
        ("h.select(0, one).select(0, one)", ("one per view",)),
        ("h.vector_select(0, i)[0:2]", ("cannot be sliced",)),
        ("h.vector_select(0, i).view(nl.int32)", ("run time",)),
        ("h.vector_select(0, i).permute((1, 0))", ("index tensor",)),
        ("h.ap(pattern=[[512, 4], [1, 4]], scalar_offset=one, vector_offset=i)", ("exclusive",)),
        ("h.ap(pattern=[[512, 4], [1, 4]], vector_offset=i, indirect_dim=1)", ("indirect_dim=0",)),
        ("h.ap(pattern=[[512, 64], [1, 4]], vector_offset=i)", ("32 elements for 64 rows",)),
        ("h.ap(pattern=[[512, 4], [1, 4]], scalar_offset=one, indirect_dim=2)", ("indirect_dim 2",)),
        ("h.indirect(i)", ("on-chip",)),
        ("s.indirect(one)", ("partitions",)),
    ],
)
def test_what_cannot_be_addressed_at_run_time_is_refused_by_name(view, fragments):
    error = refusal(
        "h, s = x, nl.zeros((32, 512), dtype=nl.float32, buffer=nl.sbuf)\n"
        "t = nl.zeros((32, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
        "i = nl.zeros((32, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        "one = nl.zeros((1, 1), dtype=nl.int32, buffer=nl.sbuf)\n"
        f"{view}"
    )
    assert error.kind == "compile_error"
    assert all(fragment in error.message for fragment in fragments), error.message
