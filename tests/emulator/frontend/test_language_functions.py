"""`nki.language`: what its functions compute, executed on the machine and compared with NumPy in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.frontend import KernelError
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.recorder import Session
from pipeline.emulator.targets import ENGINES, TARGETS
from tests.emulator.frontend.kernels import BODY_LINE, IMPORTS, record, record_body, refusal, resolved

Array = np.ndarray[Any, Any]


def run(body: str, **arrays: Array) -> Array:
    """Execute a kernel whose body assigns `result`, a tile, and return its values."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    source = f"""{IMPORTS}
@nki.jit
def kernel({", ".join(arrays)}):
{lines}
    if nl.is_psum(result.buffer):
        result = nl.copy(result)
    out = nl.ndarray(result.shape, dtype=result.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
"""
    names: dict[str, Any] = {}
    with installed_modules(Session(TARGETS["trn2"], "0.6", 10_000)):
        exec(compile(source, "kernel.py", "exec"), names)
        return np.asarray(names["kernel"](**arrays))


RNG = np.random.default_rng(7)
A = RNG.normal(size=(16, 24)).astype(np.float32)
B = RNG.normal(size=(16, 24)).astype(np.float32)
POSITIVE = np.abs(A) + np.float32(0.25)
INTEGERS = RNG.integers(0, 100, size=(16, 24), dtype=np.int32)

_erf = np.vectorize(math.erf)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("add", np.add),
        ("subtract", np.subtract),
        ("multiply", np.multiply),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
        ("less", np.less),
        ("greater_equal", np.greater_equal),
        ("equal", np.equal),
        ("not_equal", np.not_equal),
    ],
)
def test_binary_functions_of_two_tiles_and_of_a_tile_and_a_number(
    name: str, reference: Callable[..., Array]
) -> None:
    loads = "a = nl.load(x)\nb = nl.load(y)\n"
    wide, other = A.astype(np.float64), B.astype(np.float64)
    np.testing.assert_allclose(
        run(f"{loads}result = nl.{name}(a, b)", x=A, y=B), reference(wide, other), 1e-6
    )
    np.testing.assert_allclose(
        run(f"{loads}result = nl.{name}(a, 0.5)", x=A, y=B), reference(wide, 0.5), 1e-6
    )
    np.testing.assert_allclose(
        run(f"{loads}result = nl.{name}(0.5, a)", x=A, y=B), reference(0.5, wide), 1e-6
    )


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("exp", np.exp),
        ("log", np.log),
        ("sqrt", np.sqrt),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("tanh", np.tanh),
        ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("relu", lambda x: np.maximum(x, 0)),
        ("silu", lambda x: x / (1 + np.exp(-x))),
        ("gelu", lambda x: x / 2 * (1 + _erf(x / np.sqrt(2)))),
        ("erf", _erf),
        ("softplus", lambda x: np.log1p(np.exp(x))),
        ("abs", np.abs),
        ("square", np.square),
        ("reciprocal", np.reciprocal),
        ("negative", np.negative),
        ("copy", np.copy),
    ],
)
def test_unary_functions(name: str, reference: Callable[..., Array]) -> None:
    result = run(f"result = nl.{name}(nl.load(x))", x=POSITIVE)
    np.testing.assert_allclose(result, reference(POSITIVE.astype(np.float64)), 2e-6, 1e-7)


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("nl.bitwise_and(a, 12)", lambda x: x & 12),
        ("nl.bitwise_or(a, b)", lambda x: x | 3),
        ("nl.bitwise_xor(a, 255)", lambda x: x ^ 255),
        ("nl.left_shift(a, 2)", lambda x: x << 2),
        ("nl.right_shift(a, 1)", lambda x: x >> 1),
        ("nl.invert(a)", np.invert),
    ],
)
def test_bitwise_functions(expression: str, reference: Callable[..., Array]) -> None:
    body = f"a = nl.load(x)\nb = nl.full(a.shape, 3, dtype=nl.int32)\nresult = {expression}"
    assert np.array_equal(run(body, x=INTEGERS), reference(INTEGERS))


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("nl.sum(a, axis=1)", lambda x: x.sum(1, keepdims=True)),
        ("nl.sum(a, axis=[1], keepdims=True)", lambda x: x.sum(1, keepdims=True)),
        ("nl.max(a, axis=-1)", lambda x: x.max(1, keepdims=True)),
        ("nl.min(a, axis=(1,))", lambda x: x.min(1, keepdims=True)),
        ("nl.mean(a, axis=1)", lambda x: x.mean(1, keepdims=True)),
        ("nl.var(a, axis=1)", lambda x: x.var(1, keepdims=True)),
        ("nl.sum(a.reshape((16, 4, 6)), axis=2)", lambda x: x.reshape(16, 4, 6).sum(2)),
        (
            "nl.sum(a.reshape((16, 4, 6)), axis=[1, 2], keepdims=True)",
            lambda x: x.reshape(16, 1, 24).sum(2, keepdims=True),
        ),
        ("nl.softmax(a)", lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        ("nl.rms_norm(a, b, axis=1, n=24)", lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * 2),
    ],
)
def test_reductions_and_compositions(expression: str, reference: Callable[..., Array]) -> None:
    body = f"a = nl.load(x)\nb = nl.full(a.shape, 2.0, dtype=nl.float32)\nresult = {expression}"
    np.testing.assert_allclose(run(body, x=A), reference(A.astype(np.float64)), 1e-5, 1e-6)


def test_matmul_contracts_over_partitions() -> None:
    body = "result = nl.matmul(nl.load(x), nl.load(y), transpose_x=True)"
    np.testing.assert_allclose(run(body, x=A, y=B), A.astype(np.float64).T @ B.astype(np.float64), 1e-4, 1e-5)


def test_transpose_swaps_partition_and_free_dimension() -> None:
    assert np.array_equal(run("result = nl.transpose(nl.load(x))", x=A), A.T)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
def test_the_identity_matrix_is_one_on_the_diagonal(dtype: str) -> None:
    body = f"result = nl.copy(nl.shared_identity_matrix(24, dtype=nl.{dtype}), dtype=nl.float32)"
    assert np.array_equal(run(body, x=A), np.eye(24))


def test_broadcasting_repeats_a_row_over_partitions_in_several_banks() -> None:
    row = RNG.normal(size=(1, 700)).astype(np.float32)
    assert np.array_equal(
        run("result = nl.broadcast_to(nl.load(x), (100, 700))", x=row), np.repeat(row, 100, 0)
    )


def test_broadcasting_repeats_a_column_without_an_instruction() -> None:
    program = record_body("c = nl.load(x[:, 0:1])\nassert nl.broadcast_to(c, (128, 64)).strides == (1, 0)")
    assert [entry.operation for entry in resolved(program)[:-2]] == ["dma_copy"]


def test_filled_tensors_hold_their_constant() -> None:
    assert np.array_equal(run("result = nl.zeros((3, 5), dtype=nl.float32)", x=A), np.zeros((3, 5)))
    assert np.array_equal(run("result = nl.ones((3, 5), dtype=nl.int32)", x=A), np.ones((3, 5)))
    assert np.array_equal(run("result = nl.full((3, 5), 2.5, dtype=nl.float16)", x=A), np.full((3, 5), 2.5))
    assert np.array_equal(run("result = nl.zeros_like(nl.load(x))", x=A), np.zeros((16, 24)))


def test_a_filled_tensor_in_hbm_is_written_tile_by_tile() -> None:
    body = "h = nl.full((3, 100, 5), 7.0, dtype=nl.float32, buffer=nl.private_hbm)\nresult = nl.load(h[2])"
    assert np.array_equal(run(body, x=A), np.full((100, 5), 7.0))


def test_results_take_the_type_of_their_input_or_the_one_asked_for() -> None:
    record_body(
        "a = nl.load(x, dtype=nl.bfloat16)\n"
        "assert a.dtype == nl.bfloat16\n"
        "assert nl.exp(a).dtype == nl.bfloat16\n"
        "assert nl.exp(a, dtype=nl.float32).dtype == nl.float32\n"
        "assert nl.add(a, nl.load(x)).dtype == nl.float32\n"
        "assert nl.empty_like(a).dtype == nl.bfloat16\n"
    )


def test_loops_are_ranges_and_the_grid_has_one_program() -> None:
    record_body(
        "assert list(nl.affine_range(3)) == [0, 1, 2]\n"
        "assert list(nl.sequential_range(1, 7, 2)) == [1, 3, 5]\n"
        "assert list(nl.static_range(start=1, stop=3)) == [1, 2]\n"
        "assert nl.program_id(axis=0) == 0\n"
        "assert nl.num_programs(axes=0) == 1\n"
        "assert nl.program_ndim() == 0\n"
        "with nl.no_reorder():\n    pass\n"
    )


@pytest.mark.parametrize(("target", "kibibytes"), [("trn1", 192), ("trn2", 224), ("trn3", 256)])
def test_tile_sizes_are_those_of_the_target(target: str, kibibytes: int) -> None:
    record_body(
        "assert nl.tile_size.pmax == 128\n"
        "assert nl.tile_size.gemm_stationary_fmax == 128\n"
        "assert nl.tile_size.gemm_moving_fmax == 512\n"
        "assert nl.tile_size.psum_bank_fmax == 512\n"
        "assert nl.tile_size.psum_bank_fmax_bytes == 2048\n"
        "assert nl.tile_size.psum_num_banks == 8\n"
        f"assert nl.tile_size.sbuf_fmax_bytes == {kibibytes} * 1024\n",
        target=target,
    )


@pytest.mark.parametrize(
    ("statement", "kind", "fragments"),
    [
        ("nl.arange(128)", "compile_error", ["nl.arange was removed", "slices"]),
        ("nl.mgrid", "compile_error", ["nl.mgrid was removed"]),
        ("nl.par_dim(128)", "compile_error", ["partition"]),
        ("nl.spmd_dim", "compile_error", ["kernel[lnc]"]),
        ("nl.shared_constant(np.eye(4))", "unsupported", ["nl.shared_constant is not emulated yet"]),
        ("nl.fori_loop(0, 4, None)", "unsupported", ["nl.fori_loop"]),
        ("nl.sin(t)", "unsupported", ["nl.sin"]),
        ("nl.float8_e8m0fnu", "unsupported", ["float8_e8m0fnu"]),
        ("nl.multply(t, t)", "unsupported", ["did you mean multiply"]),
        ("nl.divide(t, t)", "illegal_on_target", ["nl.divide", "reciprocal"]),
        ("nl.add(t, t[:, 0:1])", "compile_error", ["shapes must be equal", "nl.broadcast_to"]),
        ("nl.add(x, t)", "compile_error", ["not on chip", "nl.load"]),
        ("nl.add(1, 2)", "compile_error", ["takes a tile, not int"]),
        ("nl.exp(np.zeros(3))", "compile_error", ["takes a tile, not ndarray"]),
        ("nl.sum(t, axis=0)", "compile_error", ["axis 0", "free dimensions"]),
        ("nl.matmul(t, t)", "compile_error", ["transpose_x=True"]),
        (
            "nl.store(x, nl.matmul(t[:, 0:128], t, transpose_x=True))",
            "illegal_on_target",
            ["DMA cannot read PSUM"],
        ),
        ("nl.store(t, t)", "compile_error", ["must lie in HBM"]),
        ("nl.load(t)", "compile_error", ["must lie in HBM"]),
        ("nl.load(x, mask=1)", "compile_error", ["nl.load has no keyword 'mask'", "min()"]),
        ("nl.exp(t, mask=1)", "compile_error", ["nl.exp has no keyword 'mask'"]),
        ("nl.exp(t, dtyp=1)", "compile_error", ["'dtyp', did you mean dtype?"]),
        ("nl.exp()", "compile_error", ["missing 1 required positional argument: 'x'", "nl.exp(x, dtype)"]),
        ("nl.ndarray((256, 4), nl.float32)", "illegal_on_target", ["partition dimension 256", "128"]),
        (
            "nl.ndarray((128, 60000), nl.float32)",
            "illegal_on_target",
            ["240000 bytes per partition", "229376"],
        ),
        ("nl.ndarray((128, 5000), nl.float32, buffer=nl.psum)", "illegal_on_target", ["psum has 16384"]),
        ("nl.ndarray((128,), nl.float32)", "compile_error", ["one dimension", "(128, 1)"]),
        ("nl.ndarray((128, 0), nl.float32)", "compile_error", ["at least 1"]),
        ("nl.ndarray((128, 4.0), nl.float32)", "compile_error", ["tuple of integers"]),
        ("nl.ndarray((128, 4), nl.float32, buffer='sbuf')", "compile_error", ["use nl.sbuf"]),
        ("nl.ndarray((128, 4), np.float64)", "compile_error", ["float64"]),
        ("nl.ndarray((128, 4), nl.float32, address=(0, 0))", "unsupported", ["address"]),
        (
            "nl.ndarray((1 << 14, 1 << 15), nl.int8, buffer=nl.shared_hbm)",
            "too_large",
            ["536870912 elements"],
        ),
        ("nl.full((4, 4), 0.5, dtype=nl.int32)", "compile_error", ["holds integers"]),
        ("nl.tile_size.sbuf_min_align", "unsupported", ["sbuf_min_align"]),
        ("nl.tile_size.fmax", "compile_error", ["no 'fmax'"]),
        ("nki.benchmark(kernel)", "compile_error", ["nki.benchmark was removed"]),
        ("nki.collectives.all_reduce()", "unsupported", ["nki.collectives"]),
    ],
)
def test_what_the_language_refuses_is_refused_by_name(
    statement: str, kind: str, fragments: list[str]
) -> None:
    error = refusal(f"t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n{statement}")
    assert error.kind == kind
    assert error.line == BODY_LINE + 1
    for fragment in fragments:
        assert fragment in error.message
    assert "\n" not in error.message


def test_probing_a_module_for_a_name_works_as_in_python() -> None:
    record_body(
        "assert not hasattr(nl, 'arange')\nassert getattr(nl, 'mgrid', 1) == 1\nassert hasattr(nl, 'add')"
    )


def test_plain_classes_of_a_kernel_take_their_annotated_fields() -> None:
    source = f"""{IMPORTS}
class Sizes(nl.NKIObject):
    rows: int
    columns: int = 8

def kernel(x):
    sizes = Sizes(4)
    assert (sizes.rows, sizes.columns) == (4, 8)
    assert Sizes(rows=1, columns=2).columns == 2
    nisa.memset(nl.ndarray((1, 1), nl.float32), 0.0)
    return x
"""
    record(source)


def test_calling_language_functions_outside_a_kernel_is_refused() -> None:
    names: dict[str, Any] = {}
    with installed_modules(Session(TARGETS["trn2"], "0.6", 100)):
        exec(IMPORTS, names)
        with pytest.raises(KernelError, match="outside a kernel"):
            names["nl"].ndarray((128, 4), names["nl"].float32)


@given(st.tuples(st.integers(1, 20), st.integers(1, 20)), st.data())
@settings(max_examples=30, deadline=None)
def test_copying_a_slice_moves_what_numpy_selects(shape: tuple[int, int], data: st.DataObject) -> None:
    bounds = [
        sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True))) for n in shape
    ]
    (top, bottom), (left, right) = bounds
    step = data.draw(st.integers(1, 3))
    array = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    result = run(f"result = nl.load(x[{top}:{bottom}, {left}:{right}:{step}])", x=array)
    assert np.array_equal(result, array[top:bottom, left:right:step])


def test_an_on_chip_view_is_read_as_numpy_reads_it() -> None:
    body = """
t = nl.load(x)
result = nl.ndarray((16, 6, 4), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=result, src=t.reshape_dim(1, (4, 6)).permute((0, 2, 1)))
"""
    assert np.array_equal(run(body, x=A), A.reshape(16, 4, 6).transpose(0, 2, 1))


def test_rsqrt_runs_on_gpsimd_since_nki_0_5_and_on_the_scalar_engine_before() -> None:
    def engine(version: str) -> str:
        entries = resolved(record_body("nl.rsqrt(nl.load(x))", version=version))
        return ENGINES[entries[1].engine]

    assert engine("0.5") == "gpsimd"
    assert engine("0.4") == "scalar"
    body = "nl.rsqrt(nl.zeros((128, 4), dtype=nl.float32, buffer=nl.psum))"
    error = refusal(body)
    assert error.kind == "illegal_on_target"
    assert "nisa.activation" in error.message
    record_body(body, version="0.4")


def test_power_takes_two_tiles_and_no_number() -> None:
    body = "a = nl.load(x)\nresult = nl.power(a, nl.full(a.shape, 3.0, dtype=nl.float32))"
    np.testing.assert_allclose(run(body, x=A), A.astype(np.float64) ** 3, 1e-5)
    for call in ("nl.power(nl.load(x), 2.0)", "nl.power(2.0, nl.load(x))"):
        error = refusal(call)
        assert error.kind == "illegal_on_target"
        assert "two tiles" in error.message


def test_zeros_like_lies_in_sbuf_and_empty_like_where_its_model_lies() -> None:
    record_body("assert nl.zeros_like(x).buffer == nl.sbuf\nassert nl.empty_like(x).buffer == nl.hbm")


def test_an_integer_tensor_is_not_filled_with_what_is_no_integer() -> None:
    for value in ("2.5", "float('inf')", "float('nan')"):
        assert "holds integers" in refusal(f"nl.full((4, 4), {value}, dtype=nl.int32)").message


def test_arrays_that_a_kernel_writes_are_updated_in_place() -> None:
    array = A.copy()
    result = run("tile = nl.load(x)\nnl.store(x, nl.add(tile, 1.0))\nresult = tile", x=array)
    assert np.array_equal(result, A)
    assert np.array_equal(array, A + np.float32(1))
