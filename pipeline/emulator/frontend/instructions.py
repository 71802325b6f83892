"""The functions of `nki.isa`, generated from the operation table: they bind arguments and record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from operator import index as as_index
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.binding import Binding
from pipeline.emulator.frontend.enums import Engine
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.functions import activation_name, operator_name
from pipeline.emulator.frontend.inventory import unexpected_keyword
from pipeline.emulator.frontend.recorder import Recorder
from pipeline.emulator.frontend.registers import VirtualRegister
from pipeline.emulator.frontend.session import active_recorder, calling_line, note_failure
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion
from pipeline.emulator.operations import (
    OPERATIONS,
    REQUIRED,
    Operation,
    Parameter,
    ParameterKind,
    availability,
)
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


class _Role:
    """How an argument is taken; plain integers, as this is compared for every argument recorded."""

    TENSOR = 0
    OPERAND = 1
    SCALAR = 2
    ENGINE = 3
    LIST = 4
    NUMBERS = 5


def _role(parameter: Parameter) -> int:
    if parameter.kind is ParameterKind.ENGINE:
        return _Role.ENGINE
    if parameter.count > 1:
        return _Role.LIST if parameter.kind.in_tensors else _Role.NUMBERS
    if parameter.kind is ParameterKind.OPERAND:
        return _Role.OPERAND
    return _Role.TENSOR if parameter.kind.in_tensors else _Role.SCALAR


class IsaFunction:
    """One function of `nki.isa`."""

    __slots__ = ("__name__", "_bindings", "_operation", "_parameters", "_roles")

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self.__name__ = operation.name
        self._parameters = operation.parameters
        self._roles = [_role(parameter) for parameter in self._parameters]
        self._bindings: dict[str, Binding] = {}

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
        binding = self._binding(recorder.version)
        values = self._bind(binding, args, kwargs)
        tensors: list[int] = []
        scalars: list[Scalar] = []
        arguments: list[NkiTensor | None] = []
        engine: object = None
        for role, default, parameter, value in zip(
            self._roles, binding.defaults, self._parameters, values, strict=False
        ):
            if role <= _Role.OPERAND:
                if type(value) is NkiTensor:
                    tensors.append(recorder.pattern_of(value))
                    arguments.append(value)
                    if role == _Role.OPERAND:
                        scalars.append(None)
                    continue
                tensors.append(-1)
                arguments.append(None)
                if value is None and parameter.nullable:
                    if role == _Role.OPERAND:
                        scalars.append(None)
                    continue
                if role == _Role.TENSOR:
                    if value is None and default is None:
                        continue
                    raise self._missing_or_wrong(parameter, value, "a tensor")
            elif role == _Role.ENGINE:
                engine = None if value is default else value
                continue
            elif role == _Role.LIST:
                listed = self._listed(parameter, value)
                tensors += [-1 if tensor is None else recorder.pattern_of(tensor) for tensor in listed]
                arguments += listed
                continue
            elif role == _Role.NUMBERS:
                scalars += self._numbers(parameter, value)
                continue
            scalars.append(
                value if value is default and value is not REQUIRED else self._scalar(parameter, value)
            )
        if "accumulate" in self._operation.scalar_slots:
            self._resolve_accumulation(recorder, arguments, scalars)
        chosen = self._choose_engine(engine, arguments, scalars)
        operation = recorder.operations.get(self.__name__)
        if operation is None:
            self._require_available(recorder)
            operation = recorder.operations[self.__name__] = len(recorder.operations)
        position = recorder.record(
            operation, _ENGINE_INDEX[chosen], tuple(tensors), tuple(scalars), calling_line()
        )
        return NkiInstruction(position)

    def _binding(self, version: str) -> Binding:
        binding = self._bindings.get(version)
        if binding is None:
            binding = self._bindings[version] = Binding.of(self._operation, version)
        return binding

    def _bind(self, binding: Binding, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Return one value per parameter, then that of ``name``."""
        values = list(binding.defaults)
        if len(args) > len(binding.order):
            raise self._refuse(
                f"takes {len(binding.order) - 1} arguments, {len(args)} were given: {binding.signature}"
            )
        for slot, value in zip(binding.order, args, strict=False):
            values[slot] = value
        for keyword, value in kwargs.items():
            slot = binding.slots.get(keyword, -1)
            if slot < 0:
                raise self._unknown_keyword(keyword, binding)
            if args and slot in binding.order[: len(args)]:
                raise self._refuse(f"got two values for {keyword!r}")
            values[slot] = value
        return values

    def _scalar(self, parameter: Parameter, value: Any) -> Scalar:
        """Return a compile-time argument as the program holds it."""
        if value is REQUIRED:
            raise self._missing_or_wrong(parameter, value, "given")
        kind = parameter.kind
        where = f"{self!r}: {parameter.name}"
        result: Scalar
        if kind is ParameterKind.OPERATOR:
            result = operator_name(value, where)
        elif kind is ParameterKind.ACTIVATION:
            result = activation_name(value, where)
        elif kind in (ParameterKind.NUMBER, ParameterKind.OPERAND):
            result = _number(value)
            if result is None:
                raise self._wrong(
                    parameter, value, "a number or a tile" if kind is ParameterKind.OPERAND else "a number"
                )
        elif kind is ParameterKind.FLAG:
            if not isinstance(value, bool | np.bool_):
                raise self._wrong(parameter, value, "True or False")
            result = bool(value)
        elif kind is ParameterKind.CHOICE:
            result = self._choice(parameter, value)
        elif kind is ParameterKind.REGISTER or kind is ParameterKind.INDEX:
            result = self._register(parameter, value)
        else:
            result = _integers(value)
            if result is None:
                raise self._wrong(
                    parameter, value, f"an integer or a list of at most {_MAX_INTEGERS}, below 2**62"
                )
        if parameter.choices and isinstance(result, str) and result not in parameter.choices:
            raise self._refuse(
                f"does not take {parameter.name}={result}; it takes {', '.join(sorted(parameter.choices))}"
            )
        return result

    def _choice(self, parameter: Parameter, value: Any) -> str:
        """Return the name of an enum member."""
        if isinstance(value, Enum):
            return value.name
        if parameter.name == "perf_mode" and isinstance(value, str) and value in parameter.choices:
            recorder = active_recorder()
            if holds("perf-mode-string", recorder.version, recorder.target.name):
                return value
            raise self._refuse(
                f"takes perf_mode=nisa.matmul_perf_mode.{value} since NKI 0.4, not the string {value!r}"
            )
        raise self._wrong(parameter, value, f"an enum member, one of {', '.join(sorted(parameter.choices))}")

    def _register(self, parameter: Parameter, value: Any) -> Scalar:
        if isinstance(value, VirtualRegister):
            if parameter.kind is ParameterKind.REGISTER and value.frozen:
                raise self._refuse(
                    f"writes {parameter.name}, the counter of a run-time loop, which only the loop may change"
                )
            return (value.number,)
        if parameter.kind is ParameterKind.INDEX and (number := _integers(value)) is not None:
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
            memories = [None if tensor is None else _memory(tensor.buffer) for tensor in arguments]
            dtypes = [None if tensor is None else str(tensor.dtype) for tensor in arguments]
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

    def _resolve_accumulation(
        self, recorder: Recorder, arguments: Sequence[NkiTensor | None], scalars: list[Scalar]
    ) -> None:
        """Turn ``accumulate=None`` into the flag it means, and note that the destination was written."""
        destination = arguments[0]
        slot = self._operation.scalar_slots["accumulate"]
        written = None if destination is None else destination._storage.written
        if destination is None or written is None:
            # Legality says that the destination must lie in PSUM, and reads a flag either way.
            scalars[slot] = bool(scalars[slot])
            return
        view, width = destination._view, DTYPES[destination.dtype].itemsize
        if scalars[slot] is None:
            scalars[slot] = written.accumulates(view, width, repr(destination))
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
        if later and keyword not in binding.slots:
            problem = f"has {keyword}= since NKI {later[-1]} only"
        else:
            problem = unexpected_keyword(keyword, list(binding.slots))
        return self._refuse(f"{problem}; it is {binding.signature}")

    def _wrong(self, parameter: Parameter, value: object, wanted: str) -> KernelError:
        return self._refuse(f"{parameter.name} must be {wanted}, not {type(value).__name__} {_show(value)}")

    def _refuse(self, message: str, kind: KernelErrorKind = KernelErrorKind.COMPILE_ERROR) -> KernelError:
        return KernelError(kind, f"{self!r} {message}")

    def _signature(self) -> str:
        return self._binding(active_recorder().version).signature


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


def _memory(buffer: MemoryRegion) -> str:
    return "hbm" if buffer in (MemoryRegion.private_hbm, MemoryRegion.shared_hbm) else buffer.value


INSTRUCTIONS: Final[dict[str, Callable[..., NkiInstruction]]] = {
    name: IsaFunction(operation) for name, operation in OPERATIONS.items() if operation.module == "nki.isa"
}
