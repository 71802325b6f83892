"""Microscaling (MX) on NeuronCore-v4: `quantize_mx` (vector engine) and `nc_matmul_mx` (tensor engine).

Thirty-two values share one power of two, the scale: 8 partitions by 4 elements of a partition, which a packed
type holds in one element. Scales are 8-bit exponents, biased by 127; 255 is NaN. Those of one quadrant of 32
partitions lie in the first four partitions of the same quadrant of the scale tile, one per 8 partitions of
data. A tile that starts at partition 4, 8 or 12 leaves room for the scales of other tensors: the other
partitions are neither written nor read.

Source: docstrings of both functions, NKI 0.6; nki/deep-dives/mxfp-matmul.rst; OCP Microscaling Formats 1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES, PACKED
from pipeline.emulator.operations.arguments import source
from pipeline.emulator.operations.call import Call, Kernel, Operand, Registers
from pipeline.emulator.operations.conversion import Array, decoding_table, loader, writer
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.table import Limit, Operation, Parameter, ParameterKind
from pipeline.emulator.operations.tensor import (
    bind_product,
    engine_tile,
    incomplete_tile,
    pass_cycles,
    product_sizes,
)
from pipeline.emulator.toolchain.versions import holds_in

__all__ = ["OPERATIONS"]

_SBUF: Final = frozenset({"sbuf"})
_PSUM: Final = frozenset({"psum"})
_V4: Final = frozenset({"trn3"})
_SCALES: Final = frozenset({"float8_e8m0fnu", "uint8"})
_SOURCES: Final = frozenset({"float16", "bfloat16"})
_RESULTS: Final = frozenset({"float8_e4m3fn_x4", "float8_e5m2_x4"})
_QUANTIZE: Final = "nki.isa.quantize_mx docstring, NKI 0.6"
_MATMUL: Final = "nki.isa.nc_matmul_mx docstring, NKI 0.6"
_LAYOUT: Final = "nki/deep-dives/mxfp-matmul.rst, Scale Tensor and Packing Scale Values"

_PACK: Final = 4
_GROUP_PARTITIONS: Final = 8
_QUADRANT: Final = 32
_SCALES_PER_QUADRANT: Final = _QUADRANT // _GROUP_PARTITIONS
_OFFSETS: Final = (0, 4, 8, 12)
_MAGNITUDE: Final = np.uint32(0x7FFFFFFF)
_MANTISSA_BITS: Final = np.uint32(23)
#: Sum of the biased exponents of a power of two and of its reciprocal.
_RECIPROCAL: Final = 254


def _scale_rows(partitions: int) -> list[int]:
    """Return which partition of the scale tile holds the scales of each 8 partitions of data."""
    groups = range(partitions // _GROUP_PARTITIONS)
    return [_QUADRANT * (g // _SCALES_PER_QUADRANT) + g % _SCALES_PER_QUADRANT for g in groups]


def _bind_quantize(call: Call) -> Kernel:
    """Divide each group by ``2 ** (floor(log2(greatest magnitude)) - (emax - 1))`` and round to 8 bits.

    Before NKI 0.5 by half of that, as the OCP specification's sample algorithm has it: then the largest
    values of a group saturate (NKI 0.5.0 release notes). What becomes of a group that holds an infinity or
    NaN is not documented, so such inputs are observed.
    """
    dst, src = call.tensor("dst"), call.tensor("src")
    packed = DTYPES[dst.dtype]
    groups, columns = src.partitions // _GROUP_PARTITIONS, src.free_elements // _PACK
    rows = _scale_rows(src.partitions)
    load = loader(src, (groups, _GROUP_PARTITIONS, columns, _PACK))
    encode = writer(packed.name.removesuffix("_x4"))
    bound = _greatest(DTYPES[src.dtype].storage)
    doubled = holds_in(call.version, "0.5", None)
    exponent = packed.largest_exponent - (1 if doubled else 0)
    largest = _greatest(packed.storage if packed.element is None else packed.element)

    def quantize(registers: Registers, dst: Array, src: Array, dst_scale: Array) -> None:
        values = load(src)
        magnitudes = (values.view(np.uint32) & _MAGNITUDE).max(axis=1)
        exponents = (_greatest_of_four(magnitudes) >> _MANTISSA_BITS).astype(np.int32)
        if exponents.max() == 255:
            least, greatest = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
            registers.observe("quantize_mx", -bound, bound, float(least), float(greatest))
        scales = np.maximum(exponents - exponent, 0)
        factors = ((_RECIPROCAL - scales).astype(np.uint32) << _MANTISSA_BITS).view(np.float32)
        scaled = values.reshape(groups, _GROUP_PARTITIONS, -1) * np.repeat(factors, _PACK, axis=1)[:, None]
        if not doubled:
            np.clip(scaled, -largest, largest, out=scaled)
        elements = np.empty(values.shape, packed.element)
        encode(elements, scaled)
        dst[...] = elements.view(packed.storage).reshape(dst.shape)
        dst_scale.view(np.uint8)[rows] = scales.reshape(len(rows), *dst_scale.shape[1:])

    return quantize


def _greatest_of_four(values: Array) -> Array:
    """Return the greatest along the last axis, pair by pair: NumPy reduces so short an axis slowly."""
    pairs = np.maximum(values[..., :2], values[..., 2:])
    return np.maximum(pairs[..., 0], pairs[..., 1])


def _greatest(storage: np.dtype[Any]) -> float:
    """Return the greatest finite value of a float type: one pattern below infinity, or below NaN."""
    pattern = np.array([np.inf], storage).view(f"u{storage.itemsize}") - 1
    return float(pattern.view(storage)[0])


def _bind_matmul(call: Call) -> Kernel:
    """``dst (+)= stationary.T @ moving`` of scaled values, contracted over partitions and packed elements.

    An element times its scale is exact in float32 unless it leaves its range, which takes scales near their
    ends.
    """
    dst, stationary, moving = call.tensor("dst"), call.tensor("stationary"), call.tensor("moving")
    unpack_stationary, unpack_moving = _dequantizer(stationary), _dequantizer(moving)
    columns = (stationary.free_elements, moving.free_elements)
    product = bind_product(dst, columns, bool(call.scalar("accumulate")))

    def multiply(
        registers: object,
        dst: Array,
        stationary: Array,
        moving: Array,
        stationary_scale: Array,
        moving_scale: Array,
    ) -> None:
        left = unpack_stationary(stationary, stationary_scale)
        product(dst, left, unpack_moving(moving, moving_scale))

    return multiply


def _dequantizer(data: Operand) -> Callable[[Array, Array], Array]:
    """Return a function from packed words and their scales to a float32 (contraction, columns) matrix."""
    kind = DTYPES[data.dtype]
    if kind.element is None:
        raise TypeError(f"{data.dtype} is not packed")
    table, scale_table = decoding_table(kind.element), decoding_table(DTYPES["float8_e8m0fnu"].storage)
    partitions, columns = data.partitions, data.free_elements
    groups = partitions // _GROUP_PARTITIONS
    rows = _scale_rows(partitions)
    width = 8 * kind.itemsize // _PACK
    mask = kind.storage.type((1 << width) - 1)

    def dequantize(words: Array, scales: Array) -> Array:
        values = np.empty((_PACK, partitions, columns), np.float32)
        words = words.reshape(partitions, columns)
        for place in range(_PACK):
            elements = words >> kind.storage.type(place * width)
            elements &= mask
            np.take(table, elements, out=values[place], mode="clip")
        factors = np.take(scale_table, scales.view(np.uint8)[rows].reshape(groups, 1, columns))
        values.reshape(_PACK, groups, _GROUP_PARTITIONS, columns)[...] *= factors
        return values.reshape(_PACK * partitions, columns)

    return dequantize


def _partitions(name: str, operand: Operand) -> Iterator[str]:
    if operand.partitions % _QUADRANT:
        yield f"{name} has {operand.partitions} partitions, must be a multiple of 32: pad with zeros"


def _scale(name: str, scale: Operand, data_name: str, data: Operand, columns: int) -> Iterator[str]:
    """Yield what is wrong with a scale tile."""
    if scale.free_elements != columns:
        yield (
            f"{name} is {describe(scale)}, must have {columns} elements per partition: one per four values "
            f"of {data_name}"
        )
    needed = _scale_rows(data.partitions)[-1] + 1 if data.partitions >= _GROUP_PARTITIONS else 1
    if scale.partitions < needed:
        yield (
            f"{name} has {scale.partitions} partitions, needs {needed}: the scales of each quadrant of "
            f"{data_name} lie in the same quadrant; allocate {data.partitions} partitions"
        )
    offset = scale.start - data.start
    if offset not in _OFFSETS:
        yield (
            f"{name} starts at partition {scale.start}, {data_name} at {data.start}: scales lie in the "
            "quadrant of their data, at its partition 0, 4, 8 or 12"
        )


def _quantize_sizes(call: Call) -> Iterator[str]:
    dst, src = call.tensor("dst"), call.tensor("src")
    yield from _partitions("src", src)
    if src.free_elements % _PACK:
        yield f"src has {src.free_elements} elements per partition, must be a multiple of 4"
    elif (dst.partitions, dst.free_elements) != (src.partitions, src.free_elements // _PACK):
        yield (
            f"dst is {describe(dst)}, must be {src.partitions} partitions x {src.free_elements // _PACK} "
            f"elements of {dst.dtype}, a quarter of src's"
        )


def _quantize_scale(call: Call) -> Iterator[str]:
    src = call.tensor("src")
    yield from _scale("dst_scale", call.tensor("dst_scale"), "src", src, src.free_elements // _PACK)


def _matmul_sizes(call: Call) -> Iterator[str]:
    stationary, moving = call.tensor("stationary"), call.tensor("moving")
    yield from _partitions("stationary", stationary)
    if stationary.free_elements % 2:
        yield f"stationary has {stationary.free_elements} free elements, must be even: pad with zeros"
    yield from product_sizes(call, stationary.free_elements, moving.free_elements)


def _matmul_scales(call: Call) -> Iterator[str]:
    for name in ("stationary", "moving"):
        data = call.tensor(name)
        yield from _scale(f"{name}_scale", call.tensor(f"{name}_scale"), name, data, data.free_elements)


def _tiling(call: Call) -> Iterator[str]:
    yield from incomplete_tile(call)
    tile = engine_tile(call)
    if tile is None:
        return
    (row, column), (rows, columns) = tile
    if (column, columns) != (0, 128):
        yield f"column tile of {columns} at {column}: nc_matmul_mx has row tiles only; pass 128 columns at 0"
    if rows not in (32, 64, 128):
        yield f"tile_size rows {rows}, must be one of (32, 64, 128)"
    elif row % rows or not 0 <= row <= 128 - rows:
        yield f"tile_position row {row} must be a multiple of the tile's {rows} rows below 128"
    partitions = call.tensor("stationary").partitions
    if partitions > rows:
        yield f"stationary has {partitions} partitions, the tile {rows} rows"


def _scale_source(name: str) -> Parameter:
    return Parameter(name, ParameterKind.SOURCE, buffers=_SBUF, dtypes=_SCALES, aligned=False)


def _quantize_cycles(call: Call) -> float:
    """Four elements per partition and cycle (Trainium3 architecture guide, MX data-type Quantization)."""
    return max(64, call.tensor("src").free_elements / 4)


def _matmul_cycles(call: Call) -> float:
    """One pass: four times the throughput of bfloat16 (Trainium3 architecture guide)."""
    return pass_cycles(call.tensor("stationary").free_elements, call.tensor("moving").free_elements)


OPERATIONS: Final = (
    Operation(
        "quantize_mx",
        (
            Parameter("dst", ParameterKind.DESTINATION, buffers=_SBUF, dtypes=_RESULTS),
            source("src", _SBUF, _SOURCES),
            Parameter("dst_scale", ParameterKind.UPDATED, buffers=_SBUF, dtypes=_SCALES, aligned=False),
        ),
        engines=("vector",),
        bind=_bind_quantize,
        cycles=_quantize_cycles,
        limits=(
            Limit("quantize-size", _quantize_sizes, f"{_QUANTIZE}, Tile size"),
            Limit("mx-scale", _quantize_scale, _LAYOUT),
        ),
        targets=_V4,
        source="nki.isa.quantize_mx, NKI 0.6; cost in the Trainium3 architecture guide",
        observes=True,
    ),
    Operation(
        "nc_matmul_mx",
        (
            Parameter(
                "dst",
                ParameterKind.ACCUMULATOR,
                buffers=_PSUM,
                dtypes=frozenset({"float32", "bfloat16"}),
            ),
            source("stationary", _SBUF, PACKED),
            source("moving", _SBUF, PACKED),
            _scale_source("stationary_scale"),
            _scale_source("moving_scale"),
            Parameter("tile_position", ParameterKind.INTEGERS, None),
            Parameter("tile_size", ParameterKind.INTEGERS, None),
            # The frontend resolves None while tracing; a program holds True or False.
            Parameter("accumulate", ParameterKind.FLAG, None),
        ),
        engines=("tensor",),
        bind=_bind_matmul,
        cycles=_matmul_cycles,
        limits=(
            Limit("mx-size", _matmul_sizes, f"{_MATMUL}, Tile size"),
            Limit("mx-scale", _matmul_scales, _LAYOUT),
            Limit("mx-tiling", _tiling, f"{_MATMUL}, Tiling Mode"),
        ),
        targets=_V4,
        source="nki.isa.nc_matmul_mx, NKI 0.6; cost in the Trainium3 architecture guide",
    ),
)
