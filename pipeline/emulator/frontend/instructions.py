"""The functions of `nki.isa`, generated from the operation table: they bind arguments and record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from operator import index as as_index
from typing import Any, Final

import numpy as np

from pipeline.emulator.frontend.binding import Binding, Place, Role
from pipeline.emulator.frontend.enums import ENUMS, Engine
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.functions import LanguageFunction, activation_name, operator_name
from pipeline.emulator.frontend.inventory import unexpected_keyword
from pipeline.emulator.frontend.recorder import Recorder
from pipeline.emulator.frontend.registers import VirtualRegister
from pipeline.emulator.frontend.session import active_recorder, calling_line, note_failure
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import NAMES, WIDTHS
from pipeline.emulator.operations import (
    OPERATIONS,
    REQUIRED,
    Operation,
    Parameter,
    ParameterKind,
    availability,
)
from pipeline.emulator.operations.operators import legal_names
from pipeline.emulator.program import Scalar
from pipeline.emulator.targets import ENGINES
from pipeline.emulator.toolchain import find, holds, holds_in

__all__ = ["INSTRUCTIONS", "IsaFunction", "NkiInstruction"]

#: What `pipeline.emulator.program.validate` takes.
_MAX_INTEGERS: Final = 512  # a replica group of 256 ranks, and some
_INTEGER_BOUND: Final = 1 << 62
_ENGINE_INDEX: Final = {name: index for index, name in enumerate(ENGINES)}


class NkiInstruction:
    """Handle of a recorded instruction.

    The recorded order is the execution order, so a dependency on an earlier instruction always holds.
    """

    __slots__ = ("_position",)

    def __init__(self, position: int) -> None:
        self._position = position

    def depends_on(self, *producers: NkiInstruction) -> NkiInstruction:
        """Require that `producers` run before this instruction.

        Raises:
            KernelError: If one was recorded later.
        """
        if any(producer._position > self._position for producer in producers):
            raise KernelError(
                KernelErrorKind.UNSUPPORTED,
                "depends_on an instruction recorded later: the emulator executes in the order of the source",
            )
        return self


class IsaFunction:
    """One function of `nki.isa`."""

    __slots__ = ("__name__", "_accumulate", "_bindings", "_operation")

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self.__name__ = operation.name
        self._bindings: dict[str, Binding] = {}
        self._accumulate = operation.scalar_slots.get("accumulate", -1)

    def __repr__(self) -> str:
        return f"{'ncc' if self._operation.module == 'nki.collectives' else 'nisa'}.{self.__name__}"

    def __call__(self, *args: Any, **kwargs: Any) -> NkiInstruction:
        """Record one instruction.

        Raises:
            KernelError: If the arguments do not fit, or the target does not have the operation.
        """
        recorder = active_recorder()
        try:
            return self._record(recorder, args, kwargs)
        except KernelError as error:
            note_failure(error)
            raise

    def _record(self, recorder: Recorder, args: Sequence[Any], kwargs: dict[str, Any]) -> NkiInstruction:
        binding = self._bindings.get(recorder.version) or self._bind(recorder.version)
        form = (len(args), *kwargs)
        places = binding.forms.get(form)
        if places is None:
            places = binding.forms[form] = self._places(binding, len(args), kwargs)
        tensors, scalars = binding.tensors.copy(), binding.scalars.copy()
        arguments: list[NkiTensor | None] = [None] * len(tensors)
        engine: object = None
        for at, value in enumerate((*args, *kwargs.values())):
            parameter, role, default, slot, number = places[at]
            if value is default:
                continue
            if role <= Role.OPERAND and type(value) is NkiTensor:
                tensors[slot] = recorder.pattern_of(value)
                arguments[slot] = value
                if role == Role.OPERAND:
                    scalars[number] = None
            elif role == Role.TENSOR:
                if value is not None or not parameter.nullable:
                    raise self._missing_or_wrong(parameter, value, "a tensor")
            elif role == Role.OPERAND:
                absent = value is None and parameter.nullable
                scalars[number] = None if absent else self._scalar(parameter, value)
            elif role == Role.SCALAR:
                scalars[number] = self._scalar(parameter, value)
            elif role == Role.ENGINE:
                engine = value
            elif role == Role.LIST:
                listed = self._listed(parameter, value)
                arguments[slot : slot + parameter.count] = listed
                tensors[slot : slot + parameter.count] = [
                    -1 if tensor is None else recorder.pattern_of(tensor) for tensor in listed
                ]
            elif role == Role.NUMBERS:
                scalars[number : number + parameter.count] = self._numbers(parameter, value)
        if self._accumulate >= 0:
            self._resolve_accumulation(arguments, scalars)
        chosen = self._choose_engine(engine, arguments, scalars)
        operation = recorder.operations.get(self.__name__)
        if operation is None:
            self._require_available(recorder)
            operation = recorder.operations[self.__name__] = len(recorder.operations)
        position = recorder.record(
            operation, _ENGINE_INDEX[chosen], tuple(tensors), tuple(scalars), calling_line()
        )
        return NkiInstruction(position)

    def _bind(self, version: str) -> Binding:
        """Return how a version of NKI takes the arguments."""
        if version not in self._bindings:
            self._bindings[version] = Binding.of(self._operation, version)
        return self._bindings[version]

    def _places(self, binding: Binding, positional: int, keywords: Iterable[str]) -> tuple[Place, ...]:
        """Return the place of each argument of a call.

        Args:
            binding: Of the version.
            positional: How many arguments have no keyword.
            keywords: Those of the others.

        Raises:
            KernelError: If one is unknown or given twice, or one that must be given is not.
        """
        if positional > len(binding.places):
            raise self._refuse(
                f"takes {len(binding.places) - 1} arguments, {positional} were given: {binding.signature}"
            )
        order = tuple(binding.places)
        given = dict.fromkeys(order[:positional])
        for keyword in keywords:
            if keyword not in binding.places:
                raise self._unknown_keyword(keyword, binding)
            if keyword in given:
                raise self._refuse(f"got two values for {keyword!r}")
            given[keyword] = None
        for name, place in binding.places.items():
            if place.default is REQUIRED and name not in given:
                raise self._missing_or_wrong(place.parameter, REQUIRED, "given")
        return tuple(binding.places[name] for name in given)

    def _scalar(self, parameter: Parameter, value: Any) -> Scalar:
        """Return a compile-time argument as the program holds it."""
        result: Scalar = _TAKES.get(parameter.kind, IsaFunction._integer)(self, parameter, value)
        if parameter.choices and isinstance(result, str) and result not in parameter.choices:
            names = ", ".join(legal_names(parameter.choices))
            raise self._refuse(f"does not take {parameter.name}={result}; it takes {names}")
        return result

    def _operator(self, parameter: Parameter, value: Any) -> Scalar:
        known = value.operator if type(value) is LanguageFunction else None
        return known or operator_name(value, f"{self!r}: {parameter.name}")

    def _activation(self, parameter: Parameter, value: Any) -> Scalar:
        known = value.activation if type(value) is LanguageFunction else None
        return known or activation_name(value, f"{self!r}: {parameter.name}")

    def _plain_number(self, parameter: Parameter, value: Any) -> Scalar:
        number = _number(value)
        if number is None:
            wanted = "a number or a tile" if parameter.kind is ParameterKind.OPERAND else "a number"
            raise self._wrong(parameter, value, wanted)
        return number

    def _flag(self, parameter: Parameter, value: Any) -> Scalar:
        if not isinstance(value, bool | np.bool_):
            raise self._wrong(parameter, value, "True or False")
        return bool(value)

    def _choice(self, parameter: Parameter, value: Any) -> Scalar:
        """Return the name of an enum member."""
        if isinstance(value, Enum):
            return value.name
        if type(value) is int and (member := _member_numbered(parameter, value)) is not None:
            recorder = active_recorder()
            if holds("enum-integer", recorder.version, recorder.target.name):
                return member
            raise self._refuse(f"takes {parameter.name} as an enum member, {member}, not as {value}")
        if parameter.name == "perf_mode" and isinstance(value, str) and value in parameter.choices:
            recorder = active_recorder()
            if holds("perf-mode-string", recorder.version, recorder.target.name):
                return value
            raise self._refuse(
                f"takes perf_mode=nisa.matmul_perf_mode.{value} since NKI 0.4, not the string {value!r}"
            )
        raise self._wrong(parameter, value, f"an enum member, one of {', '.join(sorted(parameter.choices))}")

    def _integer(self, parameter: Parameter, value: Any) -> Scalar:
        integers = _integers(value)
        if integers is None:
            raise self._wrong(
                parameter, value, f"an integer or a list of at most {_MAX_INTEGERS}, below 2**62"
            )
        return integers

    def _register(self, parameter: Parameter, value: Any) -> Scalar:
        if isinstance(value, VirtualRegister):
            if parameter.kind is ParameterKind.REGISTER and value.frozen:
                raise self._refuse(
                    f"writes {parameter.name}, the counter of a run-time loop, which only the loop may change"
                )
            return (value.number,)
        if parameter.kind is ParameterKind.INDEX and isinstance(number := _integers(value), int):
            return number
        wanted = "a register" if parameter.kind is ParameterKind.REGISTER else "an integer or a register"
        raise self._wrong(parameter, value, f"{wanted} (nisa.register_alloc)")

    def _listed(self, parameter: Parameter, value: Any) -> list[NkiTensor | None]:
        """Return a list of tensors, filled up with None to the slots there are."""
        if value is REQUIRED or (value is None and parameter.default is REQUIRED):
            raise self._missing_or_wrong(parameter, value, "a list of tensors")
        given = list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
        if not all(isinstance(tensor, NkiTensor) for tensor in given):
            raise self._wrong(parameter, value, "a list of tensors")
        if len(given) > parameter.count:
            raise self._refuse(f"{parameter.name} has {len(given)} tensors, the limit is {parameter.count}")
        return [*given, *[None] * (parameter.count - len(given))]

    def _numbers(self, parameter: Parameter, value: Any) -> list[Scalar]:
        """Return a list of numbers, filled up with None to the slots there are."""
        given = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
        numbers = [_number(number) for number in given]
        if None in numbers:
            raise self._wrong(parameter, value, "a list of numbers")
        if len(numbers) > parameter.count:
            raise self._refuse(f"{parameter.name} has {len(numbers)} numbers, the limit is {parameter.count}")
        return [*numbers, *[None] * (parameter.count - len(numbers))]

    def _choose_engine(
        self, engine: object, arguments: Sequence[NkiTensor | None], scalars: Sequence[Scalar]
    ) -> str:
        operation = self._operation
        if engine is None or engine == "unknown" or engine is Engine.unknown:
            if operation.choose_engine is None:
                return operation.engines[0]
            memories = [None if tensor is None else tensor._parts[0].memory for tensor in arguments]
            dtypes = [None if tensor is None else NAMES[tensor._parts[1]] for tensor in arguments]
            return operation.choose_engine(dtypes, memories, scalars)
        if not isinstance(engine, Engine):
            raise self._refuse(
                f"takes engine=nisa.engine.<name>, not {type(engine).__name__} {str(engine)[:20]!r}"
            )
        if engine.name not in operation.engines:
            raise self._refuse(
                f"cannot run on the {engine.name} engine; it runs on {', '.join(operation.engines)}",
                KernelErrorKind.ILLEGAL_ON_TARGET,
            )
        return engine.name

    def _resolve_accumulation(self, arguments: Sequence[NkiTensor | None], scalars: list[Scalar]) -> None:
        """Turn ``accumulate=None`` into the flag it means, and note that the destination was written."""
        destination = arguments[0]
        written = None if destination is None else destination._storage.written
        if destination is None or written is None:
            # Legality says that the destination must lie in PSUM, and reads a flag either way.
            scalars[self._accumulate] = bool(scalars[self._accumulate])
            return
        _, dtype, view, _ = destination._parts
        width = WIDTHS[dtype]
        if scalars[self._accumulate] is None:
            scalars[self._accumulate] = written.accumulates(view, width, destination)
        written.mark(view, width)

    def _require_available(self, recorder: Recorder) -> None:
        available = availability(self._operation)
        if recorder.target.name not in available.targets:
            raise self._refuse(
                f"does not exist on {recorder.target.name}; it needs {', '.join(sorted(available.targets))}",
                KernelErrorKind.ILLEGAL_ON_TARGET,
            )
        if not holds_in(recorder.version, available.since, available.until):
            raise self._refuse(
                f"exists since NKI {available.since}; this kernel is compiled for {recorder.version}"
            )

    def _missing_or_wrong(self, parameter: Parameter, value: object, wanted: str) -> KernelError:
        if value is not REQUIRED:
            return self._wrong(parameter, value, wanted)
        hint = ""
        if parameter.kind.in_tensors and "dst" in self._operation.tensor_slots:
            hint = "; instructions return no tile: allocate one with nl.ndarray and pass it as dst, first"
        return self._refuse(f"misses its argument {parameter.name}{hint}; it is {self._signature()}")

    def _unknown_keyword(self, keyword: str, binding: Binding) -> KernelError:
        known = find(self._operation.module, self._operation.name)
        later = [] if known is None else [k.since for k in known.keywords if k.name == keyword]
        if later and keyword not in binding.places:
            problem = f"has {keyword}= since NKI {later[-1]} only"
        else:
            problem = unexpected_keyword(keyword, list(binding.places))
        return self._refuse(f"{problem}; it is {binding.signature}")

    def _wrong(self, parameter: Parameter, value: object, wanted: str) -> KernelError:
        return self._refuse(f"{parameter.name} must be {wanted}, not {type(value).__name__} {_show(value)}")

    def _refuse(self, message: str, kind: KernelErrorKind = KernelErrorKind.COMPILE_ERROR) -> KernelError:
        return KernelError(kind, f"{self!r} {message}")

    def _signature(self) -> str:
        return self._bind(active_recorder().version).signature


def _member_numbered(parameter: Parameter, value: int) -> str | None:
    """Return the name of the enum member with a number, None if there is none."""
    for enum in ENUMS.values():
        if parameter.choices <= set(enum.__members__):
            return next((member.name for member in enum if member.value == value), None)
    return None


def _show(value: object) -> str:
    """Return a value as a message shows it: one short line."""
    return " ".join(repr(value)[:200].split())[:40]


def _number(value: Any) -> int | float | None:
    """Return a Python or NumPy number as the plain Python one, None if it is neither."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if isinstance(value, bool | int):
        return int(value) if abs(value) < _INTEGER_BOUND else float(value)
    return float(value) if isinstance(value, float) else None


def _integers(value: Any) -> int | tuple[int, ...] | None:
    """Return an integer, or a possibly nested list of them as one flat tuple; None if it is neither."""
    try:
        if not isinstance(value, list | tuple):
            single = as_index(value)
            return single if abs(single) < _INTEGER_BOUND else None
        flat: list[int] = []
        for part in value:
            flat += (
                [as_index(number) for number in part] if isinstance(part, list | tuple) else [as_index(part)]
            )
    except TypeError:
        return None
    fitting = len(flat) <= _MAX_INTEGERS and all(abs(number) < _INTEGER_BOUND for number in flat)
    return tuple(flat) if fitting else None


#: How an argument of each kind becomes a scalar of the program; integers where none is named.
_TAKES: Final[dict[ParameterKind, Callable[[IsaFunction, Parameter, Any], Scalar]]] = {
    ParameterKind.OPERATOR: IsaFunction._operator,
    ParameterKind.ACTIVATION: IsaFunction._activation,
    ParameterKind.NUMBER: IsaFunction._plain_number,
    ParameterKind.OPERAND: IsaFunction._plain_number,
    ParameterKind.FLAG: IsaFunction._flag,
    ParameterKind.CHOICE: IsaFunction._choice,
    ParameterKind.REGISTER: IsaFunction._register,
    ParameterKind.INDEX: IsaFunction._register,
}

INSTRUCTIONS: Final[dict[str, Callable[..., NkiInstruction]]] = {
    name: IsaFunction(operation) for name, operation in OPERATIONS.items() if operation.module == "nki.isa"
}
