"""The vector engine, element by element: arithmetic between tiles, with columns and with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import (
    ENGINE,
    INTEGERS,
    destination,
    flag,
    operand,
    operator,
    source,
)
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import (
    FLOAT32,
    Array,
    bit_pattern,
    broadcast_operand,
    loader,
    writer,
)
from pipeline.emulator.operations.limits import BITVEC_ON_INTEGERS, agree, column, not_both_psum
from pipeline.emulator.operations.operators import OPERATORS, operators_where
from pipeline.emulator.operations.table import Fidelity, Limit, Operation

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["OPERAND_TYPES", "OPERATIONS", "bind_step", "operator_fidelity"]

_BINARY: Final = operators_where("arithmetic", "bitvec", binary=True)
_ANY: Final = operators_where("arithmetic", "bitvec", "unary")
_ARITHMETIC: Final = operators_where("arithmetic")
_ARITHMETIC_OR_UNARY: Final = operators_where("arithmetic", "unary")
_WIDE_INTEGERS: Final = frozenset({"int32", "uint32"})
_WORD_BYTES: Final = 4
#: Operators whose rounding on the device is not published.
_APPROXIMATED: Final = frozenset({"power", "rsqrt", "reciprocal"})


def _bind_tensor_tensor(call: Call) -> Kernel:
    """``dst = data1 op data2``: float32 arithmetic, native integers on gpsimd, bit patterns for bitvec."""
    dst, first, second = call.tensor("dst"), call.tensor("data1"), call.tensor("data2")
    chosen = OPERATORS[str(call.scalar("op"))]
    function = chosen.function
    write: Any = writer(dst.dtype)
    dtypes = {dst.dtype, first.dtype, second.dtype}
    native = call.engine == "gpsimd" and all(map(_is_word, dtypes)) and chosen.name != "power"
    if function is None:
        raise KeyError(chosen.name)
    if chosen.family == "bitvec" or native:

        def integers(registers: object, dst: Array, data1: Array, data2: Array) -> None:
            dst[...] = function(data1.reshape(dst.shape), data2.reshape(dst.shape))

        return integers
    in_place = chosen.is_ufunc and all(
        DTYPES[x.dtype].storage == FLOAT32 and x.shape == dst.shape for x in (dst, first, second)
    )
    if in_place:

        def direct(registers: object, dst: Array, data1: Array, data2: Array) -> None:
            function(data1, data2, out=dst)

        return direct
    load_first, load_second = loader(first, dst.shape), loader(second, dst.shape)

    def converted(registers: object, dst: Array, data1: Array, data2: Array) -> None:
        write(dst, function(load_first(data1), load_second(data2)))

    return converted


def _is_word(dtype: str) -> bool:
    kind = DTYPES[dtype]
    return kind.kind in ("int", "uint") and kind.itemsize == _WORD_BYTES


def _choose_tensor_tensor_engine(
    dtypes: Sequence[str | None], memories: Sequence[str | None], scalars: Sequence[Scalar]
) -> str:
    """Gpsimd for power and for all-32-bit-integer arithmetic out of PSUM's way, else vector."""
    op = scalars[0]
    if op == "power":
        return "gpsimd"
    bitvec = isinstance(op, str) and op in OPERATORS and OPERATORS[op].family == "bitvec"
    integers = all(dtype in _WIDE_INTEGERS for dtype in dtypes)
    return "gpsimd" if integers and not bitvec and "psum" not in memories else "vector"


def _power_engine(call: Call) -> Iterator[str]:
    if call.scalar("op") == "power" and call.engine != "gpsimd":
        yield f"op=power runs on the gpsimd engine, not on {call.engine}"


def _tensor_tensor_cycles(call: Call) -> float:
    """N with one input in PSUM, with all-bf16 add/multiply/subtract, and (trn2 on) always; else 2N.

    That trn2 reads two float32 SBUF tiles at full rate is measured (facts/timeline_findings.md).
    """
    first, second, dst = call.tensor("data1"), call.tensor("data2"), call.tensor("dst")
    split = {first.memory, second.memory} == {"sbuf", "psum"}
    fast = {first.dtype, second.dtype, dst.dtype} == {"bfloat16"} and call.scalar("op") in (
        "add",
        "multiply",
        "subtract",
    )
    single = split or fast or call.target.name != "trn1"
    return max(64, dst.free_elements * (1 if single else 2))


def operator_fidelity(call: Call) -> Fidelity:
    """Return how far the values of an instruction of the vector or gpsimd engine can be trusted.

    How bit patterns of different widths meet is not documented: "without any data type casting".
    """
    operators = [OPERATORS[name] for name in call.scalars if isinstance(name, str) and name in OPERATORS]
    widths = {DTYPES[operand.dtype].itemsize for operand in call.operands if operand is not None}
    if len(widths) > 1 and any(operator.family == "bitvec" for operator in operators):
        return Fidelity.UNMODELLED
    return Fidelity.EXACT if _APPROXIMATED.isdisjoint(call.scalars) else Fidelity.APPROXIMATE


def _is_bitvec(call: Call, name: str) -> bool:
    return OPERATORS[str(call.scalar(name))].family == "bitvec"


def bind_step(
    call: Call, op: str, name: str, reverse: str | None, shape: tuple[int, ...], storage: np.dtype[Any]
) -> Any:
    """Return ``f(values, operand_array)`` that applies one operator with its scalar operand.

    Args:
        call: The instruction.
        op: The operator's name.
        name: The operand's parameter.
        reverse: The parameter that swaps the two, None where there is none.
        shape: Shape of ``values``.
        storage: Their type if the operator sees bit patterns; arithmetic sees float32.
    """
    chosen = OPERATORS[op]
    function: Any = chosen.function
    if function is None:
        raise KeyError(op)
    if chosen.operands == 1:
        return lambda values, _: function(values)
    tile, number = call.operand(name), call.scalar(name)
    get: Callable[[Array | None], Any]
    if chosen.family != "bitvec":
        get = broadcast_operand(tile, number, shape, call.precision)
    elif tile is None:
        constant = bit_pattern(int(number) if isinstance(number, int | float) else 0, storage)
        get = lambda _: constant  # noqa: E731
    else:
        column_shape = (tile.partitions, *(1 for _ in shape[1:]))
        get = lambda array: np.asarray(array).reshape(column_shape)  # noqa: E731
    if reverse is not None and call.scalar(reverse):
        return lambda values, array: function(get(array), values)
    return lambda values, array: function(values, get(array))


def _bind_tensor_scalar(call: Call) -> Kernel:
    """``dst = (data op0 operand0) op1 operand1`` in float32, or on bit patterns."""
    dst, data = call.tensor("dst"), call.tensor("data")
    op0, op1 = str(call.scalar("op0")), call.scalar("op1")
    storage = DTYPES[data.dtype].storage
    first = bind_step(call, op0, "operand0", "reverse0", dst.shape, storage)
    second = None
    if op1 is not None:
        second = bind_step(call, str(op1), "operand1", "reverse1", dst.shape, storage)
    if OPERATORS[op0].family == "bitvec":

        def bits(
            registers: object, dst: Array, data: Array, operand0: Array | None, operand1: Array | None
        ) -> None:
            value = first(data.reshape(dst.shape), operand0)
            # A tile of other signedness makes NumPy widen the pattern, which the next operator must not see.
            dst[...] = value if second is None else second(value.astype(storage, copy=False), operand1)

        return bits
    load, write, precision = loader(data, dst.shape), writer(dst.dtype), call.precision
    if second is None:

        def one(
            registers: object, dst: Array, data: Array, operand0: Array | None, operand1: Array | None
        ) -> None:
            write(dst, first(load(data), operand0))

        return one

    def two(
        registers: object, dst: Array, data: Array, operand0: Array | None, operand1: Array | None
    ) -> None:
        value = first(load(data), operand0)
        # A comparison yields Booleans; the engine passes 1.0 or 0.0 on.
        write(dst, second(value.astype(precision, copy=False), operand1))

    return two


def _bind_scalar_tensor_tensor(call: Call) -> Kernel:
    dst, data, tile = call.tensor("dst"), call.tensor("data"), call.tensor("operand1")
    op0 = str(call.scalar("op0"))
    first = bind_step(call, op0, "operand0", "reverse0", dst.shape, FLOAT32)
    function: Any = OPERATORS[str(call.scalar("op1"))].function
    reverse = bool(call.scalar("reverse1"))
    load_data, load_tile, write = loader(data, dst.shape), loader(tile, dst.shape), writer(dst.dtype)
    precision = call.precision

    def run(registers: object, dst: Array, data: Array, operand0: Array | None, operand1: Array) -> None:
        value = first(load_data(data), operand0).astype(precision, copy=False)
        other = load_tile(operand1)
        write(dst, function(other, value) if reverse else function(value, other))

    return run


def _choose_tensor_scalar_engine(
    dtypes: Sequence[str | None], memories: Sequence[str | None], scalars: Sequence[Scalar]
) -> str:
    uses_rsqrt = "rsqrt" in (scalars[0], scalars[3])
    return "gpsimd" if uses_rsqrt else "vector"


def _operator_families(call: Call) -> Iterator[str]:
    op0, op1 = call.scalar("op0"), call.scalar("op1")
    if op1 is not None and _is_bitvec(call, "op0") != _is_bitvec(call, "op1"):
        yield f"op0={op0} and op1={op1} must both be bitvec or both arithmetic: use two instructions"


def _operand_types(call: Call) -> Iterator[str]:
    for op, name in (("op0", "operand0"), ("op1", "operand1")):
        if op not in call.operation.scalar_slots or call.scalar(op) is None:
            continue
        tile, number = call.operand(name), call.scalar(name)
        chosen = OPERATORS[str(call.scalar(op))]
        if tile is not None:
            allowed = INTEGERS if chosen.family == "bitvec" else {"float32"}
            if tile.dtype not in allowed:
                wanted = "an integer type" if chosen.family == "bitvec" else "float32"
                yield f"{name} is a {tile.dtype} tile, must be {wanted} for {op}={chosen.name}: convert it"
        elif chosen.operands == 2 and not isinstance(number, int | float):
            yield f"{op}={chosen.name} needs {name}: a number or a (P, 1) tile"
        elif chosen.operands == 1 and number not in (None, 0):
            yield f"{name} is {number!r}, but {op}={chosen.name} takes one input: pass {name}=None"
        elif chosen.family == "bitvec" and isinstance(number, float):
            yield f"{name} is {number!r}, must be an int for {op}={chosen.name}"


def _unused_operand(call: Call) -> Iterator[str]:
    has_operand = call.operand("operand1") is not None or call.scalar("operand1") is not None
    if call.scalar("op1") is None and has_operand:
        yield "operand1 is given without op1: name the operator or leave both out"


def _scalar_engine_operators(call: Call) -> Iterator[str]:
    pair = (call.scalar("op0"), call.scalar("op1"))
    if call.engine == "scalar" and pair not in (
        ("multiply", "add"),
        ("multiply", None),
        ("add", None),
    ):
        yield f"op0={pair[0]}, op1={pair[1]}: the scalar engine has multiply+add, multiply, add; use vector"


def _gpsimd_operators(call: Call) -> Iterator[str]:
    if call.engine == "gpsimd" and "rsqrt" not in (call.scalar("op0"), call.scalar("op1")):
        yield "tensor_scalar runs on gpsimd for rsqrt only: use engine=vector"
    if call.engine != "gpsimd" and "rsqrt" in (call.scalar("op0"), call.scalar("op1")):
        yield f"rsqrt runs on gpsimd, not on {call.engine}: leave engine out, or use nisa.activation"


def _row_cycles(call: Call) -> float:
    return max(64, call.tensor("dst").free_elements)


def _scalar_tensor_tensor_cycles(call: Call) -> float:
    """2N; N for a bfloat16 difference times a bfloat16 tile, of even length."""
    data, tile = call.tensor("data"), call.tensor("operand1")
    pair = (call.scalar("op0"), call.scalar("op1"))
    fast = (
        data.dtype == tile.dtype == "bfloat16"
        and pair == ("subtract", "multiply")
        and data.free_elements % 2 == 0
    )
    return max(64, data.free_elements * (1 if fast else 2))


def _bind_reciprocal(call: Call) -> Kernel:
    dst, data = call.tensor("dst"), call.tensor("data")
    load, write = loader(data, dst.shape), writer(dst.dtype)

    def reciprocal(registers: object, dst: Array, data: Array) -> None:
        write(dst, np.reciprocal(load(data)))

    return reciprocal


def _reciprocal_cycles(call: Call) -> float:
    return max(64, 8 * call.tensor("data").free_elements)


#: What the scalar operands of `tensor_scalar` and `tensor_scalar_reduce` may be.
OPERAND_TYPES: Final = Limit("operand-types", _operand_types, "nki.isa.tensor_scalar docstring")

OPERATIONS: Final = (
    Operation(
        "tensor_tensor",
        (destination(), source("data1"), source("data2"), operator("op", _BINARY), ENGINE),
        engines=("vector", "gpsimd"),
        bind=_bind_tensor_tensor,
        choose_engine=_choose_tensor_tensor_engine,
        cycles=_tensor_tensor_cycles,
        limits=(
            agree("dst", "data1", "data2", for_column="give a (P, 1) tile to nisa.tensor_scalar as operand0"),
            not_both_psum("data1", "data2"),
            BITVEC_ON_INTEGERS,
            Limit("power-engine", _power_engine, "nki.isa.tensor_tensor docstring"),
        ),
        fidelity=operator_fidelity,
        source="nki.isa.tensor_tensor, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "tensor_scalar",
        (
            destination(),
            source("data"),
            operator("op0", _ANY),
            operand("operand0", dtypes=frozenset(), nullable=True),
            flag("reverse0"),
            operator("op1", _ANY, optional=True),
            operand("operand1", None, dtypes=frozenset()),
            flag("reverse1"),
            ENGINE,
        ),
        engines=("vector", "scalar", "gpsimd"),
        bind=_bind_tensor_scalar,
        choose_engine=_choose_tensor_scalar_engine,
        cycles=_row_cycles,
        limits=(
            agree("dst", "data"),
            column("operand0", "operand1", of="data"),
            BITVEC_ON_INTEGERS,
            OPERAND_TYPES,
            Limit("operator-families", _operator_families, "nki.isa.tensor_scalar docstring"),
            Limit("unused-operand", _unused_operand, "nki.isa.tensor_scalar docstring"),
            Limit(
                "scalar-engine-operators",
                _scalar_engine_operators,
                "nki.isa.tensor_scalar docstring; from trn3 on natively, trainium3_arch.rst",
                frozenset({"trn1", "trn2"}),
            ),
            Limit("gpsimd-operators", _gpsimd_operators, "nki.isa.tensor_scalar docstring"),
        ),
        fidelity=operator_fidelity,
        source="nki.isa.tensor_scalar, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "scalar_tensor_tensor",
        (
            destination(),
            source("data"),
            operator("op0", _ARITHMETIC_OR_UNARY),
            operand("operand0", dtypes=frozenset(), nullable=True),
            operator("op1", _ARITHMETIC),
            source("operand1"),
            flag("reverse0"),
            flag("reverse1"),
        ),
        engines=("vector",),
        bind=_bind_scalar_tensor_tensor,
        cycles=_scalar_tensor_tensor_cycles,
        limits=(
            agree("dst", "data", "operand1"),
            column("operand0", of="data"),
            not_both_psum("data", "operand1"),
        ),
        fidelity=operator_fidelity,
        source="nki.isa.scalar_tensor_tensor, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "reciprocal",
        (destination(), source("data")),
        engines=("vector",),
        bind=_bind_reciprocal,
        cycles=_reciprocal_cycles,
        limits=(agree("dst", "data"),),
        fidelity=Fidelity.APPROXIMATE,  # more precise than the scalar engine's, says the source; not how much
        source="nki.isa.reciprocal, NKI 0.6; nki.api.shared.rst, engine selection",
    ),
)
