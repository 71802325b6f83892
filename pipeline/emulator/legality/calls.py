"""Rules on single instructions: those every operation shares, and each operation's own from the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.operations import (
    OPERATIONS,
    OPERATORS,
    REQUIRED,
    Call,
    Limit,
    ParameterKind,
    availability,
)
from pipeline.emulator.operations.dynamic_access import DYNAMIC_ACCESS
from pipeline.emulator.operations.operators import legal_names
from pipeline.emulator.operations.packing import PACKED_TYPES
from pipeline.emulator.toolchain.versions import holds_in

__all__ = ["RULES"]

_REACH: Final = {
    "tensor": frozenset({"sbuf", "psum"}),
    "vector": frozenset({"sbuf", "psum"}),
    "scalar": frozenset({"sbuf", "psum"}),
    "gpsimd": frozenset({"sbuf"}),
    "dma": frozenset({"hbm", "sbuf"}),
    # Its sequencer's registers.
    "sync": frozenset({"hbm", "sbuf"}),
}
#: Engines that take any number of elements up to these, by memory, and the chips of which it is documented.
_ELEMENTWISE: Final = frozenset({"vector", "scalar", "gpsimd"})
_MOST_ELEMENTS: Final = {
    "sbuf": (64 << 10, frozenset({"trn1", "trn2", "trn3"})),
    # NeuronCore-v4 keeps bfloat16 in PSUM too: 8192 elements of a partition.
    "psum": (4 << 10, frozenset({"trn1", "trn2"})),
}
_STRIDES: Final = 1 << 15


def _target(call: Call) -> Iterator[str]:
    targets = availability(call.operation).targets
    if call.target.name not in targets:
        yield f"exists on {', '.join(sorted(targets))}, not on {call.target.name}"


def _engine(call: Call) -> Iterator[str]:
    if call.engine not in call.operation.engines:
        yield f"cannot run on the {call.engine} engine; it runs on {', '.join(call.operation.engines)}"


def _memory(call: Call) -> Iterator[str]:
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is None or operand.memory in parameter.buffers:
            continue
        allowed = " or ".join(sorted(name.upper() for name in parameter.buffers))
        hint = ""
        if operand.memory == "hbm":
            hint = ": load it with nisa.dma_copy first"
        elif operand.memory == "psum":
            hint = ": copy it to SBUF first (nisa.tensor_copy)"
        yield f"{parameter.name} lies in {operand.memory.upper()}, must lie in {allowed}{hint}"


def _reach(call: Call) -> Iterator[str]:
    if call.operation.name == "core_barrier":  # names its data and touches none
        return
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        # What the operation itself forbids is told by operand-memory.
        if operand is None or operand.memory not in parameter.buffers:
            continue
        if operand.memory not in _REACH[call.engine]:
            yield (
                f"{parameter.name} lies in {operand.memory.upper()}, which the {call.engine} engine cannot "
                "reach: copy it to SBUF first or use another engine"
            )


def _free_elements(call: Call) -> Iterator[str]:
    if call.engine not in _ELEMENTWISE:
        return
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is None or operand.memory not in _MOST_ELEMENTS:
            continue
        most, targets = _MOST_ELEMENTS[operand.memory]
        if operand.free_elements > most and call.target.name in targets:
            yield (
                f"{parameter.name} has {operand.free_elements} elements per partition in "
                f"{operand.memory.upper()}, one instruction takes {most}: split it"
            )


def _free_stride(call: Call) -> Iterator[str]:
    if call.engine not in _ELEMENTWISE:
        return
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is None or operand.memory == "hbm":
            continue
        strides = [s for s, n in zip(operand.strides[1:], operand.shape[1:], strict=True) if n > 1]
        farthest = max(strides, key=abs, default=0)
        if not -_STRIDES <= farthest < _STRIDES:
            yield (
                f"{parameter.name} steps {farthest} elements at a time, an engine's strides have 16 bits: "
                "copy the parts one by one, or view the tile as a wider type"
            )


def _dtype(call: Call) -> Iterator[str]:
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is None or not parameter.dtypes or operand.dtype in parameter.dtypes:
            continue
        yield f"{parameter.name} is {operand.dtype}, must be {' or '.join(sorted(parameter.dtypes))}"


def _refused_operator(call: Call) -> Iterator[str]:
    for parameter, value in zip(call.operation.scalar_parameters, call.scalars, strict=True):
        if parameter.kind is ParameterKind.OPERATOR and isinstance(value, str):
            operator = OPERATORS[value]
            if operator.family == "refused":
                yield f"{parameter.name}={value} is not an operator of the hardware: {operator.remedy}"


def _operator_target(call: Call) -> Iterator[str]:
    for parameter, value in zip(call.operation.scalar_parameters, call.scalars, strict=True):
        if parameter.kind is ParameterKind.OPERATOR and isinstance(value, str):
            operator = OPERATORS[value]
            if call.target.name not in operator.targets:
                yield (
                    f"{parameter.name}={value} exists on {', '.join(sorted(operator.targets))}, not on "
                    f"{call.target.name}: {operator.remedy}"
                )


def _operator_choice(call: Call) -> Iterator[str]:
    for parameter, value in zip(call.operation.scalar_parameters, call.scalars, strict=True):
        if parameter.kind is not ParameterKind.OPERATOR or not isinstance(value, str):
            continue
        if value not in parameter.choices and OPERATORS[value].family != "refused":
            yield f"{parameter.name}={value}, must be one of {', '.join(legal_names(parameter.choices))}"


def _operand_missing(call: Call) -> Iterator[str]:
    unary = any(
        OPERATORS[value].operands == 1
        for parameter, value in zip(call.operation.scalar_parameters, call.scalars, strict=True)
        if parameter.kind is ParameterKind.OPERATOR and isinstance(value, str)
    )
    for parameter in call.operation.parameters:
        if parameter.kind is not ParameterKind.OPERAND or parameter.default is not REQUIRED or unary:
            continue
        if call.operand(parameter.name) is None and call.scalar(parameter.name) is None:
            yield f"{parameter.name} is absent: pass a number or a (P, 1) tile"


def _per_call(limits: dict[str, tuple[Limit, ...]]) -> Rule:
    """Return the rule that applies limits of one id, given by operation."""
    first = next(iter(limits.values()))[0]

    def find(subject: Subject) -> Iterator[Breach]:
        version = subject.program.version
        for index, call in enumerate(subject.resolution.calls):
            for limit in limits.get(call.operation.name, ()):
                if call.target.name not in limit.targets or not holds_in(version, limit.since, limit.until):
                    continue
                for message in limit.check(call):
                    for line, position in subject.uses[index].items():
                        names = _names(subject, call, position)
                        yield Breach(f"{call.operation.name}: {message} [{names}]", line)

    targets = frozenset[str]().union(*(limit.targets for group in limits.values() for limit in group))
    return Rule(first.rule, find, first.source, targets, first.severity)


def _names(subject: Subject, call: Call, position: int) -> str:
    """Return which tensors an instruction works on."""
    program = subject.program
    return ", ".join(
        f"{parameter.name}={subject.name(program.patterns[pattern].tensor)}"
        for parameter, pattern in zip(
            call.operation.tensor_parameters, program.instructions[position].tensors, strict=True
        )
        if pattern >= 0
    )


_GENERIC: Final = (
    Limit("operation-target", _target, "facts/nki.md section 4.1"),
    Limit("operation-engine", _engine, "facts/nki.md section 4.1"),
    Limit("operand-memory", _memory, "nki.isa docstrings, Memory types"),
    Limit("engine-memory", _reach, "NKI architecture guides (facts/nki.md section 2.3)"),
    Limit(
        "free-elements",
        _free_elements,
        "trainium_inferentia2_arch.rst, Layout and Tile Size of the vector and scalar engines",
    ),
    Limit("free-stride", _free_stride, "trainium_inferentia2_arch.rst, Data Access: strides are int16"),
    Limit("operand-dtype", _dtype, "nki.isa docstrings, Data types"),
    Limit("operator-refused", _refused_operator, "NKI 0.6 known issues (facts/nki.md section 1.6)"),
    Limit("operator-target", _operator_target, "NKI 0.4.0 release notes: abs_max, abs_min, square, relu"),
    Limit("operator-choice", _operator_choice, "facts/nki.md section 4.2"),
    Limit("operand-missing", _operand_missing, "nki.isa docstrings"),
    *PACKED_TYPES,
    *DYNAMIC_ACCESS,
)


def _table_limits() -> list[dict[str, tuple[Limit, ...]]]:
    """Return the table's limits grouped by id, each group by operation."""
    groups: dict[str, dict[str, tuple[Limit, ...]]] = {}
    for operation in OPERATIONS.values():
        for limit in operation.limits:
            group = groups.setdefault(limit.rule, {})
            group[operation.name] = (*group.get(operation.name, ()), limit)
    return list(groups.values())


RULES: Final = (
    *(_per_call(dict.fromkeys(OPERATIONS, (limit,))) for limit in _GENERIC),
    *map(_per_call, _table_limits()),
)
