"""Compile-time values: data types, memories, slices, tile sizes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.values import NL_DTYPES, dtype_of
from tests.emulator.frontend.kernels import InputSpec, record_body, refusal


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float32", np.float32),
        ("float16", np.float16),
        ("bfloat16", ml_dtypes.bfloat16),
        ("float8_e5m2", ml_dtypes.float8_e5m2),
        ("int32", np.int32),
        ("uint8", np.uint8),
        ("bool_", np.bool_),
    ],
)
def test_data_types_are_strings_that_numpy_understands(name: str, dtype: type) -> None:
    kind = NL_DTYPES[name]
    assert str(kind) == name
    assert kind == name
    assert kind == dtype
    assert dtype == kind
    assert kind == np.dtype(dtype)
    assert np.dtype(kind) == np.dtype(dtype)
    assert np.zeros(2).astype(kind).dtype == np.dtype(dtype)
    assert dtype_of(dtype) is kind
    assert dtype_of(np.dtype(dtype)) is kind
    assert dtype_of(name) is kind
    assert {kind: 1}[name] == 1
    assert f"{kind}" == name


def test_data_types_differ_from_each_other_and_from_nothing() -> None:
    assert NL_DTYPES["float32"] != NL_DTYPES["float16"]
    assert NL_DTYPES["float32"] != np.float64
    assert NL_DTYPES["float32"] != None  # noqa: E711
    assert NL_DTYPES["float32"] in (np.float32, np.int32)


def test_every_type_of_the_machine_has_a_name_in_the_language() -> None:
    assert set(NL_DTYPES) == set(DTYPES)
    for name in ("float8_e8m0fnu", "float8_e4m3fn_x4", "float8_e5m2_x4", "float4_e2m1fn_x4"):
        record_body(f"assert str(nl.{name}) == '{name}'", target="trn3")


def test_kernels_name_a_type_by_the_one_of_a_tensor() -> None:
    body = (
        "assert getattr(nl, str(x.dtype).split('.')[-1]) == x.dtype\n"
        "assert x.dtype in [nl.bfloat16, nl.float32]\n"
    )
    record_body(body, [InputSpec("x", (128, 4), "bfloat16")])


def test_what_is_no_attribute_of_a_type_is_refused_with_what_it_is() -> None:
    assert "an NKI data type is a string" in refusal("x.dtype.itemsize").message
    record_body("assert not hasattr(x.dtype, 'itemsize')")


@pytest.mark.parametrize(
    ("target", "usable", "total"),
    [
        # 16 KiB of a partition, and 8 bytes on trn2 and trn3, are kept by the toolchain (leanprover/KLR).
        ("trn1", 180224, 24 << 20),
        ("trn2", 212984, 28 << 20),
        ("trn3", 245752, 32 << 20),
    ],
)
def test_tile_sizes_are_those_of_the_target(target: str, usable: int, total: int) -> None:
    expected = {
        "pmax": 128,
        "gemm_stationary_fmax": 128,
        "gemm_moving_fmax": 512,
        "bn_stats_fmax": 512,
        "psum_fmax": 512,
        "psum_bank_fmax": 512,
        "psum_bank_fmax_bytes": 2048,
        "psum_num_banks": 8,
        "psum_min_align": 4,
        "sbuf_min_align": 1,
        "sbuf_fmax_bytes": usable,
        "total_available_sbuf_size": usable,
        "sbuf_fmax": usable // 4,
        "sbuf_size_bytes": total,
    }
    body = "\n".join(f"assert nl.tile_size.{name} == {value}" for name, value in expected.items())
    record_body(body, target=target)


def test_tile_sizes_came_with_their_versions() -> None:
    record_body("assert nl.tile_size.total_available_sbuf_size == 212984", version="0.3")
    assert "exists since NKI 0.4" in refusal("nl.tile_size.sbuf_fmax", version="0.3").message
    assert "exists since NKI 0.5" in refusal("nl.tile_size.psum_num_banks", version="0.4").message
    assert "does not exist" in refusal("nl.tile_size.fmax").message


def test_a_bank_is_reserved_where_dma_transposes_run_on_the_tensor_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE", "true")
    record_body("assert nl.tile_size.psum_num_banks == 7", target="trn2")
    record_body("assert nl.tile_size.psum_num_banks == 8", target="trn1")


def test_memories_know_where_they_are() -> None:
    record_body(
        "assert nl.hbm == nl.private_hbm == nl.MemoryRegion.private_hbm\n"
        "assert nl.is_hbm(nl.hbm) and nl.is_hbm(nl.shared_hbm) and not nl.is_hbm(nl.sbuf)\n"
        "assert nl.is_on_chip(nl.sbuf) and nl.is_on_chip(nl.psum) and not nl.is_on_chip(nl.hbm)\n"
        "assert nl.is_psum(nl.psum) and not nl.is_psum(nl.sbuf)\n"
        "assert nl.is_sbuf(buffer=nl.sbuf) and not nl.is_sbuf(nl.psum)\n"
        "assert nl.psum.value == 'psum'\n"
    )


def test_slices_select_a_size_from_a_start() -> None:
    record_body("assert x[nl.ds(0, 64), nl.ds(start=8, size=4)].shape == (64, 4)")
