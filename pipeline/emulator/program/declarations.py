"""Validation of what a program declares: tensors, constants, inputs and outputs, access patterns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.errors import ProgramError, show
from pipeline.emulator.program.instructions import AccessPattern, Offset, Program, Tensor
from pipeline.emulator.program.limits import ProgramLimits

__all__ = [
    "MAX_LINE",
    "check_constants",
    "check_interface",
    "check_line",
    "check_patterns",
    "check_tensors",
]

#: No text has more lines.
MAX_LINE: Final = 1 << 30
_BUFFERS: Final = frozenset({"hbm", "shared_hbm", "private_hbm", "sbuf", "psum"})
_HBM: Final = frozenset({"hbm", "shared_hbm", "private_hbm"})
_MAX_RANK: Final = 16
_MAX_NAME: Final = 1024
_MAX_STRIDE: Final = 1 << 40  # also where a dimension of one element makes it idle
_MAX_ADDRESS: Final = 1 << 24  # bytes; beyond every on-chip memory, so that a rule can name the real limit
_MAX_OFFSETS: Final = 4
#: Offsets that an index tensor supplies; a pattern has one of them at most, as the hardware has.
_INDEXED: Final = frozenset({"scalar", "vector", "indirect"})
_OFFSETS: Final = _INDEXED | {"register"}


def check_line(where: str, line: int) -> None:
    """Refuse a line number that no text has.

    Raises:
        ProgramError: If it is negative or beyond 2**30.
    """
    if not 0 <= line <= MAX_LINE:
        raise ProgramError("line", f"{where}: line {line}")


def check_tensors(program: Program, limits: ProgramLimits) -> list[int]:
    """Check the tensor declarations and return the bytes of each.

    Raises:
        ProgramError: At the first that is not well formed.
    """
    sizes: list[int] = []
    total = 0
    for index, tensor in enumerate(program.tensors):
        where = f"tensor {index}"
        size = _check_tensor(where, tensor, limits)
        _check_place(where, tensor, program.cores)
        sizes.append(size)
        if tensor.buffer in _HBM:
            total += size
    if total > limits.total_bytes:
        raise ProgramError("total_bytes", f"{total} bytes of HBM tensors, limit {limits.total_bytes}")
    return sizes


def _check_tensor(where: str, tensor: Tensor, limits: ProgramLimits) -> int:
    if len(tensor.name) > _MAX_NAME:
        raise ProgramError("tensor_name", f"{where}: name of {len(tensor.name)} characters")
    if tensor.dtype not in DTYPES:
        raise ProgramError("tensor_dtype", f"{where}: dtype {show(tensor.dtype)} is unknown")
    if tensor.buffer not in _BUFFERS:
        raise ProgramError("tensor_buffer", f"{where}: buffer {show(tensor.buffer)} is unknown")
    if not 1 <= len(tensor.shape) <= _MAX_RANK:
        raise ProgramError(
            "tensor_shape", f"{where}: {len(tensor.shape)} dimensions, must be 1 to {_MAX_RANK}"
        )
    check_line(where, tensor.line)
    elements = 1
    for size in tensor.shape:
        if size < 1:
            raise ProgramError("tensor_shape", f"{where}: dimension of {size} elements, must be positive")
        elements *= size
        if elements > limits.tensor_elements:
            raise ProgramError("tensor_elements", f"{where}: more than {limits.tensor_elements} elements")
    return elements * DTYPES[tensor.dtype].itemsize


def _check_place(where: str, tensor: Tensor, cores: int) -> None:
    if tensor.address is not None:
        if tensor.buffer in _HBM:
            raise ProgramError("tensor_address", f"{where}: HBM tensors have no address of their own")
        if any(not 0 <= part <= _MAX_ADDRESS for part in tensor.address):
            raise ProgramError("tensor_address", f"{where}: address {show(tensor.address)}")
    if not -1 <= tensor.core < cores:
        raise ProgramError("tensor_core", f"{where}: core {tensor.core} of {cores}")
    if tensor.core < 0 and tensor.buffer not in _HBM:
        raise ProgramError("tensor_core", f"{where}: an on-chip tensor belongs to one core")


def check_constants(program: Program, sizes: list[int]) -> None:
    """Check the contents that tensors start with.

    Raises:
        ProgramError: At the first that does not fit its tensor.
    """
    seen = set(program.inputs)
    for index, constant in enumerate(program.constants):
        where = f"constant {index}"
        if not 0 <= constant.tensor < len(sizes) or constant.tensor in seen:
            raise ProgramError("constant_tensor", f"{where}: tensor {constant.tensor}")
        seen.add(constant.tensor)
        if program.tensors[constant.tensor].buffer not in _HBM:
            raise ProgramError("constant_tensor", f"{where}: its tensor does not lie in HBM")
        if len(constant.data) != sizes[constant.tensor]:
            raise ProgramError(
                "constant_bytes",
                f"{where}: {len(constant.data)} bytes, its tensor has {sizes[constant.tensor]}",
            )


def check_interface(program: Program) -> None:
    """Check which tensors are inputs and outputs.

    Raises:
        ProgramError: If one does not exist, is named twice, or cannot be an input.
    """
    for rule, indices in (("inputs", program.inputs), ("outputs", program.outputs)):
        for index in indices:
            if not 0 <= index < len(program.tensors):
                raise ProgramError(rule, f"tensor {index} of {rule} does not exist")
            if rule == "inputs" and program.cores > 1 and program.tensors[index].core >= 0:
                raise ProgramError(rule, f"input {index} belongs to one core")
        if len(set(indices)) != len(indices):
            raise ProgramError(rule, f"{rule} name a tensor twice")
    for index in program.inputs:
        if program.tensors[index].buffer not in _HBM:
            raise ProgramError("inputs", f"input {index} does not lie in HBM")


def check_patterns(program: Program, sizes: list[int], limits: ProgramLimits) -> list[int]:
    """Check the access patterns and return how many elements each touches.

    Raises:
        ProgramError: At the first that is not well formed or leaves its tensor.
    """
    return [
        _check_pattern(index, pattern, program, sizes, limits.tensor_elements)
        for index, pattern in enumerate(program.patterns)
    ]


def _check_pattern(index: int, pattern: AccessPattern, program: Program, sizes: list[int], most: int) -> int:
    if not 0 <= pattern.tensor < len(sizes):
        raise _malformed("pattern_tensor", index, f"tensor {pattern.tensor} does not exist")
    if pattern.dtype not in DTYPES:
        raise _malformed("pattern_dtype", index, f"dtype {show(pattern.dtype)} is unknown")
    if len(pattern.dims) > _MAX_RANK:
        raise _malformed("pattern_rank", index, f"{len(pattern.dims)} dimensions, limit {_MAX_RANK}")
    low = high = pattern.offset
    elements = 1
    for stride, count in pattern.dims:
        if count < 1:
            raise _malformed("pattern_count", index, f"dimension of {count} elements, must be positive")
        if not -_MAX_STRIDE <= stride <= _MAX_STRIDE:
            raise _malformed("pattern_stride", index, f"stride beyond {_MAX_STRIDE} elements")
        elements *= count
        if elements > most:
            raise _malformed("pattern_elements", index, f"more than {most} elements")
        reach = stride * (count - 1)
        if reach < 0:
            low += reach
        else:
            high += reach
    if pattern.offsets:
        _check_offsets(index, pattern, program)
        return elements  # the machine checks the address, which only it knows
    capacity = sizes[pattern.tensor] // DTYPES[pattern.dtype].itemsize
    if low < 0 or high >= capacity:
        raise _malformed(
            "pattern_bounds",
            index,
            f"elements {low} to {high} of tensor {pattern.tensor}, which holds {capacity}",
        )
    return elements


def _malformed(rule: str, pattern: int, message: str) -> ProgramError:
    return ProgramError(rule, f"pattern {pattern}: {message}")


def _check_offsets(index: int, pattern: AccessPattern, program: Program) -> None:
    if len(pattern.offsets) > _MAX_OFFSETS:
        raise _malformed("pattern_offsets", index, f"{len(pattern.offsets)} run-time offsets")
    if abs(pattern.offset) > _MAX_STRIDE:
        raise _malformed("pattern_stride", index, f"offset beyond {_MAX_STRIDE} elements")
    if sum(offset.kind in _INDEXED for offset in pattern.offsets) > 1:
        raise _malformed("pattern_offsets", index, "more than one index tensor")
    for offset in pattern.offsets:
        if offset.kind not in _OFFSETS:
            raise _malformed("pattern_offsets", index, f"run-time offset {show(offset.kind)}")
        if abs(offset.stride) > _MAX_STRIDE:
            raise _malformed("pattern_stride", index, f"stride beyond {_MAX_STRIDE} elements")
        if offset.kind == "register":
            if not 0 <= offset.source < program.registers:
                raise _malformed("register", index, f"register {offset.source} does not exist")
        else:
            _check_index_tensor(index, offset, pattern, program.patterns)


def _check_index_tensor(
    index: int, offset: Offset, pattern: AccessPattern, patterns: tuple[AccessPattern, ...]
) -> None:
    # An earlier, static pattern, so that addresses never depend on themselves.
    if not 0 <= offset.source < index or patterns[offset.source].offsets:
        raise _malformed("pattern_offsets", index, f"index pattern {offset.source}")
    source = patterns[offset.source]
    if DTYPES[source.dtype].is_float:
        raise _malformed("pattern_offsets", index, f"indices of dtype {source.dtype}")
    available = _product(count for _, count in source.dims)
    dims = pattern.dims or ((1, 1),)
    # Tensor indirection takes its indices per group of partitions; the machine knows how many those are.
    needed = {"scalar": 1, "vector": dims[0][1], "indirect": 1}[offset.kind]
    if available < needed or (offset.kind == "scalar" and available != 1):
        raise _malformed("pattern_offsets", index, f"{available} indices for {needed} positions")


def _product(sizes: Iterable[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result
