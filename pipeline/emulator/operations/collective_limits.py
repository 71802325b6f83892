"""Parameters and limits that the operations of `nki.collectives` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import destination, operator, source
from pipeline.emulator.operations.call import Call
from pipeline.emulator.operations.conversion import Array, writer
from pipeline.emulator.operations.groups import malformed_group
from pipeline.emulator.operations.table import Fidelity, Limit, Parameter, ParameterKind, Severity

__all__ = [
    "ANYWHERE",
    "CHANNEL",
    "CHANNEL_NUMBER",
    "DESTINATION",
    "DOCSTRING",
    "FIRST_DIMENSION",
    "GROUP",
    "GROUP_SHAPE",
    "HBM",
    "INTEGER_SUM",
    "ONE_DTYPE",
    "ONE_MEMORY",
    "PRIORITY",
    "PRIORITY_LEVEL",
    "REDUCTION",
    "SBUF_TILE",
    "SOURCE",
    "moved_fidelity",
    "mover",
    "reduced_fidelity",
]

ANYWHERE: Final = frozenset({"hbm", "sbuf"})
HBM: Final = frozenset({"hbm"})
DOCSTRING: Final = "nki.collectives docstrings, NKI 0.6 (facts/nki.md section 4.5)"

SOURCE: Final = source("src", ANYWHERE)
DESTINATION: Final = destination("dst", ANYWHERE)
GROUP: Final = Parameter("replica_group", ParameterKind.INTEGERS)
REDUCTION: Final = operator("op", frozenset({"add", "minimum", "maximum"}))
CHANNEL: Final = Parameter("channel", ParameterKind.INTEGERS, 0)
PRIORITY: Final = Parameter("priority", ParameterKind.INTEGERS, None, since="0.4")

_MAX_CHANNELS: Final = 4
_LOWEST_PRIORITY: Final = 3


def mover(call: Call, name: str = "src") -> Callable[[Array, Array], None]:
    """Return a function that writes an array of the type of the tensor `name` into ``dst``.

    Equal types move bit for bit, others through float32.
    """
    received = call.tensor("dst").dtype
    if DTYPES[received].storage == DTYPES[call.tensor(name).dtype].storage:
        return _store
    write = writer(received)
    return lambda destination, values: write(destination, values.astype("float32"))


def _store(destination: Array, values: Any) -> None:
    destination[...] = values.reshape(destination.shape)


def moved_fidelity(call: Call) -> Fidelity:
    """Return how far moved values can be trusted: whether a collective converts types is undocumented."""
    return Fidelity.EXACT if call.tensor("src").dtype == call.tensor("dst").dtype else Fidelity.UNMODELLED


def reduced_fidelity(call: Call) -> Fidelity:
    """Return how far reduced values can be trusted: the order of a sum over ranks is undocumented."""
    tensors = [operand for operand in call.operands if operand is not None]
    if len({operand.dtype for operand in tensors}) > 1:
        return Fidelity.UNMODELLED
    exact = call.scalar("op") != "add" and DTYPES[tensors[0].dtype].is_float
    return Fidelity.EXACT if exact else Fidelity.APPROXIMATE


def _one_memory(call: Call) -> Iterator[str]:
    dst = call.tensor("dst")
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if parameter.name.startswith("src") and operand is not None and operand.memory != dst.memory:
            yield (
                f"{parameter.name} lies in {operand.memory.upper()}, dst in {dst.memory.upper()}: all "
                "tensors of a collective must lie in HBM, or all in SBUF"
            )


def _sbuf_tile(call: Call) -> Iterator[str]:
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is not None and operand.memory == "sbuf" and len(operand.shape) != 2:
            yield (
                f"{parameter.name} has shape {list(operand.shape)}: collectives on SBUF take two-dimensional "
                "tiles, one partition and one free dimension; flatten the free dimensions"
            )


def _one_dtype(call: Call) -> Iterator[str]:
    dst = call.tensor("dst")
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if parameter.name.startswith("src") and operand is not None and operand.dtype != dst.dtype:
            yield (
                f"{parameter.name} is {operand.dtype}, dst is {dst.dtype}: that a collective converts types "
                "is not documented; convert before or after it"
            )


def _first_dimension(call: Call) -> Iterator[str]:
    if call.scalar("collective_dim") != 0:
        yield f"collective_dim={str(call.scalar('collective_dim'))[:60]}: only 0 is supported"


def _priority(call: Call) -> Iterator[str]:
    priority = call.scalar("priority")
    if priority is None:
        return
    if call.target.name != "trn3":
        yield f"priority exists from NeuronCore-v4 on, not on {call.target.name}: leave it out"
    elif not isinstance(priority, int) or not 0 <= priority <= _LOWEST_PRIORITY:
        yield f"priority={str(priority)[:60]}, must be 0 (highest) to {_LOWEST_PRIORITY}"


def _channel(call: Call) -> Iterator[str]:
    name = "channel" if "channel" in call.operation.scalar_slots else "channel_id"
    channel = call.scalar(name)
    if not isinstance(channel, int) or not 0 <= channel < _MAX_CHANNELS:
        yield (
            f"{name}={str(channel)[:60]}: there are {_MAX_CHANNELS} channels at most, 0 to "
            f"{_MAX_CHANNELS - 1} (2 where the group is not all devices of a node)"
        )


def _integer_sum(call: Call) -> Iterator[str]:
    dtype = call.operands[0].dtype if call.operands[0] is not None else ""
    if call.scalar("op") == "add" and dtype in ("int32", "uint32"):
        yield (
            f"adds {dtype}: collectives add in float32, inexact above 2**24, and neuronx-cc refuses integer "
            "reductions unless --implicit-integer-downcast allows them; convert to float32"
        )


GROUP_SHAPE: Final = Limit("collective-group", malformed_group, DOCSTRING)
ONE_MEMORY: Final = Limit("collective-memory", _one_memory, DOCSTRING)
SBUF_TILE: Final = Limit(
    "collective-tile", _sbuf_tile, "nki.collectives.all_gather docstring, collective_dim"
)
FIRST_DIMENSION: Final = Limit("collective-dimension", _first_dimension, DOCSTRING)
PRIORITY_LEVEL: Final = Limit("collective-priority", _priority, DOCSTRING)
CHANNEL_NUMBER: Final = Limit(
    "collective-channel", _channel, "nki.collectives.collective_permute_implicit docstring, Channels"
)
ONE_DTYPE: Final = Limit(
    "collective-dtype",
    _one_dtype,
    "nki.collectives docstrings say nothing of conversion",
    severity=Severity.WARNING,
)
INTEGER_SUM: Final = Limit(
    "collective-integers",
    _integer_sum,
    "neuronx-cc errors EVRF061 and EVRF063, which name XLA's collectives",
    severity=Severity.WARNING,
)
