"""Operations, operators, activation functions: where they run, how far their values can be trusted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from pipeline.emulator.operations import ACTIVATIONS, OPERATIONS, OPERATORS, Activation, Operation
from pipeline.emulator.reference.markdown import table

__all__ = ["FIDELITIES", "TABLES", "VALID_RANGES", "fidelity_of"]

_ACTIVATION: Final = "that of the function; unmodelled with `prelu`, whose slope it cannot say"
_OPERATOR: Final = "exact; approximate with `power`, `rsqrt` and `reciprocal`"
_ACCUMULATOR: Final = "approximate where it adds up; unmodelled where it reads an idle accumulator"
_MOVED: Final = "exact; unmodelled between two data types"
_REDUCED: Final = (
    "exact for `maximum` and `minimum` of floats; approximate else; unmodelled between two data types"
)

#: What the fidelity of an operation depends on, where it depends on its arguments.
FIDELITIES: Final[dict[str, str]] = {
    "activate2": "that of the function",
    "activation": _ACTIVATION,
    "activation_reduce": _ACTIVATION,
    "all_gather": _MOVED,
    "all_gather_v": _MOVED,
    "all_reduce": _REDUCED,
    "all_to_all": _MOVED,
    "all_to_all_v": "approximate; unmodelled with receive displacements",
    "collective_permute": "exact in a ring; unmodelled else, and between two data types",
    "collective_permute_implicit": "approximate; unmodelled between two data types",
    "dropout": "exact for a probability of 0 or 1; unmodelled else",
    "exponential": "approximate; unmodelled where it reads an idle accumulator",
    "nc_matmul": "exact; approximate with tfloat32; unmodelled for a transpose into another width",
    "nc_stream_shuffle": "exact; unmodelled where the mask names a partition outside `src`",
    "nc_transpose": "exact; unmodelled into another width on the tensor engine",
    "range_select": "exact; unmodelled where it reads an idle accumulator",
    "reduce_scatter": _REDUCED,
    "scalar_tensor_tensor": _OPERATOR,
    "select_reduce": "exact; unmodelled where it reads an idle accumulator",
    "tensor_partition_reduce": "exact; approximate where it adds 32-bit integers",
    "tensor_reduce": "exact where the order of the elements cannot matter, and for float32 sums of up to 128 "
    "elements on trn1; approximate else",
    "tensor_scalar": _OPERATOR,
    "tensor_scalar_cumulative": _OPERATOR,
    "tensor_scalar_reduce": f"{_OPERATOR}; {_ACCUMULATOR}",
    "tensor_tensor": _OPERATOR,
    "tensor_tensor_scan": _OPERATOR,
}


def _bound(value: float) -> str:
    # As float32 holds them.
    for shown, number in (("π", math.pi), ("π/2", math.pi / 2)):
        if math.isclose(abs(value), number, rel_tol=1e-6):
            return f"-{shown}" if value < 0 else shown
    return f"2^{math.log2(value):g}"


def _range(activation: Activation) -> str:
    if activation.domain is None:
        return "any"
    low, high = activation.domain
    return f"{'±' if activation.by_magnitude else ''}[{_bound(low)}, {_bound(high)}]"


#: Documented domains of activation functions; one that is absent has no bound.
VALID_RANGES: Final[dict[str, str]] = {
    activation.name: _range(activation)
    for activation in ACTIVATIONS.values()
    if activation.domain is not None
}


def fidelity_of(operation: Operation) -> str:
    """Return an operation's fidelity, or what it depends on.

    Raises:
        KeyError: If it depends on arguments and `FIDELITIES` does not say how.
    """
    return FIDELITIES[operation.name] if callable(operation.fidelity) else operation.fidelity.value


def _operations() -> str:
    return table(
        ("operation", "engines, default first", "cost known"),
        (
            (f"`{operation.name}`", ", ".join(operation.engines), "no" if operation.cycles is None else "yes")
            for operation in sorted(OPERATIONS.values(), key=lambda operation: operation.name)
            # What marks the ends of run-time loops is no function that a kernel calls.
            if operation.module
        ),
    )


def _operators() -> str:
    return table(
        ("operator", "family", "reduces", "instead"),
        (
            (f"`{operator.name}`", operator.family, "yes" if operator.reducible else "", operator.remedy)
            for operator in OPERATORS.values()
        ),
    )


def _activations() -> str:
    return table(
        ("function", "fidelity", "valid range"),
        (
            (f"`{activation.name}`", activation.fidelity.value, _range(activation))
            for activation in ACTIVATIONS.values()
        ),
    )


TABLES: Final[dict[str, Callable[[], str]]] = {
    "operations": _operations,
    "operators": _operators,
    "activations": _activations,
}
