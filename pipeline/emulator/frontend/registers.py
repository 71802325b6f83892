"""Virtual registers: values that only the device knows, and the addresses made of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.session import active_recorder, active_session

__all__ = ["RegisterExpression", "VirtualRegister", "allocate_register", "as_expression"]


class _UnknownValue(KernelError, TypeError):
    """A register where a number is needed; also a `TypeError`, as which indexing code knows it."""


class RegisterExpression:
    """A sum of registers times integers, plus an integer: what an address can be made of.

    Attributes:
        terms: Factor per register number.
        constant: The integer added.
    """

    __slots__ = ("constant", "terms")

    def __init__(self, terms: Mapping[int, int], constant: int = 0) -> None:
        self.terms: Mapping[int, int] = MappingProxyType(
            {number: factor for number, factor in terms.items() if factor}
        )
        self.constant = constant

    def __add__(self, other: object) -> RegisterExpression:
        added = as_expression(other)
        if added is None:
            return NotImplemented
        terms = dict(self.terms)
        for number, factor in added.terms.items():
            terms[number] = terms.get(number, 0) + factor
        return RegisterExpression(terms, self.constant + added.constant)

    __radd__ = __add__

    def __sub__(self, other: object) -> RegisterExpression:
        taken = as_expression(other)
        return NotImplemented if taken is None else self + taken * -1

    def __rsub__(self, other: object) -> RegisterExpression:
        return self * -1 + other

    def __mul__(self, other: object) -> RegisterExpression:
        if isinstance(other, RegisterExpression):
            self._unknown()
        if not isinstance(other, int) or isinstance(other, bool):
            return NotImplemented
        terms = {number: factor * other for number, factor in self.terms.items()}
        return RegisterExpression(terms, self.constant * other)

    __rmul__ = __mul__

    def __neg__(self) -> RegisterExpression:
        return self * -1

    def _unknown(self, *_: object) -> NoReturn:
        raise _UnknownValue(
            KernelErrorKind.COMPILE_ERROR,
            "the value of a register is known only on the device: it can bound nl.fori_loop and "
            "nl.dynamic_range, be the condition of nl.while_loop and address a tensor, but not become a "
            "Python number or be compared",
        )

    __int__ = __index__ = __float__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __floordiv__ = __mod__ = __truediv__ = __rfloordiv__ = __rmod__ = __rtruediv__ = _unknown

    def __bool__(self) -> bool:
        self._unknown()


class VirtualRegister(RegisterExpression):
    """A 32-bit register of the device.

    Attributes:
        number: Which.
        frozen: Whether it counts a loop, so that nothing else may write it.
    """

    __slots__ = ("frozen", "number")

    def __init__(self, number: int, *, frozen: bool = False) -> None:
        super().__init__({number: 1})
        self.number = number
        self.frozen = frozen

    def __repr__(self) -> str:
        return f"register {self.number}"

    def __bool__(self) -> bool:
        """Begin or end a loop ``while register:``."""
        return active_session().loops.ask(self)


def allocate_register(*, frozen: bool = False) -> VirtualRegister:
    """Return a register that nothing else uses."""
    return VirtualRegister(active_recorder().add_register(), frozen=frozen)


def as_expression(value: Any) -> RegisterExpression | None:
    """Return a register, an expression or an integer as an expression; None for anything else."""
    if isinstance(value, RegisterExpression):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return RegisterExpression({}, value)
    return None
