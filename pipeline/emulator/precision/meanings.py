"""What values mean: sums, squares, maxima, exponentials, as far as hazards need to know.

A meaning survives copies, transposes and products with numbers. Everything else is plain.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from pipeline.emulator.program.instructions import Scalar

__all__ = ["Meaning", "Value", "write_meanings"]


class Meaning(StrEnum):
    """What is known of the values in a tensor."""

    PLAIN = "plain"
    NUMBER = "number"
    SQUARE = "square"
    SUM = "sum"
    SUM_OF_SQUARES = "sum of squares"
    SQUARE_OF_SUM = "square of a sum"
    #: A mean of squares less a squared mean.
    SQUARES_DIFFERENCE = "difference of squares"
    MAXIMUM = "maximum"
    #: Less a maximum, so that exponentials are at most 1.
    SHIFTED = "shifted"
    #: Of values that nothing bounds.
    EXPONENTIAL = "exponential"
    #: The sum of exponentials of values that nothing bounds.
    SUM_OF_EXPONENTIALS = "sum of exponentials"
    #: At most a constant.
    CLIPPED = "clipped"
    RANDOM = "random"
    #: Random numbers have been added.
    DITHERED = "dithered"


class Value(NamedTuple):
    """What is known of a value.

    Attributes:
        meaning: What it means.
        tensor: The tensor it was read from, so that a product with itself is known as a square; None if new.
    """

    meaning: Meaning
    tensor: int | None = None


_PLAIN: Final = Value(Meaning.PLAIN)
_NUMBER: Final = Value(Meaning.NUMBER)
_COPIES: Final = frozenset(
    {
        "dma_copy",
        "dma_transpose",
        "nc_stream_shuffle",
        "nc_transpose",
        "tensor_copy",
        "tensor_copy_predicated",
    }
)
_DRAWS: Final = frozenset({"rand2", "rng"})
_SCALINGS: Final = frozenset({"multiply", "divide"})
#: Functions that keep their results small, whatever comes in.
_BOUNDED: Final = frozenset({"erf", "sigmoid", "sin", "tanh"})


def write_meanings(
    operation: str, sources: Mapping[str, Value], scalars: Mapping[str, Scalar]
) -> dict[str, Value]:
    """Return what an instruction's destinations mean after it, by parameter; plain where nothing is known.

    Args:
        operation: Name.
        sources: Tensor arguments by parameter.
        scalars: Compile-time arguments by parameter.
    """

    def argument(name: str) -> Value:
        return sources.get(name, _NUMBER)

    if operation in _COPIES:
        return {"dst": sources.get("src", sources.get("data", _PLAIN))}
    if operation in _DRAWS:
        return {"dst": Value(Meaning.RANDOM)}
    match operation:
        case "tensor_tensor":
            return {"dst": combine(scalars["op"], argument("data1"), argument("data2"))}
        case "tensor_scalar" | "scalar_tensor_tensor":
            return {"dst": _chain(argument, scalars)}
        case "tensor_scalar_reduce":
            value = _chain(argument, scalars)
            return {"dst": value, "reduce_res": reduce(scalars["reduce_op"], value)}
        case "activation" | "activation_reduce":
            shifted = combine(
                "add", combine("multiply", argument("data"), argument("scale")), argument("bias")
            )
            if "bias" not in sources:
                shifted = combine("multiply", argument("data"), argument("scale"))
            value = apply_function(scalars["op"], shifted)
            return {"dst": value, "reduce_res": reduce("add", value)}
        case "exponential":
            bounded = "max_value" in sources or scalars.get("max_value") not in (0, 0.0, None)
            value = _PLAIN if bounded else apply_function("exp", argument("src"))
            return {"dst": value, "reduce_res": reduce("add", value)}
        case "tensor_reduce" | "tensor_partition_reduce":
            return {"dst": reduce(scalars["op"], argument("data"))}
        case "range_select" | "select_reduce":
            return {"reduce_res": reduce(scalars["reduce_op"], _PLAIN)}
        case _:
            return {}


def combine(operator: Scalar, left: Value, right: Value) -> Value:
    """Return what ``left operator right`` means."""
    meanings = {left.meaning, right.meaning}
    if operator in _SCALINGS and Meaning.NUMBER in meanings:
        return left if right.meaning is Meaning.NUMBER else right
    if operator == "multiply" and left.tensor is not None and left.tensor == right.tensor:
        return _square(left)
    if operator in ("power", "pow") and right.meaning is Meaning.NUMBER:
        return _square(left)
    if operator == "subtract" and meanings == {Meaning.SUM_OF_SQUARES, Meaning.SQUARE_OF_SUM}:
        return Value(Meaning.SQUARES_DIFFERENCE)
    if operator in ("add", "subtract"):
        return _add(left, right)
    if operator in ("maximum", "max"):
        return Value(Meaning.MAXIMUM) if Meaning.MAXIMUM in meanings else _PLAIN  # a running one, too
    if operator in ("minimum", "min") and Meaning.NUMBER in meanings:
        return Value(Meaning.CLIPPED)
    return _PLAIN


def apply_function(function: Scalar, value: Value) -> Value:
    """Return what an activation function makes of a value."""
    if function == "exp":
        bounded = value.meaning in (Meaning.SHIFTED, Meaning.CLIPPED, Meaning.NUMBER)
        return _PLAIN if bounded else Value(Meaning.EXPONENTIAL)
    if function == "square":
        return _square(value)
    if function in _BOUNDED:
        return Value(Meaning.CLIPPED)
    return value if function in ("copy", "identity") else _PLAIN


def reduce(operator: Scalar, value: Value) -> Value:
    """Return what a reduction of a value means."""
    if operator in ("maximum", "max"):
        return Value(Meaning.MAXIMUM)
    if operator != "add":
        return _PLAIN
    sums = {
        Meaning.SQUARE: Meaning.SUM_OF_SQUARES,
        Meaning.EXPONENTIAL: Meaning.SUM_OF_EXPONENTIALS,
        Meaning.PLAIN: Meaning.SUM,
    }
    return Value(sums.get(value.meaning, Meaning.PLAIN))


def _square(value: Value) -> Value:
    return Value(Meaning.SQUARE_OF_SUM if value.meaning is Meaning.SUM else Meaning.SQUARE)


def _add(left: Value, right: Value) -> Value:
    meanings = {left.meaning, right.meaning}
    if Meaning.RANDOM in meanings and meanings != {Meaning.RANDOM, Meaning.NUMBER}:
        return Value(Meaning.DITHERED)
    if Meaning.MAXIMUM in meanings and len(meanings) == 2:
        return Value(Meaning.SHIFTED)
    if Meaning.NUMBER in meanings or left.meaning is right.meaning:
        kept = left if left.meaning is not Meaning.NUMBER else right
        return Value(kept.meaning) if kept.meaning is not Meaning.MAXIMUM else Value(Meaning.PLAIN)
    return _PLAIN


def _chain(argument: object, scalars: Mapping[str, Scalar]) -> Value:
    """Return what ``(data op0 operand0) op1 operand1`` means."""
    assert callable(argument)
    value: Value = combine(scalars["op0"], argument("data"), argument("operand0"))
    second = scalars.get("op1")
    return value if second is None else combine(second, value, argument("operand1"))
