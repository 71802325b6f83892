"""Which operation takes which run-time address: rules that hold for every call.

A tensor argument may carry offsets that only run time knows (`Operand.dynamic`): a register or a one-element
tensor moves the whole view, a vector supplies one row per partition, and tensor indirection (``.indirect``)
one column per index. Sources: the docstrings of `NkiTensor.ap`, `select`, `vector_select` and `indirect`, the
paragraphs Indirect addressing and Tensor indirection of `nki.isa`, nki-dge.rst and nki-aps.rst, all NKI 0.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from pipeline.emulator.operations.call import Call, Operand
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.table import ALL_TARGETS, Limit, Severity

__all__ = ["DYNAMIC_ACCESS", "indirection_group"]

_INDEX_DTYPES: Final = frozenset({"int32", "uint32"})
_QUADRANT: Final = 32  # partitions; where an index tensor may start
_ON_TENSOR_ENGINE: Final = frozenset({"float16", "bfloat16", "float8_e4m3", "float8_e5m2", "float8_e4m3fn"})

#: Arguments that take a vector offset.
_VECTOR: Final = {
    "dma_copy": frozenset({"dst", "src"}),
    "dma_transpose": frozenset({"src"}),
    "dma_compute": frozenset({"dst", "srcs"}),
}


@dataclass(frozen=True, slots=True)
class _Indirection:
    """What one operation allows of tensor indirection.

    Attributes:
        arguments: Those that take it.
        engines: On which it runs then.
        leader: The argument with whose partitions the index of `dst` must start.
    """

    arguments: frozenset[str]
    engines: frozenset[str]
    leader: str


def _indirection(engines: str, *arguments: str) -> _Indirection:
    """Return an entry: `dst` and `arguments` take it, of which the first leads."""
    return _Indirection(frozenset({"dst", *arguments}), frozenset(engines.split()), arguments[0])


_INDIRECT: Final = {
    "tensor_copy": _indirection("vector scalar", "src"),
    "tensor_copy_predicated": _indirection("vector", "predicate"),
    "tensor_tensor": _indirection("vector gpsimd", "data1"),
    "tensor_scalar": _indirection("vector scalar gpsimd", "data"),
    "tensor_reduce": _indirection("vector", "data"),
    "tensor_scalar_cumulative": _indirection("vector", "src"),
    "tensor_scalar_reduce": _indirection("vector", "data"),
    "exponential": _indirection("vector", "src"),
    "activation": _indirection("scalar", "data"),
    "activation_reduce": _indirection("scalar", "data"),
    "activate2": _indirection("scalar", "data"),
    "nc_matmul": _indirection("tensor", "stationary", "moving"),
    "nc_matmul_mx": _indirection("tensor", "stationary", "stationary_scale", "moving", "moving_scale"),
}


class _Access(NamedTuple):
    """One run-time offset of one argument; a register has no index tensor."""

    name: str
    kind: str
    operand: Operand
    source: Operand | None


def _using(call: Call, *kinds: str) -> Iterator[_Access]:
    """Yield the run-time offsets of the given kinds."""
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is not None and operand.dynamic:
            for kind, index in zip(operand.dynamic, operand.indices, strict=True):
                if kind in kinds:
                    yield _Access(parameter.name, kind, operand, index)


def _queue(call: Call) -> object:
    """Return the ``dge_mode`` of a DMA that has one, else None."""
    return call.scalar("dge_mode") if "dge_mode" in call.operation.scalar_slots else None


def _vector_operation(call: Call) -> Iterator[str]:
    allowed = _VECTOR.get(call.operation.name, frozenset())
    takes = f"only {' and '.join(sorted(allowed))} may" if allowed else "only DMA takes one"
    for access in _using(call, "vector"):
        if access.name.partition("[")[0] not in allowed:
            yield f"{access.name} has a vector offset, {takes}: gather its rows with nisa.dma_copy first"


def _vector_memory(call: Call) -> Iterator[str]:
    for access in _using(call, "vector"):
        if access.operand.memory != "hbm":
            yield (
                f"{access.name} has a vector offset and lies in {access.operand.memory.upper()}, must lie in "
                "HBM: within SBUF use nisa.nc_n_gather or nisa.local_gather"
            )


def _vector_queue(call: Call) -> Iterator[str]:
    queue = _queue(call)
    if queue in ("none", "hwdge"):
        for access in _using(call, "vector"):
            yield f"dge_mode={queue} cannot follow the vector offset of {access.name}: use unknown or swdge"


def _vector_target(call: Call) -> Iterator[str]:
    for access in _using(call, "vector"):
        yield f"the vector offset of {access.name} is documented from NeuronCore-v3 on only"


def _run_time_queue(call: Call) -> Iterator[str]:
    if _queue(call) == "none":
        for access in _using(call, "scalar", "register"):
            yield (
                f"dge_mode=none fixes addresses before the run and may not know the {access.kind} offset of "
                f"{access.name}: use unknown"
            )


def _index_tensor(call: Call) -> Iterator[str]:
    for access in _using(call, "scalar", "vector"):
        which, index = f"the {access.kind} offset of {access.name}", access.source
        if index is None:
            continue
        if index.memory != "sbuf":
            yield f"{which} lies in {index.memory.upper()}: copy it to SBUF first"
        if index.dtype not in _INDEX_DTYPES:
            yield f"{which} is {index.dtype}, must be int32 or uint32"
        # A gathering transpose takes several columns of indices; its own rule knows which.
        columns = index.free_elements if call.operation.name != "dma_transpose" else 1
        if access.kind == "vector" and columns != 1:
            yield f"{which} is {describe(index)}, must be one index per partition: slice one column"


def _combination(call: Call) -> Iterator[str]:
    for access in _using(call, "scalar", "vector", "indirect"):
        if len(access.operand.dynamic) > 1:
            yield (
                f"{access.name} has {' and '.join(access.operand.dynamic)} offsets: a view takes one "
                "run-time index only; copy part of it first"
            )


def _indirection_target(call: Call) -> Iterator[str]:
    for access in _using(call, "indirect"):
        yield f"{access.name} uses .indirect, which NeuronCore-v4 was first to have: gather with nc_n_gather"


def _indirection_version(call: Call) -> Iterator[str]:
    for access in _using(call, "indirect"):
        yield f"{access.name} uses .indirect, which exists since NKI 0.5: gather with nisa.nc_n_gather"


def _indirection_operation(call: Call) -> Iterator[str]:
    entry = _INDIRECT.get(call.operation.name)
    for access in _using(call, "indirect"):
        if entry is None:
            yield f"{access.name} uses .indirect, which this operation lacks: use nisa.tensor_copy first"
        elif access.name not in entry.arguments:
            yield f"{access.name} uses .indirect, which only {', '.join(sorted(entry.arguments))} may"


def _indirection_engine(call: Call) -> Iterator[str]:
    entry = _INDIRECT.get(call.operation.name)
    for access in _using(call, "indirect"):
        if entry is not None and call.engine not in entry.engines:
            engines = " or ".join(sorted(entry.engines))
            yield f"{access.name} uses .indirect, which runs on {engines}, not on {call.engine}"
        if (access.name, call.engine, access.operand.memory) == ("dst", "scalar", "psum"):
            yield "the scalar engine cannot scatter into PSUM: put dst in SBUF or use the vector engine"


def _indirection_start(call: Call) -> Iterator[str]:
    entry = _INDIRECT.get(call.operation.name)
    for name, _, operand, index in _using(call, "indirect"):
        if index is None:
            continue
        which = f"the index of {name}"
        if index.memory != "sbuf" or index.partitions != operand.partitions:
            yield f"{which} is {describe(index)}, must be in SBUF with {operand.partitions} partitions"
        if index.start % _QUADRANT:
            yield f"{which} starts at partition {index.start}, must start at a multiple of {_QUADRANT}"
        if name != "dst" and operand.start != index.start:
            yield f"{which} starts at partition {index.start}, {name} at {operand.start}: align them"
        if name == "dst" and entry is not None:
            expected = _leading_start(call, entry.leader)
            if expected not in (None, index.start):
                yield f"{which} starts at partition {index.start}, {entry.leader} at {expected}: align them"


def indirection_group(engine: str) -> int:
    """Return how many partitions share one list of indices: `NkiTensor.indirect` docstring."""
    return 32 if engine == "tensor" else 16


def _indirection_count(call: Call) -> Iterator[str]:
    group = indirection_group(call.engine)
    for name, _, operand, index in _using(call, "indirect"):
        if index is None:
            continue
        if len(operand.shape) != 2:
            yield f"{name} uses .indirect and has {len(operand.shape)} dimensions, must have 2: reshape it"
            continue
        rows = operand.partitions
        fewest = rows % group or min(rows, group)
        if operand.free_elements > fewest * index.free_elements:
            yield (
                f"{name} names {operand.free_elements} columns, the index of {fewest} partitions "
                f"{describe(index)} holds {fewest * index.free_elements}: pass num_elem="
                f"{fewest * index.free_elements} or less, or more indices"
            )


def _leading_start(call: Call, leader: str) -> int | None:
    """Return where the index of `dst` must start: where the leader does or, that being in PSUM, its index."""
    operand = call.operand(leader)
    if operand is None:
        return None
    if operand.memory != "psum":
        return operand.start
    return next((index.start for index in operand.indices if index is not None), None)


def _indirection_matmul(call: Call) -> Iterator[str]:
    used = {access.name: access.operand for access in _using(call, "indirect")}
    if not used or not call.operation.name.startswith("nc_matmul"):
        return
    if call.scalar("tile_position") not in (None, (), (0, 0)):
        yield f"tile_position={call.scalar('tile_position')} with .indirect, must be (0, 0)"
    if call.operation.name == "nc_matmul":
        for name in sorted({"stationary", "moving"} & used.keys()):
            if used[name].dtype not in _ON_TENSOR_ENGINE:
                allowed = ", ".join(sorted(_ON_TENSOR_ENGINE))
                yield f"{name} uses .indirect and is {used[name].dtype}, must be one of {allowed}"
        if call.scalar("is_transpose") and "moving" in used:
            yield "moving uses .indirect with is_transpose=True: gather it with nisa.tensor_copy first"
        return
    for name in ("stationary", "moving"):
        if (name in used) != (f"{name}_scale" in used):
            yield f"{name} and {name}_scale must both use .indirect, with the same index, or neither"


def _indirection_integers(call: Call) -> Iterator[str]:
    if call.operation.name == "tensor_scalar" and any(_using(call, "indirect")):
        dtypes = {call.tensor("dst").dtype, call.tensor("data").dtype}
        if dtypes <= _INDEX_DTYPES:
            yield f"dst and data are {' and '.join(sorted(dtypes))}: address arithmetic has no .indirect"


def _limit(
    rule: str,
    check: Callable[[Call], Iterator[str]],
    source: str,
    *targets: str,
    severity: Severity = Severity.ERROR,
) -> Limit:
    return Limit(rule, check, f"{source}, NKI 0.6", frozenset(targets) or ALL_TARGETS, severity)


_TENSOR_INDIRECTION: Final = "nki.isa docstrings, Tensor indirection"

#: Limits on run-time addresses, for every operation.
DYNAMIC_ACCESS: Final = (
    _limit(
        "vector-offset-operation",
        _vector_operation,
        "nki.isa.dma_copy, dma_transpose, dma_compute docstrings",
    ),
    _limit("vector-offset-memory", _vector_memory, "nki.isa.dma_copy docstring; NkiTensor.vector_select"),
    _limit("vector-offset-queue", _vector_queue, "nki-dge.rst, How .ap() affects DGE mode"),
    _limit("vector-offset-target", _vector_target, "nki-dge.rst, summary", "trn1", severity=Severity.WARNING),
    # nki-dge.rst contradicts itself: its table allows any mode, its text says that none cannot.
    _limit("run-time-queue", _run_time_queue, "nki-dge.rst", severity=Severity.WARNING),
    _limit("run-time-index", _index_tensor, "nki.isa.dma_copy docstring; nki-aps.rst, Dynamic Access"),
    _limit("run-time-combination", _combination, "NkiTensor.select, vector_select and ap docstrings"),
    _limit("indirection-target", _indirection_target, "NkiTensor.indirect docstring", "trn1", "trn2"),
    Limit("indirection-version", _indirection_version, "NKI 0.5.0 release notes", until="0.5"),
    _limit("indirection-operation", _indirection_operation, _TENSOR_INDIRECTION),
    _limit("indirection-engine", _indirection_engine, _TENSOR_INDIRECTION),
    _limit("indirection-start", _indirection_start, f"{_TENSOR_INDIRECTION}; NkiTensor.indirect docstring"),
    _limit("indirection-count", _indirection_count, "NkiTensor.indirect docstring"),
    _limit("indirection-matmul", _indirection_matmul, "nki.isa.nc_matmul, nc_matmul_mx, Tensor indirection"),
    _limit("indirection-integers", _indirection_integers, "nki.isa.tensor_scalar, Tensor indirection"),
)
