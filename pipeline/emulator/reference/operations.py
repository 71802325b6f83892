"""Operations, operators, activation functions: where they run, how far their values can be trusted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from pipeline.emulator.operations import ACTIVATIONS, OPERATIONS, OPERATORS, Activation, Operation
from pipeline.emulator.reference.markdown import table

__all__ = ["FIDELITIES", "TABLES", "VALID_RANGES", "fidelity_of"]

_SLOPE: Final = "unmodelled with `prelu`, whose slope it cannot say"
_OPERATOR: Final = "exact; approximate with `power`, `rsqrt` and `reciprocal`"
_WIDTHS: Final = "unmodelled for bit patterns of different widths"
_MAXIMUM: Final = "exact; unmodelled where it reads an idle accumulator"
_MOVED: Final = "exact; unmodelled between two data types"
_REDUCED: Final = (
    "exact for `maximum` and `minimum` of floats; approximate else; unmodelled between two data types"
)
_REGISTER: Final = "exact for integers; unmodelled for floats"

#: What the fidelity of an operation depends on, where it depends on its arguments.
FIDELITIES: Final[dict[str, str]] = {
    "activate2": "that of the function; approximate where it sums",
    "activation": f"that of the function; approximate where it sums; {_SLOPE}",
    "activation_reduce": f"approximate; {_SLOPE}",
    "all_gather": _MOVED,
    "all_gather_v": _MOVED,
    "all_reduce": _REDUCED,
    "all_to_all": _MOVED,
    "all_to_all_v": "approximate; unmodelled with receive displacements, and between two data types",
    "collective_permute": "exact in a ring; unmodelled else, and between two data types",
    "collective_permute_implicit": "approximate; unmodelled between two data types",
    "dma_compute": "exact for two sources; approximate for more",
    "dropout": "exact for a probability of 0 or 1; unmodelled else",
    "exponential": "approximate; unmodelled where it reads an idle accumulator",
    "nc_matmul": "exact; approximate with tfloat32; unmodelled for a transpose into another width",
    "nc_stream_shuffle": "exact; unmodelled where the mask names a partition outside `src`",
    "nc_transpose": "exact; unmodelled into another width on the tensor engine",
    "range_select": _MAXIMUM,
    "reduce_scatter": _REDUCED,
    "register_load": _REGISTER,
    "register_store": _REGISTER,
    "scalar_tensor_tensor": _OPERATOR,
    "select_reduce": _MAXIMUM,
    "tensor_partition_reduce": "exact; approximate where it adds",
    "tensor_reduce": "exact where the order of the elements cannot matter, and for float32 sums of up to 128 "
    f"elements on trn1; approximate else; {_WIDTHS}",
    "tensor_scalar": f"{_OPERATOR}; {_WIDTHS}",
    "tensor_scalar_cumulative": _OPERATOR,
    "tensor_scalar_reduce": "exact; approximate where it sums, and with `power`, `rsqrt` and `reciprocal`; "
    "unmodelled where it reads an idle accumulator",
    "tensor_tensor": f"{_OPERATOR}; {_WIDTHS}",
    "tensor_tensor_scan": "exact on float32; approximate on narrower types, and with `power`",
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
    """Return an operation's fidelity, or what it depends on."""
    if not callable(operation.fidelity):
        return operation.fidelity.value
    return FIDELITIES.get(operation.name, "depends on its arguments")


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
